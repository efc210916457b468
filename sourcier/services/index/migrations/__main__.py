"""Bring the database's schema up to date, and end: `python -m sourcier.services.index.migrations`.

An ingest service does the same when it starts. This is for whoever wants it done first, by one job, or by a role of
its own.
"""

from __future__ import annotations

import logging

from sourcier.services.chassis import lifecycle
from sourcier.services.chassis.lifecycle import Stopping
from sourcier.services.chassis.postgres.migrating import migrate
from sourcier.services.index import migrations
from sourcier.services.index.migrations.settings import MigrateSettings

logger = logging.getLogger(__name__)


async def main(settings: MigrateSettings, stopping: Stopping) -> None:
    """Apply what the schema lacks, and tell it."""
    applied = await migrate(
        settings.postgres_url.get_secret_value(), migrations.FOLDER, schema=settings.schema_name,
        start_wait_seconds=settings.start_wait_seconds, migration_wait_seconds=settings.migration_wait_seconds,
        lock_timeout_seconds=settings.lock_seconds_max,
    )
    logger.info("schema %s: %s", settings.schema_name, f"applied {', '.join(applied)}" if applied else "up to date")


if __name__ == "__main__":
    lifecycle.run("migrate", MigrateSettings, main)
