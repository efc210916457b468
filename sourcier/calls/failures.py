"""The calls on what could not be indexed: list, look, try again, close."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from typing import Unpack

from sourcier.calls.base import Calls, pages
from sourcier.gateway.v1 import operations_pb2
from sourcier.options import FailureOptions, FailureStateName, chosen, failure_filter


class FailureCalls(Calls):
    """Failures."""

    async def failures(
        self, *, state: FailureStateName = "open", page_size: int = 200, **which: Unpack[FailureOptions]
    ) -> AsyncGenerator[operations_pb2.Failure, None]:
        """Yield documents that could not be indexed, the last failure first.

        >>> async with Client("localhost:8080") as client:
        ...     print([(failure.source, failure.reason) async for failure in client.failures(stage="parse")])
        [('contrat.pdf', 'DOCUMENT_ENCRYPTED')]
        """
        wanted = chosen(operations_pb2.FailureState, state, FailureStateName, field="state")

        async def page(token: str) -> operations_pb2.ListFailuresResponse:
            return await self._unary(self._operations.ListFailures, operations_pb2.ListFailuresRequest(
                state=wanted, filter=failure_filter(which), page_size=page_size, page_token=token), None)

        async for response in pages(page):
            for failure in response.failures:
                yield failure

    async def get_failure(self, failure_id: str, *, timeout_seconds: float | None = None) -> operations_pb2.Failure:
        """Return one failure."""
        request = operations_pb2.GetFailureRequest(failure_id=failure_id)
        return (await self._unary(self._operations.GetFailure, request, timeout_seconds)).failure

    async def replay_failures(
        self, failure_ids: Sequence[str] = (), *, timeout_seconds: float = 600.0, **which: Unpack[FailureOptions]
    ) -> operations_pb2.ReplayFailuresResponse:
        """Have documents tried again: those named, or, without ids, all open failures that the keywords describe.

        A failure that was replayed before, or whose document has a newer version, is skipped: twice is once. Raises
        NotFound, and nothing is done, where an id names no failure.
        """
        request = operations_pb2.ReplayFailuresRequest(failure_ids=failure_ids, filter=failure_filter(which))
        return await self._unary(self._operations.ReplayFailures, request, timeout_seconds)

    async def discard_failures(
        self, failure_ids: Sequence[str] = (), *, timeout_seconds: float = 600.0, **which: Unpack[FailureOptions]
    ) -> int:
        """Close failures without trying again, chosen as for `replay_failures`; return how many were open."""
        request = operations_pb2.DiscardFailuresRequest(failure_ids=failure_ids, filter=failure_filter(which))
        return (await self._unary(self._operations.DiscardFailures, request, timeout_seconds)).discarded_count
