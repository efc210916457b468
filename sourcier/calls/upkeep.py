"""The calls that bring the index in line with what it is made of: the buckets, and the settings."""

from __future__ import annotations

from collections.abc import AsyncGenerator

from sourcier.calls.base import Calls
from sourcier.gateway.v1 import operations_pb2
from sourcier.options import ReprocessStageName


class UpkeepCalls(Calls):
    """Comparing and indexing again."""

    def reconcile(
        self, *, bucket: str = "", dry_run: bool = False, timeout_seconds: float = 3600.0
    ) -> AsyncGenerator[operations_pb2.ReconcileResponse, None]:
        """Compare the watched buckets, or one, with what was taken in; yield how far it is, rule after rule.

        What differs is taken in, unless `dry_run`. Closing the generator stops the comparison; the next one goes on
        from there.
        """
        request = operations_pb2.ReconcileRequest(bucket=bucket, dry_run=dry_run)
        return self._channel.stream(
            self._operations.Reconcile, request, lambda response: response, timeout_seconds=timeout_seconds
        )

    async def buckets(self, *, timeout_seconds: float | None = None) -> list[operations_pb2.BucketSource]:
        """Return what is watched of the buckets, rule by rule, and what became of their objects."""
        request = operations_pb2.ListBucketsRequest()
        return list((await self._unary(self._operations.ListBuckets, request, timeout_seconds)).buckets)

    async def reprocess(
        self, *, from_stage: ReprocessStageName, collection: str = "", only_outdated: bool = False,
        timeout_seconds: float = 3600.0,
    ) -> int:
        """Send the documents of a collection, or of all, through the pipeline again; return how many are on their way.

        What the stages before `from_stage` made is used as it is. Each document answers as it was until its new version
        is whole. With `only_outdated`, only those that were cut otherwise than their collection says now.
        """
        request = operations_pb2.ReprocessRequest(
            collection=collection, from_stage=from_stage, only_outdated=only_outdated
        )
        return (await self._unary(self._operations.Reprocess, request, timeout_seconds)).document_count

    def erase_tenant(
        self, tenant: str, *, dry_run: bool = False, timeout_seconds: float = 3600.0
    ) -> AsyncGenerator[operations_pb2.EraseTenantResponse, None]:
        """Delete everything that is the caller's tenant's, which `tenant` names; yield how far it is, the report last.

        With `dry_run` it is only counted. Closing the generator stops nothing: the erasure goes on, and the same call
        again follows it. API keys of the tenant's go last, that of the caller too.
        """
        request = operations_pb2.EraseTenantRequest(tenant=tenant, dry_run=dry_run)
        return self._channel.stream(
            self._operations.EraseTenant, request, lambda response: response, timeout_seconds=timeout_seconds
        )
