"""What the builder of spaces does between embedding: progress noted, dropped vectors cleared, unused tables removed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from psycopg import sql
from psycopg.rows import class_row

from sourcier.services.chassis.postgres.database import Connection
from sourcier.services.index.spaces.held import OPEN_STATES
from sourcier.services.index.spaces.partitions import find_partition
from sourcier.services.index.spaces.spaces import TRY_TRANSACTION_LOCK

CLEARED_AGAIN_SECONDS = 60.0
CLEARED_FOR_SECONDS = 3600.0
"""How long after a drop a commit that began before it may still write a vector: several statements of
`COMMIT_STATEMENT_MINUTES` each."""
PARTS_AT_ONCE = 100
"""Parts of a table that are dropped in one transaction: each takes some six of the server's locks."""
TABLE_KEPT_SECONDS = 3600.0
"""Longer than any search or commit that read the table's name before its space was retired."""


@dataclass(frozen=True, slots=True)
class OpenBuild:
    """A build to work on."""

    build_id: str
    tenant: str
    collection_id: str
    space_id: str
    """The space that is to be filled."""
    vectors_table: str
    state: str


@dataclass(frozen=True, slots=True)
class DroppedVectors:
    """Vectors of a collection in a space that it gave up."""

    build_id: str
    tenant: str
    collection_id: str
    vectors_table: str


async def anything_to_do(connection: Connection) -> bool:
    """Return whether any build is open, any gap noted, or anything left to clear."""
    cursor = await connection.execute(ANYTHING, CLEARING)
    row = await cursor.fetchone()
    return bool(row and row[0])


async def open_builds(connection: Connection, *, state: str) -> list[OpenBuild]:
    """Return the builds in a state, the oldest first."""
    async with connection.cursor(row_factory=class_row(OpenBuild)) as cursor:
        await cursor.execute(SELECT_OPEN, {"state": state})
        return await cursor.fetchall()


async def note_progress(connection: Connection, *, build_id: str, total: int, done: int) -> None:
    """Note how far a build is; what kept it back before is over once it moves."""
    await connection.execute(PROGRESS, {"build_id": build_id, "total": total, "done": done})


async def note_error(connection: Connection, *, tenant: str, collection_id: str, space_id: str, error: str) -> None:
    """Note why chunks of a collection get no vectors in a space; progress takes it back."""
    values = {"tenant": tenant, "collection_id": collection_id, "space_id": space_id, "error": error}
    await connection.execute(ERROR, values)


async def finish_building(connection: Connection, *, build_id: str) -> bool:
    """Mark a build as ready; return whether it was still building."""
    cursor = await connection.execute(READY, {"build_id": build_id})
    return cursor.rowcount == 1


async def fail(connection: Connection, *, build_id: str, error: str) -> None:
    """Give a build up until a person begins it anew."""
    await connection.execute(FAIL, {"build_id": build_id, "error": error})


async def dropped(connection: Connection) -> list[DroppedVectors]:
    """Return what is to be cleared: once at once, and then again for as long as late commits could add to it."""
    async with connection.cursor(row_factory=class_row(DroppedVectors)) as cursor:
        await cursor.execute(SELECT_DROPPED, CLEARING)
        return await cursor.fetchall()


async def note_cleared(connection: Connection, *, build_id: str) -> None:
    """Note that a collection has no vectors left in the space that it gave up."""
    await connection.execute("update space_builds set cleared_at = now() where build_id = %s", (build_id,))


async def retire_unused(connection: Connection, *, kept: Sequence[str]) -> list[str]:
    """Retire spaces that collections left and none needs, but for those `kept`; return their ids.

    One that somebody takes up at this moment stays.
    """
    cursor = await connection.execute(SELECT_UNUSED, {"kept": list(kept)})
    retired = []
    for (space_id,) in await cursor.fetchall():
        # Asked again under the lock, which whoever begins to need the space holds until that can be seen.
        if await _locked(connection, space_id):
            cursor = await connection.execute(RETIRE, {"kept": list(kept), "space_id": space_id})
            retired += [str(space_id)] * cursor.rowcount
    return retired


