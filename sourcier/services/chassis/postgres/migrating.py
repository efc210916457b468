"""Migrations: numbered SQL files that are applied once, in order, by whichever process is first.

They go forward alone, and add first: the release before serves beside the new one until an upgrade is over, and after
it where that is taken back. What a release no longer uses is taken away by a later one, whose migration names the
number that services have to know: `-- requires: 26`.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import re
import time
from dataclasses import dataclass
from pathlib import Path

import psycopg
from psycopg import AsyncConnection, sql

from sourcier.services.chassis.errors import FailedPrecondition
from sourcier.services.chassis.postgres.database import Connection, check_schema_name
from sourcier.services.chassis.postgres.errors import translated_errors

CONNECT_PAUSE_SECONDS = 1.0
"""Between a start's attempts to reach a server that is not there yet."""
REQUIRES = re.compile(r"^-- requires: (\d{1,4})$", re.MULTILINE)
"""The line of a migration that takes away what a release before that one uses."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Migration:
    """One numbered SQL file."""

    number: int
    name: str
    text: str

    @property
    def requires(self) -> int:
        """Return the migration that services have to know to use what this one leaves; 0 where it only adds."""
        found = REQUIRES.search(self.text)
        return int(found[1]) if found else 0

    @property
    def checksum(self) -> str:
        """Return the SHA-256 of the file, which may not change once applied."""
        return hashlib.sha256(self.text.encode()).hexdigest()


async def migrate(
    url: str, folder: Path, *, schema: str = "sourcier", lock_timeout_seconds: float = 60.0,
    start_wait_seconds: float = 10.0, migration_wait_seconds: float = 300.0,
) -> list[str]:
    """Apply the migrations of `folder` that the schema lacks, each in one transaction; return their names.

    Processes that start together wait for one another, `migration_wait_seconds` at most; one statement waits for a
    table's lock for `lock_timeout_seconds`. A database that is ahead is accepted unless one of its migrations took away
    what this release uses (`refuse_contracted`); an applied file that changed since raises `FailedPrecondition`.
    """
    check_schema_name(schema)
    migrations = read_migrations(folder)
    with translated_errors():
        async with await connected(url, wait_seconds=start_wait_seconds) as connection:
            await connection.execute(SET_LOCK_TIMEOUT, (f"{migration_wait_seconds * 1000:.0f}",))
            await connection.execute("select set_config('search_path', %s, false)", (f"{schema}, public",))
            await connection.execute("select pg_advisory_lock(hashtext(%s))", (f"sourcier.migrate.{schema}",))
            await connection.execute(SET_LOCK_TIMEOUT, (f"{lock_timeout_seconds * 1000:.0f}",))
            await connection.execute(sql.SQL(PREPARE_SCHEMA).format(schema=sql.Identifier(schema)))
            return await _apply(connection, migrations)


async def connected(url: str, *, wait_seconds: float) -> Connection:
    """Connect to a server that may not be there yet; raise as psycopg does once so long is over."""
    give_up_at = time.monotonic() + wait_seconds
    while True:
        try:
            return await AsyncConnection.connect(url, autocommit=True, connect_timeout=10)
        except psycopg.OperationalError as error:
            if time.monotonic() + CONNECT_PAUSE_SECONDS >= give_up_at:
                raise
            logger.warning("waiting for PostgreSQL: %s", str(error).strip())
        await asyncio.sleep(CONNECT_PAUSE_SECONDS)


def read_migrations(folder: Path) -> list[Migration]:
    """Return the files `NNNN_name.sql` of `folder` in order; raise `FailedPrecondition` on a gap or a double."""
    paths = sorted(folder.glob("[0-9][0-9][0-9][0-9]_*.sql"))
    migrations = [Migration(int(path.name[:4]), path.stem, path.read_text("utf-8")) for path in paths]
    if [migration.number for migration in migrations] != list(range(1, len(migrations) + 1)):
        raise FailedPrecondition(f"The migrations in {folder.name} are not numbered 1, 2, 3 … without a gap.")
    return migrations


async def _apply(connection: Connection, migrations: list[Migration]) -> list[str]:
    cursor = await connection.execute("select number, checksum, requires from migrations")
    rows = await cursor.fetchall()
    checksums: dict[int, str] = {number: checksum for number, checksum, _ in rows}
    required = max((requires for _, _, requires in rows), default=0)
    refuse_contracted(max(checksums, default=0), required, known=len(migrations))
    applied = []
    for migration in migrations:
        if migration.number in checksums:
            if checksums[migration.number] != migration.checksum:
                raise FailedPrecondition(f"The migration {migration.name} was changed after it was applied.")
            continue
        async with connection.transaction():
            # No parameters: only then may one call hold several statements.
            await connection.execute(migration.text.encode())
            await connection.execute(
                RECORD_MIGRATION, (migration.number, migration.name, migration.checksum, migration.requires)
            )
        logger.info("migration applied", extra={"migration": migration.name})
        applied.append(migration.name)
    return applied


def refuse_contracted(last: int, required: int, *, known: int) -> None:
    """Raise `FailedPrecondition` where a later release took away what one that knows `known` migrations uses.

    `last` is the schema's newest migration, `required` the one that its services have to know.
    """
    if required > known:
        raise FailedPrecondition(
            f"The schema has migration {last}, and its services have to know migration {required}; this release knows "
            f"{known}. Start a release that knows it, or restore a back-up that is older than that migration."
        )
    if last > known:
        logger.warning("the schema is a later release's: it has migration %d, this release knows %d", last, known)


PREPARE_SCHEMA = """
create schema if not exists {schema};
create table if not exists {schema}.migrations (
    number integer primary key,
    name text not null,
    checksum text not null,
    applied_at timestamptz not null default now()
);
alter table {schema}.migrations add column if not exists requires integer not null default 0
"""
SET_LOCK_TIMEOUT = "select set_config('lock_timeout', %s, false)"
RECORD_MIGRATION = "insert into migrations (number, name, checksum, requires) values (%s, %s, %s, %s)"
