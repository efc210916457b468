"""Migrations: all of them on an empty database, once, by however many processes start together."""

from __future__ import annotations

import asyncio
from pathlib import Path

import psycopg
import pytest

from sourcier.services.chassis.errors import FailedPrecondition, InvalidArgument
from sourcier.services.chassis.postgres.database import Database, DatabaseSettings
from sourcier.services.chassis.postgres.migrating import migrate
from sourcier.services.chassis.postgres.migration_wait import wait_until_migrated
from sourcier.services.index.migrations import FOLDER
from tests.waiting import until


async def test_apply_to_an_empty_database_once(empty_database_url: str) -> None:
    names = [path.stem for path in sorted(FOLDER.glob("*.sql"))]
    assert await migrate(empty_database_url, FOLDER) == names
    assert await migrate(empty_database_url, FOLDER) == []


async def test_processes_that_start_together_wait_for_one_another(empty_database_url: str) -> None:
    applied = await asyncio.gather(*(migrate(empty_database_url, FOLDER) for _ in range(4)))
    assert sorted(len(names) for names in applied) == [0, 0, 0, len(list(FOLDER.glob("*.sql")))]


async def test_who_applies_none_waits_until_all_are_there(
    empty_database_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with Database(DatabaseSettings(url=empty_database_url, schema="waited_for")) as database:
        with pytest.raises(FailedPrecondition, match=r"waited_for has migration 0 of \d+; start an ingest service"):
            await wait_until_migrated(database, FOLDER, seconds_max=0)
        waiting = asyncio.create_task(wait_until_migrated(database, FOLDER))
        await until(lambda: "waiting for an ingest service" in caplog.text, seconds=30)
        assert not waiting.done()
        await migrate(empty_database_url, FOLDER, schema="waited_for")
        await waiting


async def test_a_database_that_is_ahead_is_not_waited_for(empty_database_url: str, tmp_path: Path) -> None:
    for number in (1, 2):
        (tmp_path / f"000{number}_some.sql").write_text("select 1")
    await migrate(empty_database_url, tmp_path)
    (tmp_path / "0002_some.sql").unlink()
    async with Database(DatabaseSettings(url=empty_database_url)) as database:
        await wait_until_migrated(database, tmp_path, seconds_max=0)


async def test_a_release_that_knows_no_shared_parts_is_refused_where_a_database_began_with_them(
    database: Database, tmp_path: Path
) -> None:
    (tmp_path / "0001_first.sql").write_text("select 1")
    with pytest.raises(FailedPrecondition, match=r"its services have to know migration \d+; this release knows 1"):
        await wait_until_migrated(database, tmp_path, seconds_max=0)


async def test_two_installations_live_in_one_database(empty_database_url: str) -> None:
    assert await migrate(empty_database_url, FOLDER, schema="first")
    assert await migrate(empty_database_url, FOLDER, schema="second")


async def test_an_applied_file_may_not_change(empty_database_url: str, tmp_path: Path) -> None:
    migration = tmp_path / "0001_first.sql"
    migration.write_text("create table things (thing text)")
    await migrate(empty_database_url, tmp_path, schema="changing")
    migration.write_text("create table things (thing integer)")
    with pytest.raises(FailedPrecondition, match="0001_first was changed"):
        await migrate(empty_database_url, tmp_path, schema="changing")


async def test_a_failing_file_leaves_nothing(empty_database_url: str, tmp_path: Path) -> None:
    (tmp_path / "0001_first.sql").write_text("create table things (thing text); select 1 / 0")
    with pytest.raises(InvalidArgument):
        await migrate(empty_database_url, tmp_path, schema="failing")
    async with await psycopg.AsyncConnection.connect(empty_database_url) as connection:
        cursor = await connection.execute("select to_regclass('failing.things')")
        assert await cursor.fetchone() == (None,)


async def test_a_gap_in_the_numbers_is_refused(empty_database_url: str, tmp_path: Path) -> None:
    (tmp_path / "0002_second.sql").write_text("select 1")
    with pytest.raises(FailedPrecondition, match="numbered"):
        await migrate(empty_database_url, tmp_path)


async def test_every_table_of_tenants_forces_row_level_security(database: Database) -> None:
    async with database.transaction(tenant="acme") as connection:
        cursor = await connection.execute(
            """
            select relname, relrowsecurity and relforcerowsecurity
            from pg_class
            join pg_attribute on attrelid = pg_class.oid and attname = 'tenant'
            where relkind in ('r', 'p') and relnamespace = current_schema()::regnamespace
            """
        )
        secured = dict(await cursor.fetchall())
    assert len(secured) >= 17
    assert all(secured.values()), secured


async def test_a_role_that_bypasses_row_level_security_is_refused(postgres_server: object) -> None:
    url = postgres_server.superuser_url  # type: ignore[attr-defined]
    async with await psycopg.AsyncConnection.connect(url, autocommit=True) as connection:
        await connection.execute("create extension if not exists vector")
    with pytest.raises(FailedPrecondition, match="superuser"):
        async with Database(DatabaseSettings(url=url)):
            pass


async def test_a_release_refuses_a_schema_that_a_later_one_took_from(
    empty_database_url: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    earlier, later = tmp_path / "earlier", tmp_path / "later"
    for folder in (earlier, later):
        folder.mkdir()
        (folder / "0001_first.sql").write_text("create table things (thing text, old_thing text)")
    (later / "0002_second.sql").write_text("alter table things add column new_thing text")
    await migrate(empty_database_url, later)
    assert await migrate(empty_database_url, earlier) == []
    async with Database(DatabaseSettings(url=empty_database_url)) as database:
        await wait_until_migrated(database, earlier, seconds_max=0)
        assert caplog.text.count("a later release's: it has migration 2, this release knows 1") == 2
        (later / "0003_third.sql").write_text("-- requires: 2\nalter table things drop column old_thing")
        await migrate(empty_database_url, later)
        refused = "has migration 3, and its services have to know migration 2; this release knows 1"
        with pytest.raises(FailedPrecondition, match=refused):
            await migrate(empty_database_url, earlier)
        with pytest.raises(FailedPrecondition, match=refused):
            await wait_until_migrated(database, earlier, seconds_max=0)
        await wait_until_migrated(database, later, seconds_max=0)


async def test_a_schema_of_a_release_that_kept_no_requirements_is_taken_over(
    empty_database_url: str, tmp_path: Path
) -> None:
    (tmp_path / "0001_first.sql").write_text("create table things (thing text)")
    await migrate(empty_database_url, tmp_path)
    async with await psycopg.AsyncConnection.connect(empty_database_url) as connection:
        await connection.execute("alter table sourcier.migrations drop column requires")
    async with Database(DatabaseSettings(url=empty_database_url)) as database:
        await wait_until_migrated(database, tmp_path, seconds_max=0)
    assert await migrate(empty_database_url, tmp_path) == []
