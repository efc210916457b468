"""The write path: a version is visible whole or not at all, and the newest wins."""

from __future__ import annotations

import asyncio
import itertools

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sourcier.services.chassis.errors import InvalidArgument, SpaceMismatch, Superseded, Unavailable
from sourcier.services.chassis.postgres.database import ALL_TENANTS, Database, DatabaseSettings
from sourcier.services.index.collections import jobs
from sourcier.services.index.collections.jobs import Job, StageReached
from sourcier.services.index.collections.versions import VersionReference
from sourcier.services.index.documents import documents, file_removals
from sourcier.services.index.search import search
from sourcier.services.index.search.search import SearchRequest
from tests.integration.index.writer import DIMENSION, Writer, text_vector
from tests.waiting import eventually

SLOW_TABLE = """
create function slowly() returns trigger language plpgsql as $$ begin perform pg_sleep(1.5); return null; end $$;
create trigger slowly before %(verb)s on %(table)s for each statement execute function slowly();
"""


async def test_a_single_batch_commits_at_once(writer: Writer) -> None:
    acceptance = await writer.accept("a.txt", "one")
    staging = await writer.stage(acceptance.version, ["Le télétravail est possible.", "Deux jours."], title="Charte")
    assert (staging.outcome, staging.chunk_count) == ("committed", 2)
    async with writer.database.transaction(tenant="acme") as connection:
        document = await documents.get_document(connection, tenant="acme", document_id=acceptance.version.document_id)
        job = await jobs.get_job(connection, tenant="acme", job_id=acceptance.version.job_id)
    assert (document.title, document.chunk_count) == ("Charte", 2)
    assert document.current_version == acceptance.version.version_id
    assert (job.status, job.percentage, job.stage, job.chunks_created) == ("completed", 100, "done", 2)
    assert job.finished_at is not None
    assert list(job.stage_times) == ["embedded", "saved", "done"]


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
async def test_batches_in_any_order_give_the_version_once(writer: Writer, order: tuple[int, ...]) -> None:
    version = (await writer.accept("a.txt", "one")).version
    texts = ["zero", "one", "two"]
    for place, number in enumerate(order):
        assert await writer.texts(version.document_id) == []
        staging = await writer.stage(version, [texts[number]], batch_no=number, batch_count=3, first_index=number)
        assert staging.outcome == ("committed" if place == 2 else "staged")
        again = await writer.stage(version, [texts[number]], batch_no=number, batch_count=3, first_index=number)
        assert again.outcome == "duplicate"
    assert await writer.texts(version.document_id) == texts
    assert await writer.count("staged_chunks") == 0
    assert await writer.count("staged_batches") == 0


async def test_a_commit_of_many_passages_takes_longer_than_other_statements_may(
    writer: Writer, database_url: str
) -> None:
    async with writer.database.transaction(tenant="acme") as connection:
        # What the graph of an HNSW index does to tens of thousands of rows.
        await connection.execute((SLOW_TABLE % {"verb": "insert", "table": "chunks"}).encode())
    version = (await writer.accept("a.txt", "one")).version
    await writer.stage(version, ["zero"], batch_no=0, batch_count=2)
    async with Database(DatabaseSettings(url=database_url, statement_timeout_seconds=1)) as impatient:
        staging = await Writer(impatient).stage(version, ["one"], batch_no=1, batch_count=2, first_index=1)
        async with impatient.transaction(tenant="acme") as connection:
            row = await (await connection.execute("show statement_timeout")).fetchone()
    assert staging.outcome == "committed"
    assert await writer.texts(version.document_id) == ["zero", "one"]
    # The connection goes back to the pool as it was.
    assert row == ("1s",)


