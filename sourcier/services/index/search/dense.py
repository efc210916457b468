"""Dense search: cosine similarity, exactly over few passages, through HNSW over many."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from math import log2
from typing import Any

from psycopg import sql
from psycopg.rows import TupleRow

from sourcier.services.chassis.postgres.database import Connection
from sourcier.services.chassis.postgres.types import half_vector
from sourcier.services.index.search.scope import Scope
from sourcier.services.index.spaces.spaces import EXACT_ROWS_MAX

HNSW_CANDIDATES_MIN = 300
"""Of 100,000 vectors, 100 found 86 % of the ten closest, 200 found 93 %, 300 found 96.5 % (`make bench ONLY=scale`)."""
LARGE_PASSAGES_MIN, HNSW_CANDIDATES_A_DOUBLING = 100_000, 90
"""So many more candidates each time the passages double from there. Of a million, 300 found 90 %, 500 found 94 % and
600 found 95 %."""
HNSW_CANDIDATES_MAX = 1_000
"""The most that pgvector takes for `hnsw.ef_search`."""
EXACT_FILTERED_ROWS_MAX = 120_000
"""So many are scanned exactly where an index cannot be asked to look at enough: some 0.1 s on two cores, where a search
at the widest takes 0.05 and finds 93 % of the ten closest (a tenth of a million)."""

PLACED, DEPTH = 10, 10
"""Under filters the `PLACED`th passage has to be within the first `DEPTH`th of what was looked at. Of a million, 98 %
of the ten closest were found where it was among the first 15 of 1,000, 89 % where it was about the 90th, 59 % where it
was about the 500th: what lies deeper is in parts of the graph that a search never comes to
(docs/measured/history/scale.md).
"""
KEPT_CHARACTERS_MAX = 3_000
"""Of a condition whose statement is kept: longer than any without a typed filter."""
EXACT_FAR_ROWS_MAX = 500_000
"""So many are scanned exactly where what meets the filters lies far from the question: some 0.4 s."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A passage that a search found."""

    chunk_id: str
    score: float
    """Cosine similarity for dense search, BM25 for lexical search; greater is better."""
    incomplete: bool = False
    """Whether closer ones may have been left out: those that meet the filters lie far, too many to compare each."""


async def search_dense(
    connection: Connection, scope: Scope, *, vector: bytes, limit: int, exact: bool = False
) -> list[Hit]:
    """Return the passages closest to a vector (float16, little-endian), best first.

    Never fewer than `limit` where so many match: what iterative index scans leave out is scanned exactly. So is what
    filters leave where an index cannot be asked to look at enough, and where it lies far from the question.
    """
    values = {
        "tenant": scope.tenant,
        "vector": half_vector(vector),
        "limit": limit,
    } | scope.parameters
    candidates = candidates_of(limit, passages=scope.passages, matching=scope.matching)
    too_narrow = candidates > HNSW_CANDIDATES_MAX and scope.matching <= EXACT_FILTERED_ROWS_MAX
    if exact or too_narrow or scope.matching <= EXACT_ROWS_MAX:
        return await _fetch(connection, scope, EXACT, values)
    candidates = min(candidates, HNSW_CANDIDATES_MAX)
    if scope.filters.empty:
        return await _iterate(connection, scope, values, candidates=candidates)
    near = await _nearest_matching(connection, scope, values, candidates=candidates)
    if near.far and scope.matching <= EXACT_FAR_ROWS_MAX:
        # By document: of this many, a third of the pages are read, and by one process.
        return await _fetch(connection, scope, EXACT, values, condition=scope.scanned_condition)
    if near.far and candidates < HNSW_CANDIDATES_MAX:
        candidates = HNSW_CANDIDATES_MAX
        near = await _nearest_matching(connection, scope, values, candidates=candidates)
    if len(near.hits) < limit:
        return await _iterate(connection, scope, values, candidates=candidates, far=near.far)
    return _marked(near.hits[:limit], far=near.far)


@dataclass(frozen=True, slots=True)
class _Nearest:
    """Those of the nearest passages that meet the filters."""

    hits: list[Hit]
    far: bool
    """Whether they lie so deep among the nearest that the index may have missed closer ones."""


async def _iterate(
    connection: Connection, scope: Scope, values: dict[str, Any], *, candidates: int, far: bool = False
) -> list[Hit]:
    """Let the index go on until there are enough; scan where it ends before."""
    async with connection.pipeline():
        await connection.execute(CONFIGURE_HNSW, (str(candidates),))
        cursor = await connection.execute(_over(APPROXIMATE, scope.vectors_table, scope.condition), values)
    hits = _hits(await cursor.fetchall())
    if len(hits) < min(values["limit"], scope.matching):
        return await _fetch(connection, scope, EXACT, values)
    return _marked(hits, far=far)


