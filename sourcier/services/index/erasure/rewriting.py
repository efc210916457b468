"""What a deletion leaves in PostgreSQL's files: tables written anew, statistics forgotten, the log overwritten.

A deleted row stays in its page, and in the log, until something else is written over it. A table is written anew under
a lock that keeps everybody else from it, so only one that is small enough is; a larger one is vacuumed, and told.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import LiteralString

import psycopg
from psycopg import sql

from sourcier.services.chassis.postgres.database import ALL_TENANTS, Connection, Database
from sourcier.services.index.spaces.partitions import find_partition, find_shared_part
from sourcier.services.index.spaces.spaces import vectors_tables

LOCK_WAIT = "3s"
"""How long the rewriting of a table waits for those who read it; whoever comes later waits behind it meanwhile."""
TRIES = 5
OLDER_SECONDS, LOOK_SECONDS = 10.0, 0.1
"""How long older transactions are waited for, and how often they are looked for."""
SEGMENTS_MAX = 512
"""Segments of the log, of 16 MB, that are overwritten at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rewritten:
    """The tables that were not written anew, by why."""

    large: list[str] = field(default_factory=list)
    busy: list[str] = field(default_factory=list)
    """In use for too long."""
    refused: list[str] = field(default_factory=list)
    """Not the role's to rewrite."""


async def empty_partitions(database: Database, *, tenant: str) -> None:
    """Give the tenant's parts of the vectors tables new, empty files, their indexes too.

    Its rows in parts that it shares are deleted.
    """
    async with database.transaction(tenant=tenant) as connection:
        for table in await vectors_tables(connection):
            partition = await find_partition(connection, vectors_table=table, tenant=tenant)
            if partition is not None:
                await connection.execute(sql.SQL("truncate {part}").format(part=sql.Identifier(partition)))
            else:
                await connection.execute(
                    sql.SQL("delete from {table} where tenant = %s").format(table=sql.Identifier(table)), (tenant,))


async def shared_parts(database: Database) -> list[str]:
    """Return the parts of the vectors tables that small tenants share: rows deleted there stay in their files."""
    async with database.transaction(tenant=ALL_TENANTS, read_only=True) as connection:
        found = [await find_shared_part(connection, vectors_table=table) for table in await vectors_tables(connection)]
    return [part for part in found if part is not None]


async def rewrite_tables(database: Database, tables: Sequence[str], *, bytes_max: int) -> Rewritten:
    """Write tables anew; return those that were not.

    A transaction that began before the deletion still sees its rows, and they would be copied: it is waited for.
    """
    left = Rewritten()
    async with database.autocommit(tenant=ALL_TENANTS, timeouts=False) as connection:
        if not await _older_ended(connection):
            return Rewritten(busy=list(tables))
        await connection.execute("select set_config('lock_timeout', %s, false)", (LOCK_WAIT,))
        for table in tables:
            if await _bytes(connection, table) > bytes_max:
                await connection.execute(sql.SQL("vacuum (analyze) {table}").format(table=sql.Identifier(table)))
                left.large.append(table)
            elif await _rewrite(connection, table, left, options="full, analyze"):
                await _forget_statistics(connection, table)
        # The commonest values of columns, titles and names among them, are kept there, and as dead rows.
        await _rewrite(connection, "pg_statistic", left, options="full")
    return left


async def may_recycle_log(database: Database) -> bool:
    """Return whether the role may do what `recycle_log` does: the embedded server's may."""
    async with database.transaction(tenant=ALL_TENANTS, read_only=True) as connection:
        cursor = await connection.execute(MAY_RECYCLE)
        row = await cursor.fetchone()
        return row is not None and bool(row[0])


async def recycle_log(database: Database) -> bool:
    """Overwrite the write-ahead log of before; return False where it is too long to be written at once.

    A checkpoint makes old segments those to be written next, with what they hold; a switch fills one with zeros.
    """
    async with database.autocommit(tenant=ALL_TENANTS, timeouts=False) as connection:
        await _switch(connection)
        await connection.execute("checkpoint")
        cursor = await connection.execute("select count(*) from pg_ls_waldir()")
        row = await cursor.fetchone()
        segments = int(row[0]) if row else 0
        if segments > SEGMENTS_MAX:
            return False
        for _ in range(segments):
            await _switch(connection)
        await connection.execute("checkpoint")
    return True


async def _switch(connection: Connection) -> None:
    # Of a segment in which nothing was written there is no switch.
    await connection.execute("select pg_logical_emit_message(false, 'sourcier', 'switch')")
    await connection.execute("select pg_switch_wal()")


async def _older_ended(connection: Connection) -> bool:
    """Wait until every transaction that began before now has ended; return whether that came to be in time."""
    cursor = await connection.execute("select pg_current_xact_id()::xid::text")
    row = await cursor.fetchone()
    assert row is not None
    until = time.monotonic() + OLDER_SECONDS
    while True:
        cursor = await connection.execute(OLDER, {"now": row[0]})
        if await cursor.fetchone() is None:
            return True
        if time.monotonic() >= until:
            return False
        await asyncio.sleep(LOOK_SECONDS)


async def _rewrite(connection: Connection, table: str, left: Rewritten, *, options: LiteralString) -> bool:
    """Write a table anew, or note why it was not; return whether it was.

    PostgreSQL passes over a table that the role may not rewrite, and raises nothing: its file tells.
    """
    rewrite = sql.SQL("vacuum ({options}) {table}").format(options=sql.SQL(options), table=sql.Identifier(table))
    before = await _file(connection, table)
    for _ in range(TRIES):
        try:
            await connection.execute(rewrite)
        except (psycopg.errors.LockNotAvailable, psycopg.errors.DeadlockDetected):
            continue
        if await _file(connection, table) == before:
            left.refused.append(table)
            return False
        return True
    left.busy.append(table)
    return False


async def _file(connection: Connection, table: str) -> int:
    cursor = await connection.execute("select pg_relation_filenode(%s::regclass)", (table,))
    row = await cursor.fetchone()
    assert row is not None
    return int(row[0])


async def _forget_statistics(connection: Connection, table: str) -> None:
    """Forget what is known of the values of a table that is empty: an analysis of no rows leaves it as it was."""
    # By its file: row security shows nobody the rows of all tenants.
    cursor = await connection.execute("select pg_relation_size(%s::regclass) = 0", (table,))
    row = await cursor.fetchone()
    if row is not None and row[0]:
        await connection.execute(FORGET_STATISTICS, {"table": table})


async def _bytes(connection: Connection, table: str) -> int:
    cursor = await connection.execute("select pg_total_relation_size(%s::regclass)", (table,))
    row = await cursor.fetchone()
    return int(row[0]) if row else 0


OLDER = """
select from pg_stat_activity
where datname = current_database() and pid <> pg_backend_pid() and age(backend_xmin) > age(%(now)s::xid)
limit 1
"""
MAY_RECYCLE = """
select pg_has_role(current_user, 'pg_checkpoint', 'member')
   and has_function_privilege('pg_switch_wal()', 'execute') and has_function_privilege('pg_ls_waldir()', 'execute')
"""
FORGET_STATISTICS = """
select pg_clear_attribute_stats(current_schema(), %(table)s, attname, false)
from pg_attribute
where attrelid = %(table)s::regclass and attnum > 0 and not attisdropped
"""
