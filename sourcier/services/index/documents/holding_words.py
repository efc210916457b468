"""Which documents hold all words of a subject in one passage: exact, from the inverted index."""

from __future__ import annotations

from collections.abc import Sequence

from sourcier.services.chassis.postgres.database import Connection
from sourcier.services.index.lexical.entries import SHOW_CANDIDATES, all_words_query

DOCUMENTS_MAX = 1_000
"""Told of one subject; more are told to be more."""


async def documents_holding(
    connection: Connection, *, tenant: str, collection: str, words: Sequence[Sequence[str]]
) -> list[str]:
    """Return the documents of a collection that answer now and of which one passage holds a stem of each word.

    In no order; one more than `DOCUMENTS_MAX` where there are more, and none for a collection that does not exist.
    """
    cursor = await connection.execute(NUMBER, {"tenant": tenant, "collection": collection})
    row = await cursor.fetchone()
    if row is None or not words:
        return []
    # Row-level security shows the entries that match, and no others.
    await connection.execute(SHOW_CANDIDATES, (all_words_query(words, collection_number=row[0]),))
    cursor = await connection.execute(SELECT, {
        "tenant": tenant, "collection": collection, "limit": DOCUMENTS_MAX + 1,
    })
    return [str(document_id) for document_id, in await cursor.fetchall()]


NUMBER = "select number from collections where tenant = %(tenant)s and name = %(collection)s"

SELECT = """
select document.document_id
from documents as document
join collections as collection using (collection_id)
where document.tenant = %(tenant)s and collection.tenant = %(tenant)s and collection.name = %(collection)s
  and document.current_version is not null
  and exists (
    select from lexical_entries as entry
    where entry.tenant = %(tenant)s and entry.document_id = document.document_id
  )
limit %(limit)s
"""