async def _nearest_matching(
    connection: Connection, scope: Scope, values: dict[str, Any], *, candidates: int
) -> _Nearest:
    """Look at so many of the nearest passages, whatever they are, and see where among them the filters' are."""
    values = values | {"candidates": candidates, "limit": max(values["limit"], PLACED)}
    statement = _over(NEAREST_MATCHING, scope.vectors_table, scope.condition)
    async with connection.pipeline():
        await connection.execute(CONFIGURE_NEAREST, (str(candidates),))
        cursor = await connection.execute(statement, values)
    rows = await cursor.fetchall()
    far = len(rows) < PLACED or rows[PLACED - 1][2] * DEPTH > candidates
    return _Nearest([Hit(chunk_id, 1.0 - distance) for chunk_id, distance, _ in rows], far)


def candidates_of(limit: int, *, passages: int = 0, matching: int = 0) -> int:
    """Return how many points of an index a search should look at; the index allows `HNSW_CANDIDATES_MAX`.

    `passages`: those of the collection, `matching`: those that meet the filters; 0 where they are not counted.
    """
    wanted = float(HNSW_CANDIDATES_MIN)
    if passages > LARGE_PASSAGES_MIN:
        wanted += HNSW_CANDIDATES_A_DOUBLING * log2(passages / LARGE_PASSAGES_MIN)
    if 0 < matching < passages:
        # Of what is looked at only this share meets the filters.
        wanted *= passages / matching
    return max(2 * limit, round(wanted))


def _marked(hits: list[Hit], *, far: bool) -> list[Hit]:
    return [replace(hit, incomplete=True) for hit in hits] if far else hits


async def _fetch(
    connection: Connection, scope: Scope, statement: str, values: dict[str, Any], *, condition: str | None = None
) -> list[Hit]:
    condition = scope.condition if condition is None else condition
    cursor = await connection.execute(_over(statement, scope.vectors_table, condition), values)
    return _hits(await cursor.fetchall())


def _hits(rows: list[TupleRow]) -> list[Hit]:
    return [Hit(chunk_id, 1.0 - distance) for chunk_id, distance in rows]


def _over(statement: str, table: str, condition: str) -> bytes:
    """Return a statement over a space's table; one that many searches send is put together once.

    Conditions that callers make are as many and as long as they like, and are not kept.
    """
    kept = len(condition) <= KEPT_CHARACTERS_MAX
    return _kept_over(statement, table, condition) if kept else _put_over(statement, table, condition)


def _put_over(statement: str, table: str, condition: str) -> bytes:
    return sql.SQL(statement).format(table=sql.Identifier(table), condition=sql.SQL(condition)).as_bytes(None)


_kept_over = lru_cache(maxsize=1024)(_put_over)


# Strict order: what comes first is best, so that a limit cuts off the worst.
CONFIGURE_HNSW = """
select set_config('hnsw.iterative_scan', 'strict_order', true), set_config('hnsw.ef_search', %s, true)
"""

APPROXIMATE = """
select chunk_id, embedding <=> %(vector)b as distance
from {table}
where tenant = %(tenant)s and collection_id = any(%(collection_ids)s::uuid[]) {condition}
order by embedding <=> %(vector)b
limit %(limit)s
"""

CONFIGURE_NEAREST = """
select set_config('hnsw.iterative_scan', 'off', true), set_config('hnsw.ef_search', %s, true)
"""

# The filters stand outside, so that the places count what does not meet them, too. So do the collections, which share
# the tenant's index. In the order of their distance, so that no more are looked up than are wanted.
NEAREST_MATCHING = """
with near as materialized (
    select chunk_id, document_id, collection_id, tenant, embedding <=> %(vector)b as distance
    from {table}
    where tenant = %(tenant)s
    order by embedding <=> %(vector)b
    limit %(candidates)s
)
select chunk_id, distance, place
from (select *, row_number() over (order by distance) as place from near) as placed
where tenant = %(tenant)s and collection_id = any(%(collection_ids)s::uuid[]) {condition}
order by distance
limit %(limit)s
"""

# The offset keeps the planner from the index; a materialised part took a fifth longer.
EXACT = """
select chunk_id, distance
from (
    select chunk_id, embedding <=> %(vector)b as distance
    from {table}
    where tenant = %(tenant)s and collection_id = any(%(collection_ids)s::uuid[]) {condition}
    offset 0
) as passage
order by distance, chunk_id
limit %(limit)s
"""
