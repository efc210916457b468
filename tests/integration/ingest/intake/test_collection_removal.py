"""A collection is deleted page by page: however large it is, cut off and called again, beside others, files and all."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any

import grpc
import grpc.aio
import pytest

from sourcier.ingest.v1 import ingest_pb2
from sourcier.services.chassis.errors import Unavailable
from sourcier.services.chassis.postgres.database import Database, DatabaseSettings
from sourcier.services.index.documents import deletions as collection_deletions
from sourcier.services.index.documents.deletions import DeletedPage
from sourcier.services.ingest.intake.removal import Removal
from sourcier.services.ingest.upkeep.maintenance import Maintenance
from tests.integration.index.large_collection import add_documents
from tests.integration.index.writer import Writer
from tests.integration.ingest.conftest import Serve
from tests.integration.ingest.fix_pipeline import METADATA, TENANT, Pipeline

MANY = 5_000
"""In one statement their deletion takes seconds."""
PAGE = 2
Page = Callable[..., Coroutine[Any, Any, DeletedPage]]


@pytest.fixture
def paged(monkeypatch: pytest.MonkeyPatch) -> Page:
    """Let pages be small; return what deletes one."""
    small = partial(collection_deletions.delete_page, documents_max=PAGE)
    monkeypatch.setattr(collection_deletions, "delete_page", small)
    return small


async def delete(service: Pipeline, **options: Any) -> ingest_pb2.DeleteCollectionResponse:
    response: ingest_pb2.DeleteCollectionResponse = await service.stub.DeleteCollection(
        ingest_pb2.DeleteCollectionRequest(name="default"), **{"timeout": 60, "metadata": METADATA} | options
    )
    return response


async def indexed(service: Pipeline, *names: str) -> None:
    jobs = [(await service.submit(f"Le texte de {name}.", filename=name)).job for name in names]
    for job in jobs:
        assert (await service.finished(job.job_id)).status == ingest_pb2.JOB_STATUS_COMPLETED


async def count(service: Pipeline, table: str) -> int:
    ((rows,),) = await service.rows(f"select count(*)::int from {table}")
    return int(rows)


async def test_all_pages_are_counted_and_no_file_stays(serve: Serve, paged: Page) -> None:
    async with serve() as service:
        await indexed(service, *(f"{number}.md" for number in range(5)))
        assert len(await service.keys()) == 10
        assert (await delete(service)).document_count == 5
        assert not (await delete(service)).existed
        for table in ("collections", "documents", "chunks", "document_versions"):
            assert await count(service, table) == 0, table
        assert await service.keys() == []
        assert await count(service, "file_removals") == 0


async def test_a_deletion_that_is_cut_off_goes_on_when_it_is_called_again(
    serve: Serve, paged: Page, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with serve() as service:
        await indexed(service, *(f"{number}.md" for number in range(5)))
        pages = 0

        async def breaking(*values: Any, **named: Any) -> DeletedPage:
            nonlocal pages
            pages += 1
            if pages == 2:
                raise Unavailable("the database went away")
            return await paged(*values, **named)

        with monkeypatch.context() as patched:
            patched.setattr(collection_deletions, "delete_page", breaking)
            with pytest.raises(grpc.aio.AioRpcError) as refused:
                await delete(service)
        assert refused.value.code() is grpc.StatusCode.UNAVAILABLE
        # What is left is whole, and answers; what is gone has left no file behind once the sweep was there.
        assert (await count(service, "documents"), len(await service.texts())) == (3, 3)
        assert await count(service, "collections") == 1
        await service.parts.removal.sweep_files()
        assert len(await service.keys()) == 6
        response = await delete(service)
        assert (response.existed, response.document_count) == (True, 3)
        assert await service.keys() == []


async def test_a_deletion_past_its_deadline_keeps_what_it_did(
    serve: Serve, paged: Page, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with serve() as service:
        await indexed(service, *(f"{number}.md" for number in range(5)))
        never, ended = asyncio.Event(), asyncio.Event()

        async def hanging(*values: Any, **named: Any) -> DeletedPage:
            deleted = await paged(*values, **named)
            if await count(service, "documents") < 5:  # of others' transactions: one page is there
                try:
                    await never.wait()
                finally:
                    ended.set()
            return deleted

        with monkeypatch.context() as patched:
            patched.setattr(collection_deletions, "delete_page", hanging)
            with pytest.raises(grpc.aio.AioRpcError) as refused:
                await delete(service, timeout=5)
            assert refused.value.code() is grpc.StatusCode.DEADLINE_EXCEEDED
            await asyncio.wait_for(ended.wait(), 20)
        assert await count(service, "documents") == 3  # the page in hand came back
        assert (await delete(service)).document_count == 3


async def test_two_deletions_at_once(serve: Serve, paged: Page) -> None:
    async with serve() as service:
        await indexed(service, *(f"{number}.md" for number in range(9)))
        responses = await asyncio.gather(*(delete(service) for _ in range(3)))
        assert sum(response.document_count for response in responses) == 9
        assert await count(service, "collections") == 0
        assert await service.keys() == []


async def test_a_version_on_its_way_and_a_document_that_comes_meanwhile_go_too(
    serve: Serve, paged: Page, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with serve() as service:
        await indexed(service, "a.md", "b.md", "c.md")
        service.embedder.gate.clear()
        service.embedder.held.clear()
        changed = (await service.submit("Un autre texte.", filename="a.md")).job
        await service.embedder.held.wait()
        sent: list[ingest_pb2.Job] = []

        async def sending(*values: Any, **named: Any) -> DeletedPage:
            deleted = await paged(*values, **named)
            if not sent:
                sent.append((await service.submit("Un texte de plus.", filename="d.md")).job)
            return deleted

        with monkeypatch.context() as patched:
            patched.setattr(collection_deletions, "delete_page", sending)
            assert (await delete(service)).document_count == 4
        service.embedder.gate.set()
        for job in (changed, *sent):
            ended = await service.finished(job.job_id)
            assert (ended.error.reason, ended.error.message) == ("SUPERSEDED", "The collection was deleted.")
        assert await service.texts() == []
        await Maintenance(service.database, service.parts.removal).sweep_versions()
        assert await count(service, "documents") == 0


async def test_thousands_of_documents_go_where_a_statement_has_little_time(
    serve: Serve, database_url: str
) -> None:
    async with serve(stages="") as service:
        collection = await Writer(service.database).collection()
        async with service.database.transaction(tenant=TENANT) as connection:
            await connection.execute("select set_config('statement_timeout', '0', true)")
            await add_documents(connection, collection, documents=MANY, chunks_each=2, words=100)
        settings = DatabaseSettings(url=database_url, connections_max=2, statement_timeout_seconds=0.3)
        async with Database(settings) as hurried:
            removal = Removal(hurried, service.objects, subject_prefix="test")
            removed = await removal.remove_collection(tenant=TENANT, name="default")
        assert (removed.existed, removed.document_count) == (True, MANY)
        for table in ("collections", "documents", "chunks", "document_versions"):
            assert await count(service, table) == 0, table
