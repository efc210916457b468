"""Row-level security within a tenant: every table of collections and conversations, read from the catalogue."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest
from psycopg import sql

from sourcier.services.chassis.access import MANAGE, READ, WRITE, Access, enter_access
from sourcier.services.chassis.postgres.database import Connection, Database
from sourcier.services.index.lexical.entries import SHOW_ALL_ENTRIES
from tests.integration.index.test_keys_of_tenants import NEVER_CHANGED, _count, _insert, _tables
from tests.integration.index.writer import Writer

TENANT = "acme"
OF_THE_TENANT = {
    # Seen by the services alone, or about no collection.
    "outbox", "file_removals", "reconciliations", "listed_objects", "staged_batches", "erasures", "daily_use",
    # Read before it is known what a caller may see; what is listed of them is chosen by the gateway.
    "api_keys", "grants",
}
OWNED = {"conversations", "messages", "ratings"}


@contextmanager
def calling(name: str = "user:alice", *, right: str = READ, **more: Any) -> Iterator[None]:
    """Make the block a call of somebody."""
    enter_access(Access(tenant=TENANT, name=name, names=(name, "group:rh", "everyone"), right=right, **more))
    try:
        yield
    finally:
        enter_access(None)


async def grant(database: Database, *, grantee: str, right: str, collection_id: Any) -> None:
    async with database.transaction(tenant=TENANT) as connection:
        await connection.execute(
            "insert into grants (tenant, grant_id, grantee, collection_id, access_right, granted_by) "
            "values (%s, gen_random_uuid(), %s, %s, %s, 'test')", (TENANT, grantee, collection_id, right),
        )


async def seen(database: Database, tables: Any) -> dict[str, int]:
    async with database.transaction(tenant=TENANT, read_only=True) as connection:
        await connection.execute(SHOW_ALL_ENTRIES)
        return {table.name: await _rows(connection, table.name) for table in tables}


async def _rows(connection: Connection, table: str) -> int:
    cursor = await connection.execute(sql.SQL("select count(*) from {}").format(sql.Identifier(table)))
    row = await cursor.fetchone()
    assert row is not None
    return int(row[0])


async def _filled(database: Database) -> tuple[Any, Any]:
    """Return every table, each with a row of one collection, and that collection's id."""
    tables = [table for table in await _tables(database) if table.name != "grants"]
    await _insert(database, tables, tenant=TENANT)
    (collections,) = [table for table in tables if table.name == "collections"]
    return tables, collections.columns["collection_id"]


async def test_without_a_grant_no_table_of_a_collection_shows_a_row(database: Database) -> None:
    tables, _ = await _filled(database)
    assert len(tables) >= 30
    whole = await seen(database, tables)
    assert set(whole.values()) == {1}, whole
    with calling():
        shown = await seen(database, tables)
    assert {name for name, rows in shown.items() if rows} == OF_THE_TENANT & set(shown)


@pytest.mark.parametrize("grantee", ["user:alice", "group:rh", "everyone"])
async def test_a_grant_shows_the_collection_and_what_is_in_it(database: Database, grantee: str) -> None:
    tables, collection_id = await _filled(database)
    await grant(database, grantee=grantee, right=READ, collection_id=collection_id)
    with calling():
        shown = await seen(database, tables)
    assert {name for name, rows in shown.items() if not rows} == OWNED
    with calling(right=WRITE):
        assert not (await seen(database, tables))["documents"]


async def test_a_higher_right_suffices_and_one_on_all_collections_too(database: Database) -> None:
    tables, collection_id = await _filled(database)
    await grant(database, grantee="user:alice", right=MANAGE, collection_id=collection_id)
    await grant(database, grantee="user:bob", right=WRITE, collection_id=None)
    for name, right, rows in (("user:alice", WRITE, 1), ("user:bob", READ, 1), ("user:bob", MANAGE, 0)):
        enter_access(Access(tenant=TENANT, name=name, names=(name,), right=right))
        assert (await seen(database, tables))["chunks"] == rows
    enter_access(None)


async def test_what_is_not_seen_is_neither_changed_nor_deleted_nor_added_to(database: Database) -> None:
    tables, _ = await _filled(database)
    with calling(right=MANAGE):
        async with database.transaction(tenant=TENANT) as connection:
            for table in tables:
                if table.name in OF_THE_TENANT | {NEVER_CHANGED}:
                    continue
                assert await _count(connection, table, "update {} set tenant = tenant") == 0, table.name
                assert await _count(connection, table, "delete from {}") == 0, table.name
                if table.name not in OWNED | {"objects"}:
                    with pytest.raises(psycopg.errors.InsufficientPrivilege):
                        async with connection.transaction():
                            await connection.execute(*table.insertion(TENANT))
    assert set((await seen(database, tables)).values()) == {1}


