"""What a document costs the index does not depend on how many there are: counted in rows that are read, not in time."""

from __future__ import annotations

import asyncio

import pytest

from sourcier.ingest.v1 import ingest_pb2
from sourcier.services.chassis.postgres.database import ALL_TENANTS, Database, DatabaseSettings
from sourcier.services.index.pipeline import planner_statistics
from tests.integration.ingest.conftest import Serve

DOCUMENTS = 160
SUBMITTED_AT_ONCE = 10
ROWS_MAX = 80
"""Rows of one table that a document may have read: its own version, batches and job, several times, and what looks by
the clock finds, more of it where a machine is slow; some 30 here. A statement that reads all documents reads 80 more
on the average."""
LEAVE_ALONE = """
do $$ declare name regclass; begin
    for name in select oid from pg_class where relnamespace = current_schema()::regnamespace and relkind = 'r' loop
        execute format('alter table %s set (autovacuum_enabled = false)', name);
    end loop;
end $$
"""
ROWS_READ = """
select relname, seq_tup_read + coalesce(idx_tup_fetch, 0)
from pg_stat_user_tables
where schemaname = current_schema()
"""


async def test_a_document_reads_as_much_of_the_index_whatever_it_holds(
    serve: Serve, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing analyses the tables meanwhile: what is planned for empty ones must do for full ones."""
    async def nothing(database: Database) -> list[str]:
        return []

    monkeypatch.setattr(planner_statistics, "refresh", nothing)
    # Before the first row: the server's own upkeep would analyse a table of a few, and plan for those from then on.
    async with (
        Database(DatabaseSettings(url=database_url)) as database,
        database.transaction(tenant=ALL_TENANTS) as connection,
    ):
        await connection.execute(LEAVE_ALONE)
    async with serve() as service:
        async def ingest(number: int) -> None:
            text = f"Le document {number} parle du sujet {number}."
            submitted = await service.submit(text, filename=f"{number}.md")
            assert (await service.finished(submitted.job.job_id)).status == ingest_pb2.JOB_STATUS_COMPLETED

        for first in range(0, DOCUMENTS, SUBMITTED_AT_ONCE):
            await asyncio.gather(*map(ingest, range(first, first + SUBMITTED_AT_ONCE)))
    # The service's sessions have ended, and have told what they read.
    async with (
        Database(DatabaseSettings(url=database_url)) as database,
        database.transaction(tenant=ALL_TENANTS) as connection,
    ):
        cursor = await connection.execute(ROWS_READ)
        read = {str(table): int(rows) / DOCUMENTS for table, rows in await cursor.fetchall()}
    assert read["document_versions"] > 1, "what was read is counted"
    assert {table: round(rows) for table, rows in read.items() if rows > ROWS_MAX} == {}
