"""Taking documents in: nothing is accepted unless it is stored and recorded, and nothing is left of what is refused."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import grpc
import grpc.aio
import psycopg
import pytest

from sourcier.ingest.v1 import ingest_pb2
from sourcier.services.chassis.errors import (
    DocumentEmpty,
    DocumentTooLarge,
    InvalidArgument,
    NotFound,
    ServiceError,
    Unavailable,
)
from sourcier.services.index.collections import jobs
from sourcier.services.ingest.chunking.configuration import ChunkingConfiguration
from sourcier.services.ingest.intake.intake import METADATA_KEYS_MAX, NAME_CHARACTERS_MAX
from tests.integration.ingest.conftest import Serve
from tests.integration.ingest.fix_pipeline import METADATA, TENANT, Pipeline, cut_off_commit, header


async def pieces(*bodies: bytes) -> AsyncIterator[bytes]:
    for body in bodies:
        yield body


async def versions(service: Pipeline) -> int:
    ((count,),) = await service.rows("select count(*) from document_versions")
    return int(count)


async def test_a_document_is_stored_and_recorded(serve: Serve) -> None:
    async with serve(stages="") as service:
        acceptance = await service.intake.accept(header(title="Guide"), pieces(b"one ", b"two"))
        assert acceptance.outcome == "accepted"
        (key,) = await service.keys()
        assert key.startswith(f"documents/{TENANT}/")
        assert await service.objects.get(key) == b"one two"
        ((state, stored_key, size),) = await service.rows(
            "select state, original_key, size_bytes from document_versions"
        )
        assert (state, stored_key, size) == ("accepted", key, 7)
        job = await service.job(acceptance.version.job_id)
        async with service.database.transaction(tenant=TENANT) as connection:
            # What the sender is told was not read from the table.
            assert acceptance.job == await jobs.get_job(
                connection, tenant=TENANT, job_id=acceptance.version.job_id
            )
    assert (job.status, job.filename, job.size_bytes) == (ingest_pb2.JOB_STATUS_PENDING, "guide.md", 7)


@pytest.mark.parametrize(("bodies", "error"), [
    ((), DocumentEmpty), ((b"", b""), DocumentEmpty), ((b"x" * 60, b"y" * 60), DocumentTooLarge),
    ((b"x" * 101,), DocumentTooLarge),
])
async def test_what_is_refused_leaves_nothing(
    serve: Serve, bodies: tuple[bytes, ...], error: type[InvalidArgument]
) -> None:
    async with serve(stages="", document_bytes_max=100) as service:
        with pytest.raises(error, match=r"“guide\.md”"):
            await service.intake.accept(header(), pieces(*bodies))
        assert (await service.keys(), await versions(service)) == ([], 0)


async def test_a_document_of_exactly_the_limit_is_accepted(serve: Serve) -> None:
    async with serve(stages="", document_bytes_max=100) as service:
        assert (await service.intake.accept(header(), pieces(b"x" * 60, b"y" * 40))).outcome == "accepted"


@pytest.mark.parametrize(("fields", "field"), [
    ({"filename": ""}, "header.filename"),
    ({"source": "  "}, "header.source"),
    ({"title": "x" * (NAME_CHARACTERS_MAX + 1)}, "header.title"),
    ({"source": "漢" * NAME_CHARACTERS_MAX}, "header.source"),
    ({"category": "a\x00"}, "header.category"),
    ({"renamed_from": "x" * (NAME_CHARACTERS_MAX + 1)}, "header.renamed_from"),
    ({"source_root": "x" * 129}, "header.source_root"),
    ({"metadata": {str(n): "" for n in range(METADATA_KEYS_MAX + 1)}}, "header.metadata"),
    ({"metadata": {"": "x"}}, "header.metadata"),
    ({"metadata": {"k" * 65: "x"}}, "header.metadata"),
    ({"metadata": {"k": "x" * 1025}}, "header.metadata"),
    ({"metadata": {"k": "\x00"}}, "header.metadata"),
    ({"metadata": {f"k{n}": "é" * 512 for n in range(17)}}, "header.metadata"),
])
async def test_a_header_out_of_bounds_is_refused_before_anything_is_stored(
    serve: Serve, fields: dict[str, Any], field: str
) -> None:
    async with serve(stages="") as service:
        with pytest.raises(InvalidArgument) as refused:
            await service.intake.accept(header(**fields), pieces(b"x"))
        assert refused.value.field == field
        assert await service.keys() == []


async def test_a_collection_that_is_not_there_is_not_found_and_the_default_one_is_made(serve: Serve) -> None:
    async with serve(stages="") as service:
        with pytest.raises(NotFound, match="nowhere"):
            await service.intake.accept(header(collection="nowhere"), pieces(b"x"))
        assert await service.keys() == []
        await service.intake.accept(header(), pieces(b"x"))
        assert await service.rows("select name from collections") == [("default",)]


async def test_the_same_content_again_is_the_job_it_has_and_no_second_copy(serve: Serve) -> None:
    async with serve(stages="") as service:
        first = await service.intake.accept(header(), pieces(b"same"))
        again = await service.intake.accept(header(), pieces(b"sa", b"me"))
        assert (again.outcome, again.version.job_id) == ("in_progress", first.version.job_id)
        assert (len(await service.keys()), await versions(service)) == (1, 1)


@pytest.mark.parametrize(("cut_off_by", "told"), [
    (psycopg.OperationalError("server closed the connection unexpectedly"), Unavailable),
    (asyncio.CancelledError(), asyncio.CancelledError),
], ids=["server dies", "sender leaves"])
async def test_a_version_that_was_committed_keeps_its_original_though_the_commit_was_cut_off(
    serve: Serve, monkeypatch: pytest.MonkeyPatch, cut_off_by: BaseException, told: type[BaseException]
) -> None:
    async with serve(stages="") as service:
        cut_off_commit(service.intake, monkeypatch, cut_off_by)
        with pytest.raises(told):
            await service.intake.accept(header(), pieces(b"once"))
        [(key,)] = await service.rows("select original_key from document_versions")
        assert await service.objects.get(key) == b"once"
        # The sender does not know, and sends it again: it is the version that is there.
        assert (await service.intake.accept(header(), pieces(b"once"))).outcome == "in_progress"
        assert (await service.keys(), await versions(service)) == ([key], 1)


async def test_what_fails_before_its_commit_leaves_nothing(serve: Serve) -> None:
    async with serve(stages="") as service:
        await service.intake.collection_of(header(), create=True)
        async with service.database.transaction(tenant=TENANT) as connection:
            await connection.execute("alter table jobs add constraint none check (false) not valid")
        with pytest.raises(ServiceError):
            await service.intake.accept(header(), pieces(b"x"))
        assert (await service.keys(), await versions(service)) == ([], 0)


async def test_a_newer_version_takes_the_place_of_one_that_waits(serve: Serve) -> None:
    async with serve(stages="") as service:
        first = await service.intake.accept(header(), pieces(b"old"))
        second = await service.intake.accept(header(), pieces(b"new"))
        assert second.version.document_id == first.version.document_id
        job = await service.job(first.version.job_id)
        assert (job.status, job.error.reason) == (ingest_pb2.JOB_STATUS_FAILED, "SUPERSEDED")
        assert await service.rows("select state from document_versions order by generation") == [
            ("superseded",), ("accepted",),
        ]


async def test_the_same_document_sent_many_times_at_once_is_one_version(serve: Serve) -> None:
    async with serve(stages="") as service:
        acceptances = await asyncio.gather(*(service.intake.accept(header(), pieces(b"same")) for _ in range(6)))
        assert len({acceptance.version.version_id for acceptance in acceptances}) == 1
        assert [acceptance.outcome for acceptance in acceptances].count("accepted") == 1
        assert (len(await service.keys()), await versions(service)) == (1, 1)


async def test_chunks_over_the_models_limit_are_refused_for_a_collection(serve: Serve) -> None:
    async with serve(stages="") as service:
        with pytest.raises(InvalidArgument, match="use at most 500") as refused:
            await service.intake.create_collection(
                tenant=TENANT, name="big", configuration=ChunkingConfiguration.of(target=800)
            )
        assert refused.value.field == "chunking.maximum"
        assert await service.rows("select name from collections") == []


async def test_an_upload_whose_sender_goes_away_is_not_accepted(serve: Serve) -> None:
    begun = asyncio.Event()

    async def half() -> AsyncIterator[ingest_pb2.SubmitRequest]:
        yield ingest_pb2.SubmitRequest(header=ingest_pb2.DocumentHeader(filename="guide.md"))
        yield ingest_pb2.SubmitRequest(data=b"half a document")
        begun.set()
        await asyncio.Event().wait()

    async with serve(stages="") as service:
        for _ in range(5):
            begun.clear()
            call = service.stub.Submit(half(), timeout=30, metadata=METADATA)
            await asyncio.wait_for(begun.wait(), 10)
            call.cancel()
            with pytest.raises(asyncio.CancelledError):
                await call
        # A whole one behind them: what the others left would have come before it.
        await service.submit("whole", filename="whole.md")
        assert await service.rows("select filename from document_versions") == [("whole.md",)]


@pytest.mark.parametrize("requests", [
    [], [ingest_pb2.SubmitRequest(data=b"first")], [ingest_pb2.SubmitRequest()],
])
async def test_an_upload_without_its_header_is_refused(
    serve: Serve, requests: list[ingest_pb2.SubmitRequest]
) -> None:
    async with serve(stages="") as service:
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await service.stub.Submit(iter(requests), timeout=20, metadata=METADATA)
    assert refused.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert "header" in str(refused.value.details())


@pytest.mark.parametrize("job_id", ["00000000-0000-7000-8000-000000000000", "nonsense", "", "a.b", "*", ">"])
async def test_a_job_that_is_not_there_is_not_found(serve: Serve, job_id: str) -> None:
    async with serve(stages="") as service:
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await service.job(job_id)
        assert refused.value.code() is grpc.StatusCode.NOT_FOUND
        with pytest.raises(grpc.aio.AioRpcError) as unwatched:
            await service.watch(job_id)
        assert unwatched.value.code() is grpc.StatusCode.NOT_FOUND


@pytest.mark.parametrize("document_id", ["00000000-0000-7000-8000-000000000000", "nonsense", ""])
async def test_deleting_what_never_was_succeeds(serve: Serve, document_id: str) -> None:
    async with serve(stages="") as service:
        response = await service.stub.Delete(
            ingest_pb2.DeleteRequest(document_id=document_id), timeout=20, metadata=METADATA
        )
    assert not response.existed


async def test_a_tenant_sees_no_job_of_another(serve: Serve) -> None:
    async with serve(stages="") as service:
        job = (await service.submit("text")).job
        other = (("sourcier-tenant", "other"),)
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await service.stub.GetJob(ingest_pb2.GetJobRequest(job_id=job.job_id), timeout=20, metadata=other)
        assert refused.value.code() is grpc.StatusCode.NOT_FOUND
        listed = await service.stub.ListJobs(ingest_pb2.ListJobsRequest(), timeout=20, metadata=other)
        assert len(listed.jobs) == 0
        deleted = await service.stub.Delete(
            ingest_pb2.DeleteRequest(document_id=job.document_id), timeout=20, metadata=other
        )
        assert not deleted.existed
        assert (await service.job(job.job_id)).status == ingest_pb2.JOB_STATUS_PENDING
