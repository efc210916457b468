"""Steady loads for profiles: searches by so many clients, files ingested one collection after the other, or notes."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from bench.embedding.embedding import MODEL
from bench.generated import documents
from bench.texts import questions, sheets
from sourcier.client import Client
from sourcier.services.chassis.models.store import NULL_PRECISION

UPLOADS_AT_ONCE = 8
ROUND_FILES = 12
ROUND_NOTES = 400
NOTES_MAX = 100_000
LOOK_SECONDS = 0.25


@dataclass
class Done:
    """What a load did."""

    units: int = 0
    seconds: float = 0.0
    stages: dict[str, list[float]] = field(default_factory=dict)
    """Milliseconds by stage, as the clients were told or saw them."""

    def add(self, stage: str, milliseconds: float) -> None:
        """Keep one duration."""
        self.stages.setdefault(stage, []).append(milliseconds)


class Load(Protocol):
    """Something that keeps the services at work."""

    unit: str
    """What is counted."""
    described: str

    async def prepare(self) -> None:
        """Make what the load needs, and warm up what it uses."""

    async def run(self, *, clients: int, seconds: float) -> Done:
        """Work for about so long with so many clients."""


class Queries:
    """`Search` with re-ranking, each question another one."""

    unit = "search"

    def __init__(self, client: Client) -> None:
        self._client = client
        asked = questions(4_000)
        # The gateway's and the model's caches would answer a question's second asking.
        self._questions = (f"{text} ({number})" for number, text in enumerate(itertools.cycle(asked)))
        files, origin = sheets()
        self._files = files
        self.described = f"reranked search, limit 10, over {len(files)} files of {origin}"

    async def prepare(self) -> None:
        """Ingest the files and ask until models, caches and connections are warm."""
        await ingest(self._client, self._files, collection="default")
        await self.run(clients=4, seconds=4)

    async def run(self, *, clients: int, seconds: float) -> Done:
        """Ask one question after the other."""
        async def ask(done: Done) -> None:
            started = time.perf_counter()
            found = await self._client.search(next(self._questions), mode="reranked", limit=10)
            done.add("whole call, as the client sees it", 1000 * (time.perf_counter() - started))
            for entry in found.durations:
                done.add(entry.stage, 1000 * entry.duration.ToTimedelta().total_seconds())
            done.units += 1

        return await _repeat(ask, clients=clients, seconds=seconds)


class Ingestion:
    """Files from upload to rows that can be found, a new collection a round."""

    unit = "chunk"

    def __init__(self, client: Client) -> None:
        self._client = client
        self._files, origin = sheets()
        self._number = itertools.count()
        self.described = f"rounds of {ROUND_FILES} files of {origin}, {UPLOADS_AT_ONCE} uploads at once by a client"

    async def prepare(self) -> None:
        """Ingest one round: the model, the streams and the tables are warm then."""
        await ingest(self._client, self._files[:ROUND_FILES], collection="default")

    async def run(self, *, clients: int, seconds: float) -> Done:
        """Ingest round after round; the last one is finished."""
        async def one(done: Done) -> None:
            number = next(self._number)
            name = f"profile-{number}"
            await self._client.create_collection(name)
            start = number * ROUND_FILES % max(len(self._files) - ROUND_FILES, 1)
            started = time.perf_counter()
            chunks = await ingest(self._client, self._files[start : start + ROUND_FILES], collection=name)
            done.add(f"round of {ROUND_FILES} files", 1000 * (time.perf_counter() - started))
            done.units += chunks

        return await _repeat(one, clients=clients, seconds=seconds)


class Notes:
    """Documents of one to three chunks without a model: what a document costs whatever its length."""

    unit = "chunk"
    described = f"rounds of {ROUND_NOTES} generated documents of one to three chunks in the lane for bulk, no model"

    def __init__(self, client: Client) -> None:
        self._client = client
        self._source = documents(NOTES_MAX)
        self._number = itertools.count()

    async def prepare(self) -> None:
        """Ingest one round."""
        await self.run(clients=1, seconds=1)

    async def run(self, *, clients: int, seconds: float) -> Done:
        """Ingest round after round, a new collection each; the last one is finished."""
        async def one(done: Done) -> None:
            name = f"notes-{next(self._number)}"
            await self._client.create_collection(name)
            started = time.perf_counter()
            slots = asyncio.Semaphore(UPLOADS_AT_ONCE)
            notes = itertools.islice(self._source, ROUND_NOTES)
            await asyncio.gather(*(self._send(slots, note, collection=name) for note in notes))
            chunks = await self._chunks(name)
            done.units += chunks
            done.add(f"round of {ROUND_NOTES} notes", 1000 * (time.perf_counter() - started))

        return await _repeat(one, clients=clients, seconds=seconds)

    async def _send(self, slots: asyncio.Semaphore, note: tuple[str, bytes], *, collection: str) -> None:
        async with slots:
            name, content = note
            await self._client.upload(content, filename=name, collection=collection, lane="bulk")

    async def _chunks(self, name: str) -> int:
        """Return how many chunks there are once all documents of a round are committed."""
        while True:
            async for collection in self._client.collections():
                if collection.name == name and collection.document_count == ROUND_NOTES:
                    return collection.chunk_count
            await asyncio.sleep(LOOK_SECONDS)


LOADS: dict[str, Callable[[Client], Load]] = {"query": Queries, "ingest": Ingestion, "notes": Notes}
STACKS: dict[str, Mapping[str, str]] = {"notes": {"SOURCIER_EMBED_MODEL": f"{MODEL}@{NULL_PRECISION}"}}
"""Settings of the stack for a load that wants others than the defaults."""


async def ingest(client: Client, files: list[Path], *, collection: str) -> int:
    """Upload files, wait until their rows can be found; return how many chunks they came to."""
    slots = asyncio.Semaphore(UPLOADS_AT_ONCE)

    async def one(path: Path) -> int:
        async with slots:
            uploaded = await client.upload(path, collection=collection)
            return (await client.wait_for_job(uploaded.job_id)).chunk_count

    return sum(await asyncio.gather(*map(one, files)))


async def _repeat(work: Callable[[Done], object], *, clients: int, seconds: float) -> Done:
    done, started = Done(), time.perf_counter()

    async def client() -> None:
        while time.perf_counter() - started < seconds:
            await work(done)  # type: ignore[misc]  # a coroutine function, whose type has no shorter name

    async with asyncio.TaskGroup() as tasks:
        for number in range(clients):
            tasks.create_task(client(), name=f"client {number}")
    done.seconds = time.perf_counter() - started
    return done


@asynccontextmanager
async def opened(kind: str, address: str) -> AsyncIterator[Load]:
    """Open a client and give it the load of this kind."""
    async with Client(address) as client:
        yield LOADS[kind](client)