async def test_a_job_is_noted_as_embedded_while_its_commit_goes_on(writer: Writer, database_url: str) -> None:
    version = (await writer.accept("a.txt", "one")).version
    there = asyncio.Event()
    await writer.stage(version, ["zero"], batch_no=0, batch_count=2, all_there=there.set)
    assert not there.is_set()
    # Patient: the test says how long the commit waits, not the clock.
    async with Database(DatabaseSettings(url=database_url, lock_timeout_seconds=100)) as patient:
        async with writer.database.transaction(tenant="acme") as connection:
            await connection.execute("lock table chunks in share mode")
            commit = asyncio.create_task(Writer(patient).stage(
                version, ["one"], batch_no=1, batch_count=2, first_index=1, all_there=there.set
            ))
            await asyncio.wait_for(there.wait(), 30)
            await eventually(lambda: _waits_for_a_lock(writer.database))
            assert await _note_embedded(writer, version) == {version.job_id}
            job = await _job(writer, version)
            assert (job.status, job.stage, job.percentage) == ("processing", "embedded", 80)
        assert (await commit).outcome == "committed"
    noted, job = job, await _job(writer, version)
    assert (job.status, job.stage, job.percentage) == ("completed", "done", 100)
    assert list(job.stage_times) == ["embedded", "saved", "done"]
    assert job.stage_times["embedded"] == noted.stage_times["embedded"]
    # The time of the end, not that of the begin of what took so long.
    assert job.stage_times["embedded"] < job.stage_times["saved"] == job.stage_times["done"] == job.finished_at


async def test_a_commit_and_a_note_of_its_job_wait_for_each_other_in_one_direction(
    writer: Writer, database_url: str
) -> None:
    version = (await writer.accept("a.txt", "one")).version
    await writer.stage(version, ["zero"], batch_no=0, batch_count=2)
    async with Database(DatabaseSettings(url=database_url, lock_timeout_seconds=100)) as patient:
        async with writer.database.transaction(tenant=ALL_TENANTS) as noting:
            await jobs.advance_jobs(noting, [_embedded(version)], now=0.0)
            commit = asyncio.create_task(
                Writer(patient).stage(version, ["one"], batch_no=1, batch_count=2, first_index=1)
            )
            # The commit waits for the note, and has what it says.
            await eventually(lambda: _waits_for_a_lock(writer.database))
        assert (await commit).outcome == "committed"
    job = await _job(writer, version)
    assert (job.status, job.stage, job.percentage, job.chunks_created) == ("completed", "done", 100, 2)
    assert list(job.stage_times) == ["embedded", "saved", "done"]
    # A note does not wait for a commit that has come to the job.
    async with writer.database.transaction(tenant="acme") as committing:
        await committing.execute("select from jobs where job_id = %s for update", (version.job_id,))
        assert await _note_embedded(writer, version) == set()


async def test_one_batch_is_all_there_with_its_commit(writer: Writer) -> None:
    version = (await writer.accept("a.txt", "one")).version
    told: list[str] = []
    staging = await writer.stage(version, ["text"], all_there=lambda: told.append("all there"))
    assert (staging.outcome, told) == ("committed", [])


async def test_what_many_passages_leave_is_removed_in_its_own_time(writer: Writer, database_url: str) -> None:
    await writer.index("a.txt", ["before", "and after"])
    async with writer.database.transaction(tenant="acme") as connection:
        await connection.execute((SLOW_TABLE % {"verb": "delete", "table": "chunks"}).encode())
    version = (await writer.accept("a.txt", "one")).version
    async with Database(DatabaseSettings(url=database_url, statement_timeout_seconds=1)) as impatient:
        await Writer(impatient).stage(version, ["one"])
    assert await writer.texts(version.document_id) == ["one"]


async def test_a_deletion_of_many_passages_has_as_long(writer: Writer, database_url: str) -> None:
    version = await writer.index("a.txt", ["before", "and after"])
    async with writer.database.transaction(tenant="acme") as connection:
        await connection.execute((SLOW_TABLE % {"verb": "delete", "table": "chunks"}).encode())
    async with (
        Database(DatabaseSettings(url=database_url, statement_timeout_seconds=1)) as impatient,
        impatient.transaction(tenant="acme") as connection,
    ):
        await documents.delete_document(connection, tenant="acme", document_id=version.document_id)
    assert await writer.count("documents") == 0


async def test_batches_staged_at_once_commit_once(writer: Writer) -> None:
    version = (await writer.accept("a.txt", "one")).version
    numbers = [*range(6), *range(6)]
    stagings = await asyncio.gather(
        *(writer.stage(version, [f"text {n}"], batch_no=n, batch_count=6, first_index=n) for n in numbers)
    )
    outcomes = sorted(staging.outcome for staging in stagings)
    assert outcomes == ["committed"] + ["duplicate"] * 6 + ["staged"] * 5
    # How far the job is rests on it that no two of them are the same.
    assert sorted(staging.staged for staging in stagings if staging.outcome == "staged") == [1, 2, 3, 4, 5]
    assert len(await writer.texts(version.document_id)) == 6


