"""What documents do to one another, found among those of a collection: a step of upkeep, for a few documents at a time.

What a document says that it replaces may be there before it or come later, so both directions are looked at.
"""

# Statements are put together from constants of this package alone.
# ruff: noqa: S608

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from psycopg.rows import class_row

from sourcier.services.chassis.postgres.database import Connection
from sourcier.services.index.times.document import DocumentTimes, Relation
from sourcier.services.index.times.storing import SELECT_STORED, STORED, times_by

logger = logging.getLogger(__name__)

DOCUMENTS_MAX = 20_000
"""Of a collection, among which the documents that one names are looked for; some hundred milliseconds."""
SAYING_MAX = 2_000
"""Documents of a collection with relations, to which one that is new is held; the latest."""


@dataclass(frozen=True, slots=True)
class _Due:
    document_id: str
    tenant: str
    collection_id: str


@dataclass(frozen=True, slots=True)
class Said:
    """What people say of some documents: pairs of a document and one that it replaces, or does not."""

    replaces: frozenset[tuple[str, str]] = frozenset()
    denied: frozenset[tuple[str, str]] = frozenset()


async def said_of(connection: Connection, *, tenant: str, document_ids: Sequence[str]) -> Said:
    """Return which of some documents replace which, as people say."""
    cursor = await connection.execute(SELECT_SAID, {"tenant": tenant, "document_ids": list(document_ids)})
    rows = await cursor.fetchall()
    return Said(
        frozenset((str(new), str(old)) for new, old, denied in rows if not denied),
        frozenset((str(new), str(old)) for new, old, denied in rows if denied),
    )


async def find_more(connection: Connection, *, limit: int) -> int:
    """Look for relations of documents whose times were read since; return how many documents, `limit` at most."""
    async with connection.cursor(row_factory=class_row(_Due)) as cursor:
        await cursor.execute(SELECT_DUE, {"limit": limit})
        due = await cursor.fetchall()
    for (tenant, collection_id), group in groupby(due, lambda each: (each.tenant, each.collection_id)):
        await _relate(
            connection, tenant=tenant, collection_id=collection_id, due={each.document_id for each in group}
        )
    return len(due)


async def _relate(connection: Connection, *, tenant: str, collection_id: str, due: set[str]) -> None:
    values: dict[str, Any] = {
        "tenant": tenant, "collection_id": collection_id, "document_ids": sorted(due), "saying": SAYING_MAX,
        "documents": DOCUMENTS_MAX,
    }
    await connection.execute(FORGET, values)
    saying = await times_by(connection, SELECT_SAYING, values)
    if saying:
        whole = not due.isdisjoint(saying)
        others = await times_by(connection, SELECT_ALL if whole else SELECT_STORED, values)
        if len(others) == DOCUMENTS_MAX:
            logger.warning("relations are looked for among the first documents alone", extra={
                "collection_id": collection_id, "documents": DOCUMENTS_MAX,
            })
        found = await asyncio.to_thread(lambda: list(_found(saying, others, due)))
        async with connection.pipeline():
            for document_id, other_id, relation in found:
                await connection.execute(INSERT, values | {
                    "document_id": document_id, "other_id": other_id, "kind": relation.kind.value,
                    "part": relation.part, "words": relation.quote,
                })
    await connection.execute(NOTE_FOUND, values)


def _found(
    saying: dict[str, DocumentTimes], others: dict[str, DocumentTimes], due: set[str]
) -> Iterator[tuple[str, str, Relation]]:
    new = {each: times for each, times in others.items() if each in due}
    for document_id, times in saying.items():
        for other_id, other in (others if document_id in due else new).items():
            if document_id == other_id:
                continue
            for relation in times.relations:
                if times.names(relation, other):
                    yield document_id, other_id, relation


def related_json(document_id: str, other: str) -> str:
    """Return the expression that gives a document's relations as JSON: ids, titles and what tells them."""
    return f"""(
        select jsonb_agg(
            jsonb_build_array(relation.kind, related.document_id, related.title, relation.origin, relation.part,
                              relation.words)
            order by relation.noted_at, related.document_id
        )
        from document_relations as relation
        join documents as related on related.document_id = relation.{other} and related.tenant = relation.tenant
        where relation.tenant = document.tenant and relation.{document_id} = document.document_id and not denied
    )"""


SELECT_DUE = """
select document_id, tenant, collection_id
from documents
where not relations_found and current_version is not null and times_rules > 0
order by collection_id, tenant
limit %(limit)s
for update skip locked
"""

_OF_COLLECTION = STORED + " and document.collection_id = %(collection_id)s"
SELECT_SAYING = _OF_COLLECTION + " and relations <> '[]' order by document.document_id desc limit %(saying)s"
SELECT_ALL = _OF_COLLECTION + " order by document.document_id limit %(documents)s"

SELECT_SAID = """
select document_id, other_id, denied from document_relations
where tenant = %(tenant)s and kind = 'replaces' and origin = 'user'
  and other_id = any(%(document_ids)s::uuid[]) and document_id = any(%(document_ids)s::uuid[])
"""

FORGET = """
delete from document_relations
where tenant = %(tenant)s and origin = 'text'
  and (document_id = any(%(document_ids)s::uuid[]) or other_id = any(%(document_ids)s::uuid[]))
"""

# Not of a document that is deleted meanwhile; what people said stays.
INSERT = """
insert into document_relations (tenant, collection_id, document_id, other_id, kind, origin, part, words)
select %(tenant)s, %(collection_id)s, %(document_id)s, document_id, %(kind)s, 'text', %(part)s, %(words)s
from documents
where tenant = %(tenant)s and document_id = %(other_id)s
for key share
on conflict do nothing
"""

NOTE_FOUND = """
update documents set relations_found = true
where tenant = %(tenant)s and document_id = any(%(document_ids)s::uuid[])
"""
