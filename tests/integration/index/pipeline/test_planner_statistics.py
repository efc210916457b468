"""Statistics of tables that grow from nothing: made once for each doubling, by whoever indexes."""

from __future__ import annotations

from sourcier.services.chassis.postgres.database import ALL_TENANTS, Database
from sourcier.services.index.pipeline import planner_statistics
from tests.integration.index.writer import Writer

ROWS_MIN = 20


async def refreshed(database: Database) -> list[str]:
    # Sessions tell what they changed when they end: theirs here is the only one, and is asked to tell it now.
    async with database.autocommit(tenant=ALL_TENANTS) as connection:
        await connection.execute("select pg_stat_force_next_flush()")
    return await planner_statistics.refresh(database, rows_min=ROWS_MIN)


async def test_tables_are_analysed_once_for_each_doubling(database: Database, writer: Writer) -> None:
    written = 0

    async def write(count: int) -> None:
        nonlocal written
        for number in range(written, written + count):
            await writer.index(f"{number}.md", [f"Le sujet {number}."])
        written += count

    assert await refreshed(database) == []
    await write(ROWS_MIN + 5)
    analysed = await refreshed(database)
    assert {"chunks", "documents", "document_versions", "jobs", "lexical_entries"} <= set(analysed)
    assert [name for name in analysed if name.startswith("vectors_")], "the tenant's partition, too"
    assert await refreshed(database) == []
    await write(ROWS_MIN // 2)
    assert await refreshed(database) == [], "a few more are autovacuum's to look at"
    await write(2 * ROWS_MIN)
    assert "documents" in await refreshed(database)
    async with database.transaction(tenant="acme") as connection:
        cursor = await connection.execute("select reltuples from pg_class where oid = 'documents'::regclass")
        assert await cursor.fetchone() == (written,)
