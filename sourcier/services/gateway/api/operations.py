"""`OperationsService`: failures, comparisons with the buckets, indexing again. It asks ingest for everything."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import grpc.aio

from sourcier.gateway.v1 import operations_pb2, operations_pb2_grpc
from sourcier.ingest.v1 import ingest_pb2
from sourcier.services.chassis.errors import ServiceError
from sourcier.services.chassis.grpc import channels
from sourcier.services.chassis.grpc.channels import Deadline
from sourcier.services.chassis.grpc.limits import long_call
from sourcier.services.chassis.grpc.serving import require, tenant_of
from sourcier.services.gateway.api.diagnosis import Diagnosis
from sourcier.services.gateway.contract.operations import (
    FIELDS,
    bucket_message,
    erasure_message,
    failure_message,
    internal_filter,
    internal_state,
    progress_message,
)
from sourcier.services.gateway.peers.services import Peers

Context = grpc.aio.ServicerContext[Any, Any]

PEER = "ingest"
CALL_SECONDS_MAX = 60.0
LAST_FAILURES = 10
MANY_SECONDS_MAX = 3600.0
"""For what is about any number of documents; the caller's deadline may be shorter."""


class OperationsServer(operations_pb2_grpc.OperationsServiceServicer):
    """The public face of what keeps the index right."""

    def __init__(self, peers: Peers, diagnosis: Diagnosis) -> None:
        self._peers = peers
        self._diagnosis = diagnosis

    async def ListFailures(
        self, request: operations_pb2.ListFailuresRequest, context: Context
    ) -> operations_pb2.ListFailuresResponse:
        """List documents that could not be indexed."""
        response: ingest_pb2.ListDeadLettersResponse = await self._ask(
            context, self._peers.ingest.ListDeadLetters,
            ingest_pb2.ListDeadLettersRequest(
                state=internal_state(request.state), filter=internal_filter(request.filter),
                page_size=request.page_size, page_token=request.page_token,
            ),
        )
        return operations_pb2.ListFailuresResponse(
            failures=map(failure_message, response.dead_letters), next_page_token=response.next_page_token
        )

    async def GetFailure(
        self, request: operations_pb2.GetFailureRequest, context: Context
    ) -> operations_pb2.GetFailureResponse:
        """Return one failure."""
        require(bool(request.failure_id), "failure_id is empty; name the failure", field="failure_id")
        response: ingest_pb2.GetDeadLetterResponse = await self._ask(
            context, self._peers.ingest.GetDeadLetter,
            ingest_pb2.GetDeadLetterRequest(dead_letter_id=request.failure_id),
        )
        return operations_pb2.GetFailureResponse(failure=failure_message(response.dead_letter))

    @long_call
    async def ReplayFailures(
        self, request: operations_pb2.ReplayFailuresRequest, context: Context
    ) -> operations_pb2.ReplayFailuresResponse:
        """Send documents through the stage that gave up, again."""
        response: ingest_pb2.ReplayDeadLettersResponse = await self._ask(
            context, self._peers.ingest.ReplayDeadLetters,
            ingest_pb2.ReplayDeadLettersRequest(
                dead_letter_ids=request.failure_ids, filter=internal_filter(request.filter)
            ),
            cap_seconds=MANY_SECONDS_MAX,
        )
        return operations_pb2.ReplayFailuresResponse(
            replayed_count=response.replayed_count, skipped_count=response.skipped_count
        )

    @long_call
    async def DiscardFailures(
        self, request: operations_pb2.DiscardFailuresRequest, context: Context
    ) -> operations_pb2.DiscardFailuresResponse:
        """Close failures without trying again."""
        response: ingest_pb2.DiscardDeadLettersResponse = await self._ask(
            context, self._peers.ingest.DiscardDeadLetters,
            ingest_pb2.DiscardDeadLettersRequest(
                dead_letter_ids=request.failure_ids, filter=internal_filter(request.filter)
            ),
            cap_seconds=MANY_SECONDS_MAX,
        )
        return operations_pb2.DiscardFailuresResponse(discarded_count=response.discarded_count)

    async def Reconcile(
        self, request: operations_pb2.ReconcileRequest, context: Context
    ) -> AsyncIterator[operations_pb2.ReconcileResponse]:
        """Compare the watched buckets with what was taken in, and stream how far it is."""
        async with channels.stream(
            self._peers.ingest.Reconcile,
            ingest_pb2.ReconcileRequest(bucket=request.bucket, dry_run=request.dry_run), peer=PEER,
            tenant=tenant_of(context), deadline=Deadline.of(context, default_seconds=MANY_SECONDS_MAX),
            cap_seconds=MANY_SECONDS_MAX,
        ) as responses:
            async for response in responses:
                yield progress_message(response)

    async def ListBuckets(
        self, request: operations_pb2.ListBucketsRequest, context: Context
    ) -> operations_pb2.ListBucketsResponse:
        """List what is watched of the buckets."""
        response: ingest_pb2.ListBucketsResponse = await self._ask(
            context, self._peers.ingest.ListBuckets, ingest_pb2.ListBucketsRequest()
        )
        return operations_pb2.ListBucketsResponse(buckets=map(bucket_message, response.buckets))

    @long_call
    async def Reprocess(
        self, request: operations_pb2.ReprocessRequest, context: Context
    ) -> operations_pb2.ReprocessResponse:
        """Send documents through the pipeline again from a stage on."""
        response: ingest_pb2.ReprocessResponse = await self._ask(
            context, self._peers.ingest.Reprocess,
            ingest_pb2.ReprocessRequest(
                collection=request.collection, from_stage=request.from_stage, only_outdated=request.only_outdated
            ),
            cap_seconds=MANY_SECONDS_MAX,
        )
        return operations_pb2.ReprocessResponse(document_count=response.document_count)

    async def EraseTenant(
        self, request: operations_pb2.EraseTenantRequest, context: Context
    ) -> AsyncIterator[operations_pb2.EraseTenantResponse]:
        """Have everything deleted that is the caller's tenant's, and stream how far it is."""
        tenant = tenant_of(context)
        require(request.tenant == tenant,
                f"tenant is {request.tenant[:60]!r}, and you are of {tenant!r}; write out the name of your own tenant",
                field="tenant")
        async with channels.stream(
            self._peers.ingest.EraseTenant,
            ingest_pb2.EraseTenantRequest(tenant=request.tenant, dry_run=request.dry_run), peer=PEER,
            tenant=tenant, deadline=Deadline.of(context, default_seconds=MANY_SECONDS_MAX),
            cap_seconds=MANY_SECONDS_MAX,
        ) as responses:
            async for response in responses:
                yield erasure_message(response)

    async def Diagnose(
        self, request: operations_pb2.DiagnoseRequest, context: Context
    ) -> operations_pb2.DiagnoseResponse:
        """Look whether all works that the caller's questions and documents rest on."""
        return operations_pb2.DiagnoseResponse(
            checks=await self._diagnosis.checks(tenant=tenant_of(context), deadline=Deadline.of(context))
        )

    async def GetStatistics(
        self, request: operations_pb2.GetStatisticsRequest, context: Context
    ) -> operations_pb2.GetStatisticsResponse:
        """Count the caller's documents, chunks and jobs."""
        counted = await self._diagnosis.statistics(tenant=tenant_of(context))
        failed: ingest_pb2.ListDeadLettersResponse = await self._ask(
            context, self._peers.ingest.ListDeadLetters,
            ingest_pb2.ListDeadLettersRequest(page_size=LAST_FAILURES),
        )
        return operations_pb2.GetStatisticsResponse(
            collection_count=counted.collections, document_count=counted.documents, chunk_count=counted.chunks,
            mean_chunk_tokens=counted.mean_chunk_tokens, mean_document_chunks=counted.mean_document_chunks,
            jobs=[operations_pb2.JobCount(status=status, count=count) for status, count in counted.jobs.items()],
            last_failures=map(failure_message, failed.dead_letters),
        )

    async def _ask(
        self, context: Context, method: Any, request: Any, *, cap_seconds: float = CALL_SECONDS_MAX
    ) -> Any:
        try:
            return await channels.call(
                method, request, peer=PEER, tenant=tenant_of(context), deadline=Deadline.of(context),
                cap_seconds=cap_seconds,
            )
        except ServiceError as error:
            error.field = FIELDS.get(error.field, error.field) if error.field is not None else None
            raise