async def test_the_version_before_answers_until_the_next_is_whole(writer: Writer) -> None:
    first = await writer.index("a.txt", ["ancien texte"])
    second = (await writer.accept("a.txt", "new")).version
    assert second.document_id == first.document_id
    assert second.generation == first.generation + 1
    await writer.stage(second, ["nouveau"], batch_no=0, batch_count=2)
    assert await writer.texts(first.document_id) == ["ancien texte"]
    await writer.stage(second, ["texte"], batch_no=1, batch_count=2, first_index=1)
    assert await writer.texts(first.document_id) == ["nouveau", "texte"]
    for table in ("chunks", "lexical_entries", await _vectors_table(writer)):
        assert await writer.count(table) == 2


async def test_an_older_generation_never_wins(writer: Writer) -> None:
    older = (await writer.accept("a.txt", "one")).version
    await writer.stage(older, ["half"], batch_no=0, batch_count=2)
    newer = (await writer.accept("a.txt", "two")).version
    await writer.stage(newer, ["newer"])
    with pytest.raises(Superseded):
        await writer.stage(older, ["other half"], batch_no=1, batch_count=2, first_index=1)
    assert await writer.texts(newer.document_id) == ["newer"]
    assert await writer.count("staged_chunks") == 0
    async with writer.database.transaction(tenant="acme") as connection:
        job = await jobs.get_job(connection, tenant="acme", job_id=older.job_id)
    assert (job.status, job.error_code) == ("failed", "SUPERSEDED")


async def test_a_deleted_document_stays_deleted(writer: Writer) -> None:
    version = (await writer.accept("a.txt", "one")).version
    await writer.stage(version, ["half"], batch_no=0, batch_count=2)
    async with writer.database.transaction(tenant="acme") as connection:
        deletion = await documents.delete_document(connection, tenant="acme", document_id=version.document_id)
        again = await documents.delete_document(connection, tenant="acme", document_id=version.document_id)
        [removal] = await file_removals.due(connection, limit=10, among=deletion.file_removals)
    assert (deletion.existed, removal.original_key) == (True, "originals/a.txt")
    assert not removal.original_needed
    assert not removal.content_needed
    assert not again.existed
    with pytest.raises(Superseded):
        await writer.stage(version, ["other half"], batch_no=1, batch_count=2, first_index=1)
    for table in ("chunks", "lexical_entries", "staged_chunks", "staged_batches", await _vectors_table(writer)):
        assert await writer.count(table) == 0
    async with writer.database.transaction(tenant="acme") as connection:
        assert (await jobs.get_job(connection, tenant="acme", job_id=version.job_id)).error_code == "SUPERSEDED"


async def test_a_deletion_that_races_a_commit_leaves_nothing(writer: Writer) -> None:
    for attempt in range(8):
        version = (await writer.accept(f"{attempt}.txt", "one")).version
        commit = asyncio.create_task(writer.stage(version, ["text"] * 20))
        try:
            async with writer.database.transaction(tenant="acme") as connection:
                await documents.delete_document(connection, tenant="acme", document_id=version.document_id)
        finally:
            await asyncio.wait([commit])
        assert isinstance(commit.exception(), Superseded | None)
    for table in ("documents", "chunks", "lexical_entries", await _vectors_table(writer)):
        assert await writer.count(table) == 0


async def test_the_same_content_is_not_indexed_again(writer: Writer) -> None:
    first = await writer.accept("a.txt", "same")
    assert first.outcome == "accepted"
    waiting = await writer.accept("a.txt", "same")
    assert (waiting.outcome, waiting.version.job_id) == ("in_progress", first.version.job_id)
    await writer.stage(first.version, ["text"])
    again = await writer.accept("a.txt", "same", metadata={"team": "legal"}, category="law")
    assert (again.outcome, again.version) == ("unchanged", first.version)
    async with writer.database.transaction(tenant="acme") as connection:
        document = await documents.get_document(connection, tenant="acme", document_id=first.version.document_id)
    assert (document.metadata, document.category) == ({"team": "legal"}, "law")
    assert (await writer.accept("a.txt", "same", configuration_digest="2")).outcome == "accepted"


