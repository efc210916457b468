"""What moves documents on: the dispatcher's release, jobs, dead letters, outbox and frequencies."""

from __future__ import annotations

import asyncio
import dataclasses
import time
from collections import Counter

import pytest

from sourcier.services.chassis.errors import InvalidArgument, NotFound, Superseded
from sourcier.services.chassis.postgres.database import ALL_TENANTS, Database
from sourcier.services.index.collections import jobs
from sourcier.services.index.collections.jobs import StageReached
from sourcier.services.index.collections.versions import VersionReference
from sourcier.services.index.documents import documents
from sourcier.services.index.pipeline import dead_letters, outbox, releases
from sourcier.services.index.pipeline.commit_statements import LOCK_DOCUMENT
from sourcier.services.index.pipeline.dead_letters import Failure
from sourcier.services.index.pipeline.outbox import OutboxMessage
from sourcier.services.index.pipeline.releases import WaitingVersion
from tests.integration.index.writer import Writer


async def release(database: Database, *, in_flight_max: int, limit: int = 100) -> list[WaitingVersion]:
    """Release what may be released, in a transaction of its own."""
    async with database.transaction(tenant=ALL_TENANTS) as connection:
        return await releases.release(connection, in_flight_max=in_flight_max, limit=limit)


async def test_a_tenants_flood_is_released_a_few_at_a_time(database: Database, writer: Writer) -> None:
    other = Writer(database, "other")
    for number in range(6):
        await writer.accept(f"{number}.txt", str(number))
    await writer.accept("urgent.txt", "u", lane="interactive")
    await other.accept("other.txt", "o")
    first = await release(database, in_flight_max=2)
    assert Counter((each.tenant, each.lane) for each in first) == {
        ("acme", "bulk"): 2,
        ("acme", "interactive"): 1,
        ("other", "bulk"): 1,
    }
    assert {each.source for each in first if each.tenant == "acme"} == {"0.txt", "1.txt", "urgent.txt"}
    assert first[0].chunking_method == "hybrid"
    assert await release(database, in_flight_max=2) == []
    await writer.stage(next(each for each in first if each.source == "0.txt"), ["text"])
    assert [each.source for each in await release(database, in_flight_max=2)] == ["2.txt"]


async def test_dispatchers_side_by_side_release_each_version_once(database: Database, writer: Writer) -> None:
    for number in range(10):
        await writer.accept(f"{number}.txt", str(number))
    released = await asyncio.gather(*(release(database, in_flight_max=100, limit=4) for _ in range(6)))
    sources = [each.source for batch in released for each in batch]
    assert len(sources) == len(set(sources))
    assert sources


async def test_what_stalls_is_released_again(database: Database, writer: Writer) -> None:
    await writer.accept("a.txt", "a")
    await release(database, in_flight_max=1)
    async with database.transaction(tenant=ALL_TENANTS) as connection:
        assert await releases.stalled(connection, older_than_seconds=3_600, limit=10) == []
        again = await releases.stalled(connection, older_than_seconds=0, limit=10)
    assert [each.source for each in again] == ["a.txt"]


async def test_a_newer_upload_replaces_one_that_still_waits(database: Database, writer: Writer) -> None:
    older = (await writer.accept("a.txt", "old")).version
    newer = (await writer.accept("a.txt", "new")).version
    assert [each.version_id for each in await release(database, in_flight_max=10)] == [newer.version_id]
    async with database.transaction(tenant="acme") as connection:
        job = await jobs.get_job(connection, tenant="acme", job_id=older.job_id)
    assert (job.status, job.error_code) == ("failed", "SUPERSEDED")


