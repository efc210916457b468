"""The index and the queues as they are: everything the checker looks at, read with the services' own database code."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from psycopg import sql

from sourcier.services.chassis.postgres.database import ALL_TENANTS, Connection, Database
from sourcier.services.chassis.queue import subjects
from sourcier.services.chassis.queue.jetstream import JetStream
from sourcier.services.index.lexical.entries import SHOW_ALL_ENTRIES


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexedDocument:
    """A document with what can be found of it."""

    document_id: str
    tenant: str
    name: str
    generation: int
    """Of the version that answers; 0 where none does."""
    version_id: str
    chunk_count: int
    texts: tuple[str, ...]
    indexes: tuple[int, ...]
    version_ids: frozenset[str]
    tenants: frozenset[str]
    """Of the passages."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexState:
    """One look at all of it."""

    documents: Sequence[IndexedDocument]
    entries: Mapping[str, int]
    """Lexical entries by document."""
    vectors: Mapping[str, int]
    committed: Mapping[str, int]
    """Committed versions by document."""
    under_way: Sequence[str]
    """What is not over: objects, versions, jobs, outbox and staged rows, each described."""
    letters: Mapping[tuple[str, int], str]
    """Reasons of open dead letters by document and generation."""
    newest: Mapping[str, int]
    """The last generation given out, by document."""
    orphans: int
    """Passages, entries and vectors of no document."""


async def read_state(database: Database, tenants: Sequence[str]) -> IndexState:
    """Read the tables; tenant by tenant where row-level security asks for it."""
    entries: Counter[str] = Counter()
    vectors: Counter[str] = Counter()
    for tenant in tenants:
        async with database.transaction(tenant=tenant) as connection:
            await connection.execute(SHOW_ALL_ENTRIES)
            entries.update(dict(await _rows(connection, COUNT_ENTRIES)))
            for (table,) in await _rows(connection, "select vectors_table from embedding_spaces"):
                counted = await connection.execute(
                    sql.SQL(COUNT_VECTORS).format(table=sql.Identifier(str(table)))
                )
                vectors.update({str(key): int(count) for key, count in await counted.fetchall()})
    async with database.transaction(tenant=ALL_TENANTS, read_only=True) as connection:
        documents = [_document(*row) for row in await _rows(connection, DOCUMENTS)]
        known = {document.document_id for document in documents}
        stray = await _rows(connection, STRAY_CHUNKS)
        return IndexState(
            documents=documents, entries=entries, vectors=vectors,
            committed=dict(await _rows(connection, COMMITTED)),
            under_way=[text for query in UNDER_WAY for (text,) in await _rows(connection, query)],
            letters={(key, int(generation)): reason for key, generation, reason in await _rows(connection, LETTERS)},
            newest={key: int(generation) for key, generation in await _rows(connection, NEWEST)},
            orphans=int(stray[0][0]) + sum(count for key, count in (entries + vectors).items() if key not in known),
        )


async def read_documents(database: Database) -> list[IndexedDocument]:
    """Read the documents and their passages in one snapshot, as a search would meet them."""
    async with database.transaction(tenant=ALL_TENANTS, read_only=True) as connection:
        return [_document(*row) for row in await _rows(connection, DOCUMENTS)]


async def waiting_messages(jetstream: JetStream) -> list[str]:
    """Describe the work queues and durables that are not empty."""
    found = []
    for stream, _ in subjects.streams():
        name = subjects.stream_name(jetstream.prefix, stream)
        if stream.work_queue:
            state = (await jetstream.context.stream_info(name)).state
            if state.messages:
                found.append(f"{stream.name} holds {state.messages} messages")
        for durable in await jetstream.context.consumers_info(name):
            waiting = (durable.num_pending or 0) + (durable.num_ack_pending or 0)
            if waiting:
                found.append(f"{stream.name}/{durable.name} has {waiting} messages to come or in hand")
    return found


def _document(
    document_id: str, tenant: str, name: str, generation: int, version_id: str | None, chunk_count: int,
    texts: list[str] | None, indexes: list[int] | None, version_ids: list[str] | None, tenants: list[str] | None,
) -> IndexedDocument:
    return IndexedDocument(
        document_id=document_id, tenant=tenant, name=name, generation=int(generation), version_id=version_id or "",
        chunk_count=chunk_count, texts=tuple(texts or ()), indexes=tuple(indexes or ()),
        version_ids=frozenset(version_ids or ()), tenants=frozenset(tenants or ()),
    )


async def _rows(connection: Connection, query: str) -> list[tuple[Any, ...]]:
    cursor = await connection.execute(query.encode())
    return await cursor.fetchall()


DOCUMENTS = """
select document.document_id::text, document.tenant, regexp_replace(document.source, '^s3://[^/]*/', ''),
       document.current_generation, document.current_version::text, document.chunk_count,
       found.texts, found.indexes, found.version_ids, found.tenants
from documents as document
cross join lateral (
    select array_agg(chunk.text order by chunk_index) as texts, array_agg(chunk_index order by chunk_index) as indexes,
           array_agg(distinct chunk.version_id::text) as version_ids, array_agg(distinct chunk.tenant) as tenants
    from chunks as chunk
    where chunk.document_id = document.document_id
) as found
"""
STRAY_CHUNKS = "select count(*) from chunks where document_id not in (select document_id from documents)"
COUNT_ENTRIES = "select document_id::text, count(*)::int from lexical_entries group by 1"
COUNT_VECTORS = "select document_id::text, count(*)::int from {table} group by 1"
COMMITTED = "select document_id::text, count(*)::int from document_versions where state = 'committed' group by 1"
LETTERS = "select document_id::text, generation, reason from dead_letters where state = 'open'"
NEWEST = "select document_id::text, last_generation from documents"
# What a version that was given up has staged stays, so that a replay completes it.
UNDER_WAY = (
    "select format('object %s is marked: %s', key, error) from objects where state = 'changed'",
    "select format('version %s of %s is %s', generation, filename, state) from document_versions "
    "where state in ('accepted', 'released')",
    "select format('job of %s is %s', filename, status) from jobs where status in ('pending', 'processing')",
    "select format('outbox holds %s', subject) from outbox",
    "select format('batch %s of a version that is %s is staged', batch_no, state) from staged_batches "
    "join document_versions using (version_id) where state <> 'failed'",
    "select format('%s staged passages of a version that is %s', count(*), coalesce(state, 'gone')) "
    "from staged_chunks left join document_versions using (version_id) "
    "where state is distinct from 'failed' group by state",
)
