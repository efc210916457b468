"""A tenant's own part of a vectors table: whatever the tenant is called, its name meets no other."""

from __future__ import annotations

import pytest
from psycopg import sql

from sourcier.services.chassis.postgres.database import ALL_TENANTS, Database
from sourcier.services.index.search import search
from sourcier.services.index.search.search import QuestionVector, SearchRequest
from sourcier.services.index.spaces.partitions import SHARED_ROWS_MAX, ensure_partition, find_partition
from sourcier.services.index.spaces.spaces import get_space
from tests.integration.index.writer import SPACE, Writer, text_vector

NAMES_OF_THE_SERVER = ["pkey", "by-document", "key", "idx", "seq", "not-null", "check", "of", "-", "--", "a" * 40]


@pytest.mark.parametrize("tenant", NAMES_OF_THE_SERVER)
async def test_no_name_of_a_tenant_meets_one_of_the_server(database: Database, tenant: str) -> None:
    writer = Writer(database, tenant=tenant)
    await writer.index("a.txt", ["Le pont fut ouvert en automne."])
    request = SearchRequest(tenant=tenant, collections=("default",), limit=10)
    assert len(await search.lexical(database, request, question="pont automne")) == 1
    assert len(await search.dense(database, request, vector=QuestionVector(SPACE.space_id, text_vector("pont")))) == 1


async def test_a_part_is_found_by_its_parent_and_never_by_its_name_alone(database: Database) -> None:
    async with database.transaction(tenant=ALL_TENANTS) as connection:
        table = (await get_space(connection, SPACE.space_id)).vectors_table
        # Something else of the name that the tenant's part would have.
        await connection.execute(sql.SQL("create table {} (thing text)").format(sql.Identifier(f"{table}_thing")))
        assert await find_partition(connection, vectors_table=table, tenant="thing") is None
        await ensure_partition(connection, vectors_table=table, tenant="thing", rows=SHARED_ROWS_MAX + 1)
        part = await find_partition(connection, vectors_table=table, tenant="thing")
    assert part not in (None, f"{table}_thing")


async def test_a_database_keeps_the_parts_that_it_has(database: Database) -> None:
    async with database.transaction(tenant=ALL_TENANTS) as connection:
        table = (await get_space(connection, SPACE.space_id)).vectors_table
        # As versions before called it.
        await connection.execute(sql.SQL("create table {} partition of {} for values in ('acme')").format(
            sql.Identifier(f"{table}_acme"), sql.Identifier(table)
        ))
    await Writer(database).index("a.txt", ["Le pont fut ouvert en automne."])
    async with database.transaction(tenant="acme") as connection:
        assert await find_partition(connection, vectors_table=table, tenant="acme") == f"{table}_acme"
        cursor = await connection.execute(sql.SQL("select count(*) from {}").format(sql.Identifier(f"{table}_acme")))
        assert await cursor.fetchone() == (1,)
