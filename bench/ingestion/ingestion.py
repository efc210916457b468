"""Files to rows that can be found, beside LlamaIndex and Haystack: the same files, model, database and threads.

Chunkers differ, so chunks a second are told beside the tokens embedded a second. Every round's files are new content:
the same bytes again would not be parsed again.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

from bench import metrics
from bench.embedding.embed_client import compiles_for_lengths
from bench.embedding.embedding import COSINE_MIN_DYNAMIC
from bench.embedding.products import PRODUCTS, Products
from bench.environment import CORES, opened_together, running_stack
from bench.ingestion import rows as ingestion_rows
from bench.ingestion.contestants import (
    BATCHES,
    CHUNK_TOKENS,
    LABELS,
    OVERLAP_TOKENS,
    STORED,
    WORKERS,
    Peer,
    Round,
    Way,
    files_by_form,
    packaged_model,
)
from bench.measuring import Table, interleave
from bench.texts import sheets
from sourcier.client import Client
from sourcier.gateway.v1 import knowledge_pb2

UPLOADS_AT_ONCE = 8
LOADS_BEFORE = 18
"""Loads of all files before anything counts, where the engine compiles the model for the lengths of a load."""
SAME_FILE, DEFAULT = "Sourcier, the peers' ONNX file", "Sourcier, default settings"
SERVICES = "ingest,embed,rerank,gateway"
Ingest = Callable[[list[Path], str], Awaitable[Round]]
"""Ingests files into a collection, or a table, of this name."""


async def run(*, quick: bool) -> list[Table]:
    """Compare stored rows and vectors first, then take turns on the same files."""
    files, origin = sheets()
    if quick:
        files = files[:1]
    chunks, tokens = Table("ingestion, chunks", "chunks/s"), Table("ingestion, tokens", "tokens/s")
    products = Products(packaged_model(), streams=CORES)
    async with _contestants(quick=quick) as (contestants, compared):
        count, rounds = 0, 1 if quick else 3

        async def measured(name: str) -> float:
            nonlocal count
            # Each round takes its share of the files; round 0 counts for nothing and loads what loads late, which the
            # proof has done in a quick run.
            number, count = (1 if quick else 0) + count // len(contestants), count + 1
            chosen = files[number - 1 :: rounds] if number > 0 else files[:1]
            with tempfile.TemporaryDirectory() as folder:
                done = await contestants[name](edition(chosen, Path(folder), count), f"edition{count}")
            if number > 0:
                tokens.add(name, done.tokens / done.seconds)
                chunks.notes[name] = f"{done.chunks} chunks of {done.tokens / done.chunks:.0f} tokens"
                if name == DEFAULT:
                    # Beside the round: what the processor gives may be half of it in the next minute.
                    tokens.add(PRODUCTS, await asyncio.to_thread(products.rate, done.tokens))
            return done.chunks / done.seconds

        await interleave(chunks, {name: _bound(measured, name) for name in contestants}, rounds=rounds,
                         warmed=quick)
    tokens.notes[DEFAULT] = f"{len(files)} files of {origin}, {CORES} threads, tokens as embedded, titles included"
    for ours, theirs, target in compared:
        for table in (chunks, tokens):
            table.ratio(ours, theirs, target=target)
    products.hold(DEFAULT, tokens)
    return [chunks, tokens]


def _bound(measured: Callable[[str], Awaitable[float]], name: str) -> Callable[[], Awaitable[float]]:
    return lambda: measured(name)


def edition(files: Sequence[Path], folder: Path, number: int) -> list[Path]:
    """Return copies of the files that differ from all that was ingested before."""
    copies = []
    for file in files:
        copy = folder / file.name
        copy.write_text(f"{file.read_text('utf-8').rstrip()}\n\nÉdition {number}.\n", "utf-8")
        copies.append(copy)
    return copies


@asynccontextmanager
async def _contestants(*, quick: bool) -> AsyncIterator[tuple[dict[str, Ingest], list[tuple[str, str, float]]]]:
    """Start two stacks and the peers, and prove that all store the same of the same texts.

    Yields them by label, and what is held against what: ours, theirs, and the least ratio.
    """
    async with AsyncExitStack() as opened:
        same, default = await opened_together(
            opened, _Stack.started(SOURCIER_EMBED_ENGINE="onnxruntime-int8"), _Stack.started()
        )
        if not quick and await compiles_for_lengths(default.addresses):
            # A load that lasts is what is compared: after so much, its lengths have been compiled for.
            for number in range(LOADS_BEFORE):
                with tempfile.TemporaryDirectory() as folder:
                    await default.ingest(edition(sheets()[0], Path(folder), -1 - number), f"before{number}")
        contestants: dict[str, Ingest] = {SAME_FILE: same.ingest, DEFAULT: default.ingest}
        url, forms = same.addresses["SOURCIER_POSTGRES_URL"], await files_by_form(quick=quick)
        peers = await opened_together(opened, *(Peer.started(name, url, forms) for name in BATCHES))
        files = sheets()[0][:1]
        for number, stack in enumerate((same, default)):
            done = await stack.ingest(files, f"proof{number}")
            await ingestion_rows.prove_ours(stack.addresses, f"proof{number}", done.chunks)
        compared = []
        for peer in peers:
            stored, fastest = peer.quick_ways() if quick else await peer.ways(files)
            same_file = [stored] if quick else _spread(peer, stored)
            best = fastest if quick else [spread for way in fastest for spread in _spread(peer, way)]
            for way in dict.fromkeys((*same_file, *best)):
                table = f"proof_{way.form.replace('-', '_')}_{way.workers}"
                done = await peer.ingest(files, table, way)
                await ingestion_rows.prove_peer(
                    same.addresses, peer.name, table, done.chunks,
                    **({} if way.form == STORED else {"least": COSINE_MIN_DYNAMIC}),
                )
                contestants[_label(peer, way)] = partial(peer.ingest, way=way)
            compared += [(SAME_FILE, _label(peer, way), 1.05) for way in same_file]
            compared += [(DEFAULT, _label(peer, way), 1.8) for way in best]
        yield contestants, compared


def _spread(peer: Peer, way: Way) -> list[Way]:
    """Return a way, and the same over several processes where the peer can."""
    workers = WORKERS.get(peer.name, 1)
    return [way, replace(way, workers=workers)] if workers > 1 else [way]


def _label(peer: Peer, way: Way) -> str:
    return f"{LABELS[peer.name]}, {way}"


class _Stack:
    """A stack with one engine, and a client of it."""

    def __init__(self, addresses: Mapping[str, str], client: Client, listening: Mapping[str, str]) -> None:
        self.addresses = addresses
        self._client = client
        self._listening = listening

    @classmethod
    @asynccontextmanager
    async def started(cls, **variables: str) -> AsyncIterator[_Stack]:
        listening = metrics.endpoints()
        async with (
            running_stack(SOURCIER_STACK_SERVICES=SERVICES, **listening, **variables) as addresses,
            Client(addresses["SOURCIER_GATEWAY_URL"]) as client,
        ):
            yield cls(addresses, client, listening)

    async def ingest(self, files: list[Path], collection: str) -> Round:
        """Upload the files into a new collection and wait until all can be found."""
        await self._client.create_collection(collection, chunking=knowledge_pb2.Chunking(
            target=CHUNK_TOKENS, maximum=CHUNK_TOKENS, overlap=OVERLAP_TOKENS
        ))
        before = await self._tokens()
        started = time.perf_counter()
        chunks = await load(self._client, files, collection=collection)
        return Round(time.perf_counter() - started, chunks, int(await self._tokens() - before))

    async def _tokens(self) -> float:
        values = await metrics.read(self._listening)
        return sum(value for name, value in values.items() if name.startswith("sourcier_embed_tokens_total"))


async def load(client: Client, files: Sequence[Path | bytes], *, collection: str, names: Sequence[str] = ()) -> int:
    """Upload documents into the bulk lane and return once all can be found, with the number of their chunks."""
    slots = asyncio.Semaphore(UPLOADS_AT_ONCE)

    async def upload(number: int) -> str:
        async with slots:
            name = names[number] if names else ""
            return (await client.upload(files[number], filename=name, collection=collection, lane="bulk")).job_id

    async def chunks(job_id: str) -> int:
        async with slots:
            return (await client.wait_for_job(job_id)).chunk_count

    job_ids = await asyncio.gather(*(upload(number) for number in range(len(files))))
    return sum(await asyncio.gather(*map(chunks, job_ids)))
