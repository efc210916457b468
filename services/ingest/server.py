"""`IngestService`: documents in, jobs out."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import grpc.aio
from nats.aio.msg import Msg

from services.chassis import subjects
from services.chassis.errors import InvalidArgument
from services.chassis.jetstream import JetStream
from services.chassis.objects import ObjectStore
from services.chassis.postgres import Database
from services.chassis.serving import received, tenant_of
from services.index import collections, documents, jobs, outbox
from services.index.collections import DEFAULT_COLLECTION
from services.index.jobs import Job
from services.index.outbox import OutboxMessage
from services.ingest.chunking.configuration import ChunkingConfiguration
from services.ingest.intake import Header, Intake
from services.ingest.job_messages import FINISHED, STATUS_NAMES, job_message
from services.ingest.storage import parsed_key
from sourcier.events.v1 import events_pb2
from sourcier.ingest.v1 import ingest_pb2, ingest_pb2_grpc

Context = grpc.aio.ServicerContext[Any, Any]

WATCH_LOOK_SECONDS = 2.0
"""Progress is told on core NATS, which may lose it; whoever watches looks for itself, too."""


class IngestServer(ingest_pb2_grpc.IngestServiceServicer):
    """Proto on one side, intake and index on the other."""

    def __init__(self, intake: Intake, database: Database, objects: ObjectStore, jetstream: JetStream) -> None:
        self._intake = intake
        self._database = database
        self._objects = objects
        self._jetstream = jetstream

    async def Submit(
        self, request_iterator: AsyncIterator[ingest_pb2.SubmitRequest], context: Context
    ) -> ingest_pb2.SubmitResponse:
        """Store a document and answer with its job."""
        tenant = tenant_of(context)
        requests = received(request_iterator, context)
        first = await anext(requests, None)
        if first is None or first.WhichOneof("part") != "header":
            raise InvalidArgument("the first message of an upload is its header", field="header")
        header = _header(first.header, tenant=tenant)
        acceptance = await self._intake.accept(header, _pieces(requests))
        job = await self._job(tenant, acceptance.version.job_id)
        return ingest_pb2.SubmitResponse(job=job, unchanged=acceptance.outcome == "unchanged")

    async def Delete(self, request: ingest_pb2.DeleteRequest, context: Context) -> ingest_pb2.DeleteResponse:
        """Delete a document; what does not exist is deleted already."""
        tenant = tenant_of(context)
        async with self._database.transaction(tenant=tenant) as connection:
            deletion = await documents.delete_document(connection, tenant=tenant, document_id=request.document_id)
            if deletion.existed:
                await outbox.put(connection, self._deleted(tenant, request.document_id))
        await self._delete_objects(deletion.original_keys)
        return ingest_pb2.DeleteResponse(existed=deletion.existed)

    def _deleted(self, tenant: str, document_id: str) -> OutboxMessage:
        deleted = events_pb2.DocumentDeleted(tenant=tenant, document_id=document_id)
        deleted.deleted_at.GetCurrentTime()
        return OutboxMessage(
            tenant=tenant, subject=subjects.DOCUMENT_DELETED.address(self._jetstream.prefix, tenant=tenant),
            payload=deleted.SerializeToString(), message_id=f"{document_id}-deleted",
        )

    async def _delete_objects(self, original_keys: tuple[str, ...]) -> None:
        for key in original_keys:
            await self._objects.delete(key, parsed_key(key))

    async def GetJob(self, request: ingest_pb2.GetJobRequest, context: Context) -> ingest_pb2.GetJobResponse:
        """Return one job."""
        return ingest_pb2.GetJobResponse(job=await self._job(tenant_of(context), request.job_id))

    async def WatchJob(
        self, request: ingest_pb2.WatchJobRequest, context: Context
    ) -> AsyncIterator[ingest_pb2.WatchJobResponse]:
        """Stream a job each time it moves, until it is over."""
        tenant = tenant_of(context)
        moved = asyncio.Event()

        async def heard(message: Msg) -> None:
            moved.set()

        await self._job(tenant, request.job_id)  # an id that names no job is no subject to listen to
        unsubscribe = await self._jetstream.listen(
            subjects.PROGRESS, tenant=tenant, suffix=request.job_id, heard=heard
        )
        try:
            # Looked at once more: what moved before we listened is never told.
            job = await self._job(tenant, request.job_id)
            yield ingest_pb2.WatchJobResponse(job=job)
            while job.status not in FINISHED:
                try:
                    async with asyncio.timeout(WATCH_LOOK_SECONDS):
                        await moved.wait()
                except TimeoutError:
                    pass
                moved.clear()
                latest = await self._job(tenant, request.job_id)
                if latest != job:
                    job = latest
                    yield ingest_pb2.WatchJobResponse(job=job)
        finally:
            await unsubscribe()

    async def ListJobs(self, request: ingest_pb2.ListJobsRequest, context: Context) -> ingest_pb2.ListJobsResponse:
        """List jobs, newest first."""
        tenant = tenant_of(context)
        async with self._database.transaction(tenant=tenant, read_only=True) as connection:
            collection_id = None
            if request.collection:
                found = await collections.get_collection(connection, tenant=tenant, name=request.collection)
                collection_id = str(found.collection_id)
            page = await jobs.list_jobs(
                connection, tenant=tenant, collection_id=collection_id, status=STATUS_NAMES.get(request.status),
                page_size=request.page_size, page_token=request.page_token,
            )
        return ingest_pb2.ListJobsResponse(
            jobs=[job_message(job) for job in page.items], next_page_token=page.next_page_token
        )

    async def CreateCollection(
        self, request: ingest_pb2.CreateCollectionRequest, context: Context
    ) -> ingest_pb2.CreateCollectionResponse:
        """Create a collection."""
        chunking = request.chunking
        created = await self._intake.create_collection(
            tenant=tenant_of(context), name=request.name,
            configuration=ChunkingConfiguration.of(
                method=chunking.method, unit=chunking.unit, target=chunking.target, maximum=chunking.maximum,
                overlap=chunking.overlap if chunking.HasField("overlap") else None,
            ),
        )
        made = created.chunking
        return ingest_pb2.CreateCollectionResponse(
            collection_id=str(created.collection_id), space_id=created.space_id,
            chunking=ingest_pb2.Chunking(
                method=made.method, unit=made.unit, target=made.target, overlap=made.overlap, maximum=made.maximum
            ),
        )

    async def DeleteCollection(
        self, request: ingest_pb2.DeleteCollectionRequest, context: Context
    ) -> ingest_pb2.DeleteCollectionResponse:
        """Delete a collection with its documents."""
        tenant = tenant_of(context)
        async with self._database.transaction(tenant=tenant) as connection:
            deletion = await collections.delete_collection(connection, tenant=tenant, name=request.name)
        await self._delete_objects(deletion.original_keys)
        return ingest_pb2.DeleteCollectionResponse(
            existed=deletion.existed, document_count=deletion.document_count
        )

    async def _job(self, tenant: str, job_id: str) -> ingest_pb2.Job:
        async with self._database.transaction(tenant=tenant, read_only=True) as connection:
            job: Job = await jobs.get_job(connection, tenant=tenant, job_id=job_id)
        return job_message(job)


def _header(message: ingest_pb2.DocumentHeader, *, tenant: str) -> Header:
    return Header(
        tenant=tenant, collection=message.collection or DEFAULT_COLLECTION, filename=message.filename,
        content_type=message.content_type, title=message.title, source=message.source or message.filename,
        lane=subjects.checked_lane(message.lane), metadata=dict(message.metadata), category=message.category,
    )


async def _pieces(requests: AsyncIterator[ingest_pb2.SubmitRequest]) -> AsyncIterator[bytes]:
    async for request in requests:
        if request.WhichOneof("part") != "data":
            raise InvalidArgument("only the first message of an upload is a header", field="header")
        yield request.data
    # grpc.aio ends the iteration of a cancelled stream like that of a whole one; the cancellation itself comes one turn
    # of the loop later. Without it half a file would be accepted as a document.
    await asyncio.sleep(0)
