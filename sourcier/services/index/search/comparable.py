"""Passages of a collection with their vectors: what is compared with one another to find conflicts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from psycopg import sql
from psycopg.rows import class_row

from sourcier.services.chassis.postgres.database import Connection
from sourcier.services.index.search.filters import Filters
from sourcier.services.index.search.scope import find_scope

NUMBERS = (
    r"[0-9]|\m(deux|trois|quatre|cinq|six|sept|huit|neuf|dix|onze|douze|quinze|vingt|trente|quarante|cinquante|soixante|"
    r"cent|mille|two|three|four|five|seven|eight|nine|ten|eleven|twelve|fifteen|twenty|thirty|forty|fifty|sixty|hundred|"
    r"thousand)\M"
)


@dataclass(frozen=True, slots=True)
class ComparablePassage:
    """A passage that may contradict another one."""

    document_id: str
    title: str
    chunk_index: int
    page: int
    heading_path: Sequence[str]
    text: str
    embedding: bytes
    """As `halfvec_send` gives it; `half_floats` reads it."""


async def comparable_passages(
    connection: Connection, *, tenant: str, collection: str, limit: int
) -> list[ComparablePassage]:
    """Return passages, those with a figure first, of the latest documents first; raise `NotFound`."""
    scope = await find_scope(connection, tenant=tenant, collections=[collection], filters=Filters())
    statement = sql.SQL(SELECT).format(table=sql.Identifier(scope.vectors_table))
    values = {"tenant": tenant, "collection_id": scope.collection_ids[0], "limit": limit, "numbers": NUMBERS}
    async with connection.cursor(row_factory=class_row(ComparablePassage), binary=True) as cursor:
        await cursor.execute(statement, values)
        return await cursor.fetchall()


# What has no digit may have a number in letters, that of a delay or an amount; what has none may say yes or no.
SELECT = """
select chunk.document_id, document.title, chunk.chunk_index, chunk.page, chunk.heading_path, chunk.text,
       halfvec_send(vector.embedding) as embedding
from documents as document
join chunks as chunk on chunk.document_id = document.document_id and chunk.tenant = document.tenant
join {table} as vector on vector.tenant = chunk.tenant and vector.chunk_id = chunk.chunk_id
where document.tenant = %(tenant)s and document.collection_id = %(collection_id)s
  and document.current_version is not null
order by chunk.text ~* %(numbers)s desc, document.document_id desc, chunk.chunk_index
limit %(limit)s
"""
