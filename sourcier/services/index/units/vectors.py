"""Vectors of knowledge units: which are missing, how they are written, which are closest to a question.

`qa_atomic` has a vector of each pair's question and one of summary and text; `classic` one of category and text. A unit
has them in each space that its collection needs, like its chunk. What a change leaves missing is noted with it, in
`unit_gaps`; whoever makes the vectors takes the note away in the transaction that writes them, unless the unit changed
meanwhile.
"""

# Statements are put together from constants of this package alone.
# ruff: noqa: S608

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from psycopg.rows import class_row

from sourcier.services.chassis.postgres.database import Connection
from sourcier.services.chassis.postgres.types import half_vector

POINT_KINDS = ("qa_pair", "source_material", "classic")


@dataclass(frozen=True, slots=True)
class UnitGap:
    """A unit that may lack vectors in a space."""

    unit_id: str
    tenant: str
    space_id: str


@dataclass(frozen=True, slots=True)
class MissingPoint:
    """A vector that is to be made."""

    unit_id: str
    revision: int
    kind: str
    subject_id: str
    lead: str
    """The question, the summary or the category."""
    text: str
    """The chunk's text behind it; empty for a question."""


@dataclass(frozen=True, slots=True)
class PointVector:
    """A vector that was made, of a unit as it was then."""

    unit_id: str
    revision: int
    kind: str
    subject_id: str
    vector: bytes
    """Float16, little-endian, L2 norm 1."""


async def gaps(connection: Connection, *, space_ids: Sequence[str], limit: int) -> list[UnitGap]:
    """Return units to look at in these spaces, the first noted first; in a transaction of `ALL_TENANTS`."""
    async with connection.cursor(row_factory=class_row(UnitGap)) as cursor:
        await cursor.execute(SELECT_GAPS, {"space_ids": list(space_ids), "limit": limit})
        return await cursor.fetchall()


async def missing(
    connection: Connection, *, tenant: str, space_id: str, unit_ids: Sequence[str]
) -> list[MissingPoint]:
    """Return the vectors that units lack in a space, by the methods of their build."""
    async with connection.cursor(row_factory=class_row(MissingPoint)) as cursor:
        await cursor.execute(SELECT_MISSING, {"tenant": tenant, "space_id": space_id, "unit_ids": list(unit_ids)})
        return await cursor.fetchall()


async def write(
    connection: Connection, *, tenant: str, space_id: str, unit_ids: Sequence[str], points: Sequence[PointVector]
) -> int:
    """Write vectors of units that are still as they were, and forget the gaps of those that lack none now.

    Returns how many vectors were written.
    """
    values = {
        "tenant": tenant, "space_id": space_id, "unit_ids": list(unit_ids),
        "point_units": [point.unit_id for point in points], "revisions": [point.revision for point in points],
        "kinds": [point.kind for point in points], "subjects": [point.subject_id for point in points],
        "vectors": [half_vector(point.vector) for point in points],
    }
    # A change of the unit waits until the vectors of what it was are there, and then removes them.
    await connection.execute(LOCK_UNITS, values)
    written = 0
    if points:
        cursor = await connection.execute(INSERT, values)
        written = cursor.rowcount
    await connection.execute(DELETE_GAPS, values)
    return written


async def refuse(connection: Connection, *, tenant: str, unit_id: str, reason: str, message: str) -> None:
    """Let a unit fail that cannot be embedded, without its vectors."""
    values = {"tenant": tenant, "unit_id": unit_id, "reason": reason, "message": message[:1_000]}
    for statement in (FAIL, DELETE_POINTS_OF_UNIT, DELETE_GAPS_OF_UNIT):
        await connection.execute(statement, values)


async def postpone(connection: Connection, *, tenant: str, space_id: str, unit_ids: Sequence[str]) -> None:
    """Let units whose vectors could not be made in a space wait behind all that are noted by now."""
    await connection.execute(POSTPONE, {"tenant": tenant, "space_id": space_id, "unit_ids": list(unit_ids)})


async def note_gaps(connection: Connection, *, collection_id: str, space_id: str) -> None:
    """Note that all units of a collection may lack vectors in a space, which is to be built."""
    await connection.execute(NOTE_COLLECTION, {"collection_id": collection_id, "space_id": space_id})


async def count_gaps(connection: Connection, *, collection_id: str, space_id: str) -> int:
    """Return how many of the units of a collection that answer may lack vectors in a space."""
    cursor = await connection.execute(COUNT_GAPS, {"collection_id": collection_id, "space_id": space_id})
    row = await cursor.fetchone()
    return 0 if row is None else int(row[0])


async def forget_space(connection: Connection, *, collection_id: str, space_id: str) -> None:
    """Delete the vectors that a collection's units have in a space that was given up."""
    for statement in (DELETE_OF_SPACE, DELETE_GAPS_OF_SPACE):
        await connection.execute(statement, {"collection_id": collection_id, "space_id": space_id})


