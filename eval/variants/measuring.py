"""Measures variants set by set, and keeps what each came to: a run that is cut off goes on from there."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any, Self

from eval.kept import Kept
from eval.retrieval.encoding import OfflineEncoder
from eval.retrieval.measures import Estimate, estimate, measure
from eval.sets.datasets import Dataset
from eval.variants.searching import Progress, SetSearch
from eval.variants.variants import Settings

ROOT = Path(__file__).resolve().parents[2]
KEPT = ("ndcg@10", "recall@1", "recall@5")
MEASURE = "ndcg@10"
MEASURES_OF: Mapping[str, str] = {
    "identifiants": "recall@1", "travail-siblings": "recall@1", "acronyms": "recall@5",
}
"""What counts on sets whose questions have one right passage, which comes first or is missed."""
_CODE = (
    "sourcier/services/index", "sourcier/services/gateway/retrieval", "sourcier/services/ingest/chunking",
    "sourcier/services/embed", "eval/retrieval", "eval/variants", "eval/sets",
)
"""What decides a ranking: results of other code are measured anew."""


@dataclass(frozen=True, slots=True)
class Measured:
    """What one variant came to on one set, question by question."""

    values: Mapping[str, tuple[float, ...]]
    """By measure, each of `KEPT`."""
    forms: tuple[str, ...]
    """How each question is written, where the set tells."""
    bytes_a_passage: float

    @classmethod
    def of(cls, kept: Mapping[str, Any]) -> Self:
        """Return what was kept."""
        values = {name: tuple(found) for name, found in kept["values"].items()}
        return cls(values, tuple(kept["forms"]), kept["bytes_a_passage"])


@dataclass(frozen=True, slots=True)
class Results:
    """What variants came to on sets, as far as they were measured."""

    by_set: Mapping[str, Mapping[str, Measured]]
    """By set, then by variant."""

    def values(self, name: str, variant: str) -> tuple[float, ...]:
        """Return what counts on a set, question by question."""
        return self.by_set[name][variant].values[measure_of(name)]

    def difference(self, name: str, variant: str, other: str) -> Estimate:
        """Return what a variant gains on a set over another one, with its noise, paired by question."""
        pairs = zip(self.values(name, variant), self.values(name, other), strict=True)
        return estimate([one - two for one, two in pairs])

    def sets_of(self, *variants: str) -> tuple[str, ...]:
        """Return the sets on which all of these were measured."""
        return tuple(name for name, found in self.by_set.items() if all(each in found for each in variants))


def measure_of(name: str) -> str:
    """Return what counts on a set."""
    return MEASURES_OF.get(name, MEASURE)


def measured(
    sets: Sequence[Dataset], variants: Mapping[str, Settings], encoder: OfflineEncoder, kept: Kept, *,
    progress: Progress,
) -> Iterator[tuple[str, str, Measured]]:
    """Yield set, variant and what it came to; what is kept is not measured again."""
    for dataset in sets:
        search = SetSearch(dataset, encoder, progress=progress)
        for name, settings in variants.items():
            key = _key(dataset, settings, encoder)
            found = kept.get(key)
            if found is None:
                found = asdict(asyncio.run(measured_on(search, settings, progress(f"{dataset.name}, {name}: asked"))))
                kept.add(key, found)
            yield dataset.name, name, Measured.of(found)


async def measured_on(
    search: SetSearch, settings: Settings, progress: Callable[[int, int], None] = lambda _, __: None
) -> Measured:
    """Ask all questions of a set by one variant."""
    rows = []
    questions = search.dataset.questions
    for number, question in enumerate(questions):
        rows.append(measure(await search.ranked(number, settings), question.relevant))
        progress(number + 1, len(questions))
    values = {name: tuple(round(row[name], 6) for row in rows) for name in KEPT}
    return Measured(values, tuple(each.form for each in questions), search.bytes_a_passage(settings))


def _key(dataset: Dataset, settings: Settings, encoder: OfflineEncoder) -> str:
    parts = json.dumps([content_of(dataset), asdict(settings), encoder.model.space_id, encoder.engine, _code()])
    return hashlib.sha256(parts.encode()).hexdigest()[:32]


@cache
def _code() -> str:
    digest = hashlib.sha256()
    for path in sorted(path for folder in _CODE for path in (ROOT / folder).rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def content_of(dataset: Dataset) -> str:
    """Return a digest of passages, questions and what is right."""
    digest = hashlib.sha256(dataset.name.encode())
    for passage in dataset.passages:
        digest.update("\x00".join((passage.passage_id, passage.title, passage.text, "")).encode())
    for question in dataset.questions:
        digest.update(json.dumps([question.question_id, question.text, sorted(question.relevant.items())]).encode())
    return digest.hexdigest()
