"""Knowledge units taken out of the index with their chunks, and taken in, in the transaction that takes the chunks in.

Vectors of units stay behind: a note has them made anew, from what the tables hold then, as for every other change.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from psycopg.rows import dict_row
from psycopg.types.json import Jsonb

from sourcier.services.chassis.errors import InvalidArgument
from sourcier.services.chassis.ids import new_id
from sourcier.services.chassis.postgres.database import Connection
from sourcier.services.index.curation.agents import MADE_METHODS
from sourcier.services.index.units import build_statements as unit_build_statements
from sourcier.services.index.units import commits as unit_commits
from sourcier.services.index.units.units import PAIRS_MAX, UnitChange, check_pair
from sourcier.services.index.units.work import INSERT_GAPS


@dataclass(frozen=True, slots=True, kw_only=True)
class TransferredUnit:
    """What is known of a chunk."""

    chunk_id: str
    category: str
    summary: str
    keywords: tuple[str, ...]
    usefulness: float
    """0 to 1."""
    reason: str
    """Why there are no pairs; empty where there are."""
    edited_by: str
    edited_at: datetime | None
    model: str
    prompt_tokens: int
    completion_tokens: int
    pairs: tuple[tuple[str, str, str], ...]
    """Question, answer, and who wrote them."""

    def __post_init__(self) -> None:
        """Raise `InvalidArgument` for what an editor could not have written either."""
        UnitChange(
            category=self.category, summary=self.summary, keywords=self.keywords, usefulness=self.usefulness
        )
        if len(self.pairs) > PAIRS_MAX:
            raise InvalidArgument(f"The chunk {self.chunk_id} has {len(self.pairs)} pairs; the most is {PAIRS_MAX}.",
                                  field="pairs")
        for question, answer, _ in self.pairs:
            check_pair(question, answer)


def check_methods(methods: Sequence[str]) -> None:
    """Raise `InvalidArgument` for an indexing method that is not known."""
    unknown = [method for method in methods if method not in MADE_METHODS]
    if unknown:
        raise InvalidArgument(
            f"unit_methods cannot hold {unknown[0][:80]!r}: use {' or '.join(MADE_METHODS)}.", field="unit_methods"
        )


async def live_methods(connection: Connection, *, tenant: str, collection_id: str) -> tuple[str, ...]:
    """Return the indexing methods of a collection's live set; none where it has no set."""
    cursor = await connection.execute(SELECT_METHODS, {"tenant": tenant, "collection_id": collection_id})
    row = await cursor.fetchone()
    return () if row is None else tuple(row[0])


async def units_of_chunks(
    connection: Connection, *, tenant: str, chunk_ids: Sequence[str]
) -> dict[str, TransferredUnit]:
    """Return what the set that answers knows of chunks, by chunk id."""
    async with connection.cursor(row_factory=dict_row) as cursor:
        await cursor.execute(SELECT_UNITS, {"tenant": tenant, "chunk_ids": list(chunk_ids)})
        return {row["chunk_id"]: _unit(row) for row in await cursor.fetchall()}


async def take_in(
    connection: Connection, *, tenant: str, collection_id: str, document_id: str, methods: Sequence[str],
    units: AsyncIterator[Sequence[TransferredUnit]],
) -> int:
    """Settle the units of a document that has just been committed as they were exported; return how many.

    A collection without a set of units gets one of these methods. The caller's transaction holds the document's lock.
    """
    values: dict[str, Any] = {
        "tenant": tenant, "collection_id": collection_id, "document_id": document_id, "build_id": new_id(),
        "methods": sorted(methods), "regenerate": False, "state": "live",
    }
    taken, begun = 0, False
    async for some in units:
        if not some:
            continue
        if not begun:
            await _begin(connection, values)
            begun = True
        rows = {
            "units": Jsonb([_row(unit) for unit in some]),
            "pairs": Jsonb([pair for unit in some for pair in _pair_rows(unit)]),
        }
        cursor = await connection.execute(SETTLE, values | rows)
        # A collection on its way to another set has the units of both.
        taken += min(cursor.rowcount, len(some))
        await connection.execute(INSERT_PAIRS, values | rows)
    if begun:
        await connection.execute(NOTE_GAPS, values)
    return taken


