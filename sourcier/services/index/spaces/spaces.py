"""Embedding spaces: what a vector's numbers mean, and the table that holds them.

A space has one table, list-partitioned by tenant. Small tenants share a partition. One that grows gets its own, with an
HNSW index once it outgrows exact scans: until then inserting costs no graph, and a search is exact.
"""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

from psycopg import sql
from psycopg.rows import class_row

from sourcier.services.chassis.errors import FailedPrecondition, NotFound, SpaceMismatch
from sourcier.services.chassis.postgres.database import Connection, Database
from sourcier.services.chassis.postgres.locks import sole
from sourcier.services.index.spaces.growing import move_grown
from sourcier.services.index.spaces.hnsw import build_index
from sourcier.services.index.spaces.partitions import LOCK, PARTITION_NAMES, ensure_shared_part, force_row_security

EXACT_ROWS_MAX = 20_000
"""Up to so many rows a scan takes 10 to 20 ms and misses nothing."""

DEFERRED_ROWS_MAX = 100_000
"""Up to so many rows an index is built after a load instead of during it: scanning them takes 50 to 100 ms."""

LOAD_DOCUMENTS_MIN = 100
"""So many documents of a tenant under way at once are a load."""

HNSW_LINKS = 16
HNSW_BUILD_CANDIDATES = 200
"""Where a collection has hundreds of passages about one thing, 64 link these with one another and with little else: of
a million such vectors, 300 candidates held 80 % of the ten closest then, and 90 % with 200
(docs/measured/performance/scale.md).
"""

BUILD_MEMORY_BYTES_MAX = 2 * 1024**3
"""What a build may take at once; a graph that outgrows it is finished on the disk, several times slower."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddingSpace:
    """The model's manifest, as far as vectors depend on it."""

    space_id: str
    model: str
    revision: str
    dimension: int
    query_prefix: str
    passage_prefix: str
    pooling: str
    token_mean_sha256: str
    """Hash of the mean that was subtracted before token vectors were reduced to signs."""
    token_weights: str
    """Where the tokens' weights come from."""
    state: str = "live"
    """`building`, `live` or `retired`."""


@dataclass(frozen=True, slots=True)
class StoredSpace(EmbeddingSpace):
    """A space in the database."""

    vectors_table: str = ""
    shares_parts: bool = False
    """Whether small tenants share a part of its table."""


@dataclass(frozen=True, slots=True)
class UsedSpace:
    """A space and who uses it."""

    space_id: str
    model: str
    revision: str
    dimension: int
    state: str
    collections: list[str]
    """Names of a tenant's collections, in order."""


async def ensure_space(connection: Connection, space: EmbeddingSpace) -> StoredSpace:
    """Make the space and its table unless they exist; raise `SpaceMismatch` where the stored constants differ."""
    await connection.execute(LOCK, (f"sourcier.space.{space.space_id}",))
    table = "vectors_" + hashlib.sha256(space.space_id.encode()).hexdigest()[:12]
    await connection.execute(INSERT, {**_fields(space), "state": space.state, "vectors_table": table})
    stored = await get_space(connection, space.space_id)
    differing = [name for name, value in _fields(space).items() if getattr(stored, name) != value]
    if differing:
        message = f"The space {space.space_id} is stored with another {', '.join(differing)}."
        raise SpaceMismatch(message, space_id=space.space_id)
    create = sql.SQL(CREATE_VECTORS).format(
        table=sql.Identifier(table),
        by_document=sql.Identifier(f"{table}_by_document"),
        dimension=sql.Literal(space.dimension),
    )
    if not await _exists(connection, table):
        await connection.execute(create)
        await force_row_security(connection, table)
    if stored.shares_parts:
        await ensure_shared_part(connection, vectors_table=table)
    return stored


async def get_space(connection: Connection, space_id: str) -> StoredSpace:
    """Return a space; raise `NotFound`."""
    async with connection.cursor(row_factory=class_row(StoredSpace)) as cursor:
        await cursor.execute(SELECT, (space_id,))
        space = await cursor.fetchone()
    if space is None:
        raise NotFound(f"There is no embedding space {space_id}.", space_id=space_id)
    return space


async def take_up(connection: Connection, space_id: str) -> StoredSpace:
    """Return a space that a collection needs from now on, live again where it was retired.

    Until the transaction ends, nobody retires it or removes its table. Raises `NotFound`, or `FailedPrecondition`
    where its table is gone.
    """
    async with connection.pipeline():
        # Shared: who needs the space waits for none but those who would give it up.
        await connection.execute(SHARE_LOCK, (f"sourcier.space.{space_id}",))
        await connection.execute(TAKE_UP, (space_id,))
        cursor = await connection.execute(HAS_TABLE, (space_id,))
    row = await cursor.fetchone()
    if row is not None and not row[0]:
        raise FailedPrecondition(
            f"The space {space_id} was retired, and its table removed; name its model in SOURCIER_EMBED_MODELS and "
            "start the services anew.", field="space",
        )
    return await get_space(connection, space_id)


