"""`IngestService`: documents in, jobs out."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any

import grpc.aio
from nats.aio.msg import Msg

from sourcier.events.v1 import events_pb2
from sourcier.ingest.v1 import ingest_pb2, ingest_pb2_grpc
from sourcier.services.chassis.errors import InvalidArgument
from sourcier.services.chassis.grpc.limits import long_call
from sourcier.services.chassis.grpc.serving import received, tenant_of
from sourcier.services.chassis.ids import is_id
from sourcier.services.chassis.lifecycle import first_of
from sourcier.services.chassis.queue import subjects
from sourcier.services.index.collections import collections, jobs
from sourcier.services.index.collections.collections import DEFAULT_COLLECTION
from sourcier.services.ingest.api.erasing import Erasures, check_tenant
from sourcier.services.ingest.api.job_messages import FINISHED, STATUS_NAMES, job_message
from sourcier.services.ingest.api.operation_messages import (
    STATE_NAMES,
    chunking_configuration,
    chunking_message,
    dead_letter_message,
    letter_filter,
    progress_message,
    retrieval_settings,
)
from sourcier.services.ingest.api.operations import Operations
from sourcier.services.ingest.api.watched import list_watched
from sourcier.services.ingest.components import Parts
from sourcier.services.ingest.intake.intake import Header

Context = grpc.aio.ServicerContext[Any, Any]

WATCH_PAUSE_SECONDS = 0.2
WATCH_LOOK_SECONDS = 2.0
"""Progress is told on core NATS, which may lose it; whoever watches looks for itself, too."""


class IngestServer(ingest_pb2_grpc.IngestServiceServicer):
    """Proto on one side, intake and index on the other."""

    def __init__(self, parts: Parts) -> None:
        self._intake = parts.intake
        self._database = parts.database
        self._jetstream = parts.jetstream
        self._relay = parts.relay
        self._removal = parts.removal
        self._erasures = Erasures(parts)
        self._rules = parts.buckets.rules
        self._operations = Operations(
            parts.database, parts.relay, parts.reconciler, prefix=parts.jetstream.prefix,
            spaces=parts.spaces,
        )

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
        accepted = await self._intake.accept(header, _pieces(requests))
        return ingest_pb2.SubmitResponse(
            job=job_message(accepted.job), unchanged=accepted.outcome == "unchanged", renamed=accepted.renamed
        )

    async def Delete(self, request: ingest_pb2.DeleteRequest, context: Context) -> ingest_pb2.DeleteResponse:
        """Delete a document; what does not exist is deleted already."""
        tenant = tenant_of(context)
        async with self._database.transaction(tenant=tenant) as connection:
            deletion = await self._removal.remove_rows(connection, tenant=tenant, document_id=request.document_id)
        self._relay.wake()
        await self._removal.remove_files(deletion.file_removals, tenant=tenant)
        return ingest_pb2.DeleteResponse(existed=deletion.existed)

    async def GetJob(self, request: ingest_pb2.GetJobRequest, context: Context) -> ingest_pb2.GetJobResponse:
        """Return one job."""
        return ingest_pb2.GetJobResponse(job=await self._job(tenant_of(context), request.job_id))

    async def WatchJob(
        self, request: ingest_pb2.WatchJobRequest, context: Context
    ) -> AsyncIterator[ingest_pb2.WatchJobResponse]:
        """Stream a job each time it moves, until it is over."""
        tenant = tenant_of(context)
        moved, ended = asyncio.Event(), asyncio.Event()

        async def heard(message: Msg) -> None:
            if events_pb2.JobProgress.FromString(message.data).finished:
                ended.set()
            moved.set()

        if not is_id(request.job_id):
            raise jobs.no_such_job(request.job_id)  # nor is it a subject to listen to
        # Before the first look: what moved before we listened is never told.
        unsubscribe = await self._jetstream.listen(
            subjects.PROGRESS, tenant=tenant, suffix=request.job_id, heard=heard
        )
        try:
            job = await self._job(tenant, request.job_id)
            yield ingest_pb2.WatchJobResponse(job=job)
            while job.status not in FINISHED:
                await first_of(moved, ended, seconds=WATCH_LOOK_SECONDS)
                # Stages that follow close on one another are looked at once; the end is looked at when it comes.
                await first_of(ended, seconds=WATCH_PAUSE_SECONDS)
                moved.clear()
                ended.clear()
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
        created = await self._intake.create_collection(
            tenant=tenant_of(context), name=request.name, configuration=chunking_configuration(request.chunking),
            retention_days=request.retention_days, retrieval=retrieval_settings(request.retrieval),
        )
        return ingest_pb2.CreateCollectionResponse(
            collection_id=created.collection_id, space_id=created.space_id,
            chunking=chunking_message(created.chunking), retention_days=created.retention_days,
        )

    @long_call
    async def DeleteCollection(
        self, request: ingest_pb2.DeleteCollectionRequest, context: Context
    ) -> ingest_pb2.DeleteCollectionResponse:
        """Delete a collection with its documents, page by page."""
        removal = await self._removal.remove_collection(tenant=tenant_of(context), name=request.name)
        return ingest_pb2.DeleteCollectionResponse(existed=removal.existed, document_count=removal.document_count)

    async def UpdateCollection(
        self, request: ingest_pb2.UpdateCollectionRequest, context: Context
    ) -> ingest_pb2.UpdateCollectionResponse:
        """Change how a collection's documents are cut and kept from now on."""
        updated = await self._operations.update_collection(
            tenant=tenant_of(context), name=request.name,
            configuration=chunking_configuration(request.chunking) if request.HasField("chunking") else None,
            retention_days=request.retention_days if request.HasField("retention_days") else None,
            retrieval=retrieval_settings(request.retrieval), reset_retrieval=request.reset_retrieval,
        )
        return ingest_pb2.UpdateCollectionResponse(
            chunking=chunking_message(updated.chunking), outdated_count=updated.outdated_count,
            retention_days=updated.retention_days,
        )

    async def ListDeadLetters(
        self, request: ingest_pb2.ListDeadLettersRequest, context: Context
    ) -> ingest_pb2.ListDeadLettersResponse:
        """List dead letters, newest first."""
        page = await self._operations.list_dead_letters(
            tenant=tenant_of(context), state=STATE_NAMES.get(request.state, ""), which=letter_filter(request.filter),
            page_size=request.page_size, page_token=request.page_token,
        )
        return ingest_pb2.ListDeadLettersResponse(
            dead_letters=map(dead_letter_message, page.items), next_page_token=page.next_page_token
        )

    async def GetDeadLetter(
        self, request: ingest_pb2.GetDeadLetterRequest, context: Context
    ) -> ingest_pb2.GetDeadLetterResponse:
        """Return one dead letter."""
        letter = await self._operations.get_dead_letter(
            tenant=tenant_of(context), dead_letter_id=request.dead_letter_id
        )
        return ingest_pb2.GetDeadLetterResponse(dead_letter=dead_letter_message(letter))

    @long_call
    async def ReplayDeadLetters(
        self, request: ingest_pb2.ReplayDeadLettersRequest, context: Context
    ) -> ingest_pb2.ReplayDeadLettersResponse:
        """Send dead letters through the stage that gave up, again."""
        outcome = await self._operations.replay(
            tenant=tenant_of(context), dead_letter_ids=request.dead_letter_ids, which=letter_filter(request.filter)
        )
        return ingest_pb2.ReplayDeadLettersResponse(replayed_count=outcome.done, skipped_count=outcome.skipped)

    @long_call
    async def DiscardDeadLetters(
        self, request: ingest_pb2.DiscardDeadLettersRequest, context: Context
    ) -> ingest_pb2.DiscardDeadLettersResponse:
        """Close dead letters without trying again."""
        outcome = await self._operations.discard(
            tenant=tenant_of(context), dead_letter_ids=request.dead_letter_ids, which=letter_filter(request.filter)
        )
        return ingest_pb2.DiscardDeadLettersResponse(discarded_count=outcome.done)

    async def Reconcile(
        self, request: ingest_pb2.ReconcileRequest, context: Context
    ) -> AsyncIterator[ingest_pb2.ReconcileResponse]:
        """Compare the watched buckets with the manifest, and stream how far it is."""
        async with aclosing(self._operations.reconcile(
            tenant=tenant_of(context), bucket=request.bucket, dry_run=request.dry_run
        )) as comparison:
            async for progress in comparison:
                yield progress_message(progress)

    async def ListBuckets(
        self, request: ingest_pb2.ListBucketsRequest, context: Context
    ) -> ingest_pb2.ListBucketsResponse:
        """List what is watched of the buckets."""
        return ingest_pb2.ListBucketsResponse(
            buckets=await list_watched(self._database, self._rules, tenant=tenant_of(context))
        )

    @long_call
    async def Reprocess(
        self, request: ingest_pb2.ReprocessRequest, context: Context
    ) -> ingest_pb2.ReprocessResponse:
        """Send documents through the pipeline again from a stage on."""
        document_count = await self._operations.reprocess(
            tenant=tenant_of(context), collection=request.collection, from_stage=request.from_stage,
            only_outdated=request.only_outdated,
        )
        return ingest_pb2.ReprocessResponse(document_count=document_count)

    async def EraseTenant(
        self, request: ingest_pb2.EraseTenantRequest, context: Context
    ) -> AsyncIterator[ingest_pb2.EraseTenantResponse]:
        """Delete everything that is the tenant's, and stream how far it is; or count it."""
        tenant = tenant_of(context)
        check_tenant(request.tenant, tenant=tenant)
        if request.dry_run:
            yield await self._erasures.count(tenant=tenant)
            return
        async for progress in self._erasures.erase(tenant=tenant):
            yield progress

    async def _job(self, tenant: str, job_id: str) -> ingest_pb2.Job:
        return job_message(await jobs.look_at_job(self._database, tenant=tenant, job_id=job_id))


def _header(message: ingest_pb2.DocumentHeader, *, tenant: str) -> Header:
    return Header(
        tenant=tenant, collection=message.collection or DEFAULT_COLLECTION, filename=message.filename,
        content_type=message.content_type, title=message.title, source=message.source or message.filename,
        lane=subjects.checked_lane(message.lane), metadata=dict(message.metadata), category=message.category,
        source_root=message.source_root, renamed_from=message.renamed_from,
    )


async def _pieces(requests: AsyncIterator[ingest_pb2.SubmitRequest]) -> AsyncIterator[bytes]:
    async for request in requests:
        if request.WhichOneof("part") != "data":
            raise InvalidArgument("only the first message of an upload is a header", field="header")
        yield request.data
    # grpc.aio ends the iteration of a cancelled stream like that of a whole one; the cancellation itself comes one turn
    # of the loop later. Without it half a file would be accepted as a document.
    await asyncio.sleep(0)
