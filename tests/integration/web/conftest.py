"""One web service before one real gateway, for all tests of this folder; what the gateway's peers do is each test's."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import fields

import pytest
import pytest_asyncio

from sourcier.services.chassis.postgres.database import ALL_TENANTS, Database, DatabaseSettings
from sourcier.services.index.spaces import spaces
from sourcier.services.stack.servers.postgres import PostgresServer
from tests.integration.gateway.conftest import EXPENSES, TELEWORK
from tests.integration.index.writer import SPACE, Writer
from tests.integration.web.fix_web import Scenario, Web, web


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def shared_web(postgres_server: PostgresServer, database_template: str) -> AsyncIterator[Web]:
    """Yield the service over an index of two documents."""
    url = await postgres_server.create_database("web_tests", template=database_template)
    async with Database(DatabaseSettings(url=url, connections_max=8, connection_timeout_seconds=30)) as database:
        async with database.transaction(tenant=ALL_TENANTS) as connection:
            await spaces.ensure_space(connection, SPACE)
        writer = Writer(database)
        await writer.index("telework.md", [TELEWORK, "La demande se fait par écrit, un mois avant."],
                           title="Télétravail")
        await writer.index("expenses.md", [EXPENSES], title="Frais", category="finance", metadata={"team": "paie"})
        async with web(database) as opened:
            yield opened


@pytest.fixture
def site(shared_web: Web) -> Web:
    """Return the service; what its gateway's peers do is as if nobody had said anything."""
    fresh = Scenario()
    for each in fields(Scenario):
        setattr(shared_web.scenario, each.name, getattr(fresh, each.name))
    return shared_web
