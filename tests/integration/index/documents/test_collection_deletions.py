"""The deletion of a collection on the tables: page by page, by indexes, beside refreshes of the frequencies."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from sourcier.services.chassis.errors import FailedPrecondition
from sourcier.services.chassis.postgres.database import ALL_TENANTS, Connection, Database, DatabaseSettings
from sourcier.services.index.curation import agents, learned_responses
from sourcier.services.index.curation.learned_responses import NewResponse
from sourcier.services.index.documents import deletions as collection_deletions
from sourcier.services.index.documents import documents
from sourcier.services.index.documents.deletions import DeletedPage
from sourcier.services.index.lexical import frequencies
from sourcier.services.index.moves import builds as space_builds
from sourcier.services.index.moves.builds import SpaceBuild
from tests.integration.index.large_collection import add_documents
from tests.integration.index.writer import SPACE, Writer, text_vector
from tests.waiting import eventually

TENANT = "acme"
BIG = 3_000
"""Documents of a collection beside the one that is deleted."""


async def found(database: Database, name: str = "default") -> str:
    async with database.transaction(tenant=TENANT) as connection:
        collection_id = await collection_deletions.find_collection(connection, tenant=TENANT, name=name)
    assert collection_id is not None
    return collection_id


async def page(database: Database, collection_id: str, **limits: Any) -> DeletedPage:
    async with database.transaction(tenant=TENANT) as connection:
        return await collection_deletions.delete_page(
            connection, tenant=TENANT, collection_id=collection_id, **limits
        )


async def rest(database: Database, collection_id: str) -> DeletedPage:
    async with database.transaction(tenant=TENANT) as connection:
        return await collection_deletions.delete_rest(connection, tenant=TENANT, collection_id=collection_id)


async def test_pages_take_whole_documents_and_the_frequencies_follow(database: Database, writer: Writer) -> None:
    for name in "abcde":
        await writer.index(f"{name}.txt", [f"Le texte {name}.", "Un autre passage."])
    collection_id = await found(database)
    first = await page(database, collection_id, documents_max=2)
    assert (first.document_count, len(first.file_removals)) == (2, 2)
    await writer.refresh()
    for table, rows in (("documents", 3), ("chunks", 6), ("lexical_entries", 6), ("document_versions", 3)):
        assert await writer.count(table) == rows, table
    async with database.transaction(tenant=TENANT) as connection:
        cursor = await connection.execute("select passages from collection_statistics")
        assert await cursor.fetchone() == (6,)
    # Many chunks make a page of fewer documents, and a document too large for any is a page of its own.
    second = await page(database, collection_id, after=first.after or "", chunks_max=3)
    assert (second.document_count, second.after is not None) == (1, True)
    third = await page(database, collection_id, after=second.after or "", chunks_max=1)
    assert third.document_count == 1
    last = await page(database, collection_id, after=third.after or "")
    assert (last.document_count, last.after) == (1, None)
    assert (await rest(database, collection_id)).document_count == 0
    assert await writer.count("collections") == 0
    assert await writer.count("file_removals") == 5
    assert (await rest(database, collection_id)).document_count == 0


async def test_what_somebody_holds_is_left_for_the_end(database: Database, writer: Writer) -> None:
    held = await writer.index("a.txt", ["texte"])
    await writer.index("b.txt", ["texte"])
    collection_id = await found(database)
    async with database.transaction(tenant=TENANT) as holding:
        await holding.execute("select from documents where document_id = %s for update", (held.document_id,))
        assert (await page(database, collection_id)).document_count == 1
        deleting = asyncio.create_task(rest(database, collection_id), name="delete the rest")
        await eventually(lambda: waits(database))
    assert (await deleting).document_count == 1
    assert await writer.count("documents") == 0


async def waits(database: Database) -> bool:
    async with database.transaction(tenant=ALL_TENANTS) as connection:
        cursor = await connection.execute(
            "select exists (select from pg_stat_activity "
            "where datname = current_database() and wait_event_type = 'Lock')"
        )
        return await cursor.fetchone() == (True,)


async def test_an_agent_keeps_its_collection_and_stops_a_deletion_on_its_way(
    database: Database, writer: Writer
) -> None:
    for name in "abc":
        await writer.index(f"{name}.txt", ["texte"])
    collection_id = await found(database)
    first = await page(database, collection_id, documents_max=1)
    async with database.transaction(tenant=TENANT) as connection:
        await agents.create_agent(connection, tenant=TENANT, name="support", collection="default")
    with pytest.raises(FailedPrecondition, match="'default' is what 'support' answers from"):
        await page(database, collection_id, after=first.after or "")
    with pytest.raises(FailedPrecondition, match="support"):
        await rest(database, collection_id)
    with pytest.raises(FailedPrecondition, match="support"):
        await found(database)
    assert await writer.count("chunks") == 2


async def test_what_an_agent_of_another_collection_rests_on_answers_no_more(
    database: Database, writer: Writer
) -> None:
    version = await writer.index("a.txt", ["texte"])
    await writer.index("b.txt", ["texte"], collection="kept")
    async with database.transaction(tenant=TENANT) as connection:
        agent = await agents.create_agent(connection, tenant=TENANT, name="support", collection="kept")
        await learned_responses.add_response(
            connection, agent=agent, space_id=SPACE.space_id, vector=text_vector("Combien ?"), responses_max=10,
            new=NewResponse(question="Combien ?", answer="Dix.", validated_by="Ada"),
        )
        await connection.execute(
            "insert into learned_response_sources (response_id, tenant, document_id, version_id, content_sha256, title)"
            " select response_id, tenant, %s, %s, '', '' from learned_responses",
            (version.document_id, version.version_id),
        )
    await page(database, await found(database))
    async with database.transaction(tenant=TENANT) as connection:
        cursor = await connection.execute("select state, state_reason from learned_responses")
        assert await cursor.fetchone() == ("flagged", "DOCUMENT_DELETED")
    assert await writer.count("learned_response_vectors") == 0


async def test_a_refresh_of_the_frequencies_beside_a_deletion(
    database: Database, writer: Writer, monkeypatch: pytest.MonkeyPatch
) -> None:
    await writer.stage((await writer.accept("a.txt", "1")).version, ["alpha beta"])
    await writer.stage((await writer.accept("b.txt", "2", collection="kept")).version, ["gamma"])
    collection_id = await found(database)
    held, go_on = asyncio.Event(), asyncio.Event()
    delete_locked = documents.delete_locked

    async def paused(connection: Connection, **values: Any) -> tuple[int, ...]:
        held.set()
        await go_on.wait()
        return await delete_locked(connection, **values)

    monkeypatch.setattr(documents, "delete_locked", paused)
    deleting = asyncio.create_task(rest(database, collection_id), name="delete the rest")
    await held.wait()

    async def refreshed() -> int:
        async with database.transaction(tenant=ALL_TENANTS) as connection:
            return await frequencies.refresh(connection)

    # The deletion goes on while the refresh is under way: each has what the other might want.
    async with database.transaction(tenant=ALL_TENANTS) as connection:
        assert await frequencies.refresh(connection) == 1  # of the other collection
        go_on.set()
        assert (await deleting).document_count == 1
    async with database.transaction(tenant=TENANT) as connection:
        # As a commit leaves them that noted its changes just before the deletion.
        await connection.execute(
            "insert into lexical_changes (tenant, collection_id, passages, lexemes, counts) "
            "values (%s, %s, 1, '{a}', '{1}')", (TENANT, collection_id),
        )
    assert [await refreshed(), await refreshed()] == [1, 0]
    assert await writer.count("lexical_changes") == 0
    kept = (await writer.collection("kept")).collection_id
    async with database.transaction(tenant=TENANT) as connection:
        for table in ("collection_statistics", "lexeme_frequencies"):
            cursor = await connection.execute(f"select distinct collection_id from {table}".encode())
            assert await cursor.fetchall() == [(kept,)], table


@pytest_asyncio.fixture(loop_scope="session")
async def alone(database_url: str) -> AsyncIterator[Database]:
    """Yield a database of one new connection, whose statistics are those of the test's own statements."""
    async with Database(DatabaseSettings(url=database_url, connections_max=1)) as database:
        yield database


