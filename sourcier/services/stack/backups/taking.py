"""Takes a back-up while services go on: the database in one snapshot, then every object that it names."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from psycopg import sql

from sourcier.services.chassis.errors import AlreadyExists, FailedPrecondition
from sourcier.services.chassis.postgres.database import (
    ALL_TENANTS,
    ROLE_IS_UNBOUND,
    Connection,
    Database,
    DatabaseSettings,
)
from sourcier.services.chassis.postgres.errors import translated_errors
from sourcier.services.chassis.postgres.locks import kept_files_key
from sourcier.services.chassis.postgres.migrating import connected
from sourcier.services.stack.backups import archives, dumps, manifest
from sourcier.services.stack.backups.manifest import Backup
from sourcier.services.stack.backups.place import Place

COUNTED = ("collections", "documents", "chunks", "conversations", "agents", "api_keys", "grants")
LOCK_FILES = f"select pg_advisory_lock({kept_files_key('%s')})"
"""Held, no file of what is deleted goes: the snapshot may name it."""
UNLOCK_FILES = f"select pg_advisory_unlock({kept_files_key('%s')})"


@dataclass(frozen=True, slots=True)
class _Snapshot:
    name: str
    migration: int
    counts: dict[str, int]


async def take(place: Place, folder: Path) -> Backup:
    """Write a back-up into a new folder, whole or not at all; raise AlreadyExists where there is one of that name."""
    with _new_folder(folder) as partial:
        backup = await _take(place, partial)
        manifest.write(partial, backup)
    return backup


@contextmanager
def _new_folder(folder: Path) -> Iterator[Path]:
    """Lend a folder that gets its name at the end of the block; what a back-up that was cut off left goes first."""
    if folder.exists():
        raise AlreadyExists(f"{folder} is there already; name a new folder, as {folder}-{datetime.now(UTC):%Y-%m-%d}")
    partial = folder.with_name(f".{folder.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    try:
        partial.mkdir(mode=0o700, parents=True)
        yield partial
        partial.rename(folder)
    except OSError as error:
        raise FailedPrecondition(f"the back-up cannot be written to {folder}: {error.strerror}") from error
    finally:
        shutil.rmtree(partial, ignore_errors=True)


async def _take(place: Place, folder: Path) -> Backup:
    settings = DatabaseSettings(
        url=place.postgres_url, schema=place.schema, connections_max=2, statement_timeout_seconds=0,
        lock_timeout_seconds=0, idle_transaction_timeout_seconds=0,
    )
    await _refuse_blind(place)
    async with Database(settings) as database, _files_kept(database):
        async with database.transaction(tenant=ALL_TENANTS, read_only=True) as connection:
            taken_at = datetime.now(UTC)
            snapshot = await _snapshot(connection)
            if snapshot is not None:
                await dumps.dump(place.dump_url, schema=place.schema, snapshot=snapshot.name, folder=folder)
        if snapshot is None:
            raise FailedPrecondition("the database holds nothing of Sourcier yet: there is nothing to back up")
        objects = {
            bucket: await archives.pack(store, folder / archives.file_of(bucket))
            for bucket, store in place.buckets.items()
        }
    names = (dumps.DUMP_FILE, *map(archives.file_of, objects))
    return Backup(
        taken_at=taken_at.isoformat(timespec="seconds"), schema=place.schema, migration=snapshot.migration,
        counts=snapshot.counts, objects=objects, files={name: manifest.sha256_of(folder / name) for name in names},
    )


async def _refuse_blind(place: Place) -> None:
    """Raise FailedPrecondition without a role that sees every row: no claim shows one what all tenants' entries are."""
    unbound = False
    if place.dump_url:
        with translated_errors():
            async with await connected(place.dump_url, wait_seconds=0) as connection:
                cursor = await connection.execute(ROLE_IS_UNBOUND)
                unbound = await cursor.fetchone() == (True,)
    if not unbound:
        raise FailedPrecondition(
            "a back-up as the services' role would lack rows that row-level security hides: set "
            "SOURCIER_BACKUP_POSTGRES_URL to the same database as a role with BYPASSRLS and pg_read_all_data"
        )


@asynccontextmanager
async def _files_kept(database: Database) -> AsyncIterator[None]:
    """Let no file go for the block; those that are being removed go first."""
    async with database.autocommit(tenant=ALL_TENANTS, timeouts=False) as connection:
        await connection.execute(LOCK_FILES, (database.settings.schema,))
        try:
            yield
        finally:
            await connection.execute(UNLOCK_FILES, (database.settings.schema,))


async def _snapshot(connection: Connection) -> _Snapshot | None:
    """Return the view that the transaction has; None of a database that nobody has migrated."""
    cursor = await connection.execute("select to_regclass('migrations') is not null")
    if await cursor.fetchone() != (True,):
        return None
    cursor = await connection.execute("select pg_export_snapshot(), (select max(number) from migrations)")
    row = await cursor.fetchone()
    assert row is not None
    counts = {}
    for table in COUNTED:
        cursor = await connection.execute("select to_regclass(%s) is not null", (table,))
        if await cursor.fetchone() == (True,):
            cursor = await connection.execute(sql.SQL("select count(*) from {}").format(sql.Identifier(table)))
            counted = await cursor.fetchone()
            counts[table] = int(counted[0]) if counted else 0
    return _Snapshot(str(row[0]), int(row[1]), counts)
