"""Knowledge units as people read and change them: what a chunk is about, and the questions that it answers."""

# Statements are put together from constants of this package alone.
# ruff: noqa: S608

from __future__ import annotations

import base64
import struct
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from psycopg.rows import dict_row
from psycopg.types.json import Jsonb

from sourcier.services.chassis.errors import InvalidArgument, NotFound, ResourceExhausted
from sourcier.services.chassis.ids import is_id, new_id
from sourcier.services.chassis.postgres.database import Connection
from sourcier.services.index import pagination
from sourcier.services.index.curation.learned_responses import check_text
from sourcier.services.index.pagination import Page
from sourcier.services.index.units import builds as unit_builds
from sourcier.services.index.units.work import NOTE_GAPS_OF_UNIT

STATES = ("waiting", "enriched", "no_pairs", "failed")
SUMMARY_CHARACTERS_MAX, CATEGORY_CHARACTERS_MAX, KEYWORD_CHARACTERS_MAX, KEYWORDS_MAX = 2_000, 200, 100, 20
QUESTION_CHARACTERS_MAX, ANSWER_CHARACTERS_MAX, NAME_CHARACTERS_MAX, PAIRS_MAX = 2_000, 5_000, 500, 50

_KEY = struct.Struct(">16sI")


@dataclass(frozen=True, slots=True)
class Pair:
    """A question that a chunk answers."""

    pair_id: str
    question: str
    answer: str
    edited_by: str
    """Who wrote it; empty for the language model."""


