"""What was read of when documents hold, stored: with a version's commit, and later for those that were there before."""

# Statements are put together from constants of this module alone.
# ruff: noqa: S608

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, LiteralString

from psycopg.rows import class_row
from psycopg.types.json import Jsonb

from sourcier.services.chassis.postgres.database import Connection
from sourcier.services.index.times.document import DocumentTimes
from sourcier.services.index.times.encoding import dates_json, relations_json, set_dates_from, times_from
from sourcier.services.index.times.reading import HEAD_CHARACTERS_MAX, RULES, TAIL_CHARACTERS_MAX, times_of

NOTHING_READ = DocumentTimes((), (), (), frozenset())


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What the times of a version are read from."""

    title: str
    filename: str
    source: str
    metadata: Mapping[str, Any]
    set_dates: Mapping[str, Any] | None
    head: str
    tail: str

    def read(self) -> DocumentTimes:
        """Read them, about a millisecond."""
        return times_of(
            title=self.title, name=self.filename or self.source, head=self.head, tail=self.tail, metadata=self.metadata
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Unread(Facts):
    tenant: str
    document_id: str
    version_id: str
    collection_id: str


@dataclass(frozen=True, slots=True)
class StoredTimes:
    """What is known of a document, as stored."""

    document_id: str
    dates: Sequence[Any]
    relations: Sequence[Any]
    family: Sequence[str]
    edition: Sequence[int]
    set_dates: Mapping[str, Any] | None

    @property
    def times(self) -> DocumentTimes:
        """With the dates that somebody set."""
        return times_from(
            dates=self.dates, relations=self.relations, family=self.family, edition=self.edition,
            set_dates=self.set_dates,
        )


def ends_of(texts: Sequence[str]) -> tuple[str, str]:
    """Return what is read of a document's passages: the beginning of the first one, the end of another last one."""
    if not texts:
        return "", ""
    return texts[0][:HEAD_CHARACTERS_MAX], texts[-1][-TAIL_CHARACTERS_MAX:] if len(texts) > 1 else ""


