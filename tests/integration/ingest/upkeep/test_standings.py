"""Whether a version still stands, as a stage without a database asks: over a real broker, of a real index."""

from __future__ import annotations

import contextlib

import pytest

from sourcier.events.v1 import events_pb2
from sourcier.ingest.v1 import ingest_pb2
from sourcier.services.chassis.errors import Superseded
from sourcier.services.chassis.ids import new_id
from sourcier.services.embed.standing import Standing
from tests.integration.ingest.conftest import Serve
from tests.integration.ingest.fix_pipeline import METADATA, TENANT, Pipeline


async def ended(service: Pipeline, version_id: str, *, tenant: str = TENANT) -> bool:
    try:
        standing = Standing(service.jetstream)
        await standing.refuse_ended(events_pb2.VersionReference(tenant=tenant, version_id=version_id))
    except Superseded:
        return True
    assert standing._silent_until == 0.0, "nobody answered"
    return False


async def version_of(service: Pipeline, source: str) -> str:
    ((version_id,),) = await service.rows(
        "select version_id from document_versions join documents using (document_id) "
        "where source = %s and state <> 'superseded'", source,
    )
    return str(version_id)


async def test_a_version_stands_until_it_is_overtaken_or_deleted(serve: Serve) -> None:
    async with serve() as service:
        first = await service.submit("Deux jours de télétravail.", source="charte")
        await service.finished(first.job.job_id)
        older = await version_of(service, "charte")
        assert not await ended(service, older)
        second = await service.submit("Trois jours de télétravail.", source="charte")
        await service.finished(second.job.job_id)
        newer = await version_of(service, "charte")
        assert newer != older
        assert await ended(service, older)
        assert not await ended(service, newer)
        ((document_id,),) = await service.rows("select document_id from documents")
        await service.stub.Delete(
            ingest_pb2.DeleteRequest(document_id=str(document_id)), timeout=30, metadata=METADATA
        )
        assert await ended(service, newer)


async def test_versions_of_a_deleted_collection_have_ended(serve: Serve) -> None:
    async with serve() as service:
        await service.stub.CreateCollection(
            ingest_pb2.CreateCollectionRequest(name="essai"), timeout=30, metadata=METADATA
        )
        written = await service.submit("Deux jours.", source="charte", collection="essai")
        await service.finished(written.job.job_id)
        version = await version_of(service, "charte")
        await service.stub.DeleteCollection(
            ingest_pb2.DeleteCollectionRequest(name="essai"), timeout=60, metadata=METADATA
        )
        assert await ended(service, version)


async def test_another_tenants_version_is_told_as_one_that_is_not_there(serve: Serve) -> None:
    async with serve() as service:
        written = await service.submit("Deux jours.", source="charte")
        await service.finished(written.job.job_id)
        version = await version_of(service, "charte")
        assert await ended(service, version, tenant="stranger")
        assert await ended(service, new_id(), tenant="stranger")


@pytest.mark.parametrize("version_id", ["", "no uuid", "x" * 500])
async def test_what_cannot_be_a_version_is_answered_and_harms_nothing(serve: Serve, version_id: str) -> None:
    async with serve() as service:
        standing = Standing(service.jetstream)
        with contextlib.suppress(Superseded):
            await standing.refuse_ended(events_pb2.VersionReference(tenant=TENANT, version_id=version_id))
        written = await service.submit("Deux jours.", source="charte")
        await service.finished(written.job.job_id)
        assert not await ended(service, await version_of(service, "charte"))
