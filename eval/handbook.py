"""The demo's own documents and questions: what must never be refused, and what should be."""

from __future__ import annotations

import contextlib
import json
from dataclasses import dataclass
from pathlib import Path

from sourcier import Client
from sourcier.errors import AlreadyExists

DEMO = Path(__file__).parents[1] / "demo"
COLLECTION = "eval-demo"
SEARCH_SECONDS_MAX = 120.0


@dataclass(frozen=True, slots=True)
class HandbookScore:
    """A question and the scores that decide on its refusal."""

    question: str
    answerable: bool
    late_interaction: float
    """Of the best passage after re-ranking."""
    similarity: float
    """The largest cosine among the passages given to the model."""
    source: str
    """Of the best passage."""
    found: bool
    """Whether a passage of the right document is among those given to the model."""


async def score_handbook(client: Client) -> list[HandbookScore]:
    """Ingest the demo's documents and search for each of its questions as an answer would."""
    with contextlib.suppress(AlreadyExists):
        await client.create_collection(COLLECTION)
    for path in sorted((DEMO / "documents").iterdir()):
        upload = await client.upload(path, collection=COLLECTION)
        await client.wait_for_job(upload.job_id)
    questions = json.loads((DEMO / "questions.json").read_text("utf-8"))
    scores = [await _score(client, entry, answerable=True) for entry in questions["answerable"]]
    return scores + [await _score(client, entry, answerable=False) for entry in questions["unanswerable"]]


async def _score(client: Client, entry: dict[str, str], *, answerable: bool) -> HandbookScore:
    question = entry["question"]
    ranked = await client.search(question, collection=COLLECTION, timeout_seconds=SEARCH_SECONDS_MAX)
    fused = await client.search(question, mode="fused", collection=COLLECTION, timeout_seconds=SEARCH_SECONDS_MAX)
    best = ranked.passages[0]
    return HandbookScore(
        question=question, answerable=answerable, late_interaction=best.rerank_score,
        similarity=max(passage.similarity for passage in fused.passages if passage.HasField("similarity")),
        source=best.source, found=any(passage.source == entry.get("source") for passage in ranked.passages),
    )
