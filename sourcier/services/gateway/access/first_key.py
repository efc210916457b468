"""Keep an API key that its owner made up, as an operator's, and end: `sourcier-service first-key`.

For whoever installs by a file that holds all secrets, as on a cluster: there is no gateway to ask for a key before one
is there, and a key that was made up beforehand is shown by no log. Repeated, it changes nothing.
"""

from __future__ import annotations

import logging

from sourcier.services.chassis import lifecycle
from sourcier.services.chassis.errors import InvalidArgument
from sourcier.services.chassis.lifecycle import Stopping
from sourcier.services.chassis.postgres.database import Database, DatabaseSettings
from sourcier.services.chassis.postgres.migration_wait import wait_until_migrated
from sourcier.services.gateway.access import api_keys
from sourcier.services.gateway.access.principal import Role
from sourcier.services.gateway.access.settings import FirstKeySettings
from sourcier.services.index import migrations

logger = logging.getLogger(__name__)

NAME = "first"


async def main(settings: FirstKeySettings, stopping: Stopping) -> None:
    """Keep the key, once the schema is there."""
    secret = settings.first_key.get_secret_value().strip()
    tenant = api_keys.tenant_of(secret)
    if not tenant:
        raise InvalidArgument(f"SOURCIER_FIRST_KEY does not read {api_keys.FORM} (docs/running/security.md)")
    async with Database(DatabaseSettings(
        url=settings.postgres_url.get_secret_value(), schema=settings.schema_name,
        start_wait_seconds=settings.start_wait_seconds,
    )) as database:
        await wait_until_migrated(database, migrations.FOLDER, seconds_max=settings.migration_wait_seconds)
        async with database.transaction(tenant=tenant) as connection:
            new = await api_keys.keep(
                connection, secret, name=NAME, role=Role.OPERATOR, created_by="the database's owner"
            )
    logger.info("the first API key of the tenant %s: %s", tenant, "kept" if new else "is known")


if __name__ == "__main__":
    lifecycle.run("first-key", FirstKeySettings, main)
