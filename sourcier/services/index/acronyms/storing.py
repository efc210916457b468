"""What documents spell out, stored: with a version's commit where it comes in one batch, else, and for documents that
were there before, a moment later."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from psycopg.rows import class_row

from sourcier.services.chassis.postgres.database import Connection
from sourcier.services.index.acronyms.forms import head_of
from sourcier.services.index.acronyms.recognition import RULES, Budget, Definition, definitions
from sourcier.services.index.acronyms.titles import initialisms

DEFINITIONS_MAX = 500
"""Of one document."""
PASSAGES_MAX = 2_000
"""Of one document that are read: what is spelled out, is so early on."""


@dataclass(frozen=True, slots=True)
class _Unread:
    tenant: str
    document_id: str
    collection_id: str
    title: str


def spelled_out(title: str, passages: Iterable[tuple[Sequence[str], str]]) -> tuple[Definition, ...]:
    """Return what the title, the headings and the texts of passages spell out, each once; for an executor."""
    found = {each.key: each for each in definitions(title)}
    headings: set[str] = set()
    budget = Budget()
    for path, text in passages:
        new = [heading for heading in path if heading not in headings]
        headings.update(new)
        for each in definitions("\n\n".join((*new, text)), budget):
            found.setdefault(each.key, each)
    return tuple(found.values())[:DEFINITIONS_MAX]


def columns(spelled: Sequence[Definition], *, title: str, is_whole: bool = True) -> dict[str, Any]:
    """Return the values of `STORE`, but for the ids; `is_whole`: whether all of the version was read."""
    rows = {each.key: (each, True) for each in spelled}
    for named in initialisms(title):
        rows.setdefault(named.key, (named, False))
    return {
        "acronym_rules": RULES if is_whole else 0,
        "short_keys": [short for short, _ in rows], "long_keys": [long for _, long in rows],
        "long_heads": [head_of(tuple(long.split(" "))) for _, long in rows],
        "shorts": [each.short for each, _ in rows.values()], "longs": [each.long for each, _ in rows.values()],
        "spelled": [spelled for _, spelled in rows.values()],
    }


async def read_more(connection: Connection, *, limit: int) -> int:
    """Read documents that these rules did not read yet; return how many, `limit` at most."""
    async with connection.cursor(row_factory=class_row(_Unread)) as cursor:
        await cursor.execute(SELECT_UNREAD, {"rules": RULES, "limit": limit})
        unread = await cursor.fetchall()
    for document in unread:
        values: Mapping[str, Any] = {
            "tenant": document.tenant, "document_id": document.document_id, "collection_id": document.collection_id,
            "passages_max": PASSAGES_MAX,
        }
        passages = await (await connection.execute(SELECT_PASSAGES, values)).fetchall()
        spelled = await asyncio.to_thread(spelled_out, document.title, passages)
        values = {**values, **columns(spelled, title=document.title)}
        async with connection.pipeline():
            for statement in (FORGET, STORE, NOTE_READ):
                await connection.execute(statement, values)
    return len(unread)


FORGET = "delete from acronyms where tenant = %(tenant)s and document_id = %(document_id)s"

# A long form of nothing but function words has no key, and is looked up by nothing.
STORE = """
insert into acronyms (document_id, tenant, collection_id, short_key, long_key, long_head, short, long, spelled)
select %(document_id)s, %(tenant)s, %(collection_id)s, short_key, long_key, long_head, short, long, spelled
from unnest(%(short_keys)s::text[], %(long_keys)s::text[], %(long_heads)s::text[], %(shorts)s::text[],
            %(longs)s::text[], %(spelled)s::boolean[])
     as found (short_key, long_key, long_head, short, long, spelled)
where long_key <> ''
on conflict (document_id, short_key, long_key, tenant) do nothing
"""

NOTE_READ = """
update documents set acronym_rules = %(acronym_rules)s where tenant = %(tenant)s and document_id = %(document_id)s
"""

# Locked, so that no commit comes in between; what somebody else has locked is read later.
SELECT_UNREAD = """
select tenant, document_id, collection_id, title
from documents
where acronym_rules < %(rules)s and current_version is not null
order by acronym_rules
limit %(limit)s
for update skip locked
"""
SELECT_PASSAGES = """
select array(select jsonb_array_elements_text(heading_path)), text
from chunks
where tenant = %(tenant)s and document_id = %(document_id)s
order by chunk_index
limit %(passages_max)s
"""
