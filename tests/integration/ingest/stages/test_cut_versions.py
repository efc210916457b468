"""A version is cut one way from its release on, whatever its collection or the service is changed to meanwhile."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from sourcier.events.v1 import events_pb2
from sourcier.ingest.v1 import ingest_pb2
from sourcier.services.chassis.postgres.database import ALL_TENANTS
from sourcier.services.chassis.queue import subjects
from sourcier.services.chassis.queue.consuming import Delivery
from sourcier.services.index.collections import build_manifest as manifests
from sourcier.services.ingest import storage
from sourcier.services.ingest.chunking.chunks import Chunk
from sourcier.services.ingest.stages import chunk as chunk_stage
from sourcier.services.ingest.stages import parse as parse_stage
from sourcier.services.ingest.stages.index import IndexStage
from tests.integration.ingest.conftest import Serve
from tests.integration.ingest.fix_pipeline import METADATA, TENANT, Pipeline
from tests.waiting import eventually

LINES = range(400)
BODY = "\n".join(f"Ligne {n} du document, avec quelques mots de plus pour faire nombre." for n in LINES)
A, B = {"method": "lines", "target": 430, "overlap": 50}, {"method": "lines", "target": 512, "overlap": 50}
COMPLETED = ingest_pb2.JOB_STATUS_COMPLETED


async def update(service: Pipeline, chunking: dict[str, Any]) -> ingest_pb2.UpdateCollectionResponse:
    response: ingest_pb2.UpdateCollectionResponse = await service.stub.UpdateCollection(
        ingest_pb2.UpdateCollectionRequest(name="default", chunking=ingest_pb2.Chunking(**chunking)),
        timeout=30, metadata=METADATA,
    )
    return response


async def reprocess(service: Pipeline, from_stage: str, **fields: Any) -> int:
    response = await service.stub.Reprocess(
        ingest_pb2.ReprocessRequest(from_stage=from_stage, **fields), timeout=30, metadata=METADATA
    )
    return int(response.document_count)


async def embedded(service: Pipeline, *, lane: str, after: int = 0) -> list[events_pb2.ChunksEmbedded]:
    """Return the batches of a cut in a lane once all are there, those that came after so many."""
    name = subjects.stream_name(service.jetstream.prefix, subjects.EMBEDDED)
    found: list[events_pb2.ChunksEmbedded] = []

    async def whole() -> bool:
        state = (await service.jetstream.context.stream_info(name)).state
        read = [
            events_pb2.ChunksEmbedded.FromString((await service.jetstream.context.get_msg(name, number)).data or b"")
            for number in range(max(state.first_seq, 1), state.last_seq + 1)
        ]
        found[:] = [message for message in read if message.version.lane == lane][after:]
        return bool(found) and len(found) == found[0].batch_count

    await eventually(whole)
    return sorted(found, key=lambda message: message.batch_no)


async def release_again(service: Pipeline) -> None:
    """Have what is under way released again, as what stalls is."""
    async with service.database.transaction(tenant=ALL_TENANTS) as connection:
        await connection.execute(
            "update document_versions set released_at = now() - interval '1 day' where state = 'released'"
        )
    service.relay._kept_house_at = -1e9
    service.relay.wake()


async def lines_found(service: Pipeline) -> list[int]:
    """Return the numbers of the document's lines that can be found."""
    texts = "\n".join(await service.texts())
    return [number for number in LINES if f"Ligne {number} du" in texts]


def indexing(service: Pipeline) -> IndexStage:
    return IndexStage(service.jetstream, service.database, service.parts.progress, service.relay)


async def test_a_version_that_is_released_again_is_cut_as_it_was(serve: Serve) -> None:
    async with serve(stages="accept,parse,chunk") as service:
        await service.submit("x" * 60 + " premier", filename="first.md")
        await update(service, A)
        job = (await service.submit(BODY, filename="long.txt", lane="bulk")).job
        cut = await embedded(service, lane="bulk")
        assert len(cut) > 1
        index = indexing(service)
        await index.handle(cut[0], Delivery(1, "bulk"))  # the others are lost with the broker's store
        await update(service, B)
        await release_again(service)
        again = await embedded(service, lane="bulk", after=len(cut))
        assert [message.chunking for message in again] == [message.chunking for message in cut]
        assert {message.cut for message in again} == {cut[0].cut}
        for message in again:
            await index.handle(message, Delivery(1, "bulk"))
        assert (await service.job(job.job_id)).status == COMPLETED
        assert await lines_found(service) == list(LINES)


