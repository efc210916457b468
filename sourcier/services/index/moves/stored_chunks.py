"""Chunks as they are stored, to be embedded again without cutting their document again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from psycopg.rows import class_row

from sourcier.services.chassis.postgres.database import Connection


@dataclass(frozen=True, slots=True)
class StoredChunk:
    """A passage, without its vectors."""

    chunk_id: str
    chunk_index: int
    text: str
    start_character: int
    end_character: int
    token_count: int
    page: int
    heading_path: Sequence[str]
    language: str
    place_map: bytes = b""


@dataclass(frozen=True, slots=True)
class StoredDocument:
    """What answers of a document."""

    title: str
    parser_version: str
    """Of what read its text; empty where that is not known."""
    reading_warnings: str
    """What was not read of it, as JSON; empty where nothing is to be told."""
    chunks: list[StoredChunk]


async def of_document(
    connection: Connection, *, tenant: str, document_id: str, content_sha256: bytes, configuration_digest: str
) -> StoredDocument | None:
    """Return a document's current version; None where it is of another content, or was cut otherwise."""
    values = {
        "tenant": tenant, "document_id": document_id, "content_sha256": content_sha256,
        "configuration_digest": configuration_digest,
    }
    cursor = await connection.execute(SELECT_TITLE, values)
    row = await cursor.fetchone()
    if row is None:
        return None
    async with connection.cursor(row_factory=class_row(StoredChunk)) as chunks:
        await chunks.execute(SELECT_CHUNKS, values)
        return StoredDocument(str(row[0]), str(row[1]), str(row[2]), await chunks.fetchall())


async def draw_headings(
    connection: Connection, *, tenant: str, collection_id: str, count: int
) -> list[tuple[str, str]]:
    """Return so many headings of a collection's chunks, drawn at random, each with its document's id.

    A chunk without headings gives its document's title; no text comes twice.
    """
    values = {"tenant": tenant, "collection_id": collection_id, "count": count}
    cursor = await connection.execute(DRAW, values)
    return [(str(document_id), str(text)) for document_id, text in await cursor.fetchall()]


SELECT_TITLE = """
select document.title, coalesce(version.parser_version, ''), coalesce(version.reading_warnings::text, '')
from documents as document
join document_versions as version on version.version_id = document.current_version
where document.tenant = %(tenant)s and document.document_id = %(document_id)s
  and version.content_sha256 = %(content_sha256)b and version.configuration_digest = %(configuration_digest)s
"""

SELECT_CHUNKS = """
select chunk_id, chunk_index, text, start_character, end_character, token_count, page, heading_path, language,
       coalesce(place_map, '') as place_map
from chunks
where tenant = %(tenant)s and document_id = %(document_id)s
order by chunk_index
"""

DRAW = """
select document_id, text
from (
    select distinct on (text) document_id, text
    from (
        select document.document_id, coalesce(nullif(chunk.heading_path ->> -1, ''), document.title) as text
        from documents as document
        join chunks as chunk using (document_id)
        where document.tenant = %(tenant)s and document.collection_id = %(collection_id)s
    ) as heading
    where text <> ''
) as heading
order by random()
limit %(count)s
"""
