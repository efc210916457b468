"""What could not be indexed, through the RPCs: found, tried again and closed; and collections that change."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import grpc
import grpc.aio
import pytest

from sourcier.events.v1 import events_pb2
from sourcier.ingest.v1 import ingest_pb2
from sourcier.services.chassis.errors import SpaceMismatch
from sourcier.services.chassis.ids import new_id
from sourcier.services.chassis.queue.consuming import Delivery
from sourcier.services.index.buckets import manifest
from sourcier.services.index.buckets.manifest import ObjectName
from sourcier.services.index.collections.versions import VersionReference
from sourcier.services.index.pipeline import dead_letters
from sourcier.services.index.pipeline.dead_letters import Failure
from sourcier.services.ingest.api import operations
from tests.integration.ingest.conftest import Serve
from tests.integration.ingest.fix_pipeline import TENANT, Pipeline, WordEmbedder
from tests.waiting import eventually

COMPLETED, FAILED = ingest_pb2.JOB_STATUS_COMPLETED, ingest_pb2.JOB_STATUS_FAILED
OPEN, REPLAYED, DISCARDED = (
    ingest_pb2.DEAD_LETTER_STATE_OPEN, ingest_pb2.DEAD_LETTER_STATE_REPLAYED, ingest_pb2.DEAD_LETTER_STATE_DISCARDED
)
LONG = "\n\n".join(f"# Partie {n}\n\n" + " ".join(f"mot{n}x{m}" for m in range(200)) for n in range(100))
PAGES = "\n\n".join(f"# Partie {number}\n\n" + f"mot{number} " * 60 for number in range(4))


async def call(service: Pipeline, name: str, request: Any, *, tenant: str = TENANT) -> Any:
    metadata = (("sourcier-tenant", tenant),)
    return await getattr(service.stub, name)(request, timeout=60, metadata=metadata)


async def letters(service: Pipeline, **fields: Any) -> list[ingest_pb2.DeadLetter]:
    response = await call(service, "ListDeadLetters", ingest_pb2.ListDeadLettersRequest(**fields))
    return list(response.dead_letters)


async def replay(service: Pipeline, *dead_letter_ids: str, **which: str) -> tuple[int, int]:
    """Return how many were replayed, and how many skipped."""
    response = await call(service, "ReplayDeadLetters", ingest_pb2.ReplayDeadLettersRequest(
        dead_letter_ids=dead_letter_ids, filter=ingest_pb2.DeadLetterFilter(**which)
    ))
    return response.replayed_count, response.skipped_count


async def discard(service: Pipeline, *dead_letter_ids: str, **which: str) -> int:
    response = await call(service, "DiscardDeadLetters", ingest_pb2.DiscardDeadLettersRequest(
        dead_letter_ids=dead_letter_ids, filter=ingest_pb2.DeadLetterFilter(**which)
    ))
    return int(response.discarded_count)


async def refusal(pending: Any) -> tuple[grpc.StatusCode, str]:
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await pending
    return refused.value.code(), str(refused.value.details())


async def failed(service: Pipeline, body: str, *, filename: str = "guide.md", **fields: Any) -> ingest_pb2.Job:
    """Submit what cannot be indexed, and return its job at the end."""
    job = await service.finished((await service.submit(body, filename=filename, **fields)).job.job_id)
    assert job.status == FAILED
    return job


async def test_failures_are_listed_by_what_they_are(serve: Serve) -> None:
    async with serve() as service:
        await call(service, "CreateCollection", ingest_pb2.CreateCollectionRequest(name="lois"))
        broken = await failed(service, "!broken", filename="a.md")
        damaged = await failed(service, "!damaged", filename="b.md", collection="lois", source="lois/b")
        every = await letters(service)
        first = await call(service, "ListDeadLetters", ingest_pb2.ListDeadLettersRequest(page_size=1))
        second = await letters(service, page_size=1, page_token=first.next_page_token)
        assert [each.dead_letter_id for each in every] == [
            each.dead_letter_id for each in (*first.dead_letters, *second)
        ]
        newest, oldest = every
        assert (oldest.stage, oldest.reason, oldest.attempts, oldest.job_id) == (
            "parse", "DEADLINE_EXCEEDED", 8, broken.job_id)
        assert (newest.reason, newest.message, newest.attempts) == ("DOCUMENT_MALFORMED", "“b.md” is damaged.", 1)
        assert (newest.collection, newest.source, newest.filename) == ("lois", "lois/b", "b.md")
        assert (newest.state, newest.document_id, newest.job_id) == (OPEN, damaged.document_id, damaged.job_id)
        assert newest.original_key in await service.keys()
        assert newest.payload_bytes > 0
        assert newest.subject.endswith(f"document.received.interactive.{TENANT}")
        assert len(newest.request_id) == 36
        for which, found in (
            ({"stage": "parse"}, [newest, oldest]), ({"stage": "embed"}, []), ({"collection": "lois"}, [newest]),
            ({"reason": "DEADLINE_EXCEEDED"}, [oldest]), ({"collection": "lois", "reason": "DEADLINE_EXCEEDED"}, []),
        ):
            assert await letters(service, filter=ingest_pb2.DeadLetterFilter(**which)) == found
        assert await letters(service, state=REPLAYED) == []
        shown = await call(
            service, "GetDeadLetter", ingest_pb2.GetDeadLetterRequest(dead_letter_id=newest.dead_letter_id)
        )
        assert shown.dead_letter == newest
        others = await call(service, "ListDeadLetters", ingest_pb2.ListDeadLettersRequest(), tenant="other")
        assert list(others.dead_letters) == []


async def test_what_failed_for_a_while_is_indexed_once_the_cause_is_repaired(serve: Serve) -> None:
    async with serve() as service:
        await service.finished((await service.submit("Ce qui va bien.", filename="autre.md")).job.job_id)
        job = await failed(service, "!broken\n\n" + PAGES)
        ((version_id,),) = await service.rows("select version_id from document_versions where state = 'failed'")
        (letter,) = await letters(service)
        service.parts.parsers.repaired = True  # type: ignore[union-attr]
        # Twice is once, at the same time as one after the other.
        outcomes = await asyncio.gather(*(replay(service, letter.dead_letter_id) for _ in range(4)))
        assert sorted(outcomes) == [(0, 1), (0, 1), (0, 1), (1, 0)]
        finished = await service.finished(job.job_id)
        assert await replay(service, letter.dead_letter_id) == (0, 1)
        assert (finished.status, finished.error.reason, finished.percentage) == (COMPLETED, "", 100)
        assert await service.rows("select state from document_versions where version_id = %s", version_id) == [
            ("committed",)]
        texts = await service.texts()
        assert (len(texts), len(set(texts))) == (finished.chunk_count + 1, finished.chunk_count + 1)
        assert await letters(service) == []
        assert [each.dead_letter_id for each in await letters(service, state=REPLAYED)] == [letter.dead_letter_id]


async def test_a_batch_that_is_missing_completes_the_document(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each stage is fed again what it gave up, and only that: the batches that arrived are not made again."""
    embedded: list[int] = []
    refused = {1}
    embed = WordEmbedder.handle

    async def choosing(embedder: WordEmbedder, ready: events_pb2.ChunksReady, delivery: Delivery) -> None:
        if ready.batch_no in refused:
            raise SpaceMismatch("another model is loaded")
        embedded.append(ready.batch_no)
        await embed(embedder, ready, delivery)

    monkeypatch.setattr(WordEmbedder, "handle", choosing)
    async with serve() as service:
        job = await failed(service, LONG)
        (letter,) = await letters(service, filter=ingest_pb2.DeadLetterFilter(stage="embed"))
        assert (letter.reason, letter.attempts) == ("SPACE_MISMATCH", 1)
        assert await service.texts() == []
        refused.clear()
        assert await replay(service, letter.dead_letter_id) == (1, 0)
        finished = await service.finished(job.job_id)
        assert finished.status == COMPLETED
        texts = await service.texts()
        assert (len(texts), len(set(texts))) == (finished.chunk_count, finished.chunk_count)
        assert len(texts) > 64, "three batches at least"
        assert sorted(embedded) == list(range(len(embedded)))


