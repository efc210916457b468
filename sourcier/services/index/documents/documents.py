"""Documents: what is in a collection, and the deletion of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Any, LiteralString

from psycopg import sql
from psycopg.rows import class_row

from sourcier.services.chassis.errors import NotFound
from sourcier.services.chassis.ids import is_id
from sourcier.services.chassis.postgres.database import Connection
from sourcier.services.index.curation.learned_responses import FORGET_OVERTAKEN, OVERTAKE_DELETED
from sourcier.services.index.documents import file_removals, members
from sourcier.services.index.lexical.entries import SHOW_ALL_ENTRIES
from sourcier.services.index.pipeline import commit_statements as statements
from sourcier.services.index.spaces.spaces import vectors_tables
from sourcier.services.index.times.document import DocumentTimes
from sourcier.services.index.times.encoding import times_from
from sourcier.services.index.times.relations import related_json
from sourcier.services.index.units.commits import DELETE_UNITS


@dataclass(frozen=True, slots=True)
class Document:
    """A document as it answers now."""

    document_id: str
    tenant: str
    collection_id: str
    collection: str
    source: str
    title: str
    filename: str
    content_type: str
    size_bytes: int
    content_sha256: bytes
    metadata: Mapping[str, Any]
    category: str
    current_version: str | None
    """None until its first version is whole."""
    generation: int
    chunk_count: int
    created_at: datetime
    updated_at: datetime
    reading_warnings: Sequence[Sequence[Any]] | None = None
    """What was not read of it: code, count, places and detail of each kind; None where nothing is to be told."""
    dates: Sequence[Any] | None = None
    """Kind, first day, last day, origin and words of each date that was read; None where nothing was read yet."""
    set_dates: Mapping[str, Any] | None = None
    """First and last day of each kind of date that somebody set."""
    relations: Sequence[Any] | None = None
    """Of each document that it does something to: kind, id, title, origin, part and words."""
    related_by: Sequence[Any] | None = None
    """The same of those that do something to it."""
    source_root: str = ""
    """Which root the source is a path from, as its sender says."""

    @property
    def times(self) -> DocumentTimes:
        """When it is of and holds, with the dates that somebody set."""
        return times_from(dates=self.dates or (), relations=(), family=(), edition=(), set_dates=self.set_dates)


@dataclass(frozen=True, slots=True)
class Deletion:
    """What a deletion did."""

    existed: bool
    collection_id: str = ""
    file_removals: tuple[int, ...] = ()
    """Notes of the files that it leaves in the object store."""
    members: tuple[str, ...] = ()
    """The documents that came inside it, deleted with it."""


async def get_document(connection: Connection, *, tenant: str, document_id: str) -> Document:
    """Return a document; raise `NotFound`."""
    ids = [document_id] if is_id(document_id) else []
    found = await get_documents(connection, tenant=tenant, document_ids=ids) if ids else []
    if not found:
        raise NotFound(f"There is no document {document_id}.", field="document_id")
    return found[0]


async def get_documents(connection: Connection, *, tenant: str, document_ids: Sequence[str]) -> list[Document]:
    """Return the documents that are there, in the order of their ids in the argument."""
    async with connection.cursor(row_factory=class_row(Document)) as cursor:
        await cursor.execute(SELECT.encode(), {"tenant": tenant, "document_ids": list(document_ids)})
        return await cursor.fetchall()


async def delete_document(connection: Connection, *, tenant: str, document_id: str) -> Deletion:
    """Delete a document with its versions, chunks and vectors, and with what came inside it.

    Deleting what is not there succeeds. Work under way on it will find it gone. The caller puts the messages of the
    deletion into the outbox.
    """
    if not is_id(document_id):
        return Deletion(existed=False)
    values = {"tenant": tenant, "document_id": document_id}
    cursor = await connection.execute(LOCK, values)
    row = await cursor.fetchone()
    if row is None:
        return Deletion(existed=False)
    # As long as a commit that removes the version before: it is the same work.
    await connection.execute(statements.TAKE_TIME)
    collection_id = str(row[0])
    within = await members.lock_within(connection, tenant=tenant, document_id=document_id)
    removals = await delete_locked(
        connection, tenant=tenant, collection_id=collection_id, document_ids=[document_id, *within],
        reason="The document was deleted.",
    )
    return Deletion(existed=True, collection_id=collection_id, file_removals=removals, members=tuple(within))


async def delete_locked(
    connection: Connection, *, tenant: str, collection_id: str, document_ids: Sequence[str], reason: str
) -> tuple[int, ...]:
    """Delete documents of a collection that the caller has locked; return the notes of the files that they leave.

    Jobs that are under way fail for the `reason`.
    """
    if not document_ids:
        return ()
    values = {
        "tenant": tenant, "collection_id": collection_id, "document_ids": list(document_ids), "reason": reason,
    }
    removals = await file_removals.note_documents(connection, values)
    tables = await vectors_tables(connection)
    async with connection.pipeline():
        await connection.execute(SHOW_ALL_ENTRIES)
        await connection.execute(_of_several(statements.RECORD_REMOVED_LEXEMES), values)
        for table in tables:
            delete = sql.SQL(_of_several(statements.DELETE_VECTORS)).format(table=sql.Identifier(table))
            await connection.execute(delete, values)
        for statement in (
            _of_several(statements.DELETE_ENTRIES), _of_several(statements.DELETE_CHUNKS), _of_several(DELETE_UNITS),
            DELETE_STAGED, CANCEL_JOBS, DELETE, _of_several(OVERTAKE_DELETED), _of_several(FORGET_OVERTAKEN),
        ):
            await connection.execute(statement, values)
    return removals


@cache
def _of_several(statement: LiteralString) -> LiteralString:
    """Return a statement on one document as one on several, for what a commit does to one, too."""
    return statement.replace("document_id = %(document_id)s", "document_id = any(%(document_ids)s::uuid[])")


SELECT = f"""
select document.document_id, document.tenant, document.collection_id, collection.name as collection, document.source,
       document.title, document.filename, document.content_type, document.size_bytes, document.content_sha256,
       document.metadata, document.category, document.current_version, document.current_generation as generation,
       document.chunk_count, document.created_at, updated_at, document.source_root,
       version.reading_warnings, times.dates, document.set_dates,
       {related_json("document_id", "other_id")} as relations,
       {related_json("other_id", "document_id")} as related_by
from documents as document
join collections as collection using (collection_id)
left join document_versions as version on version.version_id = document.current_version
left join document_times as times on times.version_id = document.current_version and times.tenant = document.tenant
where document.tenant = %(tenant)s
  and document.document_id = any(%(document_ids)s::uuid[])
order by array_position(%(document_ids)s::uuid[], document.document_id)
"""  # noqa: S608 - put together from constants

LOCK = "select collection_id from documents where tenant = %(tenant)s and document_id = %(document_id)s for update"

# By the versions: what is staged has no index by document.
DELETE_STAGED = """
delete from staged_chunks
where version_id in (
    select version_id from document_versions
    where tenant = %(tenant)s and document_id = any(%(document_ids)s::uuid[])
)
"""

CANCEL_JOBS = """
update jobs
set status = 'failed', error_code = 'SUPERSEDED', error_message = %(reason)s, updated_at = now(), finished_at = now()
where tenant = %(tenant)s and document_id = any(%(document_ids)s::uuid[]) and status in ('pending', 'processing')
"""

DELETE = "delete from documents where tenant = %(tenant)s and document_id = any(%(document_ids)s::uuid[])"
