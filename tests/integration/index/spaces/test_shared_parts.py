"""Small tenants share a part of each vectors table; one that grows gets its own, and nobody notices the move."""

from __future__ import annotations

import asyncio
from pathlib import Path

from psycopg import sql

from sourcier.services.chassis.postgres.database import ALL_TENANTS, Database, DatabaseSettings
from sourcier.services.chassis.postgres.migrating import migrate
from sourcier.services.index.migrations import FOLDER
from sourcier.services.index.search import search
from sourcier.services.index.search.search import QuestionVector, SearchRequest
from sourcier.services.index.spaces import growing, partitions
from sourcier.services.index.spaces.spaces import build_indexes, ensure_space, get_space
from tests.integration.index.writer import SPACE, Writer, text_vector

PASSAGES = ["Le pont fut ouvert en automne.", "La mairie ferme à midi.", "Le bac traverse le fleuve."]


async def the_table(database: Database) -> str:
    async with database.transaction(tenant=ALL_TENANTS) as connection:
        return (await get_space(connection, SPACE.space_id)).vectors_table


async def own_part(database: Database, tenant: str) -> str | None:
    table = await the_table(database)
    async with database.transaction(tenant=tenant) as connection:
        return await partitions.find_partition(connection, vectors_table=table, tenant=tenant)


async def rows_of(database: Database, tenant: str, *, part: str) -> int:
    async with database.transaction(tenant=tenant) as connection:
        cursor = await connection.execute(sql.SQL("select count(*) from {}").format(sql.Identifier(part)))
        row = await cursor.fetchone()
        assert row is not None
        return int(row[0])


async def found(database: Database, tenant: str) -> int:
    request = SearchRequest(tenant=tenant, collections=("default",), limit=10)
    return len(await search.dense(database, request, vector=QuestionVector(SPACE.space_id, text_vector("pont"))))


async def shared_part(database: Database) -> str:
    table = await the_table(database)
    async with database.transaction(tenant=ALL_TENANTS) as connection:
        part = await partitions.find_shared_part(connection, vectors_table=table)
    assert part is not None
    return part


async def test_tenants_that_are_small_make_no_table(database: Database) -> None:
    relations = "select count(*) from pg_class where relnamespace = current_schema()::regnamespace"
    async with database.transaction(tenant=ALL_TENANTS) as connection:
        before = await (await connection.execute(relations)).fetchone()
    for tenant in ("one", "two", "three"):
        await Writer(database, tenant=tenant).index("a.txt", PASSAGES)
    async with database.transaction(tenant=ALL_TENANTS) as connection:
        assert await (await connection.execute(relations)).fetchone() == before
    shared = await shared_part(database)
    for tenant in ("one", "two", "three"):
        assert await own_part(database, tenant) is None
        # Each sees its own rows there, and no other's.
        assert await rows_of(database, tenant, part=shared) == len(PASSAGES)
        assert await found(database, tenant) == len(PASSAGES)


async def test_a_tenant_that_grew_is_moved_with_all_that_it_has_and_its_neighbours_stay(database: Database) -> None:
    for tenant, documents in (("grown", 4), ("small", 1)):
        for number in range(documents):
            await Writer(database, tenant=tenant).index(f"{number}.txt", PASSAGES)
    await build_indexes(database, rows_min=10)
    part, shared = await own_part(database, "grown"), await shared_part(database)
    assert part is not None
    assert await own_part(database, "small") is None
    assert await rows_of(database, "grown", part=part) == 4 * len(PASSAGES)
    assert await rows_of(database, "grown", part=shared) == 0
    assert (await found(database, "grown"), await found(database, "small")) == (10, len(PASSAGES))
    # It goes on growing there, and what it deletes goes from there.
    await Writer(database, tenant="grown").index("0.txt", PASSAGES[:1])
    assert await rows_of(database, "grown", part=part) == 3 * len(PASSAGES) + 1
    assert await rows_of(database, "small", part=part) == 0


