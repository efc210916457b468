"""Whether a tenant's index is whole: jobs that stand still, chunks without vectors, spaces without their index."""

from __future__ import annotations

from dataclasses import dataclass

from psycopg import sql

from sourcier.services.chassis.postgres.database import Connection
from sourcier.services.index.spaces.partitions import find_partition, find_shared_part
from sourcier.services.index.spaces.spaces import DEFERRED_ROWS_MAX

MISSING_COUNTED_MAX = 1_000
"""Beyond it the count says that there are many, and does not cost more."""
STUCK_SECONDS = 3600
"""A document under way that nothing happened to for so long stands still: four times the age at which it is released
again."""


@dataclass(frozen=True, slots=True)
class Jobs:
    """Jobs that are not done."""

    waiting: int
    processing: int
    stuck: int
    """Of both, those that nothing happened to for `STUCK_SECONDS`."""
    failures: int
    """Documents that were given up, and wait for somebody to decide."""


@dataclass(frozen=True, slots=True)
class SpaceSoundness:
    """What is stored of one embedding space of the tenant's collections."""

    space_id: str
    model: str
    dimension: int
    collections: int
    chunks_without_vector: int
    rows: int
    """Vectors in the tenant's own part, as PostgreSQL's planner estimates them; 0 where small tenants share one."""
    indexed: bool
    """Whether there is an HNSW index that is valid."""

    @property
    def lacks_index(self) -> bool:
        """Whether searches scan more vectors than are left without an index after a load."""
        return not self.indexed and self.rows > DEFERRED_ROWS_MAX


async def look_at_jobs(connection: Connection, *, tenant: str) -> Jobs:
    """Count the jobs that are not done."""
    cursor = await connection.execute(JOBS, {"tenant": tenant, "stuck_seconds": STUCK_SECONDS})
    row = await cursor.fetchone()
    assert row is not None
    return Jobs(*row)


async def look_at_spaces(connection: Connection, *, tenant: str) -> list[SpaceSoundness]:
    """Look at every space that a collection of the tenant's is searched in."""
    cursor = await connection.execute(SPACES, {"tenant": tenant})
    found = []
    for space_id, model, dimension, table, collections in await cursor.fetchall():
        partition = await find_partition(connection, vectors_table=table, tenant=tenant)
        holding = partition or await find_shared_part(connection, vectors_table=table)
        missing = await _without_vector(connection, tenant=tenant, space_id=space_id, partition=holding)
        rows, indexed = await _index_of(connection, partition)
        found.append(SpaceSoundness(space_id, model, dimension, collections, missing, rows, indexed))
    return found


async def _without_vector(connection: Connection, *, tenant: str, space_id: str, partition: str | None) -> int:
    exists = sql.SQL(HAS_VECTOR).format(partition=sql.Identifier(partition)) if partition else sql.SQL("false")
    cursor = await connection.execute(
        sql.SQL(WITHOUT_VECTOR).format(has_vector=exists),
        {"tenant": tenant, "space_id": space_id, "counted_max": MISSING_COUNTED_MAX},
    )
    row = await cursor.fetchone()
    return int(row[0]) if row else 0


async def _index_of(connection: Connection, partition: str | None) -> tuple[int, bool]:
    if partition is None:
        return 0, False
    cursor = await connection.execute(INDEX, {"partition": partition})
    row = await cursor.fetchone()
    return (max(int(row[0]), 0), bool(row[1])) if row else (0, False)


JOBS = """
select count(*) filter (where status = 'pending'), count(*) filter (where status = 'processing'),
       count(*) filter (where updated_at < now() - make_interval(secs => %(stuck_seconds)s)),
       (select count(*) from dead_letters where tenant = %(tenant)s and state = 'open')
from jobs
where tenant = %(tenant)s and status in ('pending', 'processing')
"""
SPACES = """
select space.space_id, space.model, space.dimension, space.vectors_table, count(*)
from collections as collection
join embedding_spaces as space using (space_id)
where collection.tenant = %(tenant)s
group by space.space_id
order by space.space_id
"""
HAS_VECTOR = """
exists (select from {partition} as vector where vector.tenant = chunks.tenant and vector.chunk_id = chunks.chunk_id)
"""
WITHOUT_VECTOR = """
select count(*)
from (
    select
    from chunks
    join collections as collection using (tenant, collection_id)
    where chunks.tenant = %(tenant)s and collection.space_id = %(space_id)s and not {has_vector}
    limit %(counted_max)s
) as missing
"""
INDEX = """
select partition.reltuples, exists (
    select from pg_index
    join pg_class as index on index.oid = indexrelid
    join pg_am on pg_am.oid = index.relam
    where indrelid = partition.oid and amname = 'hnsw' and indisvalid
)
from pg_class as partition
where partition.oid = to_regclass(quote_ident(%(partition)s))
"""
