"""Vectors for chunks that are stored already: which are missing in a space, and how they are written.

A vector is written only for a chunk that is still there, under the lock of its document, so that a build never brings
back what a commit or a deletion has removed.
"""

# Statements are put together from constants of this package alone.
# ruff: noqa: S608

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from psycopg import sql
from psycopg.rows import class_row

from sourcier.services.chassis.errors import SpaceMismatch
from sourcier.services.chassis.postgres.database import Connection
from sourcier.services.chassis.postgres.types import half_vector
from sourcier.services.index.collections.versions import SELECT_DOCUMENTS, VersionReference
from sourcier.services.index.moves.stored_chunks import StoredChunk
from sourcier.services.index.pipeline.commit_statements import LOCK_DOCUMENT
from sourcier.services.index.spaces.held import HELD
from sourcier.services.index.spaces.partitions import ensure_partition
from sourcier.services.index.spaces.spaces import get_space


@dataclass(frozen=True, slots=True)
class Gap:
    """A document that may lack vectors in a space of its collection."""

    tenant: str
    collection_id: str
    document_id: str
    noted_at: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentChunks:
    """Stored chunks of one document, to be embedded."""

    version: VersionReference
    title: str
    chunks: tuple[StoredChunk, ...]


@dataclass(frozen=True, slots=True)
class ChunkVectors:
    """A stored chunk's vectors in a space."""

    chunk_id: str
    vector: bytes
    """Float16, little-endian, L2 norm 1."""
    token_codes: bytes


async def document_ids(
    connection: Connection, *, tenant: str, collection_id: str, after: str, limit: int
) -> list[str]:
    """Return the ids of a collection's documents that can be found, those after an id, in order."""
    values = {"tenant": tenant, "collection_id": collection_id, "after": after, "limit": limit}
    cursor = await connection.execute(SELECT_DOCUMENTS, values)
    return [str(document_id) for (document_id,) in await cursor.fetchall()]


async def missing(
    connection: Connection, *, tenant: str, vectors_table: str, document_ids: Sequence[str], limit: int
) -> list[str]:
    """Return the ids of the documents' chunks without a vector in a space's table, by document and place."""
    values = {"tenant": tenant, "document_ids": list(document_ids), "limit": limit}
    cursor = await connection.execute(sql.SQL(SELECT_MISSING).format(table=sql.Identifier(vectors_table)), values)
    return [str(chunk_id) for (chunk_id,) in await cursor.fetchall()]


async def documents_of(connection: Connection, *, tenant: str, chunk_ids: Sequence[str]) -> list[DocumentChunks]:
    """Return chunks by the document they belong to; those that are gone are left out."""
    values = {"tenant": tenant, "chunk_ids": list(chunk_ids)}
    async with connection.cursor(row_factory=class_row(StoredChunk)) as chunks:
        await chunks.execute(SELECT_CHUNKS, values)
        stored = {chunk.chunk_id: chunk for chunk in await chunks.fetchall()}
    cursor = await connection.execute(SELECT_VERSIONS, values)
    return [
        DocumentChunks(
            version=VersionReference(
                tenant=tenant, collection_id=str(collection_id), document_id=str(document_id),
                version_id=str(version_id), generation=generation, job_id=str(job_id), lane="bulk",
                request_id=request_id,
            ),
            title=title,
            chunks=tuple(sorted((stored[chunk_id] for chunk_id in ids), key=lambda chunk: chunk.chunk_index)),
        )
        for collection_id, document_id, version_id, generation, job_id, request_id, title, ids
        in await cursor.fetchall()
    ]


async def write_vectors(
    connection: Connection, *, version: VersionReference, space_id: str, chunks: Sequence[ChunkVectors]
) -> int:
    """Write the vectors of a version's chunks that are still there and have none; return how many.

    Nothing is written where the collection has given the space up meanwhile.
    """
    space = await get_space(connection, space_id)
    wrong = next((chunk for chunk in chunks if len(chunk.vector) != 2 * space.dimension), None)
    if wrong is not None:
        raise SpaceMismatch(f"{space_id} has vectors of {space.dimension} dimensions, not {len(wrong.vector) // 2}.")
    values = {
        "tenant": version.tenant, "collection_id": version.collection_id, "document_id": version.document_id,
        "version_id": version.version_id, "space_id": space_id,
    }
    await connection.execute(LOCK_DOCUMENT, values)
    cursor = await connection.execute(SELECT_HELD, values)
    row = await cursor.fetchone()
    if row is None or not row[0]:
        return 0
    await ensure_partition(connection, vectors_table=space.vectors_table, tenant=version.tenant)
    insert = sql.SQL(INSERT_VECTORS).format(table=sql.Identifier(space.vectors_table))
    cursor = await connection.execute(insert, values | {
        "chunk_ids": [chunk.chunk_id for chunk in chunks],
        "vectors": [half_vector(chunk.vector) for chunk in chunks],
        "token_codes": [chunk.token_codes for chunk in chunks],
    })
    return cursor.rowcount


