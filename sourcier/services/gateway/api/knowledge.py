"""`KnowledgeService`: collections, documents and jobs. It reads the index and asks ingest for everything else."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from datetime import UTC, datetime
from typing import Any

import grpc.aio

from sourcier.gateway.v1 import knowledge_pb2, knowledge_pb2_grpc
from sourcier.ingest.v1 import ingest_pb2
from sourcier.services.chassis.errors import DocumentRejected, FailedPrecondition, InvalidArgument
from sourcier.services.chassis.grpc import channels
from sourcier.services.chassis.grpc.channels import Deadline
from sourcier.services.chassis.grpc.limits import long_call
from sourcier.services.chassis.grpc.serving import received, require, tenant_of
from sourcier.services.chassis.postgres.database import Connection, Database
from sourcier.services.gateway.access.daily import DailyUse, Measure
from sourcier.services.gateway.api.access import grant_to_creator
from sourcier.services.gateway.api.originals import Originals
from sourcier.services.gateway.contract.conflicts import conflicts_message
from sourcier.services.gateway.contract.filters import condition_of
from sourcier.services.gateway.contract.knowledge import (
    collection_message,
    coverage_message,
    document_message,
    internal_change,
    internal_creation,
    internal_header,
    job_from_internal,
)
from sourcier.services.gateway.peers.services import Peers
from sourcier.services.gateway.times.conflicts import Conflicts
from sourcier.services.index.collections import collections
from sourcier.services.index.documents import coverage, documents, listing, texts
from sourcier.services.index.documents.listing import Listed, Order
from sourcier.services.index.filtering.checking import check_condition
from sourcier.services.index.filtering.compiling import compiled
from sourcier.services.index.times import mending

Context = grpc.aio.ServicerContext[Any, Any]

PEER = "ingest"
CALL_SECONDS_MAX = 60.0
UPLOAD_SECONDS_MAX = 600.0
DELETION_SECONDS_MAX = 24 * 3600.0
WATCH_SECONDS_MAX = 3600.0
TEXT_BYTES_MAX = 1024 * 1024
CONFLICTS, CONFLICTS_MAX = 100, 1_000
EXAMPLES, EXAMPLES_MAX = 3, 20
"""Documents for each reason: with all reasons and the longest names they stay within a message."""
COLLECTIONS_MAX = 1_000
"""Whose documents are looked at for what a condition names."""
_ORDERS: dict[int, Order] = {
    knowledge_pb2.DOCUMENT_ORDER_TITLE: "title", knowledge_pb2.DOCUMENT_ORDER_DATE: "date",
    knowledge_pb2.DOCUMENT_ORDER_INDEXED: "indexed", knowledge_pb2.DOCUMENT_ORDER_SIZE: "size",
}


class KnowledgeServer(knowledge_pb2_grpc.KnowledgeServiceServicer):
    """The public face of the documents."""

    def __init__(self, database: Database, peers: Peers, daily: DailyUse) -> None:
        self._database = database
        self._daily = daily
        self._peers = peers
        self._originals = Originals(database, peers)
        self._conflicts = Conflicts(database)

    async def CreateCollection(
        self, request: knowledge_pb2.CreateCollectionRequest, context: Context
    ) -> knowledge_pb2.CreateCollectionResponse:
        """Create a collection."""
        tenant = tenant_of(context)
        await self._ask(context, self._peers.ingest.CreateCollection, internal_creation(request))
        async with self._database.transaction(tenant=tenant) as connection:
            created = await collections.get_collection(connection, tenant=tenant, name=request.name)
            await grant_to_creator(connection, tenant=tenant, collection_id=created.collection_id)
            (held,) = await collections.count_held(connection, tenant=tenant, of=[created])
        return knowledge_pb2.CreateCollectionResponse(collection=collection_message(created, held))

    async def ListCollections(
        self, request: knowledge_pb2.ListCollectionsRequest, context: Context
    ) -> knowledge_pb2.ListCollectionsResponse:
        """List the collections."""
        tenant = tenant_of(context)
        async with self._database.transaction(tenant=tenant, read_only=True) as connection:
            page = await collections.list_collections(
                connection, tenant=tenant, page_size=request.page_size, page_token=request.page_token
            )
            held = await collections.count_held(connection, tenant=tenant, of=page.items)
        return knowledge_pb2.ListCollectionsResponse(
            collections=map(collection_message, page.items, held), next_page_token=page.next_page_token
        )

    @long_call
    async def DeleteCollection(
        self, request: knowledge_pb2.DeleteCollectionRequest, context: Context
    ) -> knowledge_pb2.DeleteCollectionResponse:
        """Delete a collection with all its documents."""
        require(bool(request.name), "name is empty; name the collection", field="name")
        response: ingest_pb2.DeleteCollectionResponse = await self._ask(
            context, self._peers.ingest.DeleteCollection, ingest_pb2.DeleteCollectionRequest(name=request.name),
            cap_seconds=DELETION_SECONDS_MAX,
        )
        return knowledge_pb2.DeleteCollectionResponse(
            document_count=response.document_count, existed=response.existed
        )

    async def UpdateCollection(
        self, request: knowledge_pb2.UpdateCollectionRequest, context: Context
    ) -> knowledge_pb2.UpdateCollectionResponse:
        """Change how a collection's documents are cut and kept from now on."""
        require(bool(request.name), "name is empty; name the collection", field="name")
        tenant = tenant_of(context)
        response: ingest_pb2.UpdateCollectionResponse = await self._ask(
            context, self._peers.ingest.UpdateCollection, internal_change(request)
        )
        async with self._database.transaction(tenant=tenant, read_only=True) as connection:
            updated = await collections.get_collection(connection, tenant=tenant, name=request.name)
            (held,) = await collections.count_held(connection, tenant=tenant, of=[updated])
        return knowledge_pb2.UpdateCollectionResponse(
            collection=collection_message(updated, held), outdated_count=response.outdated_count
        )

    async def UploadDocument(
        self, request_iterator: AsyncIterator[knowledge_pb2.UploadDocumentRequest], context: Context
    ) -> knowledge_pb2.UploadDocumentResponse:
        """Relay a document to ingest and answer with its job."""
        requests = received(request_iterator, context)
        first = await anext(requests, None)
        if first is None or first.WhichOneof("part") != "header":
            raise InvalidArgument("the first message of an upload is its header", field="header")
        response = await self._submit(context, first.header, _pieces(requests))
        return knowledge_pb2.UploadDocumentResponse(
            job=job_from_internal(response.job), unchanged=response.unchanged, renamed=response.renamed
        )

    @long_call
    async def IngestText(
        self, request: knowledge_pb2.IngestTextRequest, context: Context
    ) -> knowledge_pb2.IngestTextResponse:
        """Ingest a text and wait until it can be found."""
        require(bool(request.text.strip()), "text is empty", field="text")
        body = request.text.encode()
        require(len(body) <= TEXT_BYTES_MAX,
                f"text is {len(body):,} bytes; send at most {TEXT_BYTES_MAX:,}, or upload a file", field="text")
        header = knowledge_pb2.DocumentHeader()
        header.CopyFrom(request.header)
        require(bool(header.source or header.filename), "source is empty; give the text a name", field="header.source")
        header.source = header.source or header.filename
        header.filename = header.filename or f"{header.source}.txt"
        header.content_type = header.content_type or "text/plain; charset=utf-8"

        async def pieces() -> AsyncIterator[bytes]:
            yield body

        submitted = await self._submit(context, header, pieces())
        job = await self._finished_job(context, submitted.job)
        if job.status == ingest_pb2.JOB_STATUS_FAILED:
            kind = DocumentRejected if job.error.reason.startswith("DOCUMENT_") else FailedPrecondition
            raise kind(job.error.message, field="text", reason=job.error.reason)
        return knowledge_pb2.IngestTextResponse(
            document=await self._document(tenant_of(context), job.document_id), job=job_from_internal(job),
            unchanged=submitted.unchanged,
        )

    async def GetDocument(
        self, request: knowledge_pb2.GetDocumentRequest, context: Context
    ) -> knowledge_pb2.GetDocumentResponse:
        """Return one document."""
        document = await self._document(tenant_of(context), request.document_id)
        return knowledge_pb2.GetDocumentResponse(document=document)

    async def GetDocumentText(
        self, request: knowledge_pb2.GetDocumentTextRequest, context: Context
    ) -> AsyncIterator[knowledge_pb2.GetDocumentTextResponse]:
        """Stream what was read of a document."""
        tenant, joiner, after = tenant_of(context), texts.TextJoiner(), -1
        while True:
            # One transaction for each part: a slow reader holds none.
            async with self._database.transaction(tenant=tenant, read_only=True) as connection:
                chunks = await texts.read_chunks(
                    connection, tenant=tenant, document_id=request.document_id, after=after
                )
            for piece in joiner.pieces(chunks):
                yield knowledge_pb2.GetDocumentTextResponse(text=piece.text, page=piece.page)
            if len(chunks) < texts.CHUNKS_MAX:
                return
            after = chunks[-1].chunk_index

    async def GetOriginal(
        self, request: knowledge_pb2.GetOriginalRequest, context: Context
    ) -> AsyncIterator[knowledge_pb2.GetOriginalResponse]:
        """Stream the file that a document was read from."""
        async with aclosing(self._originals.original(request, context)) as responses:
            async for response in responses:
                yield response

    async def GetPageImage(
        self, request: knowledge_pb2.GetPageImageRequest, context: Context
    ) -> AsyncIterator[knowledge_pb2.GetPageImageResponse]:
        """Draw a page, and mark on it where a chunk stands."""
        async with aclosing(self._originals.page_image(request, context)) as responses:
            async for response in responses:
                yield response

    async def LocatePassage(
        self, request: knowledge_pb2.LocatePassageRequest, context: Context
    ) -> knowledge_pb2.LocatePassageResponse:
        """Tell where a chunk, or a part of its text, stands."""
        return await self._originals.locate(request, context)

    async def ListDocuments(
        self, request: knowledge_pb2.ListDocumentsRequest, context: Context
    ) -> knowledge_pb2.ListDocumentsResponse:
        """List documents."""
        tenant = tenant_of(context)
        async with self._database.transaction(tenant=tenant, read_only=True) as connection:
            listed = await self._listed(connection, request, tenant=tenant)
            page = await listing.list_documents(
                connection, tenant=tenant, listed=listed, page_size=request.page_size, page_token=request.page_token
            )
            count = None if request.page_token or not listed.narrows else await listing.count_documents(
                connection, tenant=tenant, listed=listed
            )
        return knowledge_pb2.ListDocumentsResponse(
            documents=map(document_message, page.items), next_page_token=page.next_page_token, document_count=count
        )

    async def _listed(
        self, connection: Connection, request: knowledge_pb2.ListDocumentsRequest, *, tenant: str
    ) -> Listed:
        collection_id: str | None = None
        names = [request.collection]
        if request.collection:
            found = await collections.get_collection(connection, tenant=tenant, name=request.collection)
            collection_id = found.collection_id
        where = compiled(condition_of(request.where)) if request.HasField("where") else None
        if where is not None:
            if not request.collection:
                names = await collections.names_with_documents(connection, tenant=tenant, limit=COLLECTIONS_MAX + 1)
            # Of more collections than that some are not looked into: a field of theirs would be called unknown.
            if len(names) <= COLLECTIONS_MAX:
                await check_condition(connection, tenant=tenant, collections=names, condition=where.condition)
        return Listed(
            collection_id=collection_id, where=where, name=request.name.strip(),
            order=_ORDERS.get(request.order, "came"),
        )

    @long_call
    async def GetCoverage(
        self, request: knowledge_pb2.GetCoverageRequest, context: Context
    ) -> knowledge_pb2.GetCoverageResponse:
        """Tell what became of every document of a collection."""
        tenant = tenant_of(context)
        require(request.examples <= EXAMPLES_MAX, f"examples is {request.examples}; ask for at most {EXAMPLES_MAX}",
                field="examples")
        async with self._database.transaction(tenant=tenant, read_only=True) as connection:
            found = await collections.get_collection(connection, tenant=tenant, name=request.collection)
            looked = await coverage.look(
                connection, tenant=tenant, collection_id=found.collection_id, examples=request.examples or EXAMPLES
            )
        return coverage_message(found.name, looked)

    async def SetDocumentDate(
        self, request: knowledge_pb2.SetDocumentDateRequest, context: Context
    ) -> knowledge_pb2.SetDocumentDateResponse:
        """Set a date of a document, or go back to the one that was read."""
        tenant, kind = tenant_of(context), mending.kind_of(request.kind)
        period = mending.period_of(request.date) if request.date else None
        async with self._database.transaction(tenant=tenant) as connection:
            await mending.set_date(
                connection, tenant=tenant, document_id=request.document_id, kind=kind, period=period
            )
        return knowledge_pb2.SetDocumentDateResponse(document=await self._document(tenant, request.document_id))

    async def SupersedeDocument(
        self, request: knowledge_pb2.SupersedeDocumentRequest, context: Context
    ) -> knowledge_pb2.SupersedeDocumentResponse:
        """Say that a document replaces another one, or that it does not."""
        tenant = tenant_of(context)
        async with self._database.transaction(tenant=tenant) as connection:
            await mending.supersede(
                connection, tenant=tenant, document_id=request.document_id, superseded_id=request.superseded_id,
                removed=request.remove,
            )
        return knowledge_pb2.SupersedeDocumentResponse(document=await self._document(tenant, request.document_id))

    @long_call
    async def ListConflicts(
        self, request: knowledge_pb2.ListConflictsRequest, context: Context
    ) -> knowledge_pb2.ListConflictsResponse:
        """Find passages that say the same of another figure or date."""
        require(bool(request.collection), "collection is empty; name the collection", field="collection")
        require(request.limit <= CONFLICTS_MAX, f"limit is {request.limit}; ask for at most {CONFLICTS_MAX}",
                field="limit")
        found = await self._conflicts.find(
            tenant=tenant_of(context), collection=request.collection, today=datetime.now(UTC).date()
        )
        return conflicts_message(found, limit=request.limit or CONFLICTS)

    async def DeleteDocument(
        self, request: knowledge_pb2.DeleteDocumentRequest, context: Context
    ) -> knowledge_pb2.DeleteDocumentResponse:
        """Delete a document with all its versions."""
        response: ingest_pb2.DeleteResponse = await self._ask(
            context, self._peers.ingest.Delete, ingest_pb2.DeleteRequest(document_id=request.document_id)
        )
        return knowledge_pb2.DeleteDocumentResponse(existed=response.existed)

    async def GetJob(
        self, request: knowledge_pb2.GetJobRequest, context: Context
    ) -> knowledge_pb2.GetJobResponse:
        """Return one job."""
        response: ingest_pb2.GetJobResponse = await self._ask(
            context, self._peers.ingest.GetJob, ingest_pb2.GetJobRequest(job_id=request.job_id)
        )
        return knowledge_pb2.GetJobResponse(job=job_from_internal(response.job))

    async def ListJobs(
        self, request: knowledge_pb2.ListJobsRequest, context: Context
    ) -> knowledge_pb2.ListJobsResponse:
        """List jobs, newest first."""
        response: ingest_pb2.ListJobsResponse = await self._ask(
            context, self._peers.ingest.ListJobs,
            ingest_pb2.ListJobsRequest(
                collection=request.collection, status=int(request.status), page_size=request.page_size,  # type: ignore[arg-type]
                page_token=request.page_token,
            ),
        )
        return knowledge_pb2.ListJobsResponse(
            jobs=map(job_from_internal, response.jobs), next_page_token=response.next_page_token
        )

    async def WatchJob(
        self, request: knowledge_pb2.WatchJobRequest, context: Context
    ) -> AsyncIterator[knowledge_pb2.WatchJobResponse]:
        """Stream a job each time it moves."""
        async with channels.stream(
            self._peers.ingest.WatchJob, ingest_pb2.WatchJobRequest(job_id=request.job_id), peer=PEER,
            tenant=tenant_of(context), deadline=Deadline.of(context, default_seconds=WATCH_SECONDS_MAX),
            cap_seconds=WATCH_SECONDS_MAX,
        ) as responses:
            async for response in responses:
                yield knowledge_pb2.WatchJobResponse(job=job_from_internal(response.job))

    async def _ask(
        self, context: Context, method: Any, request: Any, *, cap_seconds: float = CALL_SECONDS_MAX
    ) -> Any:
        return await channels.call(
            method, request, peer=PEER, tenant=tenant_of(context), deadline=Deadline.of(context),
            cap_seconds=cap_seconds,
        )

    async def _submit(
        self, context: Context, header: knowledge_pb2.DocumentHeader, pieces: AsyncIterator[bytes]
    ) -> ingest_pb2.SubmitResponse:
        tenant = tenant_of(context)
        left = await self._daily.check(Measure.UPLOAD_BYTES, tenant=tenant)

        async def requests() -> AsyncGenerator[ingest_pb2.SubmitRequest, None]:
            yield ingest_pb2.SubmitRequest(header=internal_header(header))
            async for piece in self._daily.pieces(pieces, left=left, tenant=tenant):
                yield ingest_pb2.SubmitRequest(data=piece)

        response: ingest_pb2.SubmitResponse = await channels.upload(
            self._peers.ingest.Submit, requests(), peer=PEER, tenant=tenant_of(context),
            deadline=Deadline.of(context, default_seconds=UPLOAD_SECONDS_MAX), cap_seconds=UPLOAD_SECONDS_MAX,
        )
        return response

    async def _finished_job(self, context: Context, job: ingest_pb2.Job) -> ingest_pb2.Job:
        async with channels.stream(
            self._peers.ingest.WatchJob, ingest_pb2.WatchJobRequest(job_id=job.job_id), peer=PEER,
            tenant=tenant_of(context), deadline=Deadline.of(context), cap_seconds=WATCH_SECONDS_MAX,
        ) as responses:
            async for response in responses:
                job = response.job
        return job

    async def _document(self, tenant: str, document_id: str) -> knowledge_pb2.Document:
        async with self._database.transaction(tenant=tenant, read_only=True) as connection:
            document = await documents.get_document(connection, tenant=tenant, document_id=document_id)
        return document_message(document)


async def _pieces(requests: AsyncIterator[knowledge_pb2.UploadDocumentRequest]) -> AsyncIterator[bytes]:
    async for request in requests:
        if request.WhichOneof("part") != "data":
            raise InvalidArgument("only the first message of an upload is a header", field="header")
        yield request.data
    # A cancelled stream ends like a whole one; the cancellation itself comes one turn of the loop later.
    await asyncio.sleep(0)