async def test_what_fails_again_is_a_failure_of_its_own(serve: Serve) -> None:
    async with serve() as service:
        job = await failed(service, "!damaged")
        (letter,) = await letters(service)
        assert await replay(service) == (1, 0)

        async def again() -> bool:
            return [each.dead_letter_id for each in await letters(service)] not in ([], [letter.dead_letter_id])

        await eventually(again)
        (newer,) = await letters(service)
        assert (newer.version_id, newer.job_id) == (letter.version_id, letter.job_id)
        assert await replay(service, letter.dead_letter_id) == (0, 1)
        assert await discard(service, letter.dead_letter_id) == 0
        assert (await service.job(job.job_id)).status == FAILED


async def test_what_is_overtaken_or_deleted_is_not_tried_again(serve: Serve) -> None:
    async with serve() as service:
        await failed(service, "!damaged", filename="a.md")
        await service.finished((await service.submit("Une bonne version.", filename="a.md")).job.job_id)
        deleted = await failed(service, "!damaged", filename="b.md")
        await call(service, "Delete", ingest_pb2.DeleteRequest(document_id=deleted.document_id))
        (overtaken,) = await letters(service, state=DISCARDED)
        found = await letters(service)
        assert overtaken.source == "a.md"
        assert [(each.source, each.original_key) for each in found] == [("b.md", "")]
        assert await replay(service, overtaken.dead_letter_id, found[0].dead_letter_id) == (0, 2)
        assert await replay(service) == (0, 1)
        assert await service.texts() == ["Une bonne version."]
        # It waits for somebody to close it.
        assert await letters(service) == found
        assert await discard(service) == 1
        assert await letters(service) == []


