"""The calls that look at an installation: what is wrong with it, and what it holds."""

from __future__ import annotations

from sourcier.calls.base import Calls
from sourcier.gateway.v1 import operations_pb2


class HealthCalls(Calls):
    """Checks and counts."""

    async def diagnose(self, *, timeout_seconds: float | None = None) -> list[operations_pb2.Check]:
        """Look whether all works; return one check for each thing, with what mends it."""
        response = await self._unary(self._operations.Diagnose, operations_pb2.DiagnoseRequest(), timeout_seconds)
        return list(response.checks)

    async def statistics(self, *, timeout_seconds: float | None = None) -> operations_pb2.GetStatisticsResponse:
        """Count the tenant's documents, chunks and jobs; the last failures come with them."""
        return await self._unary(
            self._operations.GetStatistics, operations_pb2.GetStatisticsRequest(), timeout_seconds
        )