def columns(read: DocumentTimes, set_dates: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the values of `STORE` and `SET_COLUMNS`, but for the ids."""
    times = read.with_dates_set(set_dates_from(set_dates))
    period = times.period
    return {
        "dates": Jsonb(dates_json(read.dates)), "relations": Jsonb(relations_json(read.relations)),
        "family": sorted(read.family), "edition": list(read.version), "times_rules": RULES,
        "dated_from": None if period is None else period.start, "dated_to": None if period is None else period.end,
        "holds_from": times.start, "holds_until": times.end,
    }


async def stored_times(
    connection: Connection, *, tenant: str, document_ids: Sequence[str]
) -> dict[str, DocumentTimes]:
    """Return what is known of the versions that answer now, by document; those that are not read yet are left out."""
    return await times_by(connection, SELECT_STORED, {"tenant": tenant, "document_ids": list(document_ids)})


async def times_by(
    connection: Connection, statement: LiteralString, values: Mapping[str, Any]
) -> dict[str, DocumentTimes]:
    """Return what is known by document, as a statement that begins with `STORED` chooses them."""
    async with connection.cursor(row_factory=class_row(StoredTimes)) as cursor:
        await cursor.execute(statement, values)
        return {stored.document_id: stored.times for stored in await cursor.fetchall()}


async def known_times(
    connection: Connection, *, tenant: str, document_ids: Sequence[str]
) -> dict[str, DocumentTimes]:
    """Return what is known of documents; of those that nobody read yet, what is read now."""
    known = await stored_times(connection, tenant=tenant, document_ids=document_ids)
    missing = [each for each in document_ids if each not in known]
    if missing:
        async with connection.cursor(row_factory=class_row(_Unread)) as cursor:
            await cursor.execute(SELECT_NAMED, {
                "tenant": tenant, "document_ids": missing, "head": HEAD_CHARACTERS_MAX, "tail": TAIL_CHARACTERS_MAX,
            })
            unread = await cursor.fetchall()
        known |= await asyncio.to_thread(lambda: {
            each.document_id: each.read().with_dates_set(set_dates_from(each.set_dates)) for each in unread
        })
    return known


async def read_more(connection: Connection, *, limit: int) -> int:
    """Read documents that these rules did not read yet; return how many, `limit` at most."""
    async with connection.cursor(row_factory=class_row(_Unread)) as cursor:
        await cursor.execute(SELECT_UNREAD, {
            "rules": RULES, "limit": limit, "head": HEAD_CHARACTERS_MAX, "tail": TAIL_CHARACTERS_MAX,
        })
        unread = await cursor.fetchall()
    rows = await asyncio.to_thread(_rows, unread)
    async with connection.pipeline():
        for row in rows:
            await connection.execute(STORE, row)
            await connection.execute(UPDATE_DOCUMENT, row)
    return len(unread)


def _rows(unread: Sequence[_Unread]) -> list[dict[str, Any]]:
    return [
        columns(each.read(), each.set_dates) | {
            "tenant": each.tenant, "document_id": each.document_id, "version_id": each.version_id,
            "collection_id": each.collection_id,
        }
        for each in unread
    ]


STORE = """
insert into document_times (version_id, tenant, collection_id, document_id, dates, relations, family, edition)
values (%(version_id)s, %(tenant)s, %(collection_id)s, %(document_id)s, %(dates)s, %(relations)s, %(family)s::text[],
        %(edition)s::integer[])
on conflict (version_id, tenant) do update set
    dates = excluded.dates, relations = excluded.relations, family = excluded.family, edition = excluded.edition,
    read_at = now()
"""

SET_COLUMNS = """times_rules = %(times_rules)s, relations_found = false,
        dated_from = %(dated_from)s, dated_to = %(dated_to)s,
        holds_from = %(holds_from)s, holds_until = %(holds_until)s"""

UPDATE_DOCUMENT = f"""
update documents
set {SET_COLUMNS}
where tenant = %(tenant)s and document_id = %(document_id)s and current_version = %(version_id)s
"""

_ENDS = """
select document_id, tenant, collection_id, current_version as version_id, title, filename, source, metadata, set_dates,
       coalesce(first.head, '') as head, coalesce(last.tail, '') as tail
from unread
left join lateral (
    select left(text, %(head)s) as head from chunks
    where chunks.tenant = unread.tenant and chunks.document_id = unread.document_id and chunk_index = 0
) as first on true
left join lateral (
    select right(text, %(tail)s) as tail from chunks
    where chunks.tenant = unread.tenant and chunks.document_id = unread.document_id and chunk_index > 0
    order by chunk_index desc limit 1
) as last on true
"""

# Locked, so that no commit and nobody who sets a date comes in between; what somebody else has locked is read later.
SELECT_UNREAD = f"""
with unread as materialized (
    select * from documents
    where times_rules < %(rules)s and current_version is not null
    order by times_rules
    limit %(limit)s
    for update skip locked
)
{_ENDS}
"""

SELECT_NAMED = f"""
with unread as materialized (
    select * from documents
    where tenant = %(tenant)s and document_id = any(%(document_ids)s::uuid[]) and current_version is not null
)
{_ENDS}
"""

# The collection and the document are named once more, as the index of those that say something has them.
STORED = """
select document.document_id, dates, relations, family, edition, set_dates
from documents as document
join document_times on version_id = current_version and document_times.tenant = document.tenant
  and document_times.collection_id = document.collection_id and document_times.document_id = document.document_id
where document.tenant = %(tenant)s and times_rules > 0
"""
SELECT_STORED = STORED + " and document.document_id = any(%(document_ids)s::uuid[])"

SELECT_STAGED_ENDS = """
select (select left(text, %(head)s) from staged_chunks where version_id = %(version_id)s and chunk_index = 0),
       (select right(text, %(tail)s) from staged_chunks
        where version_id = %(version_id)s and chunk_index > 0 order by chunk_index desc limit 1)
"""
