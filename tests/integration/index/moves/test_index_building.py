"""HNSW indexes are built however long others' transactions are, and given up at once when the process stops."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import psycopg
import pytest
import pytest_asyncio

from sourcier.services.chassis.postgres.database import ALL_TENANTS, Database, DatabaseSettings
from sourcier.services.index.moves import upkeep as space_upkeep
from sourcier.services.index.spaces import growing, spaces
from sourcier.services.ingest.upkeep.index_building import IndexBuilding
from tests.integration.index.writer import SPACE, Writer

IMPATIENT_SECONDS = 0.2
BUILDS_THAT_WAIT = """
select count(*) from pg_locks join pg_stat_activity using (pid)
where not granted and query ilike '%%create index concurrently%%'
  and clock_timestamp() - waitstart > %s * interval '1 s'
"""
TIMEOUTS = "select current_setting('lock_timeout'), current_setting('statement_timeout')"
PARTITION_INDEXES = """
select indisvalid from pg_index
join pg_class as index on index.oid = indexrelid
join pg_am on pg_am.oid = index.relam
where amname = 'hnsw'
"""


@pytest_asyncio.fixture(loop_scope="session")
async def impatient(database: Database, writer: Writer, database_url: str) -> AsyncIterator[Database]:
    """Yield a database whose statements soon give up waiting for a lock, with 40 passages."""
    await writer.index("there.txt", [f"passage {number}" for number in range(40)])
    async with database.autocommit(tenant="acme") as connection:
        await connection.execute("analyze")
    async with Database(DatabaseSettings(url=database_url, lock_timeout_seconds=IMPATIENT_SECONDS)) as impatient:
        yield impatient


@asynccontextmanager
async def older_transaction(url: str) -> AsyncIterator[None]:
    """Hold a snapshot, as a backup does for as long as it takes."""
    async with await psycopg.AsyncConnection.connect(url) as connection:
        await connection.set_isolation_level(psycopg.IsolationLevel.REPEATABLE_READ)
        await connection.execute("select 1 from pg_class limit 1")
        yield
        await connection.rollback()


async def until_waiting(database: Database, building: asyncio.Task[object]) -> None:
    """Return once the build has waited for another transaction for longer than statements else would."""
    async with asyncio.timeout(20), database.autocommit(tenant=ALL_TENANTS) as connection:
        while not building.done():
            cursor = await connection.execute(BUILDS_THAT_WAIT, (3 * IMPATIENT_SECONDS,))
            row = await cursor.fetchone()
            if row and row[0]:
                return
            await asyncio.sleep(0.05)
    raise AssertionError(f"the build ended instead of waiting: {building}")


async def test_an_index_that_cannot_be_built_keeps_no_other_from_being_built(
    database: Database, writer: Writer, caplog: pytest.LogCaptureFixture
) -> None:
    tenants = ("acme", "middle", "other")
    for tenant in tenants:
        await Writer(database, tenant).index("there.txt", [f"passage {number}" for number in range(20)])
    async with database.transaction(tenant="acme") as connection:
        table = (await spaces.get_space(connection, SPACE.space_id)).vectors_table
    for tenant in tenants:
        await growing.move(database, vectors_table=table, tenant=tenant)
    async with database.autocommit(tenant="acme") as connection:
        # What is first in the list cannot be built: something else has its index's name.
        listed = await connection.execute(spaces.PARTITIONS_WITHOUT_INDEX, {
            "rows_min": 10, "deferred_rows_max": 0, "load_documents_min": spaces.LOAD_DOCUMENTS_MIN,
        })
        first, *others = [partition for partition, _, _ in await listed.fetchall()]
        assert {first, *others} == {f"{table}__{tenant}" for tenant in tenants}
        taken = "hnsw_" + hashlib.sha256(first.encode()).hexdigest()[:16]
        await connection.execute(f"create table {taken} ()".encode())
    assert sorted(await spaces.build_indexes(database, rows_min=10)) == sorted(others)
    assert [record.partition for record in caplog.records if record.levelname == "ERROR"] == [first]  # type: ignore[attr-defined]
    async with database.autocommit(tenant="acme") as connection:
        await connection.execute(f"drop table {taken}".encode())
    assert await spaces.build_indexes(database, rows_min=10) == [first]


async def hnsw_indexes(database: Database) -> list[bool]:
    async with database.autocommit(tenant=ALL_TENANTS) as connection:
        return [bool(valid) for (valid,) in await (await connection.execute(PARTITION_INDEXES)).fetchall()]


async def test_a_build_waits_for_an_older_transaction(
    database: Database, impatient: Database, database_url: str
) -> None:
    async with older_transaction(database_url):
        building = asyncio.create_task(spaces.build_indexes(impatient, rows_min=10))
        await until_waiting(database, building)
        assert await spaces.build_indexes(database, rows_min=10) == []  # one builds at a time
    assert len(await building) == 1
    assert await hnsw_indexes(database) == [True]


async def test_a_connection_has_its_timeouts_again_after_a_build(impatient: Database) -> None:
    assert len(await spaces.build_indexes(impatient, rows_min=10)) == 1
    async with impatient.autocommit(tenant=ALL_TENANTS) as connection:
        cursor = await connection.execute(TIMEOUTS)
        assert await cursor.fetchone() == ("200ms", "30s")


async def test_a_process_that_stops_gives_up_a_build_and_the_next_one_makes_it(
    database: Database, impatient: Database, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    stopping = asyncio.Event()
    monkeypatch.setattr(spaces, "EXACT_ROWS_MAX", 10)
    worker = IndexBuilding(impatient, deferred_rows_max=0, look_seconds=0.01)
    async with older_transaction(database_url):
        running = asyncio.create_task(worker.run(stopping))
        await until_waiting(database, running)
        stopping.set()
        async with asyncio.timeout(30):
            await running
        assert await hnsw_indexes(database) == [False]
    assert len(await spaces.build_indexes(database, rows_min=10)) == 1
    assert await hnsw_indexes(database) == [True]


async def test_a_space_whose_index_is_being_built_is_looked_at_without_waiting(
    database: Database, impatient: Database, database_url: str
) -> None:
    async def lacks_index(rows_min: int) -> bool:
        async with impatient.transaction(tenant="acme") as connection:
            stored = await spaces.get_space(connection, SPACE.space_id)
            return await space_upkeep.lacks_index(
                connection, vectors_table=stored.vectors_table, tenant="acme", rows_min=rows_min
            )

    assert [await lacks_index(rows) for rows in (39, 40)] == [True, False]
    async with older_transaction(database_url):
        building = asyncio.create_task(spaces.build_indexes(database, rows_min=10))
        await until_waiting(database, building)
        assert await lacks_index(39)
    await building
    assert not await lacks_index(39)
