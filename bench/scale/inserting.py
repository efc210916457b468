"""Documents committed into a loaded index as the ingest service commits them, every index live."""

from __future__ import annotations

import hashlib
import time

from bench.scale.corpus import DOCUMENT, GrownCorpus
from bench.scale.loading import CHUNKING, TENANT, LoadedIndex
from sourcier.services.chassis.ids import new_id
from sourcier.services.chassis.postgres.database import ALL_TENANTS
from sourcier.services.index.collections import collections, versions
from sourcier.services.index.collections.versions import NewVersion
from sourcier.services.index.documents import deletions as collection_deletions
from sourcier.services.index.lexical import frequencies
from sourcier.services.index.pipeline import batches
from sourcier.services.index.pipeline.batches import Batch, IndexedChunk

INSERTED = "inserted"
"""A collection of their own, so that what is searched stays as it is; the tables and indexes are the same."""
BLOCK_NUMBER = 1_000_000
"""Of chunks that no loaded corpus has."""


async def insert(index: LoadedIndex, corpus: GrownCorpus, *, documents: int) -> list[float]:
    """Return the milliseconds a chunk of each commit, text analysis included, embedding left out.

    What was committed is deleted in the end, and the graph mended: a search would look at it in the next run, too.
    """
    samples = await _commit_all(index, corpus, documents=documents)
    async with index.database.transaction(tenant=TENANT) as connection:
        collection_id = await collection_deletions.find_collection(connection, tenant=TENANT, name=INSERTED)
        if collection_id is not None:
            await collection_deletions.delete_rest(connection, tenant=TENANT, collection_id=collection_id)
    async with index.database.autocommit(tenant=TENANT) as connection:
        await connection.execute("set statement_timeout = 0")
        await connection.execute("vacuum")
        await connection.execute("set statement_timeout = '600s'")
    return samples


async def _commit_all(index: LoadedIndex, corpus: GrownCorpus, *, documents: int) -> list[float]:
    block = corpus.block(BLOCK_NUMBER)
    space = index.space
    async with index.database.transaction(tenant=TENANT) as connection:
        collection = await collections.ensure_collection(
            connection, tenant=TENANT, name=INSERTED, space_id=space.space_id, chunking=CHUNKING
        )
    samples = []
    for number in range(documents):
        part = slice(number * DOCUMENT, (number + 1) * DOCUMENT)
        source = new_id()
        chunks = tuple(
            IndexedChunk(
                chunk_id=new_id(), index=place, text=chunk.text, start_character=0, end_character=len(chunk.text),
                token_count=len(chunk.text.split()), vector=vector.tobytes(), token_codes=codes,
                language=chunk.language,
            )
            for place, (chunk, vector, codes) in enumerate(zip(
                block.chunks[part], block.vectors[part], block.token_codes[part], strict=True,
            ))
        )
        async with index.database.transaction(tenant=TENANT) as connection:
            accepted = await versions.accept(connection, NewVersion(
                tenant=TENANT, collection_id=collection.collection_id, source=source, original_key=source,
                content_sha256=hashlib.sha256(source.encode()).digest(), configuration_digest="1",
                space_id=space.space_id, lane="bulk", filename=source, size_bytes=1,
            ))
        started = time.perf_counter()
        prepared = batches.prepare(
            Batch(version=accepted.version, space_id=space.space_id, batch_no=0, batch_count=1, title=source,
                  method="hybrid", chunks=chunks),
            collection_number=collection.number,
        )
        async with index.database.transaction(tenant=TENANT) as connection:
            await batches.stage_batch(connection, prepared)
        samples.append(1000 * (time.perf_counter() - started) / DOCUMENT)
    while True:
        async with index.database.transaction(tenant=ALL_TENANTS) as connection:
            if not await frequencies.refresh(connection):
                return samples
