"""Locks that one process holds at a time, whatever it does meanwhile."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from sourcier.services.chassis.postgres.database import ALL_TENANTS, Connection, Database


@asynccontextmanager
async def sole(
    database: Database, name: str, *, tenant: str = ALL_TENANTS, timeouts: bool = True
) -> AsyncIterator[Connection | None]:
    """Lend a connection that holds the lock of a name; None where another process has it.

    It is the session's: it goes with the connection, should the process die. `timeouts` as in `Database.autocommit`.
    """
    async with database.autocommit(tenant=tenant, timeouts=timeouts) as connection:
        cursor = await connection.execute(TRY_LOCK, (name,))
        row = await cursor.fetchone()
        if row is None or not row[0]:
            yield None
            return
        try:
            yield connection
        finally:
            if not connection.closed:
                await connection.execute(UNLOCK, (name,))


def kept_files_key(schema: str) -> str:
    """Return, as SQL, the key of the advisory lock under which no file of what was deleted goes.

    `schema` is SQL, too: `current_schema()`, or a placeholder.
    """
    return f"hashtextextended('sourcier.files.' || {schema}, 0)"


TRY_LOCK = "select pg_try_advisory_lock(hashtext(current_schema() || %s))"
UNLOCK = "select pg_advisory_unlock(hashtext(current_schema() || %s))"
