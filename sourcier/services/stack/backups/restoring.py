"""Brings a back-up back, into a place that holds nothing yet."""

from __future__ import annotations

import asyncio
from pathlib import Path

from psycopg import sql

from sourcier.services.chassis.errors import FailedPrecondition
from sourcier.services.chassis.objects import ObjectStore
from sourcier.services.chassis.postgres.errors import translated_errors
from sourcier.services.chassis.postgres.migrating import connected, read_migrations
from sourcier.services.index.migrations import FOLDER
from sourcier.services.stack.backups import archives, dumps
from sourcier.services.stack.backups.manifest import Backup
from sourcier.services.stack.backups.place import Place

FORGET_STREAMS = "update {table} set created = 'before the back-up'"
"""No stream is the one that was known: whatever was under way is released again at once (ADR 8)."""


async def restore(place: Place, folder: Path, backup: Backup) -> None:
    """Store the objects, then make the schema, whole or not at all: what was cut off is done again.

    Raise FailedPrecondition where the place holds data, or the back-up is not for it.
    """
    refuse_later(backup)
    if place.schema != backup.schema:
        raise FailedPrecondition(f"the back-up is of the schema {backup.schema}; set SOURCIER_SCHEMA to that")
    if unknown := [bucket for bucket in backup.objects if bucket not in place.buckets]:
        raise FailedPrecondition(f"nothing here has the bucket {unknown[0]} of the back-up; set SOURCIER_S3_BUCKET")
    await _refuse_data(place)
    for bucket in backup.objects:
        await _refuse_objects(bucket, place.buckets[bucket], folder)
    for bucket, count in backup.objects.items():
        stored = await archives.unpack(folder / archives.file_of(bucket), place.buckets[bucket])
        if stored != count:
            raise FailedPrecondition(f"{archives.file_of(bucket)} holds {stored} objects, not {count}")
    await dumps.restore(place.postgres_url, folder=folder)
    forget_streams = sql.SQL(FORGET_STREAMS).format(table=sql.Identifier(place.schema, "broker_streams"))
    with translated_errors():
        async with await connected(place.postgres_url, wait_seconds=0) as connection:
            await connection.execute("select set_config('sourcier.tenant', '*', false)")
            await connection.execute(forget_streams)
            await connection.execute("analyze")


def refuse_later(backup: Backup) -> None:
    """Raise FailedPrecondition for a back-up of a later release's schema."""
    known = len(read_migrations(FOLDER))
    if backup.migration > known:
        raise FailedPrecondition(
            f"the back-up is of a later release: it has migration {backup.migration}, this release knows {known}; "
            "install the release that it was taken with, or a later one"
        )


async def _refuse_objects(bucket: str, store: ObjectStore, folder: Path) -> None:
    """Let pass what a restore of the same back-up stored before it was cut off."""
    ours = await asyncio.to_thread(archives.keys_in, folder / archives.file_of(bucket))
    async for page in store.list_pages():
        for found in page:
            if found.key not in ours:
                raise FailedPrecondition(
                    f"the bucket {bucket} holds {found.key}, which is not of this back-up: restore into an empty one"
                )


async def _refuse_data(place: Place) -> None:
    with translated_errors():
        async with await connected(place.postgres_url, wait_seconds=0) as connection:
            cursor = await connection.execute(
                "select count(*) from pg_class where relnamespace = to_regnamespace(%s)", (place.schema,)
            )
            if await cursor.fetchone() != (0,):
                raise FailedPrecondition(
                    f"the database has a schema {place.schema} already: restore into one that is empty, or move that "
                    "one away (alter schema … rename to …), and do not start services before"
                )
            await connection.execute(sql.SQL("drop schema if exists {}").format(sql.Identifier(place.schema)))
