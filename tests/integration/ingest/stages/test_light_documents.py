"""Small plain text goes from the upload to its passages without a parsing process, an artefact or a second message."""

from __future__ import annotations

from typing import Any

from sourcier.events.v1 import events_pb2
from sourcier.ingest.v1 import ingest_pb2
from sourcier.services.chassis.ids import new_id
from sourcier.services.chassis.postgres.database import ALL_TENANTS
from sourcier.services.chassis.queue import subjects
from sourcier.services.chassis.queue.consuming import Delivery
from sourcier.services.index.pipeline import releases
from sourcier.services.ingest.messages import received_message
from sourcier.services.ingest.stages.parse import ParseStage
from sourcier.services.ingest.stages.sandbox import ParserPool
from tests.integration.chassis.fix_jetstream import stream_messages
from tests.integration.ingest.conftest import Serve
from tests.waiting import eventually

TEXT = "Charte\n\nLe télétravail est possible deux jours par semaine.\n\nLes repas sont remboursés.\n"


async def test_a_text_is_read_and_cut_where_it_is_received(serve: Serve) -> None:
    async with serve() as service:
        parsers: Any = service.parts.parsers
        submitted = await service.submit(TEXT, filename="charte.txt")
        job = await service.finished(submitted.job.job_id)
        assert job.status == ingest_pb2.JOB_STATUS_COMPLETED
        assert [entry.stage for entry in job.stage_times] == [
            "located", "parsed", "metadata", "chunked", "embedded", "saved", "done"
        ]
        assert "deux jours par semaine" in "\n".join(await service.texts())
        assert [title for (title,) in await service.rows("select title from documents")] == ["Charte"]
        assert parsers.read == []
        assert [key.rpartition("/")[2] for key in await service.keys()] == ["original"]


async def test_its_message_delivered_again_changes_nothing(serve: Serve) -> None:
    async with serve() as service:
        submitted = await service.submit(TEXT, filename="charte.txt")
        await service.finished(submitted.job.job_id)
        texts = await service.texts()
        rows = await service.rows(
            "select version_id::text, document_id::text, collection_id::text, original_key, content_sha256, space_id "
            "from document_versions"
        )
        (version_id, document_id, collection_id, key, sha256, space_id), = rows
        again = events_pb2.DocumentReceived(
            version=events_pb2.VersionReference(
                tenant="acme", collection_id=collection_id, document_id=document_id, version_id=version_id,
                generation=1, job_id=submitted.job.job_id, lane="bulk",
            ),
            original=events_pb2.ObjectReference(key=key, sha256=bytes(sha256), size_bytes=len(TEXT.encode())),
            filename="charte.txt", source="charte.txt", space_id=space_id, collection="default",
            chunking=events_pb2.ChunkingConfiguration(
                method="hybrid", unit="tokens", target=200, overlap=20, maximum=300
            ),
        )
        await service.jetstream.publish(
            subjects.DOCUMENT_RECEIVED, again, tenant="acme", lane="bulk", message_id=new_id()
        )

        async def idle() -> bool:
            queues = (subjects.RECEIVED, subjects.PARSED, subjects.READY, subjects.EMBEDDED)
            return not any([await stream_messages(service.jetstream, queue) for queue in queues])

        await eventually(idle)
        assert await service.texts() == texts


async def test_where_others_cut_they_find_what_was_read(serve: Serve) -> None:
    async with serve(stages="") as service:
        await service.submit(TEXT, filename="charte.txt")
        async with service.database.transaction(tenant=ALL_TENANTS) as connection:
            (waiting,) = await releases.release(connection, in_flight_max=1, limit=1)
        pool = ParserPool()  # not open: nothing may be asked of it
        stage = ParseStage(
            service.jetstream, service.objects, pool, service.parts.progress, recent=service.parts.recent,
            members=service.parts.members,
        )
        received = received_message(waiting)
        await stage.handle(received, Delivery(1, "interactive", "1"))
        # And again, when the body is with nobody any more.
        await stage.handle(received, Delivery(2, "interactive", "1"))
        assert await stream_messages(service.jetstream, subjects.PARSED) == 1
        assert sorted(key.partition("/")[0] for key in await service.keys()) == ["artefacts", "documents"]