SELECT_GAPS = """
select unit_id, tenant, space_id
from unit_gaps
where space_id = any(%(space_ids)s)
order by noted_at
limit %(limit)s
"""

WANTED = """
select unit.unit_id, unit.revision, 'qa_pair' as kind, pair.pair_id as subject_id, pair.question as lead, '' as text,
       pair.place
from unit
join unit_pairs as pair on pair.unit_id = unit.unit_id
where 'qa_atomic' = any(unit.methods)
union all
select unit_id, revision, 'source_material', unit_id, summary, chunk_text, 0
from unit
where 'qa_atomic' = any(methods)
union all
select unit_id, revision, 'classic', unit_id, category, chunk_text, 0
from unit
where 'classic' = any(methods)
"""

SELECT_MISSING = f"""
with unit as materialized (
    select unit.unit_id, unit.revision, unit.summary, unit.category, chunk.text as chunk_text, build.methods
    from units as unit
    join unit_builds as build using (build_id)
    join chunks as chunk on chunk.tenant = unit.tenant and chunk.chunk_id = unit.chunk_id
    where unit.tenant = %(tenant)s and unit.unit_id = any(%(unit_ids)s::uuid[])
      and unit.state in ('enriched', 'no_pairs')
)
select unit_id, revision, kind, subject_id, lead, text
from ({WANTED}) as wanted
where not exists (
    select from unit_points as point
    where point.space_id = %(space_id)s and point.kind = wanted.kind and point.subject_id = wanted.subject_id
)
order by unit_id, kind, place
"""

LOCK_UNITS = """
select from units where tenant = %(tenant)s and unit_id = any(%(unit_ids)s::uuid[]) order by unit_id for share
"""

INSERT = """
insert into unit_points (space_id, kind, subject_id, unit_id, build_id, document_id, tenant, embedding)
select %(space_id)s, point.kind, point.subject_id, unit.unit_id, unit.build_id, unit.document_id, unit.tenant,
       point.embedding
from unnest(%(point_units)s::uuid[], %(revisions)s::integer[], %(kinds)s::text[], %(subjects)s::uuid[],
            %(vectors)b::halfvec[]) as point (unit_id, revision, kind, subject_id, embedding)
join units as unit on unit.unit_id = point.unit_id and unit.revision = point.revision
where unit.tenant = %(tenant)s and unit.state in ('enriched', 'no_pairs')
on conflict do nothing
"""

# One that changed, or that the build's further method was noted for meanwhile, lacks something and stays.
DELETE_GAPS = f"""
with unit as materialized (
    select unit.unit_id, unit.revision, unit.summary, unit.category, '' as chunk_text, build.methods
    from units as unit
    join unit_builds as build using (build_id)
    where unit.tenant = %(tenant)s and unit.unit_id = any(%(unit_ids)s::uuid[])
      and unit.state in ('enriched', 'no_pairs')
),
lacking as materialized (
    select unit_id
    from ({WANTED}) as wanted
    where not exists (
        select from unit_points as point
        where point.space_id = %(space_id)s and point.kind = wanted.kind and point.subject_id = wanted.subject_id
    )
)
delete from unit_gaps
where tenant = %(tenant)s and space_id = %(space_id)s and unit_id = any(%(unit_ids)s::uuid[])
  and unit_id not in (select unit_id from lacking)
"""

FAIL = """
update units
set state = 'failed', reason = %(reason)s, message = %(message)s, revision = revision + 1, updated_at = now()
where tenant = %(tenant)s and unit_id = %(unit_id)s
"""
DELETE_POINTS_OF_UNIT = "delete from unit_points where tenant = %(tenant)s and unit_id = %(unit_id)s"
DELETE_GAPS_OF_UNIT = "delete from unit_gaps where tenant = %(tenant)s and unit_id = %(unit_id)s"

POSTPONE = """
update unit_gaps set noted_at = clock_timestamp()
where tenant = %(tenant)s and space_id = %(space_id)s and unit_id = any(%(unit_ids)s::uuid[])
"""

NOTE_COLLECTION = """
insert into unit_gaps (unit_id, space_id, tenant)
select unit.unit_id, %(space_id)s, unit.tenant
from units as unit
join unit_builds as build using (build_id)
where build.collection_id = %(collection_id)s and build.state <> 'retired' and unit.state in ('enriched', 'no_pairs')
on conflict (unit_id, space_id, tenant) do update set noted_at = clock_timestamp()
"""

COUNT_GAPS = """
select count(*)
from unit_gaps as gap
join units as unit using (unit_id)
join unit_builds as build using (build_id)
where build.collection_id = %(collection_id)s and build.state = 'live' and gap.space_id = %(space_id)s
"""

DELETE_OF_SPACE = """
delete from unit_points
where space_id = %(space_id)s
  and build_id in (select build_id from unit_builds where collection_id = %(collection_id)s)
"""

DELETE_GAPS_OF_SPACE = """
delete from unit_gaps
where space_id = %(space_id)s
  and unit_id in (select unit_id from units where collection_id = %(collection_id)s)
"""
