"""An index with a few passages in a database of the test's own."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest_asyncio

from sourcier.services.chassis.postgres.database import ALL_TENANTS, Database, DatabaseSettings
from sourcier.services.index.spaces import spaces
from tests.integration.index.writer import SPACE, Writer

TELEWORK = "Le télétravail est possible deux jours par semaine, après accord du responsable."
EXPENSES = "Les frais de repas sont remboursés jusqu'à 19 euros, sur justificatif."


@pytest_asyncio.fixture(loop_scope="session")
async def database(database_url: str) -> AsyncIterator[Database]:
    """Yield a database with the space and no document."""
    async with Database(DatabaseSettings(url=database_url, connections_max=8, connection_timeout_seconds=30)) as opened:
        async with opened.transaction(tenant=ALL_TENANTS) as connection:
            await spaces.ensure_space(connection, SPACE)
        yield opened


@pytest_asyncio.fixture(loop_scope="session")
async def handbook(database: Database) -> Database:
    """Return the database with two documents in the default collection."""
    writer = Writer(database)
    await writer.index("telework.md", [TELEWORK, "La demande se fait par écrit, un mois avant."], title="Télétravail")
    await writer.index("expenses.md", [EXPENSES], title="Frais", category="finance", metadata={"team": "paie"})
    return database
