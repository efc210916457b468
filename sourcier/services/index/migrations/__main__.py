"""Bring the database's schema up to date, and end: `python -m sourcier.services.index.migrations`.

An ingest service does the same when it starts. This is for whoever wants it done first, by one job, or by a role of
its own.
"""

from __future__ import annotations

import logging

from sourcier.services.chassis import lifecycle
from sourcier.services.chassis.lifecycle import Stopping
from sourcier.services.chassis.postgres.database import migrate
from sourcier.services.chassis.settings import PostgresSettings, ServiceSettings, settings_config
from sourcier.services.index import migrations

logger = logging.getLogger(__name__)


class MigrateSettings(ServiceSettings, PostgresSettings):
    """What services share: the database and its schema."""

    model_config = settings_config("migrate")


async def main(settings: MigrateSettings, stopping: Stopping) -> None:
    """Apply what the schema lacks, and tell it."""
    applied = await migrate(settings.postgres_url.get_secret_value(), migrations.FOLDER, schema=settings.schema_name)
    logger.info("schema %s: %s", settings.schema_name, f"applied {', '.join(applied)}" if applied else "up to date")


if __name__ == "__main__":
    lifecycle.run("migrate", MigrateSettings, main)
