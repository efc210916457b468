"""Ingestion without a model as the index grows: milliseconds a chunk, memory by part, and what HNSW adds.

The embed service runs its null engine, so that all but the model is measured. The index over the vectors is kept away
until the load is over; then it is built, and the same documents go on coming with the index live.
"""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from statistics import fmean

import psycopg

from bench import metrics
from bench.embedding.embedding import MODEL
from bench.environment import asked_numbers, running_stack
from bench.generated import documents
from bench.measuring import Curve, Table
from bench.processes import usage
from sourcier.client import Client
from sourcier.services.chassis.models.store import NULL_PRECISION
from sourcier.services.chassis.postgres.database import Connection, Database, DatabaseSettings
from sourcier.services.index.spaces import growing, spaces

COMMITTED = "sourcier_freshness_seconds_count{bulk}"
SENDERS = 8
UNDER_WAY_MAX = 256
"""Documents sent and not committed: enough to keep every stage busy."""
LOOK_SECONDS = 0.5
COLLECTION = "growth"
NULL_STACK = {
    "SOURCIER_STACK_SERVICES": "ingest,embed,rerank,gateway", "SOURCIER_EMBED_MODEL": f"{MODEL}@{NULL_PRECISION}",
    "SOURCIER_INGEST_HNSW_DEFERRED_ROWS_MAX": "1000000000",
}


@dataclass(frozen=True, slots=True)
class Bounds:
    """How long a run may be."""

    window: int
    """Documents between two looks."""
    seconds: float
    """After so long no further documents are sent."""
    live_documents: int
    """Documents that are sent once the index is there."""


QUICK, FULL = Bounds(window=60, seconds=6, live_documents=120), Bounds(window=1000, seconds=240, live_documents=2000)
DOCUMENTS_MAX = 100_000
OURS = ("ingest", "parsing", "embed", "gateway", "rerank")
"""Parts of the stack whose memory is ours to keep flat; the servers' caches have limits of their own."""


@dataclass
class Growth:
    """What was seen after each window."""

    documents: list[int] = field(default_factory=list)
    milliseconds: list[float] = field(default_factory=list)
    """A chunk, in the window that ends here."""
    cpu: list[dict[str, float]] = field(default_factory=list)
    """Seconds by part, so far."""
    chunks: list[int] = field(default_factory=list)
    """So far."""
    resident: defaultdict[str, list[tuple[float, float]]] = field(default_factory=lambda: defaultdict(list))
    """MiB by part, by documents."""


