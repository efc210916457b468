"""Documents by their names: a collection's titles, from which questions about itself are answered; one by its name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

from psycopg.rows import class_row

from sourcier.services.chassis.ids import is_id
from sourcier.services.chassis.postgres.database import Connection

TITLES_MAX = 20_000
"""Some two megabytes; a larger collection is not listed for one question."""


@dataclass(frozen=True, slots=True)
class DocumentTitle:
    """What tells a document from others, for people."""

    document_id: str
    title: str
    filename: str
    metadata: Mapping[str, Any]
    created_at: datetime
    dated_from: date | None = None
    """The first day of its date; None where none is known."""
    dated_to: date | None = None
    is_read: bool = False
    """Whether its date was looked for in its text, too."""


async def list_titles(connection: Connection, *, tenant: str, collection: str) -> list[DocumentTitle]:
    """Return the documents of a collection that answer now; one more than `TITLES_MAX` where there are more."""
    values = {"tenant": tenant, "collection": collection, "limit": TITLES_MAX + 1}
    async with connection.cursor(row_factory=class_row(DocumentTitle)) as cursor:
        await cursor.execute(SELECT, values)
        return await cursor.fetchall()


SELECT = """
select document.document_id, document.title, document.filename, document.metadata, document.created_at,
       dated_from, dated_to, times_rules > 0 as is_read
from documents as document
join collections as collection using (collection_id)
where document.tenant = %(tenant)s and collection.tenant = %(tenant)s and collection.name = %(collection)s
  and document.current_version is not null
limit %(limit)s
"""


@dataclass(frozen=True, slots=True)
class NamedDocument:
    """A document that somebody named."""

    document_id: str
    title: str
    source: str
    filename: str
    collection: str
    is_indexed: bool
    """Whether a version of it answers now."""


async def find_named(
    connection: Connection, *, tenant: str, name: str, collections: Sequence[str]
) -> NamedDocument | None:
    """Return the document of this id, source, file name (with its ending or without) or title, whatever the case.

    One of `collections` comes first, and one whose name is exactly that.
    """
    values = {"tenant": tenant, "name": name, "id": name if is_id(name) else None, "collections": list(collections)}
    async with connection.cursor(row_factory=class_row(NamedDocument)) as cursor:
        await cursor.execute(SELECT_NAMED, values)
        return await cursor.fetchone()


SELECT_NAMED = r"""
select document.document_id, document.title, document.source, document.filename, collection.name as collection,
       document.current_version is not null as is_indexed
from documents as document
join collections as collection using (collection_id)
where document.tenant = %(tenant)s and collection.tenant = %(tenant)s
  and (document.document_id = %(id)s or document.source = %(name)s
       or lower(%(name)s) in (
           lower(document.title), lower(document.filename), lower(document.source),
           lower(regexp_replace(document.filename, '\.[^.]*$', ''))
       ))
order by collection.name = any(%(collections)s) desc, document.current_version is not null desc,
         document.source = %(name)s desc,
         lower(%(name)s) in (lower(document.title), lower(document.filename), lower(document.source)) desc,
         document.document_id
limit 1
"""