async def drop_retired_parts(connection: Connection) -> int:
    """Remove some tenants' parts of the tables of spaces that were retired a while ago; return how many.

    One after another, in as many transactions as it takes: a table of thousands of parts is dropped by no statement,
    which would need the locks of all of them at once.
    """
    cursor = await connection.execute(SELECT_RETIRED, {"kept_seconds": TABLE_KEPT_SECONDS})
    for (space_id,) in await cursor.fetchall():
        if not await _locked(connection, space_id):
            continue
        cursor = await connection.execute(SELECT_DROPPABLE, {"kept_seconds": TABLE_KEPT_SECONDS, "space_id": space_id})
        row = await cursor.fetchone()
        if row is None:
            continue
        cursor = await connection.execute(SELECT_PARTS, {"table": row[0], "limit": PARTS_AT_ONCE})
        parts = [str(part) for (part,) in await cursor.fetchall()]
        for part in parts:
            await connection.execute(sql.SQL(DROP_TABLE).format(table=sql.Identifier(part)))
        if parts:
            return len(parts)
    return 0


async def drop_retired_tables(connection: Connection) -> list[str]:
    """Remove the tables of spaces that were retired a while ago, once their parts are gone; return their ids."""
    cursor = await connection.execute(SELECT_RETIRED, {"kept_seconds": TABLE_KEPT_SECONDS})
    removed = []
    for (space_id,) in await cursor.fetchall():
        if not await _locked(connection, space_id):
            continue
        # A process that serves the space, or a collection, may have taken it up again meanwhile.
        cursor = await connection.execute(SELECT_DROPPABLE, {"kept_seconds": TABLE_KEPT_SECONDS, "space_id": space_id})
        row = await cursor.fetchone()
        if row is not None:
            await connection.execute(sql.SQL(DROP_TABLE).format(table=sql.Identifier(row[0])))
            removed.append(str(space_id))
    return removed


async def lacks_index(connection: Connection, *, vectors_table: str, tenant: str, rows_min: int) -> bool:
    """Return whether a tenant's part of a space is large and has no HNSW index yet.

    Its size is told to the planner, by which indexes are built, unless somebody analyses it or builds its index. Rows
    that lie in the shared part lack one, too: their tenant is to be moved first.
    """
    name = await find_partition(connection, vectors_table=vectors_table, tenant=tenant)
    if name is None:
        rows = sql.SQL("select exists (select from {table} where tenant = {tenant} offset {rows_min})").format(
            table=sql.Identifier(vectors_table), tenant=sql.Literal(tenant), rows_min=sql.Literal(rows_min))
        cursor = await connection.execute(rows)
        row = await cursor.fetchone()
        return bool(row and row[0])
    partition = sql.Identifier(name)
    await connection.execute(sql.SQL("analyze (skip_locked) {partition}").format(partition=partition))
    lacks_index = sql.SQL(LACKS_INDEX).format(
        partition=partition, name=sql.Literal(name), rows_min=sql.Literal(rows_min)
    )
    cursor = await connection.execute(lacks_index)
    row = await cursor.fetchone()
    return bool(row and row[0])


async def _locked(connection: Connection, space_id: str) -> bool:
    """Lock a space until the end of the transaction, unless somebody else has it: it is looked at again later."""
    cursor = await connection.execute(TRY_TRANSACTION_LOCK, (f"sourcier.space.{space_id}",))
    row = await cursor.fetchone()
    return bool(row and row[0])


CLEARING = {"again_seconds": CLEARED_AGAIN_SECONDS, "for_seconds": CLEARED_FOR_SECONDS}

TO_CLEAR = """
build.state in ('retired', 'dropped') and (build.cleared_at is null or (
    build.cleared_at < build.finished_at + make_interval(secs => %(for_seconds)s)
    and build.cleared_at < now() - make_interval(secs => %(again_seconds)s)
))
"""