async def test_conversations_are_their_owners(database: Database) -> None:
    tables, _ = await _filled(database)
    for name, rows in (("user:alice", 1), ("user:bob", 0), ("user:carol", 0)):
        if name == "user:alice":
            with calling(name):
                async with database.transaction(tenant=TENANT) as connection:
                    await connection.execute(
                        "insert into conversations (conversation_id, tenant, recency) "
                        "values (gen_random_uuid(), 'acme', gen_random_uuid())"
                    )
        with calling(name):
            assert (await seen(database, tables))["conversations"] == rows
    with calling("user:root", everything=True, others_conversations=True):
        assert (await seen(database, tables))["conversations"] == 0
        await grant(database, grantee="user:root", right="conversations", collection_id=None)
    with calling("user:root", everything=True):
        assert (await seen(database, tables))["conversations"] == 0  # a call that is not for reading others'
    with calling("user:root", everything=True, others_conversations=True):
        shown = await seen(database, tables)
        assert [shown[name] for name in ("conversations", "messages", "ratings")] == [2, 1, 1]


async def test_a_name_is_a_value_and_never_a_statement(database: Database) -> None:
    tables, _ = await _filled(database)
    for name in ("user:'; set local sourcier.collections = '*'; --", "user:{,*}", 'user:"', "user:\\", "user:é'"):
        with calling(name):
            assert (await seen(database, tables))["documents"] == 0
            async with database.transaction(tenant=TENANT) as connection:
                cursor = await connection.execute("select current_setting('sourcier.name', true)")
                assert await cursor.fetchone() == (name,)


async def test_a_look_and_a_pooled_connection_keep_nothing(database: Database) -> None:
    tables, collection_id = await _filled(database)
    await grant(database, grantee="user:alice", right=READ, collection_id=collection_id)
    count = "select count(*) from documents"
    with calling():
        assert await database.look(count, {}, tenant=TENANT) == (1,)
    with calling("user:bob"):
        enter_access(Access(tenant=TENANT, name="user:bob", names=("user:bob",), right=READ))
        assert await database.look(count, {}, tenant=TENANT) == (0,)
    async with database._pool.connection() as connection:
        cursor = await connection.execute(
            "select coalesce(current_setting('sourcier.collections', true), ''), "
            "coalesce(current_setting('sourcier.name', true), '')"
        )
        assert await cursor.fetchone() == ("", "")
        await connection.execute("select set_config('sourcier.tenant', 'acme', false)")
        assert await (await connection.execute(count)).fetchone() == (0,)  # without the other claims, nothing
        await connection.execute("select set_config('sourcier.tenant', '', false)")
    assert tables


async def test_nothing_leaks_between_interleaved_and_cancelled_calls(database: Database, writer: Writer) -> None:
    """Persons of two tenants share few connections, and many of their calls are cut off at any point."""
    for name in ("one", "two", "three"):
        for tenant in (TENANT, "other"):
            owner = await Writer(database, tenant).collection(name)
            async with database.transaction(tenant=tenant) as connection:
                await connection.execute(
                    "insert into grants (tenant, grant_id, grantee, collection_id, access_right, granted_by) "
                    "values (%s, gen_random_uuid(), %s, %s, 'read', 'test')",
                    (tenant, f"user:{name}", owner.collection_id),
                )
    seen: list[tuple[str, str, Any]] = []
    chance = random.Random(7)
    statement = "select array_agg(tenant || '/' || name) from collections"

    async def call(tenant: str, name: str) -> None:
        enter_access(Access(tenant=tenant, name=f"user:{name}", names=(f"user:{name}",), right=READ))
        if chance.random() < 0.5:
            seen.append((tenant, name, await database.look(statement, {}, tenant=tenant)))
            return
        async with database.transaction(tenant=tenant, read_only=True) as connection:
            seen.append((tenant, name, await (await connection.execute(statement.encode())).fetchone()))

    for _ in range(40):
        calls = [
            asyncio.create_task(call(chance.choice((TENANT, "other")), chance.choice(("one", "two", "three", "none"))))
            for _ in range(25)
        ]
        for cut in chance.sample(calls, 10):
            for _ in range(chance.randrange(12)):
                await asyncio.sleep(0)
            cut.cancel()
        await asyncio.wait(calls)
    assert len(seen) >= 600
    assert [each for each in seen if each[2] != (None if each[1] == "none" else [f"{each[0]}/{each[1]}"],)] == []
    assert writer is not None