async def test_a_job_never_moves_backwards_and_stays_finished(database: Database, writer: Writer) -> None:
    version = (await writer.accept("a.txt", "a")).version

    async def advance(*stages: tuple[str, int]) -> None:
        now = time.monotonic()
        reached = [
            StageReached(tenant="acme", job_id=version.job_id, stage=stage, percentage=percentage, at=now - age)
            for age, (stage, percentage) in zip(range(len(stages), 0, -1), stages, strict=True)
        ]
        async with database.transaction(tenant=ALL_TENANTS) as connection:
            assert await jobs.advance_jobs(connection, reached, now=now) == {version.job_id}

    await advance(("located", 10), ("chunked", 60))
    await advance(("located", 10))
    await advance(("chunked", 60))
    async with database.transaction(tenant="acme") as connection:
        job = await jobs.get_job(connection, tenant="acme", job_id=version.job_id)
    assert (job.status, job.stage, job.percentage) == ("processing", "chunked", 60)
    assert list(job.stage_times) == ["located", "chunked"]
    await writer.stage(version, ["text"])
    await advance(("chunked", 60), ("saved", 90))
    async with database.transaction(tenant="acme") as connection:
        page = await jobs.list_jobs(connection, tenant="acme", status="completed")
        assert [each.job_id for each in page.items] == [version.job_id]
        # When it got there is known all the same, however late that is told.
        assert list(page.items[0].stage_times) == ["located", "chunked", "embedded", "saved", "done"]
        with pytest.raises(InvalidArgument):
            await jobs.list_jobs(connection, tenant="acme", status="lost")
    async with database.transaction(tenant="other") as connection:
        with pytest.raises(NotFound):
            await jobs.get_job(connection, tenant="other", job_id=version.job_id)


async def test_a_job_moves_within_a_stage_and_never_backwards(database: Database, writer: Writer) -> None:
    version = (await writer.accept("a.txt", "a")).version

    async def advance(stage: str, percentage: int, *, arrived: bool = True) -> tuple[str, int, list[str]]:
        reached = StageReached(
            tenant="acme", job_id=version.job_id, stage=stage, percentage=percentage, at=0.0, arrived=arrived
        )
        async with database.transaction(tenant=ALL_TENANTS) as connection:
            assert await jobs.advance_jobs(connection, [reached], now=0.0) == {version.job_id}
        async with database.transaction(tenant="acme") as connection:
            job = await jobs.get_job(connection, tenant="acme", job_id=version.job_id)
        return job.stage, job.percentage, list(job.stage_times)

    assert await advance("located", 10) == ("located", 10, ["located"])
    # Who cut the document tells later that it was: the stage's time is theirs to tell.
    assert await advance("chunked", 66, arrived=False) == ("chunked", 66, ["located"])
    assert await advance("chunked", 60) == ("chunked", 66, ["located", "chunked"])
    assert await advance("chunked", 73, arrived=False) == ("chunked", 73, ["located", "chunked"])
    assert await advance("chunked", 70, arrived=False) == ("chunked", 73, ["located", "chunked"])
    assert await advance("embedded", 80) == ("embedded", 80, ["located", "chunked", "embedded"])
    assert await advance("chunked", 73, arrived=False) == ("embedded", 80, ["located", "chunked", "embedded"])


async def test_moves_within_a_stage_are_noted_beside_its_time(database: Database, writer: Writer) -> None:
    version = (await writer.accept("a.txt", "a")).version
    told = [("chunked", 60, 0.0, True), ("chunked", 73, 5.0, False), ("chunked", 66, 4.0, False)]
    async with database.transaction(tenant=ALL_TENANTS) as connection:
        await jobs.advance_jobs(connection, [
            StageReached(
                tenant="acme", job_id=version.job_id, stage=stage, percentage=percentage, at=at, arrived=arrived
            ) for stage, percentage, at, arrived in told
        ], now=10.0)
        cursor = await connection.execute("select now()")
        noted_at, = await cursor.fetchone() or ()
    async with database.transaction(tenant="acme") as connection:
        job = await jobs.get_job(connection, tenant="acme", job_id=version.job_id)
    assert (job.status, job.stage, job.percentage) == ("processing", "chunked", 73)
    assert (noted_at - job.stage_times["chunked"]).total_seconds() == 10


FAILURE = Failure(
    stage="parse", reason="DOCUMENT_ENCRYPTED", message="It has a password.", attempts=5, subject="s", payload=b"p"
)


async def fail(database: Database, version: VersionReference, failure: Failure = FAILURE) -> str | None:
    """Give a version up, in a transaction of its own."""
    async with database.transaction(tenant=version.tenant) as connection:
        return await dead_letters.fail_version(connection, version, failure)


