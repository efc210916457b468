"""Passages: the chunks of visible versions, as searches return them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from psycopg import sql
from psycopg.rows import class_row

from sourcier.services.chassis.postgres.database import Connection
from sourcier.services.index.places.encoding import PICTURES_VERSION

PREVIEW_CHARACTERS = 200


FAQ_KIND = "faq"
"""The kind of a passage that is a validated answer and no chunk."""


@dataclass(frozen=True, slots=True)
class SourceDocument:
    """A document that a validated answer rests on, as it was when a person validated it."""

    document_id: str
    version_id: str
    title: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """A chunk with what a result shows of its document, or a validated answer of an agent.

    Of a validated answer `chunk_id` is the learned response's, and there is no document but those in `documents`.
    """

    chunk_id: str
    document_id: str
    version_id: str
    collection: str
    title: str
    source: str
    filename: str
    chunk_index: int
    kind: str
    """`text`, or what else the passage was made from."""
    method: str
    language: str
    page: int
    """From 1; 0 where the format has no pages."""
    start_character: int
    end_character: int
    token_count: int
    heading_path: tuple[str, ...]
    text: str
    category: str
    metadata: Mapping[str, Any]
    place_map: bytes = b""
    """Where its text stands in the file, encoded; empty where that is not known."""
    token_codes: bytes = b""
    """For late interaction; empty where not asked for."""
    question: str = ""
    """The question that it was found by, made of it when it was indexed; empty where it was not."""
    answer: str = ""
    """That question's answer."""
    documents: Sequence[SourceDocument] = ()
    """What a validated answer rests on; empty for chunks."""
    date_start: str = ""
    """The first day of its document's date, `2026-03-12`; empty where none is known."""
    date_end: str = ""
    superseded_by: str = ""
    """The id of the document that replaces its own as a whole, and does so now; empty where none is known to."""
    superseded_by_title: str = ""

    def __post_init__(self) -> None:
        """Freeze the heading path, which arrives as a list."""
        object.__setattr__(self, "heading_path", tuple(self.heading_path))

    @property
    def above(self) -> str:
        """What stands above its text: title and headings, one a line."""
        return "\n".join((self.title, *self.heading_path))

    @property
    def preview(self) -> str:
        """Return the passage's beginning, for people; prompts get all of it."""
        return self.text[:PREVIEW_CHARACTERS]

    @property
    def is_validated(self) -> bool:
        """Return whether the passage is a validated answer and no chunk."""
        return self.kind == FAQ_KIND

    @property
    def is_image_chunk(self) -> bool:
        """Return whether the passage was read from a picture, here or in the vector index that it was imported from."""
        # Passages of pictures have nothing but their picture in their map; maps with one begin with that number.
        return self.kind == "image" or self.place_map[:1] == bytes([PICTURES_VERSION])


async def get_passages(
    connection: Connection, *, tenant: str, chunk_ids: Sequence[str], vectors_table: str | None = None
) -> list[Passage]:
    """Return the passages that exist, in the order of `chunk_ids`, with token codes where a space's table is named."""
    if not chunk_ids:
        return []
    # Binary: as text, the codes would be sent as twice as many hexadecimal digits.
    async with connection.cursor(row_factory=class_row(Passage), binary=True) as cursor:
        await cursor.execute(_select(vectors_table), {"tenant": tenant, "chunk_ids": list(chunk_ids)})
        found = {passage.chunk_id: passage for passage in await cursor.fetchall()}
    return [found[chunk_id] for chunk_id in chunk_ids if chunk_id in found]


async def list_passages(connection: Connection, *, tenant: str, document_id: str, limit: int = 10_000) -> list[Passage]:
    """Return a document's passages in order."""
    cursor = await connection.execute(SELECT_IDS, {"tenant": tenant, "document_id": document_id, "limit": limit})
    chunk_ids = [chunk_id for (chunk_id,) in await cursor.fetchall()]
    return await get_passages(connection, tenant=tenant, chunk_ids=chunk_ids)


async def chunk_at(connection: Connection, *, tenant: str, document_id: str, chunk_index: int) -> str | None:
    """Return the id of the chunk at a place of a document, from 0; None where it has none there."""
    values = {"tenant": tenant, "document_id": document_id, "chunk_index": chunk_index}
    cursor = await connection.execute(SELECT_AT, values)
    row = await cursor.fetchone()
    return None if row is None else str(row[0])


@lru_cache(maxsize=1024)
def _select(vectors_table: str | None) -> bytes:
    """Return the statement for a space's table; put together once, since every search sends it."""
    if vectors_table is None:
        query = sql.SQL(SELECT).format(codes=sql.SQL("''::bytea as token_codes"), vectors=sql.SQL(""))
    else:
        join = sql.SQL(JOIN_VECTORS).format(table=sql.Identifier(vectors_table))
        codes = sql.SQL("coalesce(vector.token_codes, ''::bytea) as token_codes")
        query = sql.SQL(SELECT).format(codes=codes, vectors=join)
    return query.as_bytes(None)


# The chunks first, and by their keys: the planner read every document's chunks for twenty of them.
SELECT = """
with chunk as materialized (
    select * from chunks where tenant = %(tenant)s and chunk_id = any(%(chunk_ids)s::uuid[])
)
select chunk.chunk_id, chunk.document_id, chunk.version_id, collection.name as collection, document.title,
       document.source, document.filename, chunk.chunk_index, chunk.kind, chunk.method, chunk.language, chunk.page,
       chunk.start_character, chunk.end_character, chunk.token_count, chunk.heading_path, chunk.text,
       coalesce(chunk.place_map, ''::bytea) as place_map, document.category, document.metadata,
       coalesce(document.dated_from::text, '') as date_start, coalesce(document.dated_to::text, '') as date_end,
       coalesce(newer.document_id::text, '') as superseded_by, coalesce(newer.title, '') as superseded_by_title, {codes}
from chunk
join documents as document using (document_id)
join collections as collection on collection.collection_id = document.collection_id
left join lateral (
    select newer.document_id, newer.title
    from document_relations as relation
    join documents as newer on newer.document_id = relation.document_id and newer.tenant = relation.tenant
    where relation.other_id = document.document_id and relation.tenant = document.tenant
      and relation.kind = 'replaces' and not denied and coalesce(newer.holds_from <= current_date, true)
    order by newer.holds_from desc nulls last, newer.document_id desc
    limit 1
) as newer on true
{vectors}
"""

# Left: a passage that a word found may be on its way into a space that the collection was just switched to.
JOIN_VECTORS = "left join {table} as vector on vector.tenant = %(tenant)s and vector.chunk_id = chunk.chunk_id"

SELECT_AT = """
select chunk_id from chunks
where tenant = %(tenant)s and document_id = %(document_id)s and chunk_index = %(chunk_index)s::bigint
"""

SELECT_IDS = """
select chunk_id from chunks
where tenant = %(tenant)s and document_id = %(document_id)s
order by chunk_index
limit %(limit)s
"""
