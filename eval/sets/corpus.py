"""Brings a test set's passages into a collection, each as a document, through the gateway."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from eval.sets.datasets import Dataset, Passage, Question
from sourcier import Client
from sourcier.errors import AlreadyExists
from sourcier.gateway.v1 import knowledge_pb2

CONCURRENCY = 16
CHUNKING = knowledge_pb2.Chunking(method="hybrid", unit="tokens", target=480, maximum=480, overlap=0)
"""As long as the embedding model and a title allow: a passage stays one chunk where it can."""
SETTLE_SECONDS = 1.5
SETTLE_LOOKS_MAX = 60
PROBES = 5


async def ingest(
    client: Client, dataset: Dataset, *, collection: str, progress: Callable[[int, int], None]
) -> dict[str, str]:
    """Ingest what the collection does not hold yet, and wait until searches no longer change.

    Return the passage id of each document id.
    """
    with contextlib.suppress(AlreadyExists):
        await client.create_collection(collection, chunking=CHUNKING)
    held = await _documents(client, collection)
    missing = [passage for passage in dataset.passages if passage.passage_id not in held.values()]
    done = len(dataset.passages) - len(missing)
    progress(done, len(dataset.passages))
    waiting = iter(missing)

    async def work() -> None:
        nonlocal done
        for passage in waiting:
            await _ingest_passage(client, passage, collection=collection)
            done += 1
            progress(done, len(dataset.passages))

    async with asyncio.TaskGroup() as tasks:
        for number in range(CONCURRENCY):
            tasks.create_task(work(), name=f"ingest {number}")
    if missing:
        await _settle(client, dataset.questions[:PROBES], collection=collection)
    return await _documents(client, collection)


async def ingest_files(
    client: Client, paths: Iterable[Path], *, collection: str, category_of: Callable[[str], str] = lambda filename: ""
) -> None:
    """Ingest files one after the other; `category_of` returns that of a file's name."""
    with contextlib.suppress(AlreadyExists):
        await client.create_collection(collection)
    for path in paths:
        upload = await client.upload(path, collection=collection, category=category_of(path.name))
        await client.wait_for_job(upload.job_id)


async def _ingest_passage(client: Client, passage: Passage, *, collection: str) -> None:
    await client.ingest_text(
        passage.text, source=passage.passage_id, filename=f"{passage.passage_id}.txt", title=passage.title,
        collection=collection, lane="bulk", metadata={"article": passage.title[:200]}, timeout_seconds=1800,
    )


async def _documents(client: Client, collection: str) -> dict[str, str]:
    return {
        document.document_id: document.source
        async for document in client.documents(collection=collection) if document.version_id
    }


async def _settle(client: Client, questions: Iterable[Question], *, collection: str) -> None:
    """Wait until two looks in a row give the same scores: document frequencies are added up after the commits."""
    before: Sequence[float] | None = None
    probes = [question.text for question in questions]
    for _ in range(SETTLE_LOOKS_MAX):
        scores: list[float] = []
        for text in probes:
            found = await client.search(text, mode="lexical", collection=collection, timeout_seconds=60)
            scores.extend(passage.score for passage in found.passages)
        if scores == before:
            return
        before = scores
        await asyncio.sleep(SETTLE_SECONDS)
