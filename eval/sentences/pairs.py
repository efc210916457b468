"""Pairs of a text and a sentence that others made: `premise`, `hypothesis` and `label` a line, in JSON.

A pair may have a `question` and a `kind`. What a label means is told by its name; the project keeps no such set.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from eval.sets.datasets import DatasetInvalid, Passage
from eval.sets.json_lines import read_rows
from eval.sets.sentence_sets import Sentence
from sourcier.models.train.sources import is_held, origin

LABELS: Mapping[str, bool] = {
    "supported": True, "entailment": True, "compatible": True,
    "unsupported": False, "neutral": False, "contradiction": False,
}
"""Whether a sentence of this label is right as far as the set tells."""
CONTRADICTIONS_ONLY = frozenset({"compatible"})
"""Where one of these stands, a right sentence need not be supported: only contradictions can be told."""


@dataclass(frozen=True)
class PairSet:
    """A set of pairs, in the form of sentences and their passages."""

    name: str
    passages: tuple[Passage, ...]
    sentences: tuple[Sentence, ...]
    true_kinds: frozenset[str]
    contradictions_only: bool


def read_pairs(path: Path) -> PairSet:
    """Read a set; raise DatasetInvalid for a line that is no pair.

    Of pairs that have an `id`, those are left out that the project's own reader may have been trained on.
    """
    passages: dict[str, Passage] = {}
    sentences, true_kinds, labels = [], set[str](), set[str]()
    for number, row in enumerate(read_rows(path), start=1):
        try:
            premise, label = row["premise"], row["label"]
            kind = f"{path.stem}: {row.get('kind') or label}"
            is_true = LABELS[label]
            passage = passages.setdefault(premise, Passage(f"{path.stem}-{number}", "", premise))
            if "id" in row and not is_held(origin(str(row["id"]))):
                continue
            # The half is told by the text: sentences over one text are in one half.
            sentences.append(Sentence(kind, row["hypothesis"], passage.passage_id, premise, row.get("question", "")))
        except (KeyError, TypeError) as error:
            raise DatasetInvalid(
                f"{path}, line {number}: {error} is missing or unknown; a pair has premise, hypothesis and label, one "
                f"of {', '.join(LABELS)}"
            ) from error
        labels.add(label)
        if is_true:
            true_kinds.add(kind)
    return PairSet(path.stem, tuple(passages.values()), tuple(sentences), frozenset(true_kinds),
                   bool(labels & CONTRADICTIONS_ONLY))
