"""The gate on retrieval: samples of five sets, question by question beside what was recorded when they were last judged
good."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from eval import shared_sets
from eval.reporting import report
from eval.retrieval.encoding import OfflineEncoder
from eval.retrieval.measures import Estimate, estimate
from eval.sets import datasets
from eval.sets.datasets import Dataset
from eval.variants.measuring import content_of, measure_of, measured_on
from eval.variants.searching import Progress, SetSearch
from eval.variants.variants import FULL_TEXT, FUSED, RERANKED, Settings

RECORDED = Path(__file__).parents[1] / "data" / "retrieval-gate.json"
SAMPLES: Mapping[str, tuple[int, int]] = {
    "travail-faq": (25, 60), "travail-siblings": (25, 60), "travail-requetes": (20, 60), "identifiants": (40, 80),
    "piaf-shared": (30, 60),
}
"""Questions and passages: so few that five sets take about half a minute on two cores."""
MODES = (FULL_TEXT, FUSED, RERANKED)


@dataclass(frozen=True, slots=True)
class Held:
    """A mode on a sample, beside what was recorded."""

    name: str
    mode: str
    recorded: float
    measured: float
    difference: Estimate
    """Paired by question."""

    @property
    def fell(self) -> bool:
        """Whether it fell by more than its noise."""
        return self.difference.high < 0


class SampleChanged(Exception):
    """The set is another one than what was recorded."""


def sample(name: str) -> Dataset | None:
    """Return the sample of a set; None where the set is absent."""
    folder = shared_sets.find(f"{shared_sets.RETRIEVAL}/{name}")
    questions, passages = SAMPLES[name]
    return None if folder is None else datasets.load(folder).sampled(questions, passages=passages)


def measured(dataset: Dataset, encoder: OfflineEncoder, *, progress: Progress) -> dict[str, Any]:
    """Return what is recorded of a sample: its content's digest, and what counts on it, question by question."""
    search = SetSearch(dataset, encoder, progress=progress)
    modes = {
        mode: list(asyncio.run(measured_on(search, Settings(mode=mode))).values[measure_of(dataset.name)])
        for mode in MODES
    }
    return {"content": content_of(dataset), "modes": modes}


def compared(name: str, now: Mapping[str, Any], recorded: Mapping[str, Any]) -> Iterator[Held]:
    """Yield each mode beside what was recorded; raise `SampleChanged` where that was of other passages."""
    before = recorded.get(name)
    if before is None or before["content"] != now["content"]:
        raise SampleChanged(f"{name} is not what was recorded; python -m eval retrieval-gate --record records it anew")
    for mode in MODES:
        pairs = list(zip(now["modes"][mode], before["modes"][mode], strict=True))
        one, two = (sum(column) / len(pairs) for column in zip(*pairs, strict=True))
        yield Held(name, mode, two, one, estimate([new - old for new, old in pairs]))


def read(path: Path = RECORDED) -> dict[str, Any]:
    """Return what was recorded."""
    rows: dict[str, Any] = json.loads(path.read_text("utf-8")) if path.exists() else {}
    return rows


def record(samples: Mapping[str, Any], *, path: Path = RECORDED) -> None:
    """Put samples in the place of those of the same name."""
    known = read(path) | dict(samples)
    rows = {name: known[name] for name in sorted(known)}
    path.write_text(json.dumps(rows, ensure_ascii=False) + "\n", "utf-8")


def table(found: Sequence[Held]) -> str:
    """Return comparisons as a Markdown table."""
    rows = [("set", "mode", "recorded", "measured", "difference", "")]
    rows += [
        (each.name, each.mode, f"{each.recorded:.3f}", f"{each.measured:.3f}",
         f"{each.difference.mean:+.3f} ({each.difference.low:+.3f} to {each.difference.high:+.3f})",
         "fell" if each.fell else "holds")
        for each in found
    ]
    return report.markdown_table(rows)
