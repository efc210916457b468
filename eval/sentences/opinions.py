"""What wording and models made of a sentence whose support is known, and how it is kept between runs."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from eval.sentences.sentences import Checked
from eval.sets.calibration import is_reported
from eval.sets.json_lines import read_rows


@dataclass(frozen=True, slots=True)
class Asked:
    """A sentence, what the wording tells of it, and what models say."""

    checked: Checked
    sources: tuple[str, ...]
    """The passages in the prompt, in its order."""
    number: int
    """Which of them the judge was asked about, from 1."""
    judged: float | None = None
    """The judge's probability of yes; None where it was not asked."""
    entailed: float | None = None
    """The probability of entailment."""
    seconds: float = 0.0
    """Of the judge's verdict."""
    prompt_tokens: int = 0
    cached_tokens: int = 0
    entailment_seconds: float = 0.0

    @property
    def is_reported(self) -> bool:
        """Whether it is in the half that reports, not in the one that sets thresholds."""
        return is_reported(self.checked.article)


def read(path: Path) -> list[Asked]:
    """Read what a run kept."""
    return [
        Asked(**{**row, "checked": Checked(**row["checked"]), "sources": tuple(row["sources"])})
        for row in read_rows(path)
    ]


def by_kind(asked: Sequence[Asked]) -> dict[str, list[Asked]]:
    """Return what was asked about by kind, in the order of appearance."""
    kinds: defaultdict[str, list[Asked]] = defaultdict(list)
    for each in asked:
        kinds[each.checked.kind].append(each)
    return dict(kinds)


def logit(probability: float) -> float:
    """Return the logarithm of the odds, within ±30."""
    bounded = min(max(probability, 1e-13), 1 - 1e-13)
    return math.log(bounded / (1 - bounded))