async def test_a_newer_version_under_way_overtakes_too(serve: Serve) -> None:
    async with serve() as service:
        await failed(service, "!damaged")
        service.embedder.gate.clear()
        service.embedder.held.clear()
        newer = (await service.submit("Une bonne version.")).job
        await asyncio.wait_for(service.embedder.held.wait(), 20)
        assert await replay(service) == (0, 1)
        service.embedder.gate.set()
        assert (await service.finished(newer.job_id)).status == COMPLETED


async def test_a_discarded_failure_is_closed(serve: Serve) -> None:
    async with serve() as service:
        await failed(service, "!broken", filename="a.md")
        await failed(service, "!damaged", filename="b.md")
        assert await discard(service, reason="DOCUMENT_MALFORMED") == 1
        (left,) = await letters(service)
        assert left.source == "a.md"
        assert await discard(service, left.dead_letter_id, left.dead_letter_id) == 1
        assert await discard(service, left.dead_letter_id) == 0
        assert await replay(service, left.dead_letter_id) == (0, 1)
        assert len(await letters(service, state=DISCARDED)) == 2
        # The same document sent again is a version of its own.
        service.parts.parsers.repaired = True  # type: ignore[union-attr]
        job = (await service.submit("!broken", filename="a.md")).job
        assert (await service.finished(job.job_id)).status == COMPLETED