@dataclass(frozen=True, slots=True)
class Unit:
    """A chunk and what is known of it."""

    unit_id: str
    chunk_id: str
    document_id: str
    version_id: str
    title: str
    """The document's."""
    chunk_index: int
    heading_path: tuple[str, ...]
    text: str
    """The chunk's."""
    state: str
    reason: str
    message: str
    category: str
    summary: str
    keywords: tuple[str, ...]
    usefulness: float
    edited_by: str
    edited_at: datetime | None
    model: str
    prompt_tokens: int
    completion_tokens: int
    updated_at: datetime
    pairs: tuple[Pair, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitChange:
    """What is to be changed; None leaves it as it is."""

    category: str | None = None
    summary: str | None = None
    keywords: tuple[str, ...] | None = None
    usefulness: float | None = None

    def __post_init__(self) -> None:
        """Raise `InvalidArgument` for what cannot be kept."""
        for field, limit in (("category", CATEGORY_CHARACTERS_MAX), ("summary", SUMMARY_CHARACTERS_MAX)):
            value = getattr(self, field)
            if value is not None and (len(value) > limit or "\x00" in value):
                raise InvalidArgument(f"{field} has {len(value):,} characters; use at most {limit:,}, and no NUL.",
                                      field=field)
        if self.keywords is not None and len(self.keywords) > KEYWORDS_MAX:
            raise InvalidArgument(f"keywords has {len(self.keywords)} entries; use at most {KEYWORDS_MAX}.",
                                  field="keywords")
        for keyword in self.keywords or ():
            check_text(keyword, field="keywords", characters_max=KEYWORD_CHARACTERS_MAX)
        if self.usefulness is not None and not 0 <= self.usefulness <= 1:
            raise InvalidArgument(f"usefulness is {self.usefulness:g}; use 0 to 1.", field="usefulness")


async def get_unit(connection: Connection, *, tenant: str, unit_or_chunk_id: str) -> Unit:
    """Return the unit of the set that answers, by its own id or its chunk's; raise `NotFound`."""
    found = await _select(connection, tenant=tenant, unit_id=unit_or_chunk_id) if is_id(unit_or_chunk_id) else []
    if not found:
        raise NotFound(
            f"There is no chunk {unit_or_chunk_id[:80]!r} with a knowledge unit; `sourcier chunks list` shows them.",
            field="unit_id",
        )
    return found[0]


async def list_units(
    connection: Connection, *, tenant: str, document_id: str | None = None, collection: str | None = None,
    states: Sequence[str] = STATES, page_size: int = 0, page_token: str = "",
) -> Page[Unit]:
    """List the units of the sets that answer, by document and place; those of a document, a collection, or all."""
    if document_id is not None and not is_id(document_id):
        raise NotFound(f"There is no document {document_id[:80]!r}.", field="document_id")
    page_size = pagination.check_page_size(page_size)
    after_document, after_index = _read_token(page_token)
    found = await _select(
        connection, tenant=tenant, document_id=document_id, collection=collection, states=states,
        after_document=after_document, after_index=after_index, limit=page_size + 1,
    )
    return pagination.cut(
        found, page_size=page_size,
        token=lambda unit: _KEY.pack(uuid.UUID(unit.document_id).bytes, unit.chunk_index),
    )


async def update_unit(
    connection: Connection, *, tenant: str, unit_id: str, change: UnitChange, edited_by: str
) -> Unit:
    """Change what is known of a chunk; its vectors are made anew. Raises `NotFound`, `InvalidArgument`."""
    unit = await _begin_edit(connection, tenant=tenant, unit_id=unit_id, edited_by=edited_by)
    await connection.execute(UPDATE, {
        "tenant": tenant, "unit_id": unit.unit_id, "edited_by": edited_by.strip(), "category": change.category,
        "summary": change.summary, "usefulness": change.usefulness,
        "keywords": None if change.keywords is None else Jsonb(list(change.keywords)),
    })
    return await _end_edit(connection, tenant, unit)


async def add_pair(
    connection: Connection, *, tenant: str, unit_id: str, question: str, answer: str, edited_by: str
) -> Unit:
    """Add a pair to a unit; raise `NotFound`, `InvalidArgument`, `ResourceExhausted`."""
    check_pair(question, answer)
    unit = await _begin_edit(connection, tenant=tenant, unit_id=unit_id, edited_by=edited_by)
    if len(unit.pairs) >= PAIRS_MAX:
        raise ResourceExhausted(f"A chunk has at most {PAIRS_MAX} pairs; delete some first.", field="unit_id")
    values = _pair_values(unit, edited_by, tenant, question=question.strip(), answer=answer.strip())
    await connection.execute(INSERT_PAIR, values | {"pair_id": new_id()})
    await connection.execute(TOUCH, values)
    return await _end_edit(connection, tenant, unit)


async def update_pair(
    connection: Connection, *, tenant: str, pair_id: str, question: str, answer: str, edited_by: str
) -> Unit:
    """Change a pair; an empty question or answer stays. Raises `NotFound`, `InvalidArgument`."""
    unit_id, pair = await _find_pair(connection, tenant=tenant, pair_id=pair_id)
    question, answer = question.strip() or pair.question, answer.strip() or pair.answer
    check_pair(question, answer)
    unit = await _begin_edit(connection, tenant=tenant, unit_id=unit_id, edited_by=edited_by)
    values = _pair_values(unit, edited_by, tenant, question=question, answer=answer) | {"pair_id": pair.pair_id}
    await connection.execute(UPDATE_PAIR, values)
    await connection.execute(DELETE_POINT, values)
    await connection.execute(TOUCH, values)
    return await _end_edit(connection, tenant, unit)


async def delete_pair(connection: Connection, *, tenant: str, pair_id: str, edited_by: str) -> Unit:
    """Delete a pair with its vectors; raise `NotFound`."""
    unit_id, pair = await _find_pair(connection, tenant=tenant, pair_id=pair_id)
    unit = await _begin_edit(connection, tenant=tenant, unit_id=unit_id, edited_by=edited_by)
    values = _pair_values(unit, edited_by, tenant) | {"pair_id": pair.pair_id}
    for statement in ("delete from unit_pairs where pair_id = %(pair_id)s", DELETE_POINT, TOUCH):
        await connection.execute(statement, values)
    return await _end_edit(connection, tenant, unit)


async def _begin_edit(connection: Connection, *, tenant: str, unit_id: str, edited_by: str) -> Unit:
    check_text(edited_by, field="edited_by", characters_max=NAME_CHARACTERS_MAX)
    unit = await get_unit(connection, tenant=tenant, unit_or_chunk_id=unit_id)
    # The document before the unit, as a commit does; then the unit is read as it is by now.
    await connection.execute(LOCK_DOCUMENT, {"tenant": tenant, "document_id": unit.document_id})
    await connection.execute("select from units where unit_id = %s for update", (unit.unit_id,))
    return await get_unit(connection, tenant=tenant, unit_or_chunk_id=unit.unit_id)


async def _end_edit(connection: Connection, tenant: str, unit: Unit) -> Unit:
    values = {"tenant": tenant, "unit_id": unit.unit_id}
    for statement in (SETTLE_EDITED, DELETE_UNIT_POINTS, NOTE_GAPS_OF_UNIT):
        await connection.execute(statement, values)
    await unit_builds.take_over_edited(connection, tenant=tenant, unit_id=unit.unit_id, document_id=unit.document_id)
    return await get_unit(connection, tenant=tenant, unit_or_chunk_id=unit.unit_id)


async def _find_pair(connection: Connection, *, tenant: str, pair_id: str) -> tuple[str, Pair]:
    cursor = await connection.execute(
        SELECT_PAIR, {"tenant": tenant, "pair_id": pair_id if is_id(pair_id) else None}
    )
    row = await cursor.fetchone()
    if row is None:
        raise NotFound(f"There is no pair {pair_id[:80]!r}; `sourcier chunks show` lists them.", field="pair_id")
    return str(row[0]), Pair(*row[1:])


def _pair_values(
    unit: Unit, edited_by: str, tenant: str, *, question: str = "", answer: str = ""
) -> dict[str, Any]:
    return {
        "tenant": tenant, "unit_id": unit.unit_id, "edited_by": edited_by.strip(), "question": question,
        "answer": answer,
    }


def check_pair(question: str, answer: str) -> None:
    check_text(question, field="question", characters_max=QUESTION_CHARACTERS_MAX)
    check_text(answer, field="answer", characters_max=ANSWER_CHARACTERS_MAX)


def _read_token(page_token: str) -> tuple[str, int]:
    if not page_token:
        return pagination.FIRST_KEY, -1
    try:
        document, index = _KEY.unpack(base64.urlsafe_b64decode(page_token.encode() + b"=" * (-len(page_token) % 4)))
        return str(uuid.UUID(bytes=document)), index
    except (ValueError, struct.error) as error:
        raise InvalidArgument("The page token is not one that was given out.", field="page_token") from error


async def _select(
    connection: Connection, *, tenant: str, unit_id: str | None = None, document_id: str | None = None,
    collection: str | None = None, states: Sequence[str] = STATES, after_document: str = pagination.FIRST_KEY,
    after_index: int = -1, limit: int = 1,
) -> list[Unit]:
    async with connection.cursor(row_factory=dict_row) as cursor:
        await cursor.execute(SELECT, {
            "tenant": tenant, "unit_id": unit_id, "document_id": document_id, "collection": collection,
            "states": list(states), "after_document": after_document, "after_index": after_index, "limit": limit,
        })
        return [_unit(row) for row in await cursor.fetchall()]


def _unit(row: dict[str, Any]) -> Unit:
    return Unit(**row | {
        "heading_path": tuple(row["heading_path"]), "keywords": tuple(row["keywords"]),
        "pairs": tuple(Pair(**pair) for pair in row["pairs"]),
    })


SELECT = """
select unit.unit_id, unit.chunk_id, unit.document_id, unit.version_id, document.title, unit.chunk_index,
       chunk.heading_path, chunk.text, unit.state, unit.reason, unit.message, unit.category, unit.summary,
       unit.keywords, unit.usefulness, unit.edited_by, unit.edited_at, unit.model, unit.prompt_tokens,
       unit.completion_tokens, unit.updated_at, coalesce(held.pairs, '[]') as pairs
from units as unit
join unit_builds as build on build.build_id = unit.build_id and build.state = 'live'
join collections as collection on collection.collection_id = unit.collection_id
join documents as document on document.document_id = unit.document_id
join chunks as chunk on chunk.tenant = unit.tenant and chunk.chunk_id = unit.chunk_id
cross join lateral (
    select jsonb_agg(jsonb_build_object(
        'pair_id', pair.pair_id, 'question', pair.question, 'answer', pair.answer, 'edited_by', pair.edited_by
    ) order by pair.place, pair.pair_id) as pairs
    from unit_pairs as pair
    where pair.unit_id = unit.unit_id
) as held
where unit.tenant = %(tenant)s
  and (%(unit_id)s::uuid is null or %(unit_id)s in (unit.unit_id, unit.chunk_id))
  and (%(document_id)s::uuid is null or unit.document_id = %(document_id)s)
  and (%(collection)s::text is null or collection.name = %(collection)s)
  and unit.state = any(%(states)s)
  and (unit.document_id, unit.chunk_index) > (%(after_document)s, %(after_index)s)
order by unit.document_id, unit.chunk_index
limit %(limit)s
"""

LOCK_DOCUMENT = "select from documents where tenant = %(tenant)s and document_id = %(document_id)s for update"

_TOUCHED = "edited_by = %(edited_by)s, edited_at = now(), revision = revision + 1, updated_at = now()"

UPDATE = f"""
update units
set category = coalesce(%(category)s::text, category), summary = coalesce(%(summary)s::text, summary),
    keywords = coalesce(%(keywords)s::jsonb, keywords), usefulness = coalesce(%(usefulness)s::real, usefulness),
    {_TOUCHED}
where tenant = %(tenant)s and unit_id = %(unit_id)s
"""

TOUCH = f"update units set {_TOUCHED} where tenant = %(tenant)s and unit_id = %(unit_id)s"

# What a person has written waits for no model, and whether it has pairs shows.
SETTLE_EDITED = """
update units
set state = case when exists (select from unit_pairs where unit_pairs.unit_id = units.unit_id) then 'enriched'
                 else 'no_pairs' end,
    reason = case when exists (select from unit_pairs where unit_pairs.unit_id = units.unit_id) then ''
                  else 'BY_HAND' end,
    message = ''
where tenant = %(tenant)s and unit_id = %(unit_id)s
"""

# Those of its pairs are of their questions, which changed only where the pair did.
DELETE_UNIT_POINTS = """
delete from unit_points where tenant = %(tenant)s and unit_id = %(unit_id)s and kind <> 'qa_pair'
"""
DELETE_POINT = "delete from unit_points where tenant = %(tenant)s and subject_id = %(pair_id)s"

SELECT_PAIR = """
select pair.unit_id, pair.pair_id, pair.question, pair.answer, pair.edited_by
from unit_pairs as pair
join units as unit using (unit_id)
join unit_builds as build on build.build_id = unit.build_id and build.state = 'live'
where pair.tenant = %(tenant)s and pair.pair_id = %(pair_id)s
"""

INSERT_PAIR = """
insert into unit_pairs (pair_id, unit_id, tenant, place, question, answer, edited_by)
select %(pair_id)s, %(unit_id)s, %(tenant)s, coalesce(max(place), 0) + 1, %(question)s, %(answer)s, %(edited_by)s
from unit_pairs where unit_id = %(unit_id)s
"""

UPDATE_PAIR = """
update unit_pairs set question = %(question)s, answer = %(answer)s, edited_by = %(edited_by)s
where tenant = %(tenant)s and pair_id = %(pair_id)s
"""