async def test_a_small_collection_beside_a_large_one_goes_by_indexes(
    database: Database, writer: Writer, alone: Database
) -> None:
    small = await writer.index("a.txt", ["Un petit texte."], collection="small")
    await fill(writer)
    collection_id = await found(database, "small")
    async with alone.transaction(tenant=TENANT) as connection:
        await collection_deletions.delete_page(connection, tenant=TENANT, collection_id=collection_id)
        await collection_deletions.delete_rest(connection, tenant=TENANT, collection_id=collection_id)
        cursor = await connection.execute("""
            select relname, seq_tup_read + coalesce(idx_tup_fetch, 0)
            from pg_stat_xact_user_tables
            where schemaname = current_schema()
        """)
        read: dict[str, int] = dict(await cursor.fetchall())
    for table in ("documents", "document_versions", "chunks", "lexical_entries", "jobs", "objects", "staged_chunks"):
        assert read.get(table, 0) < 100, (table, read[table])
    assert await writer.texts(small.document_id) == []
    assert await writer.count("documents") == BIG


async def test_what_refers_to_a_collection_is_found_by_it_alone(database: Database) -> None:
    async with database.transaction(tenant=TENANT) as connection:
        cursor = await connection.execute("""
            select conrelid::regclass::text
            from pg_constraint
            where contype = 'f' and confrelid = 'collections'::regclass and not exists (
                select from pg_index
                where indrelid = conrelid and indkey[0] = conkey[1] and indpred is null
            )
            order by 1
        """)
        # A few rows of a collection; all others grow with its documents.
        assert [table for (table,) in await cursor.fetchall()] == ["space_builds", "unit_builds"]