async def run(*, quick: bool) -> list[Table]:
    """Load until the time is over, build the index, then load a little more.

    `SOURCIER_BENCH_GROWTH_SECONDS` is the time in place of four minutes: a whole run to 100,000 documents takes longer.
    """
    bounds = QUICK if quick else FULL
    (seconds, *_) = asked_numbers("SOURCIER_BENCH_GROWTH_SECONDS", (bounds.seconds,))
    bounds = replace(bounds, seconds=seconds)
    listening = metrics.endpoints()
    async with running_stack(**NULL_STACK, **listening) as addresses:
        async with Client(addresses["SOURCIER_GATEWAY_URL"]) as client:
            await client.create_collection(COLLECTION)
            load = _Load(client, addresses, listening, documents(DOCUMENTS_MAX + bounds.live_documents))
            # The service builds no index meanwhile: not even at the load's end, when the one here is about to be timed.
            async with _sole_builder(addresses) as (database, builder):
                growth = await load.grow(DOCUMENTS_MAX, window=bounds.window, seconds=bounds.seconds)
                if not growth.milliseconds:
                    raise RuntimeError(f"fewer than {bounds.window} documents were committed in {bounds.seconds:g} s; "
                                       "SOURCIER_BENCH_GROWTH_SECONDS gives it more")
                rows, build_seconds = await load.chunks(), await _build_index(database, builder)
            live = await load.grow(bounds.live_documents, window=bounds.live_documents // 2, seconds=bounds.seconds)
    return [growth_table(growth), _index_table(growth, live, rows=rows, build_seconds=build_seconds),
            _processor_table(growth), _memory_table(growth), _leaks_table(growth)]


class _Load:
    """Sends documents as fast as they are committed, and looks at what that takes."""

    def __init__(
        self, client: Client, addresses: Mapping[str, str], listening: Mapping[str, str],
        source: Iterator[tuple[str, bytes]],
    ) -> None:
        self._client = client
        self._addresses = addresses
        self._listening = listening
        self._source = source
        self._sent = 0
        self._committed = 0

    async def grow(self, count: int, *, window: int, seconds: float) -> Growth:
        """Send up to so many documents for so long; return once all that was sent is committed."""
        growth, until, last = Growth(), time.monotonic() + seconds, self._sent + count
        over = asyncio.Event()
        looking = asyncio.create_task(self._look(growth, window, over), name="look")
        try:
            async with asyncio.TaskGroup() as group:
                for number in range(SENDERS):
                    group.create_task(self._send(last, until), name=f"sender {number}")
            async with asyncio.timeout(120):
                while self._committed < self._sent:  # noqa: ASYNC110 - metrics tell when they are asked
                    await asyncio.sleep(LOOK_SECONDS)
                over.set()
                await looking
        finally:
            looking.cancel()
            await asyncio.gather(looking, return_exceptions=True)
        return growth

    async def chunks(self) -> int:
        """Return how many chunks are committed."""
        async with await psycopg.AsyncConnection.connect(self._addresses["SOURCIER_POSTGRES_URL"]) as connection:
            await connection.execute(
                "select set_config('sourcier.tenant', 'default', false), set_config('sourcier.collections', '*', false)"
            )
            cursor = await connection.execute("select coalesce(sum(chunk_count), 0) from documents")
            row = await cursor.fetchone()
            return int(row[0]) if row else 0

    async def _send(self, last: int, until: float) -> None:
        while self._sent < last and time.monotonic() < until:
            if self._sent - self._committed >= UNDER_WAY_MAX:
                await asyncio.sleep(LOOK_SECONDS / 4)
                continue
            self._sent += 1
            name, content = next(self._source)
            await self._client.upload(content, filename=name, collection=COLLECTION, lane="bulk")

    async def _look(self, growth: Growth, window: int, over: asyncio.Event) -> None:
        """Note each window; the last one, too, which is what is left, where it is half of one."""
        seen_documents, seen_chunks, seen_at = self._committed, await self.chunks(), time.perf_counter()
        while not over.is_set():
            await asyncio.sleep(LOOK_SECONDS)
            self._committed = int((await metrics.read(self._listening)).get(COMMITTED, 0))
            ended = self._committed == self._sent and 2 * (self._committed - seen_documents) >= window
            if self._committed - seen_documents < window and not ended:
                continue
            chunks, now = await self.chunks(), time.perf_counter()
            growth.documents.append(self._committed)
            growth.milliseconds.append(1000 * (now - seen_at) / max(chunks - seen_chunks, 1))
            used = await asyncio.to_thread(usage, self._addresses)
            growth.chunks.append(chunks)
            growth.cpu.append({part: taken.cpu_seconds for part, taken in used.items()})
            for part, taken in used.items():
                growth.resident[part].append((self._committed, taken.resident_mib))
            seen_documents, seen_chunks, seen_at = self._committed, chunks, time.perf_counter()


@asynccontextmanager
async def _sole_builder(addresses: Mapping[str, str]) -> AsyncIterator[tuple[Database, Connection]]:
    async with (
        Database(DatabaseSettings(url=addresses["SOURCIER_POSTGRES_URL"])) as database,
        spaces.sole_builder(database) as connection,
    ):
        assert connection is not None, "the service builds an index before there is anything"
        yield database, connection


async def _build_index(database: Database, builder: Connection) -> float:
    # What a short run brings lies in the part of all small tenants, which is searched without an index.
    await growing.move_grown(database, builder, tables=await spaces.vectors_tables(builder), rows_min=0)
    started = time.perf_counter()
    await builder.execute("analyze")
    built = await spaces.build_missing(builder, rows_min=0)
    assert built, "no index was built"
    return time.perf_counter() - started


def growth_table(growth: Growth) -> Table:
    """Compare the last third of the windows with the first; the first window of all only starts things."""
    table = Table("ingestion without a model, as it grows", "ms a chunk", higher_is_better=False)
    for value in growth.milliseconds:
        table.add("a chunk, one to three a document", value)
    table.notes["a chunk, one to three a document"] = f"{growth.documents[-1]} documents, without HNSW"
    table.limit("a chunk, one to three a document", at_most=2.0)
    _compare_thirds(table, growth.milliseconds[1:] or growth.milliseconds, what="")
    # Beside other work the clock tells of that; processor time does not.
    _compare_thirds(table, [sum(parts.values()) for parts in _processor(growth)], what="processor time, ")
    table.curves.append(Curve("Ingestion without a model", "documents", "ms a chunk", {
        "without HNSW": list(zip(map(float, growth.documents), growth.milliseconds, strict=True))
    }))
    return table


def _compare_thirds(table: Table, steady: list[float], *, what: str) -> None:
    third = len(steady) // 3 or 1
    for first, last in zip(steady[:third], steady[-third:], strict=False):
        table.add(f"{what}first third", first)
        table.add(f"{what}last third", last)
    if steady:
        table.ratio(f"{what}last third", f"{what}first third", target=1.2)


def _processor(growth: Growth) -> list[dict[str, float]]:
    """Return the processor time of a chunk by part, in ms, for each window after the first."""
    windows = zip(growth.cpu, growth.cpu[1:], growth.chunks, growth.chunks[1:], strict=False)
    return [
        {part: 1000 * (after[part] - before.get(part, 0.0)) / max(last - first, 1) for part in after}
        for before, after, first, last in windows
    ]


def _index_table(growth: Growth, live: Growth, *, rows: int, build_seconds: float) -> Table:
    table = Table("HNSW, at the load and after it", "ms a chunk", higher_is_better=False)
    assert live.milliseconds, "no window of the load with the index live was seen"
    for value in growth.milliseconds[-len(live.milliseconds):]:
        table.add("load without the index", value)
    table.add("building it after the load", 1000 * build_seconds / rows)
    for value in live.milliseconds:
        table.add("load with the index live", value)
    table.notes["building it after the load"] = f"{rows} chunks in {build_seconds:.1f} s, vectors of noise"
    return table


def _processor_table(growth: Growth) -> Table:
    table = Table("processor time by part, short documents", "ms a chunk", higher_is_better=False)
    for parts in _processor(growth):
        for part, milliseconds in parts.items():
            table.add(part, milliseconds)
    return table


def _memory_table(growth: Growth) -> Table:
    table = Table("memory while ingesting", "MiB", higher_is_better=False)
    for part, points in growth.resident.items():
        for _, resident in points:
            table.add(part, resident)
    table.curves.append(Curve("Memory while ingesting", "documents", "MiB", dict(growth.resident)))
    return table


def _leaks_table(growth: Growth) -> Table:
    table = Table("memory in the last third of the run, of that in the second", "times", higher_is_better=False)
    for part in OURS:
        resident = [value for _, value in growth.resident[part]]
        third = max(len(resident) // 3, 1)
        # Means: documents are parsed in processes that come and go.
        table.add(part, fmean(resident[-third:]) / fmean(resident[-2 * third : -third] or resident[-third:]))
        table.limit(part, at_most=1.1)
    return table