async def find_space_id(connection: Connection, *, name: str, preferred: Sequence[str] = ()) -> str:
    """Return the id of a space named by its id or its model, `preferred` ones first; raise `NotFound`."""
    cursor = await connection.execute(FIND, {"name": name, "preferred": list(preferred)})
    row = await cursor.fetchone()
    if row is not None:
        return str(row[0])
    cursor = await connection.execute("select model from embedding_spaces where state <> 'retired' order by model")
    known = ", ".join(dict.fromkeys(str(model) for (model,) in await cursor.fetchall()))
    raise NotFound(
        f"There is no embedding space and no model {name!r}; there are {known or 'none'}. Name the model in "
        "SOURCIER_EMBED_MODELS and start the services anew.", field="space",
    )


async def list_spaces(connection: Connection, *, tenant: str) -> list[UsedSpace]:
    """Return every space with the names of the tenant's collections that answer from it."""
    async with connection.cursor(row_factory=class_row(UsedSpace)) as cursor:
        await cursor.execute(LIST, {"tenant": tenant})
        return await cursor.fetchall()


async def vectors_tables(connection: Connection) -> tuple[str, ...]:
    """Return the tables of all spaces that are in use or may be."""
    cursor = await connection.execute(
        "select vectors_table from embedding_spaces where state <> 'retired' order by space_id"
    )
    return tuple(table for (table,) in await cursor.fetchall())


async def build_indexes(
    database: Database, *, rows_min: int = EXACT_ROWS_MAX, deferred_rows_max: int = 0,
    memory_bytes_max: int = BUILD_MEMORY_BYTES_MAX,
) -> list[str]:
    """Give an HNSW index to each partition of over `rows_min` rows that has none; return their names.

    One that cannot be built is in the log, and is tried again at the next call. A partition of up to
    `deferred_rows_max` rows that is being loaded is left for later: adding a row to an index costs several times what
    building it afterwards does (ADR 16). Built concurrently: neither searches nor commits wait, and the build waits at
    its end for transactions that began before it. One process builds at a time, the others return at once. The server
    is asked for as much memory as the graph takes, up to `memory_bytes_max`. Tenants that have grown are given a part
    of their own first: what several share has no index.
    """
    async with sole_builder(database) as connection:
        if connection is None:
            return []
        await move_grown(database, connection, tables=await vectors_tables(connection), rows_min=rows_min)
        return await build_missing(
            connection, rows_min=rows_min, deferred_rows_max=deferred_rows_max, memory_bytes_max=memory_bytes_max
        )


async def build_missing(
    connection: Connection, *, rows_min: int = EXACT_ROWS_MAX, deferred_rows_max: int = 0,
    memory_bytes_max: int = BUILD_MEMORY_BYTES_MAX,
) -> list[str]:
    """Do as `build_indexes` does, on the sole builder's connection."""
    cursor = await connection.execute(PARTITIONS_WITHOUT_INDEX, {
        "rows_min": rows_min, "deferred_rows_max": deferred_rows_max, "load_documents_min": LOAD_DOCUMENTS_MIN
    })
    return [
        partition for partition, rows, dimension in await cursor.fetchall()
        if await _build_index(
            connection, partition, rows=int(rows), dimension=dimension, memory_bytes_max=memory_bytes_max
        )
    ]


@asynccontextmanager
async def sole_builder(database: Database) -> AsyncIterator[Connection | None]:
    """Lend a connection without timeouts while no other process builds indexes of vectors; None where one does."""
    async with sole(database, "sourcier.hnsw", timeouts=False) as connection:
        yield connection


async def _build_index(
    connection: Connection, partition: str, *, rows: int, dimension: int, memory_bytes_max: int
) -> bool:
    # Hashed: the partition's own name may already be as long as names can be.
    index = "hnsw_" + hashlib.sha256(partition.encode()).hexdigest()[:16]
    create = sql.SQL(CREATE_INDEX).format(index=sql.Identifier(index), partition=sql.Identifier(partition))
    return await build_index(
        connection, index=index, create=create, rows=rows, dimension=dimension, memory_bytes_max=memory_bytes_max,
        of={"partition": partition},
    )


