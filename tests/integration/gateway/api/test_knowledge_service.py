"""`KnowledgeService` over real gRPC: what is read from the index, what is relayed, and errors on the way."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import grpc
import grpc.aio
import pytest

from sourcier.gateway.v1 import knowledge_pb2, knowledge_pb2_grpc
from sourcier.ingest.v1 import ingest_pb2
from sourcier.services.chassis.errors import DocumentTooLarge
from sourcier.services.chassis.postgres.database import Database
from tests.integration.gateway.fix_gateway import TENANT, Scenario, gateway
from tests.integration.index.writer import Writer

PENDING = ingest_pb2.Job(job_id="job-1", status=ingest_pb2.JOB_STATUS_PENDING, stage="located", percentage=10)
DONE = ingest_pb2.Job(job_id="job-1", status=ingest_pb2.JOB_STATUS_COMPLETED, stage="done", percentage=100)
HEADER = knowledge_pb2.DocumentHeader(filename="a.md", metadata={"team": "paie"})
PATIENT: dict[str, Any] = {"timeout": 30, "metadata": TENANT}


async def upload(*parts: knowledge_pb2.UploadDocumentRequest) -> AsyncIterator[knowledge_pb2.UploadDocumentRequest]:
    for part in parts:
        yield part


def header(**fields: Any) -> knowledge_pb2.UploadDocumentRequest:
    made = knowledge_pb2.DocumentHeader()
    made.CopyFrom(HEADER)
    made.MergeFrom(knowledge_pb2.DocumentHeader(**fields))
    return knowledge_pb2.UploadDocumentRequest(header=made)


def data(body: bytes) -> knowledge_pb2.UploadDocumentRequest:
    return knowledge_pb2.UploadDocumentRequest(data=body)


async def refusal(call: Any) -> grpc.aio.AioRpcError:
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await asyncio.wait_for(call, 60)
    return refused.value


async def test_an_upload_is_relayed_whole(database: Database) -> None:
    async with gateway(database, Scenario(jobs=[PENDING])) as served:
        response = await served.knowledge.UploadDocument(
            upload(header(title="Guide"), data(b"one "), data(b""), data(b"two")), **PATIENT
        )
    assert (response.job.job_id, response.unchanged) == ("job-1", False)
    ((tenant, sent, body),) = served.scenario.submitted
    assert (tenant, sent.filename, sent.title, dict(sent.metadata), body) == (
        "acme", "a.md", "Guide", {"team": "paie"}, b"one two",
    )


@pytest.mark.parametrize("parts", [
    (), (data(b"first"),), (knowledge_pb2.UploadDocumentRequest(),),
    (header(), data(b"one"), header()), (header(), data(b"one"), knowledge_pb2.UploadDocumentRequest()),
])
async def test_an_upload_out_of_order_is_refused(
    database: Database, parts: tuple[knowledge_pb2.UploadDocumentRequest, ...]
) -> None:
    async with gateway(database, Scenario(jobs=[PENDING])) as served:
        error = await refusal(served.knowledge.UploadDocument(upload(*parts), **PATIENT))
    assert error.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert "header" in str(error.details())
    assert served.scenario.submitted == []


async def test_an_upload_that_ingest_refuses_on_the_way_says_why(database: Database) -> None:
    scenario = Scenario(jobs=[PENDING], submit_bytes_max=100_000, submit_error=DocumentTooLarge("“a.md” is too large"))
    async with gateway(database, scenario) as served:
        parts = [header(), *(data(b"x" * 65_536) for _ in range(200))]
        error = await refusal(served.knowledge.UploadDocument(upload(*parts), **PATIENT))
    assert (error.code(), error.details()) == (grpc.StatusCode.INVALID_ARGUMENT, "“a.md” is too large")


async def test_an_upload_that_is_refused_while_its_sender_pauses_says_why(database: Database) -> None:
    scenario = Scenario(jobs=[PENDING], submit_bytes_max=10, submit_error=DocumentTooLarge("“a.md” is too large"))
    told = asyncio.Event()

    async def pausing() -> AsyncIterator[knowledge_pb2.UploadDocumentRequest]:
        yield header()
        yield data(b"x" * 100)
        # The relay waits for the next message meanwhile; the refusal must not depend on it.
        await told.wait()

    async with gateway(database, scenario) as served:
        error = await refusal(served.knowledge.UploadDocument(pausing(), **PATIENT))
        told.set()
    assert (error.code(), error.details()) == (grpc.StatusCode.INVALID_ARGUMENT, "“a.md” is too large")


async def test_a_job_is_watched_to_its_end(database: Database) -> None:
    async with gateway(database, Scenario(jobs=[PENDING, DONE])) as served:
        call = served.knowledge.WatchJob(knowledge_pb2.WatchJobRequest(job_id="job-1"), **PATIENT)
        seen = [response.job.percentage async for response in call]
    assert seen == [10, 100]


async def test_who_stops_watching_stops_it_at_ingest_too(database: Database) -> None:
    async with gateway(database, Scenario(jobs=[PENDING], hang=True)) as served:
        call = served.knowledge.WatchJob(knowledge_pb2.WatchJobRequest(job_id="job-1"), **PATIENT)
        assert (await call.read()).job.percentage == 10
        call.cancel()
        await asyncio.wait_for(served.scenario.watch_ended.wait(), 20)


async def test_jobs_are_relayed_with_their_filter_and_page(database: Database) -> None:
    async with gateway(database, Scenario(jobs=[PENDING, DONE])) as served:
        one = await served.knowledge.GetJob(knowledge_pb2.GetJobRequest(job_id="job-1"), **PATIENT)
        listed = await served.knowledge.ListJobs(
            knowledge_pb2.ListJobsRequest(status=knowledge_pb2.JOB_STATUS_COMPLETED, collection="c", page_size=7),
            **PATIENT,
        )
    assert one.job.stage == "located"
    assert [job.percentage for job in listed.jobs] == [100]
    assert listed.next_page_token == "c/7"


async def test_a_deletion_is_relayed(database: Database) -> None:
    async with gateway(database, Scenario()) as served:
        existed = [
            (await served.knowledge.DeleteDocument(
                knowledge_pb2.DeleteDocumentRequest(document_id=name), **PATIENT)).existed
            for name in ("known", "unknown")
        ]
    assert existed == [True, False]


@pytest.mark.parametrize(("fields", "field"), [
    ({"text": " \n"}, "text"), ({"text": "x" * (1024 * 1024 + 1)}, "text"), ({"text": "ok", "header": None}, "source"),
])
async def test_a_text_out_of_bounds_is_refused(database: Database, fields: dict[str, Any], field: str) -> None:
    request = knowledge_pb2.IngestTextRequest(**({"header": HEADER} | fields))
    async with gateway(database, Scenario(jobs=[PENDING])) as served:
        error = await refusal(served.knowledge.IngestText(request, **PATIENT))
    assert error.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert field in str(error.details())


async def test_a_text_that_fails_says_why(database: Database) -> None:
    failed = ingest_pb2.Job(
        job_id="job-1", status=ingest_pb2.JOB_STATUS_FAILED,
        error=ingest_pb2.JobError(reason="DOCUMENT_EMPTY", message="it leaves no passage", stage="chunk"),
    )
    async with gateway(database, Scenario(jobs=[PENDING, failed])) as served:
        request = knowledge_pb2.IngestTextRequest(header=HEADER, text="?")
        error = await refusal(served.knowledge.IngestText(request, **PATIENT))
    assert (error.code(), error.details()) == (grpc.StatusCode.INVALID_ARGUMENT, "it leaves no passage")


async def test_a_text_is_ingested_and_its_document_told(database: Database) -> None:
    version = await Writer(database).index("note", ["Une note."], title="Note")
    done = ingest_pb2.Job()
    done.CopyFrom(DONE)
    done.document_id = version.document_id
    async with gateway(database, Scenario(jobs=[PENDING, done])) as served:
        response = await served.knowledge.IngestText(
            knowledge_pb2.IngestTextRequest(header=knowledge_pb2.DocumentHeader(source="note"), text="Une note."),
            **PATIENT,
        )
    assert (response.document.title, response.document.chunk_count) == ("Note", 1)
    ((_, sent, body),) = served.scenario.submitted
    assert (sent.source, sent.filename, body) == ("note", "note.txt", b"Une note.")


async def test_documents_and_collections_are_read_from_the_index(handbook: Database) -> None:
    async with gateway(handbook, Scenario(), down=("ingest",)) as served:
        listed = await served.knowledge.ListDocuments(knowledge_pb2.ListDocumentsRequest(page_size=1), **PATIENT)
        rest = await served.knowledge.ListDocuments(
            knowledge_pb2.ListDocumentsRequest(page_size=1, page_token=listed.next_page_token), **PATIENT
        )
        one = await served.knowledge.GetDocument(
            knowledge_pb2.GetDocumentRequest(document_id=listed.documents[0].document_id), **PATIENT
        )
        collections = await served.knowledge.ListCollections(knowledge_pb2.ListCollectionsRequest(), **PATIENT)
    assert {document.source for response in (listed, rest) for document in response.documents} == {
        "telework.md", "expenses.md",
    }
    assert rest.next_page_token == ""
    assert one.document == listed.documents[0]
    (collection,) = collections.collections
    assert (collection.name, collection.document_count, collection.chunk_count) == ("default", 2, 3)


async def test_every_document_is_accounted_for(handbook: Database) -> None:
    async with handbook.transaction(tenant="acme") as connection:
        await connection.execute(
            """update document_versions set reading_warnings = '[["pages_without_text", 2, ["2", "3"], ""]]'
            where filename = 'expenses.md'"""
        )
    async with gateway(handbook, Scenario(), down=("ingest",)) as served:
        told = await served.knowledge.GetCoverage(knowledge_pb2.GetCoverageRequest(), **PATIENT)
        absent = knowledge_pb2.GetCoverageRequest(collection="absente")
        assert (await refusal(served.knowledge.GetCoverage(absent, **PATIENT))).code() is grpc.StatusCode.NOT_FOUND
        many = knowledge_pb2.GetCoverageRequest(examples=21)
        refused = await refusal(served.knowledge.GetCoverage(many, **PATIENT))
    assert (told.collection, told.document_count, told.whole_count, told.partial_count, told.failed_count) == (
        "default", 2, 1, 1, 0
    )
    (gap,) = told.unread
    assert (gap.reason, gap.document_count, gap.count) == ("pages_without_text", 1, 2)
    assert [(each.source, each.title, each.message) for each in gap.examples] == [("expenses.md", "Frais", "")]
    assert refused.details() == "examples is 21; ask for at most 20"


async def test_what_was_read_of_a_document_is_streamed(handbook: Database) -> None:
    async with gateway(handbook, Scenario(), down=("ingest",)) as served:
        listed = await served.knowledge.ListDocuments(knowledge_pb2.ListDocumentsRequest(), **PATIENT)
        (document,) = [each for each in listed.documents if each.source == "telework.md"]
        request = knowledge_pb2.GetDocumentTextRequest(document_id=document.document_id)
        pieces = [piece async for piece in served.knowledge.GetDocumentText(request, **PATIENT)]
        unknown = knowledge_pb2.GetDocumentTextRequest(document_id="00000000-0000-7000-8000-000000000000")
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            [piece async for piece in served.knowledge.GetDocumentText(unknown, **PATIENT)]
    assert "".join(piece.text for piece in pieces).strip()
    assert refused.value.code() is grpc.StatusCode.NOT_FOUND


@pytest.mark.parametrize("document_id", ["00000000-0000-7000-8000-000000000000", "nonsense", ""])
async def test_a_document_that_is_not_there_is_not_found(handbook: Database, document_id: str) -> None:
    async with gateway(handbook, Scenario()) as served:
        error = await refusal(served.knowledge.GetDocument(
            knowledge_pb2.GetDocumentRequest(document_id=document_id), **PATIENT
        ))
    assert error.code() is grpc.StatusCode.NOT_FOUND


@pytest.mark.parametrize("fields", [{"page_size": 1001}, {"page_token": "nonsense"}])
async def test_a_page_that_means_nothing_is_refused(handbook: Database, fields: dict[str, Any]) -> None:
    async with gateway(handbook, Scenario()) as served:
        for call, request in (
            (served.knowledge.ListDocuments, knowledge_pb2.ListDocumentsRequest(**fields)),
            (served.knowledge.ListCollections, knowledge_pb2.ListCollectionsRequest(**fields)),
        ):
            assert (await refusal(call(request, **PATIENT))).code() is grpc.StatusCode.INVALID_ARGUMENT


async def test_ingest_down_is_said_for_what_needs_it(database: Database) -> None:
    async with gateway(database, Scenario(), down=("ingest",)) as served:
        calls = [
            served.knowledge.UploadDocument(upload(header(), data(b"x")), **PATIENT),
            served.knowledge.GetJob(knowledge_pb2.GetJobRequest(job_id="j"), **PATIENT),
            served.knowledge.CreateCollection(knowledge_pb2.CreateCollectionRequest(name="c"), **PATIENT),
        ]
        for error in await asyncio.gather(*map(refusal, calls)):
            assert error.code() is grpc.StatusCode.UNAVAILABLE
            assert "the ingest service cannot be reached" in str(error.details())


async def test_a_deletion_of_a_collection_has_the_time_that_its_caller_gives_it(database: Database) -> None:
    async with gateway(database, Scenario()) as served:
        deleted = await served.knowledge.DeleteCollection(
            knowledge_pb2.DeleteCollectionRequest(name="lois"), timeout=1800, metadata=TENANT
        )
        (left,) = served.scenario.seconds_left
    assert (deleted.existed, deleted.document_count) == (True, 3)
    assert 1700 < left <= 1800


async def test_documents_with_much_metadata_are_listed_to_the_end_by_a_client_as_it_comes(handbook: Database) -> None:
    """The default page of 110 documents with the most metadata was 20 MB, which no client receives."""
    async with handbook.transaction(tenant="acme") as connection:
        await connection.execute(
            "update documents set metadata = jsonb_build_object('notes', repeat('x', 2 * 1024 * 1024))"
        )
        cursor = await connection.execute("select count(*) from documents")
        [count] = await cursor.fetchone() or (0,)
    assert count > 1
    async with (
        gateway(handbook, Scenario()) as served,
        grpc.aio.insecure_channel(f"127.0.0.1:{served.server.port}") as channel,
    ):
        stub = knowledge_pb2_grpc.KnowledgeServiceStub(channel)
        listed, token = [], ""
        while True:
            page = await stub.ListDocuments(knowledge_pb2.ListDocumentsRequest(page_token=token), **PATIENT)
            listed += [document.document_id for document in page.documents]
            token = page.next_page_token
            if not token:
                break
    assert len(set(listed)) == len(listed) == count
