"""The index in a database of the test's own."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest_asyncio

from sourcier.services.chassis.postgres.database import ALL_TENANTS, Database, DatabaseSettings
from sourcier.services.index.spaces import spaces
from tests.integration.index.writer import SPACE, Writer


@pytest_asyncio.fixture(loop_scope="session")
async def database(database_url: str) -> AsyncIterator[Database]:
    """Yield an open database that is migrated and has the test's space."""
    async with Database(DatabaseSettings(url=database_url, connections_max=12)) as database:
        async with database.transaction(tenant=ALL_TENANTS) as connection:
            await spaces.ensure_space(connection, SPACE)
        yield database


@pytest_asyncio.fixture(loop_scope="session")
async def writer(database: Database) -> Writer:
    """Return a writer of the tenant `acme`."""
    return Writer(database)
