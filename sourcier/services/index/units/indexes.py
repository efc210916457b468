"""HNSW indexes of large sets of knowledge units: one for each set and space, over that set's vectors alone.

A set's vectors are scanned exactly while they are few. Beyond, it gets an index whose condition names the set, so that
a search walks through no other tenant's or set's vectors.
"""

from __future__ import annotations

import hashlib
import logging

import psycopg
from psycopg import sql

from sourcier.services.chassis.postgres.database import ALL_TENANTS, Connection, Database
from sourcier.services.index.spaces.hnsw import DROP_INDEX, build_index
from sourcier.services.index.spaces.spaces import (
    BUILD_MEMORY_BYTES_MAX,
    EXACT_ROWS_MAX,
    HNSW_BUILD_CANDIDATES,
    HNSW_LINKS,
    sole_builder,
)

logger = logging.getLogger(__name__)


async def build_unit_indexes(
    database: Database, *, rows_min: int = EXACT_ROWS_MAX, memory_bytes_max: int = BUILD_MEMORY_BYTES_MAX
) -> list[str]:
    """Make the indexes that sets have outgrown scans for, and remove those of sets that are gone; return those made.

    One that cannot be built is in the log, and is tried again at the next call. One process builds at a time, the
    others return at once. The server is asked for as much memory as a graph takes, up to `memory_bytes_max`.
    """
    async with sole_builder(database) as connection:
        if connection is None:
            return []
        return await _build(database, connection, rows_min=rows_min, memory_bytes_max=memory_bytes_max)


async def _build(database: Database, builder: Connection, *, rows_min: int, memory_bytes_max: int) -> list[str]:
    async with database.transaction(tenant=ALL_TENANTS, read_only=True) as connection:
        cursor = await connection.execute(SELECT_LARGE, {"rows_min": rows_min})
        large = await cursor.fetchall()
        cursor = await connection.execute(SELECT_KEPT)
        kept = {index_name(str(build_id), str(space_id)) for build_id, space_id in await cursor.fetchall()}
        cursor = await connection.execute(SELECT_INDEXES)
        there = {str(name) for (name,) in await cursor.fetchall()}
    made: list[str] = []
    for name in sorted(there - kept):
        await _drop(builder, name)
    for build_id, space_id, dimension, rows in large:
        name = index_name(str(build_id), str(space_id))
        create = sql.SQL(CREATE).format(
            index=sql.Identifier(name), dimension=sql.Literal(dimension), build=sql.Literal(str(build_id)),
            space=sql.Literal(str(space_id)),
        )
        if await build_index(
            builder, index=name, create=create, rows=int(rows), dimension=int(dimension),
            memory_bytes_max=memory_bytes_max, of={"build_id": str(build_id), "space_id": str(space_id)},
        ):
            await builder.execute(NOTE, {"build_id": build_id, "space_id": space_id})
            made.append(name)
    return made


async def _drop(builder: Connection, name: str) -> None:
    """Remove the index of a set that is gone, or that a build left behind which was cut off."""
    try:
        await builder.execute(sql.SQL(DROP_INDEX).format(index=sql.Identifier(name)))
    except psycopg.Error:
        if builder.closed:
            raise
        # The sets that are there still get theirs.
        logger.exception("an HNSW index that nothing needs was not removed", extra={"index": name})


def index_name(build_id: str, space_id: str) -> str:
    """Return the name of a set's index in a space."""
    return "unit_points_hnsw_" + hashlib.sha256(f"{build_id}\n{space_id}".encode()).hexdigest()[:12]


SELECT_LARGE = """
select build.build_id, space.space_id, space.dimension, (
    select count(*) from unit_points as point
    where point.build_id = build.build_id and point.space_id = space.space_id
) as points
from unit_builds as build
cross join embedding_spaces as space
where build.state <> 'retired' and space.space_id <> all(build.indexed_spaces)
  and exists (
      select from unit_points as point
      where point.build_id = build.build_id and point.space_id = space.space_id
      offset %(rows_min)s
  )
"""

SELECT_KEPT = """
select build_id, unnest(indexed_spaces) from unit_builds where state <> 'retired'
"""

SELECT_INDEXES = """
select index.relname
from pg_index
join pg_class as index on index.oid = indexrelid
where indrelid = to_regclass('unit_points') and starts_with(index.relname, 'unit_points_hnsw_')
"""

CREATE = f"""
create index concurrently {{index}} on unit_points
using hnsw ((embedding::halfvec({{dimension}})) halfvec_cosine_ops)
with (m = {HNSW_LINKS}, ef_construction = {HNSW_BUILD_CANDIDATES})
where build_id = {{build}} and space_id = {{space}}
"""

NOTE = """
update unit_builds set indexed_spaces = array_append(indexed_spaces, %(space_id)s)
where build_id = %(build_id)s and %(space_id)s <> all(indexed_spaces)
"""
