"""From an upload to passages that can be found, with everything twice, deletions on the way, and failures told."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from sourcier.events.v1 import events_pb2
from sourcier.ingest.v1 import ingest_pb2
from sourcier.services.chassis import lifecycle, telemetry
from sourcier.services.chassis.errors import Superseded
from sourcier.services.chassis.grpc.serving import Server
from sourcier.services.chassis.ids import new_id
from sourcier.services.chassis.lifecycle import Stopping
from sourcier.services.chassis.queue import subjects
from sourcier.services.chassis.queue.consuming import Delivery
from sourcier.services.gateway.contract.knowledge import document_message
from sourcier.services.index.documents.documents import get_document
from sourcier.services.index.search import search
from sourcier.services.index.search.search import SearchRequest
from sourcier.services.ingest import progress, worker
from sourcier.services.ingest.reading_warnings import reading_warnings_total
from sourcier.services.ingest.stages import chunk as chunk_stage
from tests.integration.chassis.fix_jetstream import stream_messages
from tests.integration.ingest.conftest import Serve
from tests.integration.ingest.fix_pipeline import METADATA, TENANT, Pipeline, WordEmbedder
from tests.waiting import eventually, until

GUIDE = "# Télétravail\n\nLe télétravail est possible deux jours par semaine.\n\n# Frais\n\nLes repas sont remboursés."
LONG = "\n\n".join(f"# Partie {n}\n\n" + " ".join(f"mot{n}x{m}" for m in range(200)) for n in range(60))
COMPLETED, FAILED = ingest_pb2.JOB_STATUS_COMPLETED, ingest_pb2.JOB_STATUS_FAILED
QUEUES = (subjects.RECEIVED, subjects.PARSED, subjects.READY, subjects.EMBEDDED)


async def idle(service: Pipeline) -> None:
    """Wait until no stage has anything left to do."""
    async def empty() -> bool:
        return not any([await stream_messages(service.jetstream, stream) for stream in QUEUES])

    await eventually(empty)


async def delete(service: Pipeline, document_id: str) -> bool:
    response = await service.stub.Delete(
        ingest_pb2.DeleteRequest(document_id=document_id), timeout=30, metadata=METADATA
    )
    return bool(response.existed)


async def test_a_document_goes_all_the_way(serve: Serve) -> None:
    async with serve() as service:
        job = (await service.submit(GUIDE, title="Guide", category="rh", metadata={"team": "paie"})).job
        seen = await service.watch(job.job_id)
        found = await search.lexical(
            service.database, SearchRequest(tenant=TENANT, collections=["default"], limit=3), question="télétravail"
        )
        assert await service.rows("select * from staged_chunks") == []
        made = len(await service.texts())
    assert [entry.percentage for entry in seen] == sorted(entry.percentage for entry in seen)
    last = seen[-1]
    assert (last.status, last.stage, last.percentage, last.chunk_count) == (COMPLETED, "done", 100, made)
    assert made > 0
    assert [entry.stage for entry in last.stage_times] == [
        "located", "parsed", "metadata", "chunked", "embedded", "saved", "done"
    ]
    assert last.HasField("started_at")
    assert last.HasField("finished_at")
    passage = found[0].passage
    assert (passage.title, passage.category, dict(passage.metadata)) == ("Guide", "rh", {"team": "paie"})
    assert "deux jours par semaine" in passage.text


async def test_what_was_not_read_is_kept_with_the_version_and_counted(serve: Serve) -> None:
    counted = reading_warnings_total.labels("pages_without_text")._value.get()
    async with serve() as service:
        first = (await service.submit(f"!warned {GUIDE}", filename="a.md")).job
        await service.finished(first.job_id)
        other = (await service.submit(GUIDE, filename="b.md")).job
        await service.finished(other.job_id)
        async with service.database.transaction(tenant=TENANT, read_only=True) as connection:
            warned = await get_document(connection, tenant=TENANT, document_id=first.document_id)
            whole = await get_document(connection, tenant=TENANT, document_id=other.document_id)
    assert [(each.code, each.count, list(each.places), each.detail) for each in document_message(warned).warnings] == [
        ("pages_without_text", 2, ["2", "3"], ""), ("not_read", 1, [], "l'annexe")
    ]
    assert not document_message(whole).warnings
    assert reading_warnings_total.labels("pages_without_text")._value.get() == counted + 2


async def test_a_watcher_sees_a_long_document_move_while_it_is_embedded_and_saved(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chunk_stage, "BATCH_CHUNKS_MAX", 4)
    embed, batches, rest = WordEmbedder.handle, dict[int, int](), asyncio.Event()

    async def some_first(embedder: WordEmbedder, ready: events_pb2.ChunksReady, delivery: Delivery) -> None:
        batches.setdefault(ready.batch_no, ready.batch_count)
        if list(batches).index(ready.batch_no) >= 3:
            await rest.wait()
        await embed(embedder, ready, delivery)

    monkeypatch.setattr(WordEmbedder, "handle", some_first)
    async with serve() as service:
        service.embedder.copies = 2  # what comes twice moves nothing
        job = (await service.submit(LONG)).job
        call = service.stub.WatchJob(ingest_pb2.WatchJobRequest(job_id=job.job_id), timeout=60, metadata=METADATA)
        seen: list[ingest_pb2.Job] = []

        async def watch_to(stage: str, percentage: int) -> None:
            async for response in call:
                seen.append(response.job)
                if (response.job.stage, response.job.percentage) == (stage, percentage):
                    return
            raise AssertionError(f"the watcher did not see {stage} at {percentage} %: {seen}")

        await until(lambda: batches, seconds=60)
        batch_count, = set(batches.values())
        assert batch_count > 9, "few batches prove little"
        await watch_to("chunked", progress.percentage_staged(3, batch_count))
        async with service.database.transaction(tenant=TENANT) as connection:
            # The commit waits before it moves a row, as one of tens of thousands takes its time.
            await connection.execute("lock table chunks in share mode")
            rest.set()
            await watch_to("embedded", 80)
        await watch_to("done", 100)
    percentages = [entry.percentage for entry in seen]
    assert percentages == sorted(percentages)
    assert any(60 < entry.percentage < 80 and entry.stage == "chunked" for entry in seen)
    last = seen[-1]
    assert last.status == COMPLETED
    assert {entry.stage for entry in last.stage_times} == {
        "located", "parsed", "metadata", "chunked", "embedded", "saved", "done"
    }
    assert [entry.stage for entry in last.stage_times][-3:] == ["embedded", "saved", "done"]
    elapsed = [entry.elapsed.ToTimedelta() for entry in last.stage_times]
    assert elapsed == sorted(elapsed)


async def test_who_indexes_alone_notes_progress_too(serve: Serve) -> None:
    async with serve(stages="accept,index") as service:
        assert service.parts.progress in worker.pipeline(service.parts)


async def test_everything_that_comes_twice_is_there_once(serve: Serve) -> None:
    async with serve() as service:
        service.embedder.copies = 2
        job = (await service.submit(LONG)).job
        finished = await service.finished(job.job_id)
        once = await service.texts()
        assert (finished.status, finished.chunk_count) == (COMPLETED, len(once))
        assert len(once) > 32, "one batch alone proves little"
        # The first message once more, under a new id: each stage does its work again, and nothing changes.
        async with service.database.transaction(tenant=TENANT) as connection:
            cursor = await connection.execute(
                "select version_id::text, document_id::text, collection_id::text, original_key, content_sha256, "
                "size_bytes, generation, job_id::text from document_versions"
            )
            version_id, document_id, collection_id, key, digest, size, generation, job_id = (
                await cursor.fetchall()
            )[0]
        again = events_pb2.DocumentReceived(
            version=events_pb2.VersionReference(
                tenant=TENANT, collection_id=collection_id, document_id=document_id, version_id=version_id,
                generation=generation, job_id=job_id, lane="interactive",
            ),
            original=events_pb2.ObjectReference(key=key, sha256=digest, size_bytes=size), filename="guide.md",
            source="guide.md", space_id="test-space",
            chunking=events_pb2.ChunkingConfiguration(
                method="hybrid", unit="tokens", target=256, overlap=32, maximum=384
            ),
        )
        await service.jetstream.publish(
            subjects.DOCUMENT_RECEIVED, again, tenant=TENANT, lane="interactive", message_id=new_id()
        )
        await idle(service)
        assert await service.texts() == once
        assert (await service.job(job.job_id)).status == COMPLETED
        ((changes,),) = await service.rows("select count(*) from dead_letters")
        assert changes == 0


async def test_the_same_content_again_changes_nothing(serve: Serve) -> None:
    async with serve() as service:
        first = await service.submit(GUIDE)
        await service.finished(first.job.job_id)
        before = await service.rows("select chunk_id, version_id from chunks order by chunk_id")
        again = await service.submit(GUIDE)
        assert again.unchanged
        assert again.job.job_id == first.job.job_id
        assert await service.rows("select chunk_id, version_id from chunks order by chunk_id") == before
        assert len([key for key in await service.keys() if key.endswith("/original")]) == 1


async def test_a_new_version_takes_the_place_of_the_old_one_at_once(serve: Serve) -> None:
    async with serve() as service:
        await service.finished((await service.submit("Ancienne règle du télétravail.")).job.job_id)
        service.embedder.gate.clear()
        service.embedder.held.clear()
        second = (await service.submit("Nouvelle règle du télétravail.")).job
        await asyncio.wait_for(service.embedder.held.wait(), 20)
        assert "Ancienne" in (await service.texts())[0], "the old version answers until the new one is whole"
        service.embedder.gate.set()
        assert (await service.finished(second.job_id)).status == COMPLETED
        assert ["Nouvelle" in text for text in await service.texts()] == [True]


async def test_a_newer_version_overtakes_one_under_way(serve: Serve) -> None:
    async with serve() as service:
        service.embedder.gate.clear()
        first = (await service.submit("Première version du texte.")).job
        await asyncio.wait_for(service.embedder.held.wait(), 20)
        second = (await service.submit("Deuxième version du texte.")).job
        service.embedder.gate.set()
        assert (await service.finished(second.job_id)).status == COMPLETED
        await idle(service)
        assert ["Deuxième" in text for text in await service.texts()] == [True]
        assert (await service.finished(first.job_id)).status in (COMPLETED, FAILED)


async def test_a_deletion_on_the_way_wins(serve: Serve) -> None:
    async with serve() as service:
        service.embedder.gate.clear()
        job = (await service.submit(LONG)).job
        await asyncio.wait_for(service.embedder.held.wait(), 20)
        assert await delete(service, job.document_id)
        service.embedder.gate.set()
        finished = await service.finished(job.job_id)
        await idle(service)
        assert (finished.status, finished.error.reason) == (FAILED, "SUPERSEDED")
        for table in ("documents", "document_versions", "chunks", "staged_chunks", "staged_batches", "dead_letters"):
            assert await service.rows(f"select 1 from {table}") == [], table
        assert await service.keys() == []
        assert not await delete(service, job.document_id)


async def test_a_deletion_before_anything_began_wins(serve: Serve) -> None:
    async with serve(stages="accept,chunk,index") as service:  # nobody parses
        job = (await service.submit(GUIDE)).job

        async def released() -> bool:
            return await stream_messages(service.jetstream, subjects.RECEIVED) == 1

        await eventually(released)
        assert await delete(service, job.document_id)
        assert await service.keys() == []
        assert (await service.job(job.job_id)).error.message == "The document was deleted."


async def test_a_collection_deleted_on_the_way_takes_its_documents_with_it(serve: Serve) -> None:
    async with serve() as service:
        service.embedder.gate.clear()
        await service.stub.CreateCollection(
            ingest_pb2.CreateCollectionRequest(name="rh"), timeout=20, metadata=METADATA
        )
        job = (await service.submit(GUIDE, collection="rh")).job
        await asyncio.wait_for(service.embedder.held.wait(), 20)
        response = await service.stub.DeleteCollection(
            ingest_pb2.DeleteCollectionRequest(name="rh"), timeout=20, metadata=METADATA
        )
        assert (response.existed, response.document_count) == (True, 1)
        service.embedder.gate.set()
        await idle(service)
        assert (await service.finished(job.job_id)).status == FAILED
        assert await service.texts() == []
        assert await service.keys() == []


@pytest.mark.parametrize(("body", "reason", "stage", "message"), [
    ("!damaged", "DOCUMENT_MALFORMED", "parse", "“guide.md” is damaged."),
    ("!broken", "DEADLINE_EXCEEDED", "parse", "the parser is away"),
    ("# Un titre seul\n\n.", None, "chunk", ""),
])
async def test_a_document_that_cannot_be_done_fails_its_job_with_reason_and_stage(
    serve: Serve, body: str, reason: str | None, stage: str, message: str
) -> None:
    async with serve() as service:
        job = await service.finished((await service.submit(body)).job.job_id)
        if reason is None:
            assert job.status == COMPLETED
            return
        assert (job.status, job.error.reason, job.error.stage, job.error.message) == (FAILED, reason, stage, message)
        ((state, attempts),) = await service.rows("select state, attempts from dead_letters")
        assert state == "open"
        assert attempts == (1 if reason.startswith("DOCUMENT") else 8)
        assert await service.texts() == []
        # What is wrong with one document holds up no other.
        other = await service.finished((await service.submit(GUIDE, filename="other.md")).job.job_id)
        assert other.status == COMPLETED


async def test_a_version_that_fails_leaves_the_one_before(serve: Serve) -> None:
    async with serve() as service:
        await service.finished((await service.submit("Une bonne version du texte.")).job.job_id)
        failed = await service.finished((await service.submit("!damaged")).job.job_id)
        assert failed.status == FAILED
        assert await service.texts() == ["Une bonne version du texte."]


async def test_a_watcher_sees_the_end_of_a_job_that_is_over(serve: Serve) -> None:
    async with serve() as service:
        job = (await service.submit(GUIDE)).job
        await service.finished(job.job_id)
        (seen,) = await service.watch(job.job_id)
        assert seen.status == COMPLETED


async def test_the_request_that_brought_a_document_in_is_known_at_every_stage(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard: list[str] = []
    embed = WordEmbedder.handle

    async def noting(embedder: WordEmbedder, ready: events_pb2.ChunksReady, delivery: Delivery) -> None:
        heard.append(telemetry.current_request_id())
        await embed(embedder, ready, delivery)

    monkeypatch.setattr(WordEmbedder, "handle", noting)

    async def requests() -> AsyncIterator[ingest_pb2.SubmitRequest]:
        yield ingest_pb2.SubmitRequest(header=ingest_pb2.DocumentHeader(filename="a.md"))
        yield ingest_pb2.SubmitRequest(data=GUIDE.encode())

    async with serve() as service:
        metadata = (*METADATA, (telemetry.REQUEST_ID_KEY, "upload-1"))
        response = await service.stub.Submit(requests(), timeout=30, metadata=metadata)
        await service.finished(response.job.job_id)
    assert set(heard) == {"upload-1"}


async def test_stages_that_a_job_comes_to_while_the_service_stops_are_noted(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lifecycle, "freeze_start_up", lambda: None)  # the other tests' garbage is collected, too
    stopping = Stopping()
    # No task notes stages, as when that task has ended and others finish what they hold.
    async with (
        serve(stages="") as service,
        Server(listen="127.0.0.1:0", grace_seconds=5, concurrent_calls_max=4) as server,
        asyncio.TaskGroup() as group,
    ):
        serving = group.create_task(worker.serve(server, service.parts, stopping))
        await until(lambda: stopping.serving)
        job = (await service.submit(GUIDE)).job
        service.parts.progress.advance(
            events_pb2.VersionReference(tenant=TENANT, job_id=job.job_id), progress.LOCATED, progress.PARSED
        )
        assert (await service.job(job.job_id)).percentage == 0
        stopping.set()
        await serving
        assert await service.rows("select stage, percentage from jobs") == [("parsed", 30)]


async def test_a_deleted_document_is_not_cut(serve: Serve) -> None:
    """Work that waited for a document costs nothing once it is deleted."""
    async with serve(stages="accept,parse") as service:
        job = (await service.submit(GUIDE)).job

        async def parsed() -> bool:
            return await stream_messages(service.jetstream, subjects.PARSED) == 1

        await eventually(parsed)
        name = subjects.stream_name(service.jetstream.prefix, subjects.PARSED)
        message = events_pb2.DocumentParsed.FromString((await service.jetstream.context.get_msg(name, 1)).data or b"")
        stage = chunk_stage.ChunkStage(
            service.jetstream, service.database, service.parts.objects, service.parts.progress,
            spaces=service.parts.spaces,
        )
        await stage.handle(message, Delivery(1, "bulk", "1"))

        async def embedded() -> bool:
            return await stream_messages(service.jetstream, subjects.EMBEDDED) == 1

        await eventually(embedded)
        assert await delete(service, job.document_id)
        with pytest.raises(Superseded):
            await stage.handle(message, Delivery(1, "bulk", "2"))
        await idle_ready(service)
        assert await embedded()


async def idle_ready(service: Pipeline) -> None:
    """Wait until nothing waits to be embedded."""
    async def empty() -> bool:
        return await stream_messages(service.jetstream, subjects.READY) == 0

    await eventually(empty)