async def test_vectors_of_another_space_are_refused(writer: Writer) -> None:
    version = (await writer.accept("a.txt", "one")).version
    with pytest.raises(SpaceMismatch):
        await writer.stage(version, ["text"], space_id="other")
    with pytest.raises(SpaceMismatch):
        await writer.stage(version, ["text"], vectors=[text_vector("text", DIMENSION * 2)])
    with pytest.raises(InvalidArgument):
        await writer.stage(version, ["text"], batch_no=1, batch_count=1)


async def test_a_version_without_chunks_empties_the_document(writer: Writer) -> None:
    await writer.index("a.txt", ["text"])
    version = (await writer.accept("a.txt", "empty")).version
    assert (await writer.stage(version, [])).chunk_count == 0
    assert await writer.texts(version.document_id) == []


async def test_a_connection_lost_in_the_commit_leaves_the_version_before(writer: Writer) -> None:
    first = await writer.index("a.txt", ["before"])
    second = (await writer.accept("a.txt", "after")).version
    with pytest.raises(Unavailable):
        await _delete_chunks_and_lose_the_connection(writer)
    assert await writer.texts(first.document_id) == ["before"]
    await writer.stage(second, ["after"])
    assert await writer.texts(first.document_id) == ["after"]


@settings(max_examples=6, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
async def test_any_interleaving_ends_with_the_newest_whole_version(writer: Writer, data: st.DataObject) -> None:
    source = data.draw(st.uuids()).hex
    accepted = [(await writer.accept(source, str(number))).version for number in range(3)]
    deliveries = [(version, number) for version in accepted for number in range(2)] * 2
    newest: int | None = None
    staged: dict[int, set[int]] = {version.generation: set() for version in accepted}
    for version, number in data.draw(st.permutations(deliveries)):
        generation = version.generation
        try:
            await writer.stage(version, [f"{generation}.{number}"], batch_no=number, batch_count=2, first_index=number)
            staged[generation].add(number)
        except Superseded:
            # Versions that still waited when the next was accepted, and those overtaken.
            assert generation < accepted[-1].generation
        if len(staged[generation]) == 2:
            newest = max(newest or 0, generation)
        expected = [] if newest is None else [f"{newest}.0", f"{newest}.1"]
        assert await writer.texts(version.document_id) == expected
    assert newest == accepted[-1].generation


async def test_what_is_committed_is_found_at_once(writer: Writer, database: Database) -> None:
    version = (await writer.accept("a.txt", "one")).version
    await writer.stage(version, ["La charte encadre le télétravail."])
    request = SearchRequest(tenant="acme", collections=["default"], limit=5)
    found = await search.lexical(database, request, question="télétravail")
    assert [result.passage.document_id for result in found] == [version.document_id]


async def _delete_chunks_and_lose_the_connection(writer: Writer) -> None:
    async with writer.database.transaction(tenant="acme") as connection:
        await connection.execute("delete from chunks")
        await connection.execute("select pg_terminate_backend(pg_backend_pid())")


async def _vectors_table(writer: Writer) -> str:
    async with writer.database.transaction(tenant="acme") as connection:
        cursor = await connection.execute("select vectors_table from embedding_spaces")
        row = await cursor.fetchone()
    assert row is not None
    return str(row[0])


async def _job(writer: Writer, version: VersionReference) -> Job:
    async with writer.database.transaction(tenant="acme") as connection:
        return await jobs.get_job(connection, tenant="acme", job_id=version.job_id)


async def _note_embedded(writer: Writer, version: VersionReference) -> set[str]:
    """Note the stage as the service does, in a transaction of its own; return the jobs that were noted."""
    async with writer.database.transaction(tenant=ALL_TENANTS) as connection:
        return await jobs.advance_jobs(connection, [_embedded(version)], now=0.0)


def _embedded(version: VersionReference) -> StageReached:
    return StageReached(tenant="acme", job_id=version.job_id, stage="embedded", percentage=80, at=0.0)


async def _waits_for_a_lock(database: Database) -> bool:
    """Return whether a session of the test's database waits for a lock that another one holds."""
    async with database.transaction(tenant=ALL_TENANTS) as connection:
        cursor = await connection.execute(
            "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'"
        )
        return await cursor.fetchone() is not None
