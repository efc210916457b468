"""Asks every question in every mode, and keeps each ranking as a line of JSON."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from eval.sets.datasets import Question
from eval.sets.json_lines import read_rows
from sourcier import Client
from sourcier.gateway.v1 import answer_pb2
from sourcier.options import SearchModeName
from sourcier.services.gateway.retrieval.question_notes import SPELLING

MODES: tuple[SearchModeName, ...] = ("dense", "lexical", "fused", "reranked")
LIMIT = 20
CONCURRENCY = 4
SEARCH_SECONDS_MAX = 120.0


@dataclass(frozen=True, slots=True)
class Ranking:
    """What a search gave."""

    question: str
    """The question's id."""
    mode: str
    passages: tuple[str, ...]
    """Passage ids, best first, each once."""
    scores: tuple[float, ...]
    """What they were ranked by."""
    rerank_scores: tuple[float, ...]
    """The re-ranker's own; empty in the other modes."""
    durations: Mapping[str, float]
    """Seconds by stage."""


async def search_all(
    client: Client, questions: Sequence[Question], *, collection: str, sources: Mapping[str, str], results: Path,
    candidates: int, progress: Callable[[int, int], None],
) -> list[Ranking]:
    """Ask what the file of results does not hold yet, append it, and return all rankings of these questions."""
    asked = {question.question_id for question in questions}
    rankings = [ranking for ranking in read(results) if ranking.question in asked]
    held = {(ranking.question, ranking.mode) for ranking in rankings}
    waiting = iter([question for question in questions if (question.question_id, MODES[-1]) not in held])
    done = sum((question.question_id, MODES[-1]) in held for question in questions)
    results.parent.mkdir(parents=True, exist_ok=True)
    with results.open("a", encoding="utf-8") as lines:

        async def work() -> None:
            nonlocal done
            for question in waiting:
                # One mode after the other: the question's embedding is then remembered, as it is for a person.
                for mode in MODES:
                    if (question.question_id, mode) in held:
                        continue
                    response = await client.search(
                        question.text, limit=LIMIT, candidates=candidates, mode=mode, collection=collection,
                        timeout_seconds=SEARCH_SECONDS_MAX,
                    )
                    ranking = _ranking(question, mode, response, sources)
                    rankings.append(ranking)
                    lines.write(json.dumps(asdict(ranking), ensure_ascii=False) + "\n")
                done += 1
                progress(done, len(questions))

        async with asyncio.TaskGroup() as tasks:
            for number in range(CONCURRENCY):
                tasks.create_task(work(), name=f"search {number}")
    return rankings


def read(results: Path) -> Iterator[Ranking]:
    """Yield the rankings of a file; none where there is no file."""
    if not results.exists():
        return
    for row in read_rows(results):
        yield Ranking(
            row["question"], row["mode"], tuple(row["passages"]), tuple(row["scores"]), tuple(row["rerank_scores"]),
            row["durations"],
        )


def _ranking(
    question: Question, mode: str, response: answer_pb2.SearchResponse, sources: Mapping[str, str]
) -> Ranking:
    # A figure for re-ranking that did not run would be a lie; that a slip was searched for, too, is what is measured.
    if lost := [each for each in response.degradations if each.stage != SPELLING]:
        raise RuntimeError(f"{question.question_id}: {lost[0].reason}")
    best: dict[str, float] = {}
    reranked: dict[str, float] = {}
    for passage in response.passages:
        # Several chunks of one passage count once, at the best one's rank.
        best.setdefault(sources[passage.document_id], round(passage.score, 6))
        if passage.HasField("rerank_score"):
            reranked.setdefault(sources[passage.document_id], round(passage.rerank_score, 6))
    durations = {entry.stage: round(entry.duration.ToNanoseconds() / 1e9, 6) for entry in response.durations}
    return Ranking(question.question_id, mode, tuple(best), tuple(best.values()), tuple(reranked.values()), durations)
