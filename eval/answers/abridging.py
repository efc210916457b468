"""What the language model reads of passages: how much of it is left, and how often the answer is still there.

Searches are made in this process with the services' own code; no language model is asked. An answer counts as still
read where a passage that held it, word for word, holds it after its pieces were chosen.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from eval.answers.extracts import CANDIDATES, PASSAGES, Asking, handbook_questions, plain
from eval.refusals.refusals import MODEL
from eval.retrieval.encoding import OfflineEncoder
from eval.retrieval.offline_asking import OfflineAsker
from eval.retrieval.retrieval import RESULTS, Progress
from eval.sets import handbook
from eval.sets.datasets import Dataset
from sourcier.services.gateway.evidence.reading.abridging import abridged
from sourcier.services.gateway.retrieval.ranking_order import ordered
from sourcier.services.index.search.passages import Passage


@dataclass(frozen=True)
class Reading:
    """What was read for one question whose passages hold the answer."""

    group: str
    whole: int
    """Characters of the passages."""
    read: int
    passages: int
    """Of which something was read."""
    kept: bool


async def measure_readings(datasets: Sequence[Dataset], *, engine: str, characters_max: int) -> str:
    """Return what is read of the passages found for each set's questions, as Markdown."""
    asker = OfflineAsker(OfflineEncoder(model=MODEL, engine=engine, kept=RESULTS), progress=Progress)
    collection = await asker.hold_files(handbook.paths(), name=handbook.COLLECTION)
    readings = await _readings(asker, collection, handbook_questions(), characters_max=characters_max)
    for dataset in datasets:
        rows = [("", Asking(each.text, (each.answers,))) for each in dataset.questions if each.answers]
        readings += await _readings(asker, await asker.hold(dataset), rows, characters_max=characters_max)
    return table(readings)


async def _readings(
    asker: OfflineAsker, collection: str, rows: Sequence[tuple[str, Asking]], *, characters_max: int
) -> list[Reading]:
    await asker.prepare([asking.question for _, asking in rows], collection=collection)
    found: list[Reading] = []
    for group, asking in rows:
        searched = await asker.ask(asking.question, collection=collection)
        results = searched.results[:CANDIDATES]
        scores = {each.passage.chunk_id: searched.scores[each.passage.chunk_id] for each in results}
        ranked = ordered(results, scores, question=asking.question)
        passages = [each.passage for each in ranked[:PASSAGES]]
        holding = [place for place, passage in enumerate(passages) if _holds(asking, passage)]
        if not holding:
            continue
        read = abridged(passages, asking.question, asker.embedding(asking.question), characters_max=characters_max)
        found.append(Reading(
            f"{collection}{group}", sum(len(each.text) for each in passages), sum(len(each.text) for each in read),
            sum(bool(each.text) for each in read), any(_holds(asking, read[place]) for place in holding),
        ))
    return found


def _holds(asking: Asking, passage: Passage) -> bool:
    text = plain(passage.text)
    return bool(asking.facts) and all(any(plain(fact) in text for fact in group) for group in asking.facts)


def table(readings: Iterable[Reading]) -> str:
    """Return the readings as Markdown."""
    groups: defaultdict[str, list[Reading]] = defaultdict(list)
    for each in readings:
        groups[each.group].append(each)
    lines = ["| passages hold the answer to | questions | characters found, median | read | passages read, mean | "
             "the answer is read |", "|---|---:|---:|---:|---:|---:|"]
    for group, of in groups.items():
        lines.append(
            f"| {group} | {len(of)} | {np.median([each.whole for each in of]):,.0f} | "
            f"{np.median([each.read for each in of]):,.0f} | {np.mean([each.passages for each in of]):.1f} | "
            f"{sum(each.kept for each in of)} |"
        )
    return "\n".join(lines)