async def test_a_version_given_up_is_a_dead_letter_and_a_failed_job(database: Database, writer: Writer) -> None:
    version = (await writer.accept("a.txt", "a")).version
    letter_id = await fail(database, version)
    assert letter_id is not None
    assert await fail(database, version) is None
    async with database.transaction(tenant="acme") as connection:
        job = await jobs.get_job(connection, tenant="acme", job_id=version.job_id)
        letter = await dead_letters.get_dead_letter(connection, tenant="acme", dead_letter_id=letter_id)
        page = await dead_letters.list_dead_letters(connection, tenant="acme")
        document = await documents.get_document(connection, tenant="acme", document_id=version.document_id)
    assert (job.status, job.error_code, job.error_message) == ("failed", "DOCUMENT_ENCRYPTED", "It has a password.")
    assert (letter.stage, letter.attempts, letter.payload_bytes, letter.state) == ("parse", 5, 1, "open")
    assert (letter.collection, letter.source, letter.filename, letter.original_key) == (
        "default", "a.txt", "a.txt", "originals/a.txt")
    assert page.items == (letter,)
    assert document.current_version is None
    assert (await writer.accept("a.txt", "a")).outcome == "accepted"


async def test_a_replayed_batch_completes_the_version(database: Database, writer: Writer) -> None:
    version = (await writer.accept("a.txt", "a")).version
    await release(database, in_flight_max=1)
    await writer.stage(version, ["zero"], batch_no=0, batch_count=3)
    letter_id = await fail(database, version)
    assert letter_id is not None
    # Batches under way when the version was given up still count.
    await writer.stage(version, ["two"], batch_no=2, batch_count=3, first_index=2)
    async with database.transaction(tenant="acme") as connection:
        replayed = [
            await dead_letters.replay(connection, tenant="acme", dead_letter_id=letter_id, address="{}.{}".format)
            for _ in range(2)
        ]
        job = await jobs.get_job(connection, tenant="acme", job_id=version.job_id)
        (sent,) = await outbox.take(connection, limit=10)
    assert (replayed, job.status) == ([True, False], "pending")
    assert (sent.subject, sent.payload) == ("parse.bulk", b"p")
    staging = await writer.stage(version, ["one"], batch_no=1, batch_count=3, first_index=1)
    assert staging.outcome == "committed"
    assert await writer.texts(version.document_id) == ["zero", "one", "two"]
    assert await fail(database, version) is None


async def test_a_discarded_version_takes_no_more_batches(database: Database, writer: Writer) -> None:
    version = (await writer.accept("a.txt", "a")).version
    await writer.stage(version, ["zero"], batch_no=0, batch_count=2)
    letter_id = await fail(database, version)
    assert letter_id is not None
    async with database.transaction(tenant="acme") as connection:
        await dead_letters.discard(connection, tenant="acme", dead_letter_id=letter_id)
    with pytest.raises(Superseded):
        await writer.stage(version, ["one"], batch_no=1, batch_count=2, first_index=1)
    assert await writer.count("staged_chunks") == 0


async def test_a_discard_spares_a_version_that_another_letter_opened_again(database: Database, writer: Writer) -> None:
    version = (await writer.accept("a.txt", "a")).version
    await release(database, in_flight_max=1)
    await writer.stage(version, ["zero"], batch_no=0, batch_count=3)
    one, two = [
        await fail(database, version, dataclasses.replace(FAILURE, stage="embed", payload=payload))
        for payload in (b"1", b"2")
    ]
    assert one is not None
    assert two is not None
    async with database.transaction(tenant="acme") as connection:
        assert await dead_letters.replay(connection, tenant="acme", dead_letter_id=one, address="{}.{}".format)
        assert [
            await dead_letters.discard(connection, tenant="acme", dead_letter_id=letter) for letter in (two, two, one)
        ] == [True, False, False]
    for number, text in ((1, "one"), (2, "two")):
        staging = await writer.stage(version, [text], batch_no=number, batch_count=3, first_index=number)
    assert staging.outcome == "committed"
    assert await writer.texts(version.document_id) == ["zero", "one", "two"]


