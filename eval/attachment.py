"""Scores between sentences of answers and passages: the right one, others of its article, those of other articles.

A sentence is scored as the gateway scores one: as a question to `Search`, whose re-ranker compares the two.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from eval.calibration import Scored
from eval.datasets import Dataset, Question
from sourcier import Client

CONCURRENCY = 4
CANDIDATES = 20
SEARCH_SECONDS_MAX = 120.0
SAME_ARTICLE, OTHER_ARTICLE = "another passage of the article", "a passage of another article"
_SENTENCE = re.compile(r"[^.!?]+(?:[.!?](?!\s|$)[^.!?]*)*[.!?]?")


@dataclass(slots=True)
class AttachmentScores:
    """Scores of one kind of sentence."""

    right: list[Scored] = field(default_factory=list)
    wrong: dict[str, list[Scored]] = field(default_factory=lambda: {SAME_ARTICLE: [], OTHER_ARTICLE: []})


def verbatim(dataset: Dataset) -> dict[str, str]:
    """Return, by question, the sentence of the passage that holds the answer."""
    texts = {passage.passage_id: passage.text for passage in dataset.passages}
    found: dict[str, str] = {}
    for question in dataset.questions:
        text = texts[next(iter(question.relevant))]
        for answer in question.answers[:1]:
            pieces = (match.group().strip() for match in _SENTENCE.finditer(text))
            sentence = next((piece for piece in pieces if answer in piece), "")
            if len(sentence.split()) >= 3:
                found[question.question_id] = sentence
    return found


def reworded(dataset: Dataset) -> dict[str, str]:
    """Return, by question, its words with the answer: what a model says that repeats the question."""
    return {
        question.question_id: f"{question.text.rstrip(' ?')} : {question.answers[0]}."
        for question in dataset.questions if question.answers
    }


def read(path: Path) -> AttachmentScores | None:
    """Return the scores that a run kept, None where there are none."""
    if not path.exists():
        return None
    row = json.loads(path.read_text("utf-8"))
    return AttachmentScores(
        [Scored(*each) for each in row["right"]],
        {kind: [Scored(*each) for each in scores] for kind, scores in row["wrong"].items()},
    )


def write(path: Path, scores: AttachmentScores) -> None:
    """Keep the scores, so that another threshold can be looked at without asking again."""
    rows = {
        "right": [(each.article, each.score) for each in scores.right],
        "wrong": {kind: [(each.article, each.score) for each in wrong] for kind, wrong in scores.wrong.items()},
    }
    path.write_text(json.dumps(rows, ensure_ascii=False), "utf-8")


async def attachment_scores(
    client: Client, dataset: Dataset, sentences: Mapping[str, str], *, collection: str, sources: Mapping[str, str],
    progress: Callable[[int, int], None],
) -> AttachmentScores:
    """Score each sentence with the passages closest to it."""
    articles = {passage.passage_id: passage.title for passage in dataset.passages}
    asked = [question for question in dataset.questions if question.question_id in sentences]
    scores = AttachmentScores()
    waiting, done = iter(asked), 0

    async def work() -> None:
        nonlocal done
        for question in waiting:
            response = await client.search(
                sentences[question.question_id], limit=CANDIDATES, candidates=CANDIDATES, collection=collection,
                timeout_seconds=SEARCH_SECONDS_MAX,
            )
            found = [(sources[passage.document_id], passage.rerank_score) for passage in response.passages]
            _add(scores, question, found, articles)
            done += 1
            progress(done, len(asked))

    async with asyncio.TaskGroup() as tasks:
        for number in range(CONCURRENCY):
            tasks.create_task(work(), name=f"sentences {number}")
    return scores


def _add(
    scores: AttachmentScores, question: Question, found: Sequence[tuple[str, float]], articles: Mapping[str, str]
) -> None:
    home = articles[next(iter(question.relevant))]
    best: dict[str, float] = {}
    for passage, score in found:
        kind = SAME_ARTICLE if articles[passage] == home else OTHER_ARTICLE
        best.setdefault("right" if passage in question.relevant else kind, score)
    if "right" in best:
        scores.right.append(Scored(home, best["right"]))
    for kind, wrong in scores.wrong.items():
        if kind in best:
            wrong.append(Scored(home, best[kind]))