def _fields(space: EmbeddingSpace) -> dict[str, str | int]:
    return {
        "space_id": space.space_id,
        "model": space.model,
        "revision": space.revision,
        "dimension": space.dimension,
        "query_prefix": space.query_prefix,
        "passage_prefix": space.passage_prefix,
        "pooling": space.pooling,
        "token_mean_sha256": space.token_mean_sha256,
        "token_weights": space.token_weights,
    }


async def _exists(connection: Connection, table: str) -> bool:
    cursor = await connection.execute("select to_regclass(quote_ident(%s)) is not null", (table,))
    row = await cursor.fetchone()
    return bool(row and row[0])


SHARE_LOCK = "select pg_advisory_xact_lock_shared(hashtext(current_schema() || %s))"
TRY_TRANSACTION_LOCK = "select pg_try_advisory_xact_lock(hashtext(current_schema() || %s))"

SELECT = """
select space_id, model, revision, dimension, query_prefix, passage_prefix, pooling, token_mean_sha256, token_weights,
       state, vectors_table, shares_parts
from embedding_spaces
where space_id = %s
"""

TAKE_UP = """
update embedding_spaces set state = 'live', retired_at = null
where space_id = %s and state = 'retired' and to_regclass(quote_ident(vectors_table)) is not null
"""
HAS_TABLE = "select to_regclass(quote_ident(vectors_table)) is not null from embedding_spaces where space_id = %s"

# One that was retired may be named, too: whoever needs it takes it up again.
FIND = """
select space_id
from embedding_spaces
where space_id = %(name)s or model = %(name)s
order by space_id = %(name)s desc, space_id = any(%(preferred)s) desc, state = 'retired', created_at desc
limit 1
"""

LIST = """
select space_id, model, revision, dimension, state, array(
    select name from collections where tenant = %(tenant)s and collections.space_id = space.space_id order by name
) as collections
from embedding_spaces as space
order by space_id
"""

INSERT = """
insert into embedding_spaces (space_id, model, revision, dimension, query_prefix, passage_prefix, pooling,
                              token_mean_sha256, token_weights, state, vectors_table)
values (%(space_id)s, %(model)s, %(revision)s, %(dimension)s, %(query_prefix)s, %(passage_prefix)s, %(pooling)s,
        %(token_mean_sha256)s, %(token_weights)s, %(state)s, %(vectors_table)s)
on conflict (space_id) do update set state = excluded.state, retired_at = null
where embedding_spaces.state = 'retired'
"""

# Plain: a toasted halfvec(1024) scans five times slower. External: codes are bits, and do not compress.
CREATE_VECTORS = """
create table {table} (
    chunk_id uuid not null,
    tenant text not null,
    collection_id uuid not null,
    document_id uuid not null,
    embedding halfvec({dimension}) not null,
    token_codes bytea not null,
    primary key (tenant, chunk_id)
) partition by list (tenant);
alter table {table} alter column embedding set storage plain, alter column token_codes set storage external;
create index {by_document} on {table} (collection_id, document_id);
"""


def _names(tenant: str) -> str:
    return PARTITION_NAMES.format(table="space.vectors_table", tenant=tenant)


# The planner's estimate of rows is enough: it decides when to build, never what a search finds.
PARTITIONS_WITHOUT_INDEX = f"""
select partition.relname, partition.reltuples, space.dimension
from embedding_spaces as space
join pg_inherits on inhparent = to_regclass(quote_ident(space.vectors_table))
join pg_class as partition on partition.oid = inhrelid
-- Of the part that small tenants share none is alone.
join pg_partitioned_table as parts on parts.partrelid = inhparent and parts.partdefid <> partition.oid
where partition.reltuples > %(rows_min)s
  and space.state <> 'retired'
  and not exists (
      select from pg_index
      join pg_class as index on index.oid = indexrelid
      join pg_am on pg_am.oid = index.relam
      where indrelid = partition.oid and amname = 'hnsw' and indisvalid
  )
  and (partition.reltuples > %(deferred_rows_max)s or not exists (
      select from space_builds as build
      where build.state = 'building' and build.space_id = space.space_id
        and partition.relname in {_names("build.tenant")}
  ) and not exists (
      select
      from tenants
      cross join lateral (
          select count(*) as documents
          from (
              select
              from document_versions as version
              where version.tenant = tenants.tenant and version.lane in ('interactive', 'bulk')
                and version.state in ('accepted', 'released')
              limit %(load_documents_min)s
          ) as under_way
      ) as load
      where partition.relname in {_names("tenants.tenant")}
        and load.documents >= %(load_documents_min)s
  ))
"""  # noqa: S608

CREATE_INDEX = f"""
create index concurrently {{index}} on {{partition}}
using hnsw (embedding halfvec_cosine_ops) with (m = {HNSW_LINKS}, ef_construction = {HNSW_BUILD_CANDIDATES})
"""