ANYTHING = f"""
select exists (
    select from space_builds as build where build.state in ('building', 'ready', 'live') or ({TO_CLEAR})
) or exists (select from space_gaps) or exists (
    select from embedding_spaces
    where state = 'retired' and to_regclass(quote_ident(vectors_table)) is not null
)
"""  # noqa: S608

SELECT_OPEN = """
select build_id, build.tenant, build.collection_id, space.space_id, space.vectors_table, build.state
from space_builds as build
join embedding_spaces as space
  on space.space_id = case when build.state = 'live' then build.from_space_id else build.space_id end
where build.state = %(state)s
order by build.created_at
"""

PROGRESS = """
update space_builds
set chunks_total = %(total)s, chunks_done = %(done)s, updated_at = now(),
    error = case when %(done)s > chunks_done or %(done)s >= %(total)s then '' else error end
where build_id = %(build_id)s and state in ('building', 'ready', 'live')
  and (chunks_total, chunks_done) is distinct from (%(total)s, %(done)s)
"""

ERROR = """
update space_builds set error = %(error)s, updated_at = now()
where tenant = %(tenant)s and collection_id = %(collection_id)s and state in ('building', 'ready', 'live')
  and %(space_id)s in (space_id, from_space_id) and error <> %(error)s
"""

READY = """
update space_builds set state = 'ready', ready_at = now(), updated_at = now(), error = ''
where build_id = %(build_id)s and state = 'building'
"""

FAIL = """
update space_builds set state = 'failed', error = %(error)s, updated_at = now()
where build_id = %(build_id)s and state = 'building'
"""

# Not where the collection came back to the space.
SELECT_DROPPED = f"""
select build.build_id, build.tenant, build.collection_id, space.vectors_table
from space_builds as build
join collections as collection using (collection_id)
join embedding_spaces as space
  on space.space_id = case when build.state = 'retired' then build.from_space_id else build.space_id end
where {TO_CLEAR}
  and to_regclass(quote_ident(space.vectors_table)) is not null
  and collection.space_id <> space.space_id
  and not exists (
      select from space_builds as later
      where later.collection_id = build.collection_id and later.state in {OPEN_STATES}
        and space.space_id in (later.from_space_id, later.space_id)
  )
order by build.finished_at
"""  # noqa: S608

_UNNEEDED = f"""
not exists (select from collections where collections.space_id = space.space_id)
  and not exists (
      select from space_builds as build
      where space.space_id in (build.from_space_id, build.space_id)
        and build.state in {OPEN_STATES}
  )
"""  # noqa: S608

_UNUSED = f"""
state <> 'retired' and space_id <> all(%(kept)s)
  and exists (
      select from space_builds as build
      where space.space_id in (build.from_space_id, build.space_id) and build.cleared_at is not null
  )
  and {_UNNEEDED}
"""

SELECT_UNUSED = f"select space_id from embedding_spaces as space where {_UNUSED}"  # noqa: S608

RETIRE = f"""
update embedding_spaces as space set state = 'retired', retired_at = now()
where space_id = %(space_id)s and {_UNUSED}
"""  # noqa: S608

# Whatever its state says, what a collection needs is never removed.
_DROPPABLE = f"""
from embedding_spaces as space
where state = 'retired' and retired_at < now() - make_interval(secs => %(kept_seconds)s)
  and to_regclass(quote_ident(vectors_table)) is not null
  and {_UNNEEDED}
"""

SELECT_RETIRED = f"select space_id {_DROPPABLE}"

SELECT_DROPPABLE = f"select vectors_table {_DROPPABLE} and space_id = %(space_id)s"

SELECT_PARTS = """
select part.relname
from pg_inherits
join pg_class as part on part.oid = inhrelid
where inhparent = to_regclass(quote_ident(%(table)s))
order by part.relname
limit %(limit)s
"""

DROP_TABLE = "drop table if exists {table}"

LACKS_INDEX = """
select exists (select from {partition} offset {rows_min}) and not exists (
    select from pg_index
    join pg_class as index on index.oid = indexrelid
    join pg_am on pg_am.oid = index.relam
    where indrelid = to_regclass(quote_ident({name})) and amname = 'hnsw' and indisvalid
)
"""
