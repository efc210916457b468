"""The vectors' index waits for the end of a load, up to a limit (ADR 16)."""

from __future__ import annotations

import pytest
import pytest_asyncio

from sourcier.services.chassis.postgres.database import ALL_TENANTS, Database
from sourcier.services.index.pipeline import releases
from sourcier.services.index.spaces import spaces
from tests.integration.index.writer import Writer


@pytest_asyncio.fixture(loop_scope="session")
async def loaded(database: Database, writer: Writer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have 40 passages indexed and three documents under way, which are a load here."""
    monkeypatch.setattr(spaces, "LOAD_DOCUMENTS_MIN", 3)
    await writer.index("there.txt", [f"passage {number}" for number in range(40)])
    for number in range(3):
        await writer.accept(f"coming{number}.txt", str(number))
    async with database.transaction(tenant=ALL_TENANTS) as connection:
        assert len(await releases.release(connection, in_flight_max=2, limit=10)) == 2
    async with database.autocommit(tenant="acme") as connection:
        await connection.execute("analyze")


@pytest.mark.usefixtures("loaded")
async def test_no_index_is_built_during_a_load(
    database: Database, writer: Writer, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert await spaces.build_indexes(database, rows_min=10, deferred_rows_max=1000) == []
    monkeypatch.setattr(spaces, "LOAD_DOCUMENTS_MIN", 4)
    assert len(await spaces.build_indexes(database, rows_min=10, deferred_rows_max=1000)) == 1


@pytest.mark.usefixtures("loaded")
async def test_a_load_over_the_limit_gets_its_index(database: Database) -> None:
    assert len(await spaces.build_indexes(database, rows_min=10, deferred_rows_max=30)) == 1


@pytest.mark.usefixtures("loaded")
async def test_another_tenants_load_holds_nothing_back(database: Database) -> None:
    other = Writer(database, tenant="calm")
    await other.index("there.txt", [f"passage {number}" for number in range(40)])
    async with database.autocommit(tenant="calm") as connection:
        await connection.execute("analyze")
    built = await spaces.build_indexes(database, rows_min=10, deferred_rows_max=1000)
    assert [partition.rpartition("_")[2] for partition in built] == ["calm"]