async def fill(writer: Writer) -> None:
    """Add a large collection."""
    collection = await writer.collection("big")
    async with writer.database.transaction(tenant=TENANT) as connection:
        await add_documents(connection, collection, documents=BIG)
        for statement in FURTHER:
            await connection.execute(statement, {"collection_id": collection.collection_id})
    async with writer.database.autocommit(tenant=ALL_TENANTS, timeouts=False) as connection:
        await connection.execute("analyze")


FURTHER = ("""
insert into lexical_entries
select chunk_id, tenant, collection_id, document_id, array_to_tsvector(array['1:mot']), '{1:1}/262144'
from chunks
where collection_id = %(collection_id)s
""", """
insert into jobs (job_id, tenant, collection_id, document_id, version_id, lane, status, filename, size_bytes)
select job_id, tenant, collection_id, document_id, version_id, lane, 'completed', '', 1
from document_versions
where collection_id = %(collection_id)s
""", """
insert into objects (tenant, bucket, key, collection_id, document_id, state)
select tenant, 'docs', source, collection_id, document_id, 'current'
from documents
where collection_id = %(collection_id)s
""", """
insert into staged_chunks (
    chunk_id, tenant, collection_id, document_id, version_id, chunk_index, kind, method, language, page,
    start_character, end_character, token_count, heading_path, text, batch_no, lexemes, terms, embedding, token_codes
)
select chunk_id, tenant, collection_id, document_id, version_id, chunk_index, kind, method, language, page,
       start_character, end_character, token_count, heading_path, text, 0, '', '{1:1}/262144', '[1,2]', ''
from chunks
where collection_id = %(collection_id)s
""")


async def test_a_build_that_begins_beside_a_page_waits_for_it(database: Database, writer: Writer) -> None:
    await writer.index("a.txt", ["texte"])
    collection_id = await found(database)

    async def begun() -> SpaceBuild:
        async with database.transaction(tenant=TENANT) as connection:
            return await space_builds.begin(
                connection, tenant=TENANT, collection="default", space_id=SPACE.space_id
            )

    async with database.transaction(tenant=TENANT) as connection:
        await collection_deletions.delete_page(connection, tenant=TENANT, collection_id=collection_id)
        beginning = asyncio.create_task(begun(), name="begin a build")
        await eventually(lambda: waits(database))
        assert not beginning.done()
    with pytest.raises(FailedPrecondition, match="already"):
        await beginning
