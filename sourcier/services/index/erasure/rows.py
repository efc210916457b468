"""The rows of a tenant: every table that has some, counted and deleted in bounded pages.

The tables stand in an order in which a page takes few other rows with it: what refers to a row goes before the row. A
test walks the catalogue and fails for a table with a tenant that is named nowhere here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import LiteralString

from psycopg import sql

from sourcier.services.chassis.postgres.database import Connection
from sourcier.services.index.lexical.entries import SHOW_ALL_ENTRIES

PAGE_ROWS = 2_000

CURATION = (
    "unit_points", "unit_gaps", "unit_pairs", "units", "unit_builds",
    "learned_response_vectors", "learned_response_sources", "learned_responses", "deployments", "agents",
)
"""What people made: it goes first, since a collection is not deleted while an agent answers from it."""
REST = (
    "ratings", "messages", "conversations",
    "staged_chunks", "staged_batches", "lexical_entries", "chunks", "lexical_changes", "lexeme_frequencies",
    "collection_statistics", "build_manifests", "space_gaps", "space_builds",
    "dead_letters", "jobs", "outbox", "objects", "listed_objects", "reconciliations", "document_times",
    "document_relations", "acronyms", "document_versions", "documents", "collections",
)
"""What is left once collections were deleted in the way of collections."""
ACCESS = ("grants", "api_keys", "daily_use", "tenants")
"""Who may come in: last, since whoever asks for the erasure comes in by it."""
KEPT = ("erasures", "file_removals")
"""The report; and notes of files that a worker may bring back, which hold a digest and go when the file is gone."""

KINDS: Mapping[str, str] = {
    "collections": "collections", "documents": "documents", "document_versions": "versions", "chunks": "passages",
    "conversations": "conversations", "messages": "messages", "agents": "agents", "deployments": "deployments",
    "learned_responses": "learned_answers", "units": "units", "dead_letters": "failures", "jobs": "jobs",
    "objects": "bucket_objects", "grants": "grants", "api_keys": "api_keys",
}
"""What people are told of, by table; other rows hang on these."""


async def count(connection: Connection, table: str, *, tenant: str) -> int:
    """Count the rows of a tenant in a table."""
    return await _count(connection, COUNT, table, tenant=tenant)


async def remaining(connection: Connection, *, tenant: str) -> dict[str, int]:
    """Return the tables that still hold rows of a tenant which is to have none, with how many, 1,000 at most."""
    await connection.execute(SHOW_ALL_ENTRIES)
    found = {table: await _count(connection, COUNT_SOME, table, tenant=tenant) for table in (*CURATION, *REST)}
    return {table: rows for table, rows in found.items() if rows}


async def delete_page(connection: Connection, table: str, *, tenant: str, limit: int = PAGE_ROWS) -> int:
    """Delete some rows of a tenant from a table; return how many."""
    await connection.execute(SHOW_ALL_ENTRIES)
    statement = sql.SQL(DELETE_PAGE).format(table=sql.Identifier(table))
    return (await connection.execute(statement, {"tenant": tenant, "limit": limit})).rowcount


async def collection_names(connection: Connection, *, tenant: str, limit: int = 100) -> list[str]:
    """Return the names of some collections of a tenant."""
    cursor = await connection.execute(COLLECTIONS, {"tenant": tenant, "limit": limit})
    return [str(name) for (name,) in await cursor.fetchall()]


async def watched_objects(connection: Connection, *, tenant: str, buckets: list[str]) -> list[tuple[str, int]]:
    """Return the buckets, of these, that held objects of a tenant when they were last looked at, with how many."""
    cursor = await connection.execute(WATCHED, {"tenant": tenant, "buckets": buckets})
    return [(str(bucket), int(objects)) for bucket, objects in await cursor.fetchall()]


async def forget_removals(connection: Connection, *, tenant: str) -> None:
    """Forget the notes of files that are due: all files of the tenant's are gone."""
    await connection.execute("delete from file_removals where tenant = %s and not_before <= now()", (tenant,))


async def _count(connection: Connection, statement: LiteralString, table: str, *, tenant: str) -> int:
    counting = sql.SQL(statement).format(table=sql.Identifier(table), tenant=sql.Literal(tenant))
    row = await (await connection.execute(counting)).fetchone()
    assert row is not None
    return int(row[0])


COUNT = "select count(*) from {table} where tenant = {tenant}"
COUNT_SOME = "select count(*) from (select from {table} where tenant = {tenant} limit 1000) as found"

DELETE_PAGE = """
delete from {table}
where ctid = any(array(select ctid from {table} where tenant = %(tenant)s limit %(limit)s))
"""
COLLECTIONS = "select name from collections where tenant = %(tenant)s order by collection_id limit %(limit)s"

# A row without an etag is a tombstone: the object was gone when it was last looked at.
WATCHED = """
select bucket, count(*)
from objects
where tenant = %(tenant)s and bucket = any(%(buckets)s) and etag <> ''
group by bucket
order by bucket
"""