async def test_a_letter_closed_long_ago_discards_nothing(database: Database, writer: Writer) -> None:
    """It was replayed and failed again: another letter is open, and its version is not to be given up by this one."""
    version = (await writer.accept("a.txt", "a")).version
    first = await fail(database, version)
    assert first is not None
    async with database.transaction(tenant="acme") as connection:
        assert await dead_letters.replay(connection, tenant="acme", dead_letter_id=first, address="{}.{}".format)
    second = await fail(database, version)
    assert second is not None
    async with database.transaction(tenant="acme") as connection:
        assert not await dead_letters.discard(connection, tenant="acme", dead_letter_id=first)
        assert await dead_letters.replay(connection, tenant="acme", dead_letter_id=second, address="{}.{}".format)


async def test_the_outbox_gives_each_message_to_one_relay_until_it_is_sent(database: Database) -> None:
    async with database.transaction(tenant="acme") as connection:
        for number in range(3):
            message = OutboxMessage(tenant="acme", subject="s", payload=b"\x00\xff", message_id=str(number))
            await outbox.put(connection, message, delay_seconds=0 if number < 2 else 3_600)
    async with (
        database.transaction(tenant=ALL_TENANTS) as first,
        database.transaction(tenant=ALL_TENANTS) as second,
    ):
        taken = await outbox.take(first, limit=1)
        others = await outbox.take(second, limit=10)
        assert [message.message_id for message in taken + others] == ["0", "1"]
        assert taken[0].payload == b"\x00\xff"
        await outbox.sent(first, [taken[0].outbox_id])
    async with database.transaction(tenant=ALL_TENANTS) as connection:
        assert [message.message_id for message in await outbox.take(connection, limit=10)] == ["1"]
        await outbox.sent(connection, [others[0].outbox_id])


async def test_frequencies_follow_commits_replacements_and_deletions(database: Database, writer: Writer) -> None:
    async def frequencies() -> dict[str, int]:
        await writer.refresh()
        async with database.transaction(tenant="acme") as connection:
            cursor = await connection.execute("select split_part(lexeme, ':', 2), passages from lexeme_frequencies")
            found = dict(await cursor.fetchall())
            cursor = await connection.execute("select coalesce(sum(passages), 0)::int from collection_statistics")
            row = await cursor.fetchone()
        assert row is not None
        return {stem: count for stem, count in found.items() if stem in ("contrat", "bail", "bilan")} | {"": row[0]}

    first = await writer.index("a.txt", ["contrat", "contrat contrat bail"])
    assert await frequencies() == {"contrat": 2, "bail": 1, "": 2}
    await writer.index("b.txt", ["contrat"])
    await writer.index("a.txt", ["bilan"])
    assert await frequencies() == {"contrat": 1, "bilan": 1, "": 2}
    async with database.transaction(tenant="acme") as connection:
        await documents.delete_document(connection, tenant="acme", document_id=first.document_id)
    assert await frequencies() == {"contrat": 1, "": 1}


async def test_refreshes_side_by_side_count_each_change_once(database: Database, writer: Writer) -> None:
    for number in range(12):
        version = (await writer.accept(f"{number}.txt", str(number))).version
        await writer.stage(version, [f"contrat {number}"])
    await asyncio.gather(*(writer.refresh() for _ in range(4)))
    async with database.transaction(tenant="acme") as connection:
        cursor = await connection.execute("select passages from lexeme_frequencies where lexeme like '%:contrat'")
        assert await cursor.fetchall() == [(12,)]


async def test_a_version_whose_document_is_being_committed_is_released_later(
    database: Database, writer: Writer
) -> None:
    """Each would wait for the other: a commit locks the document, then the version; a label the other way round."""
    accepted = await writer.accept("a.md", "a")
    async with database.transaction(tenant="acme") as committing:
        await committing.execute(LOCK_DOCUMENT, {"tenant": "acme", "document_id": accepted.version.document_id})
        assert await release(database, in_flight_max=1) == []
    assert [version.version_id for version in await release(database, in_flight_max=1)] == [accepted.version.version_id]