async def _begin(connection: Connection, values: Mapping[str, Any]) -> None:
    """Give the collection a set of units where it has none, and the document its units in each set."""
    if not await _has_set(connection, values):
        # Two that begin at once wait for one another on the collection's row.
        await connection.execute(unit_build_statements.LOCK_COLLECTION, values)
        if not await _has_set(connection, values):
            await connection.execute(unit_build_statements.INSERT, values)
    await connection.execute(unit_commits.ADD_UNITS, values)


async def _has_set(connection: Connection, values: Mapping[str, Any]) -> bool:
    cursor = await connection.execute(HAS_SET, values)
    return await cursor.fetchone() is not None


def _unit(row: Mapping[str, Any]) -> TransferredUnit:
    return TransferredUnit(**dict(row) | {
        "keywords": tuple(row["keywords"]),
        "pairs": tuple((pair["question"], pair["answer"], pair["edited_by"]) for pair in row["pairs"]),
    })


def _row(unit: TransferredUnit) -> dict[str, Any]:
    return {
        "chunk_id": unit.chunk_id, "state": "enriched" if unit.pairs else "no_pairs", "reason": unit.reason,
        "category": unit.category, "summary": unit.summary, "keywords": list(unit.keywords),
        "usefulness": unit.usefulness, "edited_by": unit.edited_by,
        "edited_at": None if unit.edited_at is None else unit.edited_at.isoformat(), "model": unit.model,
        "prompt_tokens": unit.prompt_tokens, "completion_tokens": unit.completion_tokens,
    }


def _pair_rows(unit: TransferredUnit) -> list[dict[str, Any]]:
    return [
        {"chunk_id": unit.chunk_id, "place": place, "question": question, "answer": answer, "edited_by": edited_by}
        for place, (question, answer, edited_by) in enumerate(unit.pairs, start=1)
    ]


SELECT_METHODS = """
select methods from unit_builds
where tenant = %(tenant)s and collection_id = %(collection_id)s and state = 'live'
"""

HAS_SET = """
select from unit_builds where tenant = %(tenant)s and collection_id = %(collection_id)s and state <> 'retired' limit 1
"""

SELECT_UNITS = """
select unit.chunk_id, unit.category, unit.summary, unit.keywords, unit.usefulness, unit.reason, unit.edited_by,
       unit.edited_at, unit.model, unit.prompt_tokens, unit.completion_tokens, coalesce(held.pairs, '[]') as pairs
from units as unit
join unit_builds as build on build.build_id = unit.build_id and build.state = 'live'
cross join lateral (
    select jsonb_agg(jsonb_build_object(
        'question', question, 'answer', answer, 'edited_by', edited_by
    ) order by place, pair_id) as pairs
    from unit_pairs where unit_pairs.unit_id = unit.unit_id
) as held
where unit.tenant = %(tenant)s and unit.chunk_id = any(%(chunk_ids)s::uuid[]) and unit.state in ('enriched', 'no_pairs')
"""

SETTLE = """
update units as unit
set state = given.state, reason = given.reason, category = given.category, summary = given.summary,
    keywords = given.keywords, usefulness = given.usefulness, edited_by = given.edited_by, edited_at = given.edited_at,
    model = given.model, prompt_tokens = given.prompt_tokens, completion_tokens = given.completion_tokens,
    revision = unit.revision + 1, updated_at = now()
from jsonb_to_recordset(%(units)s) as given (
    chunk_id uuid, state text, reason text, category text, summary text, keywords jsonb, usefulness real,
    edited_by text, edited_at timestamptz, model text, prompt_tokens bigint, completion_tokens bigint
)
where unit.tenant = %(tenant)s and unit.document_id = %(document_id)s and unit.chunk_id = given.chunk_id
  and unit.state = 'waiting'
"""

INSERT_PAIRS = """
insert into unit_pairs (pair_id, unit_id, tenant, place, question, answer, edited_by)
select gen_random_uuid(), unit.unit_id, unit.tenant, given.place, given.question, given.answer, given.edited_by
from jsonb_to_recordset(%(pairs)s) as given (
    chunk_id uuid, place integer, question text, answer text, edited_by text
)
join units as unit on unit.chunk_id = given.chunk_id
where unit.tenant = %(tenant)s and unit.document_id = %(document_id)s and unit.state = 'enriched'
"""

NOTE_GAPS = INSERT_GAPS.format(
    chosen="unit.document_id = %(document_id)s and unit.state in ('enriched', 'no_pairs')"
)