async def test_batches_of_a_cut_that_the_service_makes_otherwise_by_now_never_mix(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A service of a newer version cuts the same text at other places, into as many batches."""
    cut_before = chunk_stage.cut

    def cut_otherwise(document: Any, configuration: Any, *arguments: Any, **named: Any) -> list[Chunk]:
        otherwise = dataclasses.replace(configuration, target=B["target"], maximum=B["target"])
        return cut_before(document, otherwise, *arguments, **named)

    async with serve(stages="accept,parse,chunk") as service:
        await service.submit("x" * 60 + " premier", filename="first.md")
        await update(service, A)
        job = (await service.submit(BODY, filename="long.txt", lane="bulk")).job
        old = await embedded(service, lane="bulk")
        index = indexing(service)
        await index.handle(old[0], Delivery(1, "bulk"))
        monkeypatch.setattr(chunk_stage, "cut", cut_otherwise)
        await release_again(service)
        new = await embedded(service, lane="bulk", after=len(old))
        assert len(new) == len(old)
        for message in (new[1], *old, new[0], *new[2:]):
            await index.handle(message, Delivery(1, "bulk"))
        assert (await service.job(job.job_id)).status == COMPLETED
        assert await lines_found(service) == list(LINES)
        made = await service.rows("select count(*) from chunks")
        assert made == [(sum(len(message.chunks) for message in new),)]


async def test_a_document_that_waited_bears_the_label_of_what_it_was_cut_with(serve: Serve) -> None:
    async with serve(in_flight_max=1) as service:
        first = await service.submit("premier " * 20, filename="first.txt", lane="bulk")
        await service.finished(first.job.job_id)
        await update(service, A)
        service.embedder.held.clear()
        service.embedder.gate.clear()
        await service.submit("second " * 20, filename="second.txt", lane="bulk")
        await service.embedder.held.wait()
        third = await service.submit(BODY, filename="third.txt", lane="bulk")  # waits, recorded with A
        await update(service, B)
        service.embedder.gate.set()
        assert (await service.finished(third.job.job_id)).status == COMPLETED
        # The first document is cut by the defaults, the third by B; the second was under way when A was in force.
        assert (await update(service, A)).outdated_count == 2
        assert not (await service.submit(BODY, filename="third.txt", lane="bulk")).unchanged
        assert (await update(service, B)).outdated_count == 2


async def manifest(service: Pipeline) -> str:
    """Return the parsers' version that the collection's manifest names."""
    async with service.database.transaction(tenant=ALL_TENANTS) as connection:
        await manifests.record_changed(
            connection, parser_version=parse_stage.PARSER_AND_ARTEFACT_VERSION, limit=100
        )
    async with service.database.transaction(tenant=TENANT, read_only=True) as connection:
        return (await manifests.get_manifest(connection, tenant=TENANT, collection="default")).parser_version


@pytest.mark.parametrize("light", [True, False])
async def test_a_manifest_names_what_read_the_documents(
    serve: Serve, light: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def upgrade(version: str) -> None:
        for module in (storage, parse_stage):
            monkeypatch.setattr(module, "PARSER_AND_ARTEFACT_VERSION", version)

    async def settled(service: Pipeline) -> None:
        async def over() -> bool:
            return not await service.rows("select from jobs where status in ('pending', 'processing')")

        await eventually(over)

    if not light:
        monkeypatch.setattr(parse_stage, "may_be_light", lambda *_: False)
    upgrade("1.1")
    async with serve() as service:
        await service.finished((await service.submit("Le premier texte.", filename="first.txt")).job.job_id)
        assert await manifest(service) == "1.1"
        upgrade("2.1")
        assert await manifest(service) == "1.1"
        await service.finished((await service.submit("Le second texte.", filename="second.txt")).job.job_id)
        assert await manifest(service) == "1.1, 2.1"
        # The chunks that are embedded again are those that the first version's parsers gave the text of.
        assert await reprocess(service, "embed") == 2
        await settled(service)
        assert await manifest(service) == "1.1, 2.1"
        assert await reprocess(service, "parse") == 2
        await settled(service)
        assert await manifest(service) == "2.1"
