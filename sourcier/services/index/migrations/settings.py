"""What the migration command can be told through the environment."""

from __future__ import annotations

from pydantic import Field

from sourcier.services.chassis.settings import PostgresSettings, ServiceSettings, settings_config


class MigrateSettings(ServiceSettings, PostgresSettings):
    """`SOURCIER_MIGRATE_…`, and what services share: the database and its schema."""

    model_config = settings_config("migrate")

    lock_seconds_max: float = Field(default=60.0, gt=0, le=3600)
    """How long one statement waits for a table that others use."""
