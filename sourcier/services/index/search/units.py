"""Knowledge units in a search: the pairs and source points closest to a question, each told by its chunk."""

# Statements are put together from constants of this package alone.
# ruff: noqa: S608

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar

from psycopg import sql
from psycopg.rows import class_row, dict_row

from sourcier.services.chassis.postgres.database import Connection
from sourcier.services.chassis.postgres.types import half_vector
from sourcier.services.index.search.dense import CONFIGURE_HNSW, HNSW_CANDIDATES_MAX, candidates_of
from sourcier.services.index.search.filters import Filters
from sourcier.services.index.search.scope import Scope

Found = TypeVar("Found")

KINDS = {"qa_atomic": ("qa_pair", "source_material"), "classic": ("classic",)}
"""The kinds of vectors that an indexing method searches, beside the plain passages."""
POINTS_PER_CHUNK, MORE_POINTS_PER_CHUNK = 4, 20
"""Points that an index is asked for at first for each chunk wanted, since a chunk's own pairs come close to the same
question; and once more where those are of too few chunks. A chunk may have fifty pairs: what is lacking then is scanned
for."""


@dataclass(frozen=True, slots=True)
class UnitMatch:
    """What the language model made of a chunk, and which of it a question is close to."""

    chunk_id: str
    unit_id: str
    category: str
    summary: str
    keywords: Sequence[str]
    kind: str = ""
    """`qa_pair`, `source_material` or `classic`; empty where the chunk was found by its own text."""
    question: str = ""
    """The pair's; empty for other kinds."""
    answer: str = ""
    similarity: float | None = None
    """Cosine of the question's vector and the point's."""


@dataclass(frozen=True, slots=True)
class NearPair:
    """A generated question that is close to one that was asked, with the passage that its answer comes from."""

    pair_id: str
    question: str
    answer: str
    category: str
    chunk_id: str
    document_id: str
    version_id: str
    title: str
    heading_path: Sequence[str]
    edited_by: str
    """Who wrote it; empty for the language model."""
    edited_at: datetime | None
    similarity: float


def kinds_of(methods: Sequence[str], *, method: str) -> tuple[str, ...]:
    """Return the kinds to search for an agent: its method's, or while they are being made those of the live set."""
    chosen = [method] if method in methods else list(methods)
    return tuple(kind for each in chosen for kind in KINDS.get(each, ()))


async def nearest_units(
    connection: Connection, scope: Scope, *, vector: bytes, kinds: Sequence[str], method: str, limit: int,
    exact: bool = False,
) -> list[UnitMatch]:
    """Return the chunks whose units are closest to a vector (float16, little-endian), best first, each chunk once.

    `kinds` names what is searched; without any, it is what the agent's `method` asks for.
    """
    matches: list[UnitMatch] = []
    for live in await _live(connection, scope.tenant, scope.collection_ids, space_id=scope.space_id):
        wanted = kinds or kinds_of(live.methods, method=method)
        values = {
            "tenant": scope.tenant, "kinds": list(wanted), "vector": half_vector(vector), "limit": limit,
        } | scope.filters.parameters(scope.collection_ids)
        if wanted:
            matches += await _fetch(
                connection, NEAREST_UNITS, values, live=live, space_id=scope.space_id, filters=scope.filters,
                row=UnitMatch, exact=exact,
            )
    return sorted(matches, key=lambda match: -(match.similarity or 0.0))[:limit]


async def units_of(connection: Connection, *, tenant: str, chunk_ids: Sequence[str]) -> dict[str, UnitMatch]:
    """Return what is known of chunks, by chunk, where the set that answers has it."""
    async with connection.cursor(row_factory=class_row(UnitMatch)) as cursor:
        await cursor.execute(OF_CHUNKS, {"tenant": tenant, "chunk_ids": list(chunk_ids)})
        return {match.chunk_id: match for match in await cursor.fetchall()}


async def nearest_pairs(
    connection: Connection, *, tenant: str, collection: str, space_id: str, vector: bytes, filters: Filters, limit: int
) -> list[NearPair]:
    """Return a collection's pairs whose questions are closest to a vector (float16, little-endian), best first."""
    cursor = await connection.execute(SELECT_COLLECTION, {"tenant": tenant, "collection": collection})
    row = await cursor.fetchone()
    if row is None:
        return []
    pairs: list[NearPair] = []
    for live in await _live(connection, tenant, [str(row[0])], space_id=space_id):
        values = {
            "tenant": tenant, "kinds": ["qa_pair"], "vector": half_vector(vector), "limit": limit,
        } | filters.parameters([str(row[0])])
        pairs += await _fetch(
            connection, NEAREST_PAIRS, values, live=live, space_id=space_id, filters=filters, row=NearPair
        )
    return pairs


@dataclass(frozen=True, slots=True)
class _Live:
    """A set that answers."""

    build_id: str
    methods: list[str]
    indexed: bool
    """Whether it has an index in the space that is searched."""
    dimension: int


async def _live(
    connection: Connection, tenant: str, collection_ids: Sequence[str], *, space_id: str
) -> list[_Live]:
    async with connection.cursor(row_factory=class_row(_Live)) as cursor:
        await cursor.execute(SELECT_LIVE, {
            "tenant": tenant, "collection_ids": list(collection_ids), "space_id": space_id,
        })
        return await cursor.fetchall()


@dataclass(frozen=True, slots=True)
class _Statement:
    """What is read of the points nearest to a vector."""

    text: str
    exact: str
    """How the points are found without an index."""
    points_each: Sequence[int]
    """How many points are looked at for each row wanted: at first, and where an index is asked once more."""


