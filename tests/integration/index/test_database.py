"""The pool and its transactions: bounded, translated, and bound to a tenant."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack

import pytest

from sourcier.services.chassis.errors import (
    AlreadyExists,
    DeadlineExceeded,
    InvalidArgument,
    PermissionDenied,
    ResourceExhausted,
    ServiceError,
    Unavailable,
)
from sourcier.services.chassis.postgres.database import PLAN_EACH, Connection, Database, DatabaseSettings
from sourcier.services.chassis.postgres.errors import DatabaseFault
from sourcier.services.chassis.postgres.types import integer_array, text_array
from tests.integration.index.writer import Writer
from tests.waiting import until

COUNT_DOCUMENTS = "select count(*) from documents"
PLANNING = "select current_setting('plan_cache_mode'), current_setting('enable_seqscan')"


async def test_errors_are_translated(database: Database) -> None:
    statements = {
        "select pg_sleep(1)": DeadlineExceeded,
        "select pg_terminate_backend(pg_backend_pid())": Unavailable,
        "select 'x'::uuid": InvalidArgument,
        # No less too long for a row of the index when it is tried again.
        "create temporary table keys (key text primary key); "
        "insert into keys select string_agg(md5(n::text), '') from generate_series(1, 1000) as n": InvalidArgument,
        "insert into outbox (tenant, subject, payload, message_id) values ('other', 's', '', 'm')": PermissionDenied,
        "insert into migrations values (1, '', '')": AlreadyExists,
        # As a primary that was demoted says.
        "set transaction read only; insert into outbox (tenant, subject, payload, message_id) "
        "values ('acme', 's', '', 'm')": Unavailable,
        "set local transaction_timeout = 50; select pg_sleep(20)": Unavailable,
        "do $$ begin raise exception 'cache lookup failed' using errcode = 'XX000'; end $$": DatabaseFault,
    }
    for statement, expected in statements.items():
        with pytest.raises(expected):
            await _run(database, statement)
    # The pool has replaced what broke.
    await _run(database, "select 1")


async def test_a_session_that_the_server_ended_as_idle_is_an_outage(database: Database) -> None:
    with pytest.raises(Unavailable):
        await _idle_until_ended(database)
    await _run(database, "select 1")


@pytest.mark.parametrize("statement", ["selec 1", "select nothing_of_this_name(1)"])
async def test_a_wrong_statement_is_not_tried_again(
    database: Database, caplog: pytest.LogCaptureFixture, statement: str
) -> None:
    with pytest.raises(ServiceError) as refused:
        await _run(database, statement)
    assert not refused.value.retryable
    # What was wrong is in the log alone.
    assert [record.exc_info is not None for record in caplog.records if record.levelname == "ERROR"] == [True]


async def test_only_what_is_written_again_anyway_may_stay_behind_the_disk(database: Database) -> None:
    async def waiting_for_disk(**how: bool) -> str:
        async with database.transaction(tenant="acme", **how) as connection:
            row = await (await connection.execute("show synchronous_commit")).fetchone()
            return str(row[0]) if row else ""

    usual = await waiting_for_disk()
    assert await waiting_for_disk(flushed=False) == "off"
    # The connection goes back to the pool as it was.
    assert [await waiting_for_disk() for _ in range(4)] == [usual] * 4


async def test_what_finds_rows_by_keys_is_planned_for_any_value(database: Database) -> None:
    some_id = "01890a5d-ac96-774b-bcce-b302099a8057"

    async def planned(connection: Connection) -> str:
        await connection.execute("prepare one_job (uuid) as select from jobs where job_id = $1")
        cursor = await connection.execute(f"explain (costs off) execute one_job ('{some_id}')")
        plan = "\n".join(line for (line,) in await cursor.fetchall())
        await connection.execute("deallocate one_job")
        return plan

    async def settings(connection: Connection) -> tuple[str, ...]:
        cursor = await connection.execute(PLANNING)
        return await cursor.fetchone() or ()

    async with database.transaction(tenant="acme", by_key=True) as connection:
        # However small the table was when it was planned: the plan stays when it has grown.
        plan = await planned(connection)
        assert "$1" in plan
        assert "Seq Scan" not in plan
        await connection.execute(PLAN_EACH)
        assert some_id in await planned(connection)
    assert await database.look(PLANNING, {}, tenant="acme") == ("force_generic_plan", "off")
    # The connections go back to the pool as they were.
    for _ in range(4):
        async with database.transaction(tenant="acme") as connection:
            assert await settings(connection) == ("force_custom_plan", "on")


@pytest.mark.parametrize("integers", [[], [1], [-1, 0, 32_767, 32_768, 2**31 - 1]])
@pytest.mark.parametrize("texts", [[], [""], ["NULL", "", 'a"b\\c', "{d,e}", "été 漢字 🎈\n"]])
async def test_arrays_arrive_as_they_were_sent(database: Database, integers: list[int], texts: list[str]) -> None:
    async with database.transaction(tenant="acme") as connection:
        cursor = await connection.execute(
            "select %b::integer[], %b::text[]", (integer_array(integers), text_array(texts))
        )
        assert await cursor.fetchone() == (integers, texts)


async def test_a_caller_never_meets_a_connection_that_the_server_dropped(database: Database) -> None:
    await asyncio.gather(*(_run(database, "select 1") for _ in range(10)))
    await _run(
        database,
        "select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid() and datname = "
        "current_database()",
    )
    await asyncio.gather(*(_run(database, "select 1") for _ in range(10)))


async def test_a_full_pool_refuses_at_once_and_recovers(database_url: str) -> None:
    settings = DatabaseSettings(
        url=database_url, connections_min=1, connections_max=1, waiting_max=1, connection_timeout_seconds=1.0
    )
    async with Database(settings) as database, AsyncExitStack() as held:
        await held.enter_async_context(database.transaction(tenant="acme"))
        waiting = asyncio.create_task(_run(database, "select 1"))
        # A few turns of the loop take it into the queue, where nothing but a connection moves it on.
        for _ in range(20):
            await asyncio.sleep(0)
        with pytest.raises(ResourceExhausted):
            await _run(database, "select 1")
        with pytest.raises(Unavailable):
            await waiting
        await held.aclose()
        await _run(database, "select 1")


async def test_cancelled_callers_leave_the_pool_whole(database_url: str) -> None:
    settings = DatabaseSettings(url=database_url, connections_min=2, connections_max=2, waiting_max=1_000)
    async with Database(settings) as database:
        for delay in range(60):
            tasks = [asyncio.create_task(_run(database, "select pg_sleep(0.01)")) for _ in range(4)]
            for _ in range(delay):
                await asyncio.sleep(0)
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
        await asyncio.gather(*(_run(database, "select 1") for _ in range(8)))
        assert database.statistics()["pool_size"] <= 2


async def test_a_transaction_that_fails_leaves_nothing_and_no_tenant(database: Database) -> None:
    with pytest.raises(InvalidArgument):
        await _run(database, (
            "insert into outbox (tenant, subject, payload, message_id) values ('acme', 's', '', 'm'); "
            "select 'x'::uuid"
        ))
    async with database.transaction(tenant="acme") as connection:
        cursor = await connection.execute("select count(*) from outbox")
        assert await cursor.fetchone() == (0,)
    async with database._pool.connection() as connection:
        cursor = await connection.execute("select current_setting('sourcier.tenant', true)")
        assert await cursor.fetchone() in [("",), (None,)]


@pytest.mark.parametrize("tenant", ["", "Acme", "a b", "a'b", "x" * 41, "a.b"])
async def test_a_tenant_is_a_name(database: Database, tenant: str) -> None:
    with pytest.raises(InvalidArgument):
        await _run(database, "select 1", tenant=tenant)


async def test_a_database_that_is_away_is_unavailable() -> None:
    settings = DatabaseSettings(url="postgresql://nobody@127.0.0.1:1/none", connection_timeout_seconds=0.5)
    with pytest.raises(Unavailable):
        async with Database(settings):
            pass


async def _idle_until_ended(database: Database) -> None:
    async with database.transaction(tenant="acme") as connection:
        await connection.execute("set local idle_in_transaction_session_timeout = 20")
        async with database.autocommit(tenant="acme") as other:
            async with asyncio.timeout(20):
                while (await other.execute(
                    "select from pg_stat_activity where pid = %s", (connection.info.backend_pid,)
                )).rowcount:
                    await asyncio.sleep(0.02)
        await connection.execute("select 1")


async def _run(database: Database, statement: str, *, tenant: str = "acme") -> None:
    async with database.transaction(tenant=tenant) as connection:
        if "pg_sleep(1)" in statement:
            await connection.execute("set local statement_timeout = 50")
        await connection.execute(statement.encode())


async def test_a_look_sees_one_tenants_rows_and_leaves_no_tenant_behind(database: Database, writer: Writer) -> None:
    await writer.accept("a.txt", "a")

    assert await database.look(COUNT_DOCUMENTS, {}, tenant="acme") == (1,)
    assert await database.look(COUNT_DOCUMENTS, {}, tenant="other") == (0,)
    async with database.autocommit(tenant="acme") as connection:
        await connection.execute("select set_config('sourcier.tenant', '', false)")
        assert await (await connection.execute(COUNT_DOCUMENTS)).fetchone() == (0,)
    with pytest.raises(InvalidArgument):
        await database.look(COUNT_DOCUMENTS, {}, tenant="Not a tenant")


def all_back(database: Database) -> bool:
    """Return whether every connection is in the pool."""
    return database.statistics()["pool_available"] == database.statistics()["pool_size"]


async def test_who_read_all_there_is_does_not_wait_for_the_end(database: Database) -> None:
    async with database.transaction(tenant="acme", read_only=True, ends_later=True) as connection:
        assert await (await connection.execute("select 1")).fetchone() == (1,)
    await until(lambda: all_back(database), seconds=5)
    async with database.transaction(tenant="acme") as again:
        # Nothing of it is left open.
        assert await (await again.execute("show transaction_read_only")).fetchone() == ("off",)
    with pytest.raises(InvalidArgument):
        async with database.transaction(tenant="acme", read_only=True, ends_later=True) as connection:
            await connection.execute("select 'x'::uuid")
    await until(lambda: all_back(database), seconds=5)


async def test_a_connection_that_breaks_at_the_end_of_a_reading_is_replaced(database: Database) -> None:
    async with database.transaction(tenant="acme", read_only=True, ends_later=True) as connection:
        row = await (await connection.execute("select pg_backend_pid()")).fetchone()
        assert row is not None
        async with database.transaction(tenant="acme") as other:
            await other.execute("select pg_terminate_backend(%s)", row)
    await until(lambda: all_back(database), seconds=5)
    await _run(database, "select 1")


async def test_a_database_is_closed_when_its_last_reading_has_ended(database: Database) -> None:
    async with (
        Database(database.settings) as another,
        another.transaction(tenant="acme", read_only=True, ends_later=True) as connection,
    ):
        await connection.execute("select 1")
    assert connection.closed
