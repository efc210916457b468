"""Waiting for a schema that another process migrates: whichever starts first, nobody uses tables that are not there."""

from __future__ import annotations

import asyncio
import logging
import time
from pathlib import Path

from psycopg import sql

from sourcier.services.chassis.errors import FailedPrecondition
from sourcier.services.chassis.postgres.database import ALL_TENANTS, Database
from sourcier.services.chassis.postgres.migrating import read_migrations, refuse_contracted

LOOK_SECONDS = 0.2

logger = logging.getLogger(__name__)


async def wait_until_migrated(database: Database, folder: Path, *, seconds_max: float = 300.0) -> None:
    """Return once the schema has the migrations of `folder`.

    A database that is ahead is accepted, with a warning. Raise `FailedPrecondition` where it is still behind after so
    long, or where a later release took away what this one uses.
    """
    needed, give_up_at = len(read_migrations(folder)), time.monotonic() + seconds_max
    told = False
    while (found := await last_migration(database))[0] < needed:
        behind = f"The schema {database.settings.schema} has migration {found[0]} of {needed}"
        if time.monotonic() >= give_up_at:
            raise FailedPrecondition(f"{behind}; start an ingest service of this version, which applies the others.")
        if not told:
            logger.warning("%s: waiting for an ingest service of this version, which applies the others", behind)
            told = True
        await asyncio.sleep(LOOK_SECONDS)
    refuse_contracted(*found, known=needed)


async def last_migration(database: Database) -> tuple[int, int]:
    """Return the newest migration, and the one that services have to know."""
    table = sql.Identifier(database.settings.schema, "migrations")
    async with database.transaction(tenant=ALL_TENANTS, read_only=True) as connection:
        # Asked for first: PostgreSQL would log an error at each look.
        cursor = await connection.execute("select to_regclass(%s) is not null", (table.as_string(connection),))
        if await cursor.fetchone() != (True,):
            return 0, 0
        cursor = await connection.execute(sql.SQL(LAST_MIGRATION).format(table=table))
        row = await cursor.fetchone()
        return (int(row[0]), int(row[1])) if row else (0, 0)


# The column came later than the table: through the row as JSON it may be absent.
LAST_MIGRATION = """
select coalesce(max(number), 0), coalesce(max((to_jsonb(migrations) ->> 'requires')::integer), 0)
from {table} as migrations
"""