async def test_a_search_whose_snapshot_is_older_than_the_move_finds_what_was_moved(database: Database) -> None:
    await Writer(database, tenant="grown").index("a.txt", PASSAGES)
    table = await the_table(database)
    async with database.transaction(tenant="grown", read_only=True) as connection:
        await connection.execute("select count(*) from documents")  # the snapshot is taken
        assert await growing.move(database, vectors_table=table, tenant="grown") is not None
        cursor = await connection.execute(
            sql.SQL("select count(*) from {} where tenant = 'grown'").format(sql.Identifier(table)))
        assert await cursor.fetchone() == (len(PASSAGES),)


async def test_a_move_gives_way_to_a_statement_that_goes_on_and_comes_again(database: Database) -> None:
    await Writer(database, tenant="grown").index("a.txt", PASSAGES * 4)
    table = await the_table(database)
    async with database.transaction(tenant="other") as connection:
        await connection.execute(sql.SQL("select count(*) from {}").format(sql.Identifier(table)))
        async with asyncio.timeout(10):
            await build_indexes(database, rows_min=10)
        assert await own_part(database, "grown") is None
    await build_indexes(database, rows_min=10)
    assert await own_part(database, "grown") is not None


async def test_what_comes_while_a_tenant_is_moved_is_lost_nowhere(database: Database) -> None:
    """Documents are written and replaced while their tenant is moved."""
    await Writer(database, tenant="grown").index("0.txt", PASSAGES * 4)

    async def write(name: str) -> None:
        await Writer(database, tenant="grown").index(name, PASSAGES)

    async with asyncio.TaskGroup() as group:
        group.create_task(build_indexes(database, rows_min=10))
        for name in ("0.txt", "1.txt", "2.txt"):
            group.create_task(write(name))
    await build_indexes(database, rows_min=2)
    part = await own_part(database, "grown")
    assert part is not None
    assert await rows_of(database, "grown", part=part) == 3 * len(PASSAGES)
    assert await rows_of(database, "grown", part=await shared_part(database)) == 0


async def test_a_database_of_the_release_before_shares_once_it_is_told_to(
    empty_database_url: str, tmp_path: Path
) -> None:
    """It had a space before this migration: services of that release may run beside it, and make parts themselves."""
    (this,) = FOLDER.glob("*_shared_parts.sql")
    for migration in FOLDER.glob("*.sql"):
        if migration.name < this.name:
            (tmp_path / migration.name).write_bytes(migration.read_bytes())
    await migrate(empty_database_url, tmp_path)
    async with Database(DatabaseSettings(url=empty_database_url)) as database:
        async with database.transaction(tenant=ALL_TENANTS) as connection:
            await connection.execute(A_SPACE)
        await migrate(empty_database_url, FOLDER)
        async with database.transaction(tenant=ALL_TENANTS) as connection:
            assert not (await ensure_space(connection, SPACE)).shares_parts
            cursor = await connection.execute("select max(requires) from migrations")
            assert await cursor.fetchone() == (0,)
        await Writer(database, tenant="before").index("a.txt", PASSAGES)
        assert await own_part(database, "before") is not None
        async with database.transaction(tenant=ALL_TENANTS) as connection:
            await connection.execute("select share_parts()")
            cursor = await connection.execute(
                "select max(requires) = max(number) filter (where name like '%\\_shared_parts') from migrations"
            )
            assert await cursor.fetchone() == (True,), "a release that would make parts of its own has to be refused"
            await ensure_space(connection, SPACE)
        await Writer(database, tenant="after").index("a.txt", PASSAGES)
        assert await own_part(database, "after") is None
        assert (await found(database, "before"), await found(database, "after")) == (len(PASSAGES), len(PASSAGES))


A_SPACE = """
insert into embedding_spaces (space_id, model, revision, dimension, query_prefix, passage_prefix, pooling,
                              token_mean_sha256, token_weights, state, vectors_table)
values ('earlier', 'm', '1', 16, '', '', 'mean', '0', 'unigram', 'live', 'vectors_earlier')
"""
