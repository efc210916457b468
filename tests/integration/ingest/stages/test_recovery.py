"""What is lost outside of PostgreSQL is made again from it; what nobody needs any more goes."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from sourcier.ingest.v1 import ingest_pb2
from sourcier.services.chassis.errors import Unavailable
from sourcier.services.chassis.postgres.database import ALL_TENANTS
from sourcier.services.chassis.queue import subjects
from sourcier.services.index.collections import versions
from sourcier.services.index.documents import file_removals
from sourcier.services.index.documents.documents import Deletion
from sourcier.services.ingest import relay
from sourcier.services.ingest.upkeep.maintenance import Maintenance
from tests.integration.ingest.conftest import Serve
from tests.integration.ingest.fix_pipeline import METADATA, TENANT, Pipeline
from tests.waiting import eventually


async def delete_streams(service: Pipeline) -> None:
    for stream, _ in subjects.streams():
        if stream.work_queue:
            await service.jetstream.context.delete_stream(subjects.stream_name(service.jetstream.prefix, stream))


async def test_a_broker_that_lost_its_store_loses_no_document(serve: Serve) -> None:
    async with serve() as service:
        await service.relay.release_lost()  # the streams are on record
        service.embedder.gate.clear()
        submitted = [await service.submit(f"Texte numéro {n}.", filename=f"{n}.md") for n in range(3)]
        await service.embedder.held.wait()
        await delete_streams(service)
        service.embedder.gate.set()
        assert await service.relay.release_lost() == 3
        service.relay.wake()
        for response in submitted:
            job = await service.finished(response.job.job_id)
            assert job.status == ingest_pb2.JOB_STATUS_COMPLETED
        assert len(await service.texts()) == 3
        assert await service.relay.release_lost() == 0


async def test_a_broker_restored_from_an_older_copy_is_noticed(serve: Serve) -> None:
    async with serve(stages="") as service:
        await service.submit("texte", filename="a.md")
        await service.relay._dispatch()
        await service.relay._publish()
        assert await service.relay.release_lost() == 0
        async with service.database.transaction(tenant=ALL_TENANTS) as connection:
            await connection.execute("update broker_streams set last_sequence = last_sequence + 5")
        assert await service.relay.release_lost() == 1
        assert await service.relay.release_lost() == 0


async def test_what_is_released_while_a_loss_is_looked_into_is_released_again(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(relay, "RELEASE_LIMIT", 1)  # a page each: none comes twice
    async with serve(stages="") as service:
        assert await service.relay.release_lost() == 0
        async with service.database.transaction(tenant=ALL_TENANTS) as connection:
            await connection.execute("update broker_streams set last_sequence = last_sequence + 5")
        for name in ("a.md", "b.md"):
            await service.submit("texte", filename=name)
        states = service.parts.jetstream.stream_states
        looks = 0

        async def slow() -> list[tuple[str, str, int]]:
            nonlocal looks
            looks += 1
            if looks == 2:  # in the transaction that the first look gave a reason for
                assert [await service.relay._dispatch() for _ in range(2)] == [1, 1]
            return await states()

        monkeypatch.setattr(service.parts.jetstream, "stream_states", slow)
        assert await service.relay.release_lost() == 2
        assert await service.relay.release_lost() == 0


async def test_a_replica_that_read_earlier_than_another_one_recorded_finds_no_loss(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with serve(stages="") as service:
        states = service.parts.jetstream.stream_states
        read_early = await states()
        await service.submit("texte", filename="a.md")
        await service.relay._dispatch()
        await service.relay._publish()
        assert await service.relay.release_lost() == 0  # the other replica records what it reads now
        answers = [read_early]

        async def late() -> list[tuple[str, str, int]]:
            return answers.pop() if answers else await states()

        monkeypatch.setattr(service.parts.jetstream, "stream_states", late)
        assert await service.relay.release_lost() == 0
        assert not answers
        recorded = dict(await service.rows("select stream, last_sequence from broker_streams"))
        assert recorded == {stream: last for stream, _, last in await states()}


async def test_overtaken_versions_go_with_their_files(serve: Serve) -> None:
    async with serve() as service:
        for text in ("première", "deuxième", "troisième"):
            response = await service.submit(f"C’est la {text} version.", filename="a.md")
            await service.finished(response.job.job_id)
        assert len(await service.keys()) == 6  # an original and an artefact each
        maintenance = Maintenance(service.database, service.parts.removal)
        assert await maintenance.sweep_versions() == 0  # too young
        assert await maintenance.sweep_versions(older_than_seconds=0) == 2
        await service.parts.removal.sweep_files()
        assert len(await service.keys()) == 2
        assert await service.texts() == ["C’est la troisième version."]
        assert await service.rows("select generation::int from document_versions") == [(3,)]


async def test_files_that_another_document_needs_are_kept(serve: Serve) -> None:
    async with serve() as service:
        same = "Un texte que deux documents ont eu."
        for filename, text in (("a.md", same), ("b.md", same), ("a.md", "Un autre texte.")):
            response = await service.submit(text, filename=filename)
            await service.finished(response.job.job_id)
        maintenance = Maintenance(service.database, service.parts.removal)
        assert await maintenance.sweep_versions(older_than_seconds=0) == 1
        await service.parts.removal.sweep_files()
        # The original of each, and the artefact of each content.
        assert len(await service.keys()) == 4


async def remove_rows(service: Pipeline, document_id: str) -> Deletion:
    async with service.database.transaction(tenant=TENANT) as connection:
        return await service.parts.removal.remove_rows(connection, tenant=TENANT, document_id=document_id)


async def test_files_of_a_deletion_that_a_crash_cut_short_go_with_the_next_sweep(serve: Serve) -> None:
    async with serve() as service:
        job = (await service.submit("Un texte à oublier.", filename="a.md")).job
        await service.finished(job.job_id)
        assert (await remove_rows(service, job.document_id)).existed
        assert len(await service.keys()) == 2
        await service.parts.removal.sweep_files()
        assert await service.keys() == []
        assert await service.rows("select 1 from file_removals") == []


async def test_files_that_a_store_refuses_to_delete_go_once_it_does_and_keep_no_others(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_removals, "RETRY_SECONDS", 0.0)
    async with serve() as service:
        jobs = [(await service.submit(f"Texte numéro {n}.", filename=f"{n}.md")).job for n in range(2)]
        for job in jobs:
            await service.finished(job.job_id)
        [refused, _] = [key for key in await service.keys() if key.startswith("documents/")]
        delete = service.objects.delete

        async def away(*keys: str) -> None:
            if refused in keys:
                raise Unavailable("the object store is away")
            await delete(*keys)

        with monkeypatch.context() as patched:
            patched.setattr(service.objects, "delete", away)
            for job in jobs:
                deletion = await service.stub.Delete(
                    ingest_pb2.DeleteRequest(document_id=job.document_id), timeout=30, metadata=METADATA
                )
                assert deletion.existed
            await service.parts.removal.sweep_files()
            assert refused in await service.keys()
            assert len(await service.keys()) == 2  # and the artefact
        await service.parts.removal.sweep_files()
        assert await service.keys() == []


async def test_a_content_that_comes_again_before_its_files_are_removed_keeps_its_artefact(serve: Serve) -> None:
    async with serve() as service:
        text = "Un texte qui change de nom."
        first = (await service.submit(text, filename="a.md")).job
        await service.finished(first.job_id)
        deletion = await remove_rows(service, first.document_id)
        second = (await service.submit(text, filename="b.md")).job
        await service.finished(second.job_id)
        await service.parts.removal.remove_files(deletion.file_removals, tenant=TENANT)
        assert [key.split("/")[0] for key in await service.keys()] == ["artefacts", "documents"]
        assert await service.rows("select 1 from file_removals") == []


async def test_a_content_that_is_being_taken_in_is_left_for_the_next_sweep(serve: Serve) -> None:
    async with serve() as service:
        job = (await service.submit("Un texte pris à nouveau.", filename="a.md")).job
        await service.finished(job.job_id)
        [(sha256,)] = await service.rows("select content_sha256 from documents")
        deletion = await remove_rows(service, job.document_id)
        async with service.database.transaction(tenant=TENANT) as accepting:
            await accepting.execute(versions.SHARE_CONTENT, {"tenant": TENANT, "content_sha256": sha256})
            await service.parts.removal.remove_files(deletion.file_removals, tenant=TENANT)
            assert len(await service.keys()) == 2
        await service.parts.removal.sweep_files()
        assert await service.keys() == []


async def test_an_artefact_that_is_stored_after_the_deletion_of_its_document_goes_too(serve: Serve) -> None:
    async with serve() as service:
        service.embedder.gate.clear()
        job = (await service.submit("Un texte lu en chemin.", filename="a.md")).job
        await service.embedder.held.wait()
        artefact = next(key for key in await service.keys() if key.startswith("artefacts/"))
        await service.stub.Delete(
            ingest_pb2.DeleteRequest(document_id=job.document_id), timeout=30, metadata=METADATA
        )
        assert await service.keys() == []
        await service.objects.put(artefact, b"as a parser that was slow")
        await service.parts.removal.sweep_files()
        assert await service.keys() == [artefact]
        await service.rows("update file_removals set not_before = now() returning 1")
        await service.parts.removal.sweep_files()
        assert await service.keys() == []


async def test_the_same_corpus_and_settings_give_the_same_chunk_ids(serve: Serve) -> None:
    async with serve() as service:
        made = []
        for _ in range(2):
            response = await service.submit("# Guide\n\nLe texte du guide.", filename="a.md")
            job = await service.finished(response.job.job_id)
            made.append(await service.rows("select chunk_id from chunks order by chunk_index"))
            # What another installation would begin with: another document, of the same name.
            await service.stub.Delete(
                ingest_pb2.DeleteRequest(document_id=job.document_id), timeout=30, metadata=METADATA
            )
        assert made[0] == made[1] != []


@pytest.mark.parametrize("stage", ["parse", "chunk", "embed"])
async def test_documents_go_through_again_from_a_stage_on(serve: Serve, stage: str) -> None:
    async with serve() as service:
        parsers: Any = service.parts.parsers
        response = await service.submit("# Guide\n\nLe texte du guide.", filename="a.md")
        await service.finished(response.job.job_id)
        before = await service.rows("select chunk_id, text, token_count from chunks order by chunk_index")
        sent = await service.stub.Reprocess(
            ingest_pb2.ReprocessRequest(from_stage=stage), timeout=30, metadata=METADATA
        )
        assert sent.document_count == 1

        async def second() -> bool:
            return await service.rows("select current_generation::int from documents") == [(2,)]

        await eventually(second)
        # The same content, cut alike, has the same ids.
        assert await service.rows("select chunk_id, text, token_count from chunks order by chunk_index") == before
        assert len(parsers.read) == (2 if stage == "parse" else 1)


async def test_an_outage_gives_no_document_a_dead_letter(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    from sourcier.services.chassis.errors import Unavailable
    from sourcier.services.chassis.queue import consuming

    # The delays between the attempts are what takes the time.
    monkeypatch.setattr(consuming, "retry_delay_seconds", lambda deliveries: 0.01)
    async with serve() as service:
        parsers: Any = service.parts.parsers
        attempts = 0
        parse = parsers.parse_artefact

        async def away(*arguments: Any, **options: Any) -> Any:
            nonlocal attempts
            attempts += 1
            if attempts <= 3 * consuming.DELIVERIES_MAX:
                raise Unavailable("PostgreSQL is away")
            return await parse(*arguments, **options)

        parsers.parse_artefact = away
        response = await service.submit("Un texte qui attend.", filename="a.md")
        job = await service.finished(response.job.job_id)
        assert job.status == ingest_pb2.JOB_STATUS_COMPLETED
        assert attempts == 3 * consuming.DELIVERIES_MAX + 1
        assert await service.rows("select 1 from dead_letters") == []
        await asyncio.sleep(0)


async def test_an_upload_that_a_dead_process_left_goes_with_the_upkeep(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with serve() as service:
        uploads = service.parts.objects.uploads
        assert uploads is not None
        for key in ("documents/alpha/killed/original", "of-somebody-else"):
            upload_id = await uploads.begin(key)
            await uploads.put_part(key, upload_id, number=1, body=b"x" * 1_000)
        keeper = Maintenance(service.database, service.parts.removal)
        monkeypatch.setattr(keeper, "_swept_at", float("-inf"))
        assert await service.parts.removal.sweep_uploads() == 0  # too young
        monkeypatch.setattr(service.parts.removal, "_parts_kept_seconds", -10.0)
        await keeper._sweep(asyncio.Event())
        assert [upload.key async for upload in uploads.list_open()] == ["of-somebody-else"]