async def _fetch(
    connection: Connection, statement: _Statement, values: dict[str, Any], *, live: _Live, space_id: str,
    filters: Filters, row: type[Found], exact: bool = False,
) -> list[Found]:
    """Return what is read of the points nearest to a vector; what an index leaves out is scanned for."""
    limit: int = values["limit"]

    async def read(near: str, *, points: int) -> tuple[list[Found], int]:
        """Return what was found, and of how many points."""
        rendered = sql.SQL(near).format(
            build=sql.Literal(live.build_id), space=sql.Literal(space_id), dimension=sql.Literal(live.dimension),
            condition=sql.SQL(filters.narrowed("unit_id")),
        )
        async with connection.cursor(row_factory=dict_row) as cursor:
            await cursor.execute(sql.SQL(statement.text).format(near=rendered), values | {"points": points})
            rows = await cursor.fetchall()
        looked_at = max((each.pop("points") for each in rows), default=0)
        return [row(**each) for each in rows], looked_at

    for points_each in statement.points_each if live.indexed and not exact else ():
        points = points_each * limit
        candidates = min(max(candidates_of(limit), points), HNSW_CANDIDATES_MAX)
        await connection.execute(CONFIGURE_HNSW, (str(candidates),))
        found, looked_at = await read(NEAR_INDEXED, points=points)
        if len(found) >= limit:
            return found
        if looked_at < points:
            break  # the index has no more of them, however many are asked for
    found, _ = await read(statement.exact, points=statement.points_each[0] * limit)
    return found


SELECT_LIVE = """
select build_id, methods, space.space_id = any(indexed_spaces) as indexed, space.dimension
from unit_builds
join embedding_spaces as space on space.space_id = %(space_id)s
where tenant = %(tenant)s and collection_id = any(%(collection_ids)s::uuid[]) and unit_builds.state = 'live'
"""

_SCANNED = """
scanned as materialized (
    select unit_id, kind, subject_id, embedding <=> %(vector)b as distance
    from unit_points
    where tenant = %(tenant)s and build_id = {build} and space_id = {space} and kind = any(%(kinds)s) {condition}
)
"""

# Materialised, so that the planner cannot use the index.
NEAR_EXACT = f"""
{_SCANNED},
near as materialized (
    select unit_id, kind, subject_id, distance from scanned order by distance limit %(points)s
)
"""

# By unit where the nearest points are of too few: they may all be of one. Else not, for that takes half as long again.
NEAR_EXACT_UNITS = f"""
{_SCANNED},
first as materialized (
    select unit_id, kind, subject_id, distance from scanned order by distance limit %(points)s
),
found as materialized (
    select count(distinct unit_id) < %(limit)s as too_few from first
),
closest as (
    select unit_id, min(distance) as distance
    from scanned
    where (select too_few from found)
    group by unit_id
    order by min(distance)
    limit %(limit)s
),
near as materialized (
    select unit_id, kind, subject_id, distance from first where not (select too_few from found)
    union all
    select unit_id, kind, subject_id, distance
    from scanned
    join closest using (unit_id, distance)
    where (select too_few from found)
)
"""

# Build and space as they stand in the condition of the set's own index.
NEAR_INDEXED = """
near as materialized (
    select unit_id, kind, subject_id, embedding::halfvec({dimension}) <=> %(vector)b as distance
    from unit_points
    where tenant = %(tenant)s and build_id = {build} and space_id = {space} and kind = any(%(kinds)s) {condition}
    order by embedding::halfvec({dimension}) <=> %(vector)b
    limit %(points)s
)
"""

_NEAREST_UNITS = """
with {near},
best as (
    select distinct on (unit_id) unit_id, kind, subject_id, distance
    from near
    order by unit_id, distance
)
select unit.chunk_id, unit.unit_id, unit.category, unit.summary, unit.keywords, best.kind,
       coalesce(pair.question, '') as question, coalesce(pair.answer, '') as answer, 1.0 - distance as similarity,
       (select count(*) from near) as points
from best
join units as unit on unit.unit_id = best.unit_id
left join unit_pairs as pair on best.kind = 'qa_pair' and pair.pair_id = best.subject_id
where unit.tenant = %(tenant)s
order by distance, unit.chunk_id
limit %(limit)s
"""

NEAREST_UNITS = _Statement(_NEAREST_UNITS, NEAR_EXACT_UNITS, (POINTS_PER_CHUNK, MORE_POINTS_PER_CHUNK))

OF_CHUNKS = """
select unit.chunk_id, unit.unit_id, unit.category, unit.summary, unit.keywords
from units as unit
join unit_builds as build using (build_id)
where unit.tenant = %(tenant)s and unit.chunk_id = any(%(chunk_ids)s::uuid[]) and build.state = 'live'
  and unit.state in ('enriched', 'no_pairs')
"""

SELECT_COLLECTION = "select collection_id from collections where tenant = %(tenant)s and name = %(collection)s"

_NEAREST_PAIRS = """
with {near}
select pair.pair_id, pair.question, pair.answer, unit.category, unit.chunk_id, unit.document_id, unit.version_id,
       document.title, chunk.heading_path, pair.edited_by, unit.edited_at, 1.0 - distance as similarity,
       (select count(*) from near) as points
from near
join unit_pairs as pair on pair.pair_id = near.subject_id
join units as unit on unit.unit_id = near.unit_id
join chunks as chunk on chunk.tenant = unit.tenant and chunk.chunk_id = unit.chunk_id
join documents as document on document.document_id = unit.document_id
where unit.tenant = %(tenant)s and unit.state = 'enriched'
order by distance, pair.pair_id
"""

NEAREST_PAIRS = _Statement(_NEAREST_PAIRS, NEAR_EXACT, (1,))
