"""Makes an API key without a gateway, for the first operator: `python -m sourcier.services.gateway.access --help`."""

from __future__ import annotations

import argparse
import asyncio
import sys
from datetime import timedelta

from sourcier.services.chassis.errors import ServiceError
from sourcier.services.chassis.postgres.database import Database, DatabaseSettings
from sourcier.services.chassis.settings import load
from sourcier.services.gateway.access import api_keys
from sourcier.services.gateway.access.principal import Role, role_named
from sourcier.services.gateway.access.settings import KeyMakingSettings


async def _make(arguments: argparse.Namespace, settings: KeyMakingSettings) -> str:
    database_settings = DatabaseSettings(
        url=settings.postgres_url.get_secret_value(), schema=settings.schema_name
    )
    async with (
        Database(database_settings) as database,
        database.transaction(tenant=arguments.tenant) as connection,
    ):
        _, secret = await api_keys.create(
            connection, tenant=arguments.tenant, name=arguments.name, role=role_named(arguments.role),
            created_by="the database's owner",
            valid_for=None if arguments.days is None else timedelta(days=arguments.days),
        )
    return secret


def main() -> int:
    """Read the arguments, make the key, write it."""
    parser = argparse.ArgumentParser(
        prog="python -m sourcier.services.gateway.access",
        description="Make an API key in the database that SOURCIER_POSTGRES_URL names (`sourcier status --environment` "
                    "prints the stack's); it is shown this once.",
    )
    parser.add_argument("--tenant", default="default")
    parser.add_argument("--role", choices=[role.label for role in Role], default=Role.OPERATOR.label)
    parser.add_argument("--name", required=True, help="what it is for")
    parser.add_argument("--days", type=int, help="how long it is valid; by default until it is revoked")
    arguments = parser.parse_args()
    settings = load(KeyMakingSettings)
    try:
        secret = asyncio.run(_make(arguments, settings))
    except ServiceError as error:
        sys.stderr.write(f"error: {error.message}\n")
        return 1
    sys.stdout.write(f"{secret}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