async def gaps(connection: Connection, *, limit: int) -> list[Gap]:
    """Return noted gaps that were not postponed, the oldest first; in a transaction of `ALL_TENANTS`."""
    async with connection.cursor(row_factory=class_row(Gap)) as cursor:
        await cursor.execute(SELECT_GAPS, {"limit": limit})
        return await cursor.fetchall()


async def close_gaps(connection: Connection, closed: Sequence[Gap]) -> None:
    """Forget gaps, but for those that were noted anew since they were read."""
    await connection.execute(DELETE_GAPS, _identity(closed))


async def postpone_gaps(connection: Connection, stuck: Sequence[Gap], *, seconds: float) -> None:
    """Let other gaps have their turn before these, which are not returned for so long."""
    await connection.execute(POSTPONE_GAPS, _identity(stuck) | {"seconds": seconds})


def _identity(gaps: Sequence[Gap]) -> dict[str, Any]:
    return {"document_ids": [gap.document_id for gap in gaps], "noted": [gap.noted_at for gap in gaps]}


async def held_spaces(connection: Connection, *, tenant: str, collection_id: str) -> list[tuple[str, str]]:
    """Return id and table of each space that a collection needs vectors in: its own, and the one beside it."""
    cursor = await connection.execute(SELECT_HELD_SPACES, {"tenant": tenant, "collection_id": collection_id})
    return [(str(space_id), str(table)) for space_id, table in await cursor.fetchall()]


async def delete_vectors(
    connection: Connection, *, tenant: str, collection_id: str, vectors_table: str, limit: int
) -> int:
    """Delete a collection's vectors in a space, a page of them; return how many."""
    statement = sql.SQL(DELETE_PAGE).format(table=sql.Identifier(vectors_table))
    cursor = await connection.execute(
        statement, {"tenant": tenant, "collection_id": collection_id, "limit": limit}
    )
    return cursor.rowcount


SELECT_MISSING = """
select chunk_id
from chunks as chunk
where chunk.tenant = %(tenant)s and chunk.document_id = any(%(document_ids)s::uuid[])
  and not exists (
      select from {table} as vector where vector.tenant = %(tenant)s and vector.chunk_id = chunk.chunk_id
  )
order by chunk.document_id, chunk.chunk_index
limit %(limit)s
"""

SELECT_CHUNKS = """
select chunk_id, chunk_index, text, start_character, end_character, token_count, page, heading_path, language,
       coalesce(place_map, '') as place_map
from chunks
where tenant = %(tenant)s and chunk_id = any(%(chunk_ids)s::uuid[])
"""

SELECT_VERSIONS = """
select chunk.collection_id, chunk.document_id, version.version_id, version.generation, version.job_id,
       version.request_id, document.title, array_agg(chunk_id)
from chunks as chunk
join documents as document using (document_id, tenant)
join document_versions as version on version.version_id = chunk.version_id and version.tenant = chunk.tenant
where chunk.tenant = %(tenant)s and chunk_id = any(%(chunk_ids)s::uuid[])
group by 1, 2, 3, version.tenant, document.title
order by 2
"""

SELECT_HELD = f"""
select {HELD.format(space="%(space_id)s")}
from collections as collection
where tenant = %(tenant)s and collection_id = %(collection_id)s
"""

# Of this version alone: one cut anew may have other text under the same ids.
INSERT_VECTORS = """
insert into {table} (tenant, collection_id, document_id, chunk_id, embedding, token_codes)
select chunk.tenant, chunk.collection_id, chunk.document_id, chunk.chunk_id, vector.embedding, vector.token_codes
from unnest(%(chunk_ids)s::uuid[], %(vectors)b::halfvec[], %(token_codes)b::bytea[])
     as vector (chunk_id, embedding, token_codes)
join chunks as chunk on chunk.chunk_id = vector.chunk_id
where chunk.tenant = %(tenant)s and chunk.document_id = %(document_id)s and chunk.version_id = %(version_id)s
on conflict (tenant, chunk_id) do nothing
"""

SELECT_GAPS = """
select tenant, collection_id, document_id, noted_at::text as noted_at
from space_gaps
where noted_at <= clock_timestamp()
order by noted_at
limit %(limit)s
"""

DELETE_GAPS = """
delete from space_gaps
using unnest(%(document_ids)s::uuid[], %(noted)s::timestamptz[]) as closed (document_id, noted_at)
where space_gaps.document_id = closed.document_id and space_gaps.noted_at = closed.noted_at
"""

POSTPONE_GAPS = """
update space_gaps
set noted_at = clock_timestamp() + make_interval(secs => %(seconds)s)
from unnest(%(document_ids)s::uuid[], %(noted)s::timestamptz[]) as stuck (document_id, noted_at)
where space_gaps.document_id = stuck.document_id and space_gaps.noted_at = stuck.noted_at
"""

SELECT_HELD_SPACES = f"""
select space.space_id, space.vectors_table
from collections as collection
join embedding_spaces as space on {HELD.format(space="space.space_id")}
where collection.tenant = %(tenant)s and collection.collection_id = %(collection_id)s
order by space.space_id
"""

DELETE_PAGE = """
delete from {table}
where tenant = %(tenant)s and chunk_id in (
    select chunk_id from {table} where tenant = %(tenant)s and collection_id = %(collection_id)s limit %(limit)s
)
"""