async def test_all_of_many_are_tried_again_in_steps(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(operations, "STEP_LETTERS", 2)
    async with serve() as service:
        jobs = [await failed(service, f"!broken {number}", filename=f"{number}.md") for number in range(5)]
        await failed(service, "!damaged", filename="b.md")
        service.parts.parsers.repaired = True  # type: ignore[union-attr]
        assert await replay(service, stage="parse", reason="DEADLINE_EXCEEDED") == (5, 0)
        for job in jobs:
            assert (await service.finished(job.job_id)).status == COMPLETED
        assert len(await service.texts()) == 5
        assert [each.source for each in await letters(service)] == ["b.md"]


async def test_what_is_not_asked_for_rightly_changes_nothing(serve: Serve) -> None:
    async with serve(stages="accept,parse") as service:
        await failed(service, "!damaged")
        (letter,) = await letters(service)
        unknown = new_id()
        get = ingest_pb2.GetDeadLetterRequest
        for pending, code, told in (
            (replay(service, letter.dead_letter_id, unknown), "NOT_FOUND", f"There is no failure {unknown}."),
            (discard(service, "no-id"), "NOT_FOUND", "There is no failure no-id."),
            (call(service, "GetDeadLetter", get(dead_letter_id=unknown)), "NOT_FOUND", unknown),
            (call(service, "GetDeadLetter", get(dead_letter_id=letter.dead_letter_id), tenant="other"), "NOT_FOUND",
             letter.dead_letter_id),
            (replay(service, letter.dead_letter_id, stage="parse"), "INVALID_ARGUMENT", "both ids and a filter"),
            (discard(service, *[unknown] * 1001), "INVALID_ARGUMENT", "1001 ids are given; send at most 1,000"),
            (discard(service, stage="cook"), "INVALID_ARGUMENT", "accept, parse, ocr, speech, chunk, embed, index"),
            (replay(service, collection="absente"), "NOT_FOUND", "absente"),
        ):
            status, details = await refusal(pending)
            assert (status.name, told in details) == (code, True), details
        assert await letters(service) == [letter]


async def test_as_many_ids_as_are_promised_are_taken_and_not_one_more(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(operations, "IDS_MAX", 2)
    async with serve(stages="accept,parse") as service:
        for name in ("a.md", "b.md"):
            await failed(service, "!damaged", filename=name)
        ids = [letter.dead_letter_id for letter in await letters(service)]
        status, _ = await refusal(discard(service, *ids, new_id()))
        assert status.name == "INVALID_ARGUMENT"
        assert await discard(service, *ids) == 2


async def test_an_object_that_could_not_be_taken_in_is_read_again(serve: Serve) -> None:
    async with serve(stages="") as service:
        found = []
        for key in ("rh/a.pdf", "rh/gone.pdf"):
            submitted = await service.submit("text", filename=key)
            (row,) = await service.rows(
                "select tenant, collection_id, document_id, version_id, generation, job_id, lane "
                "from document_versions where job_id = %s", submitted.job.job_id,
            )
            names = ("tenant", "collection_id", "document_id", "version_id", "generation", "job_id", "lane")
            failure = Failure(
                stage="accept", reason="DOCUMENT_TOO_LARGE", message="too large", attempts=1, subject="",
                payload=json.dumps({"bucket": "docs", "key": key}).encode(),
            )
            async with service.database.transaction(tenant=TENANT) as connection:
                version = VersionReference(**dict(zip(names, row, strict=True)))
                found.append(await dead_letters.fail_version(connection, version, failure))
        async with service.database.transaction(tenant=TENANT) as connection:
            await manifest.hint(connection, [ObjectName(tenant=TENANT, bucket="docs", key="rh/a.pdf")])
            await connection.execute("update objects set state = 'refused', etag = 'known'")
        known, gone = found
        assert await replay(service, str(known), str(gone)) == (1, 1)
        assert await service.rows("select key, state, etag from objects") == [("rh/a.pdf", "changed", "")]
        assert [each.dead_letter_id for each in await letters(service)] == [gone]
        assert await replay(service, str(known)) == (0, 1)
        # Nothing goes through the broker: the object is read again, as a version of its own.
        assert await service.rows("select * from outbox") == []


async def test_a_collection_is_changed_and_its_documents_cut_again(serve: Serve) -> None:
    async with serve() as service:
        await call(service, "CreateCollection", ingest_pb2.CreateCollectionRequest(name="lois"))
        for name in ("a.md", "b.md"):
            await service.finished((await service.submit(PAGES, filename=name, collection="lois")).job.job_id)
        other = await service.finished((await service.submit(PAGES, filename="autre.md")).job.job_id)
        before = len(await service.texts())
        lines = ingest_pb2.Chunking(method="lines", target=128, overlap=0)
        update = ingest_pb2.UpdateCollectionRequest(name="lois", chunking=lines)
        updated = await call(service, "UpdateCollection", update)
        assert (updated.chunking.method, updated.chunking.maximum, updated.outdated_count) == ("lines", 128, 2)
        assert len(await service.texts()) == before, "nothing is cut again before it is asked for"
        await service.finished(
            (await service.submit(f"{PAGES} c", filename="c.md", collection="lois")).job.job_id
        )

        async def reprocess(**fields: Any) -> int:
            response = await call(service, "Reprocess", ingest_pb2.ReprocessRequest(**fields))
            return int(response.document_count)

        service.parts.parsers.read.clear()  # type: ignore[union-attr]
        assert await reprocess(collection="lois", from_stage="chunk", only_outdated=True) == 2

        async def cut_again() -> bool:
            return not await service.rows("select 1 from document_versions where state in ('accepted', 'released')")

        await eventually(cut_again)
        assert service.parts.parsers.read == []  # type: ignore[union-attr]
        counts = await service.rows("select source, chunk_count from documents order by source")
        assert [source for source, _ in counts] == ["a.md", "autre.md", "b.md", "c.md"]
        assert counts[0][1] == counts[2][1] > counts[1][1] == other.chunk_count
        assert (await call(service, "UpdateCollection", update)).outdated_count == 0
        assert await reprocess(collection="lois", from_stage="chunk", only_outdated=True) == 0
        assert await reprocess(from_stage="embed") == 4
        await eventually(cut_again)
        assert await service.rows("select source, chunk_count from documents order by source") == counts


async def test_a_document_whose_newer_version_was_given_up_is_cut_again_and_an_open_failure_is_kept(
    serve: Serve
) -> None:
    async with serve() as service:
        kept = await service.finished((await service.submit(PAGES, filename="a.md")).job.job_id)
        await failed(service, "!damaged", filename="a.md")
        (letter,) = await letters(service)
        request = ingest_pb2.ReprocessRequest(from_stage="chunk")
        # A version of the older content would close the letter of the newer one when it is committed.
        assert (await call(service, "Reprocess", request)).document_count == 0
        assert await letters(service) == [letter]
        assert await discard(service, letter.dead_letter_id) == 1
        assert (await call(service, "Reprocess", request)).document_count == 1
        # Now one is under way, or through already.
        await eventually(lambda: current_generation_is(service, 3))
        assert len(await service.texts()) == kept.chunk_count


async def current_generation_is(service: Pipeline, generation: int) -> bool:
    return await service.rows("select current_generation::int from documents") == [(generation,)]


@pytest.mark.parametrize(("name", "request_", "code", "told"), [
    ("UpdateCollection", ingest_pb2.UpdateCollectionRequest(name="absente"), "NOT_FOUND", "absente"),
    ("UpdateCollection", ingest_pb2.UpdateCollectionRequest(name="x", chunking=ingest_pb2.Chunking(target=4000)),
     "INVALID_ARGUMENT", "the embedding model reads 500 tokens"),
    ("Reprocess", ingest_pb2.ReprocessRequest(from_stage="cook"), "INVALID_ARGUMENT", "parse, chunk, embed"),
    ("Reprocess", ingest_pb2.ReprocessRequest(from_stage="parse", collection="absente"), "NOT_FOUND", "absente"),
])
async def test_what_cannot_be_changed(serve: Serve, name: str, request_: Any, code: str, told: str) -> None:
    async with serve(stages="") as service:
        await call(service, "CreateCollection", ingest_pb2.CreateCollectionRequest(name="x"))
        status, details = await refusal(call(service, name, request_))
    assert (status.name, told in details) == (code, True), details
