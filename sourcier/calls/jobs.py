"""The calls that follow documents on their way: jobs."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing

from sourcier import errors
from sourcier.calls.base import Calls, pages
from sourcier.connection.pauses import jittered
from sourcier.gateway.v1 import knowledge_pb2
from sourcier.options import JobStatusName, chosen

_ENDED = frozenset({knowledge_pb2.JOB_STATUS_COMPLETED, knowledge_pb2.JOB_STATUS_FAILED})
_RECONNECT_SECONDS_MAX = 60.0
"""How long a watched job's gateway may be away before the watch gives up; one that never answered is not waited for."""


class JobCalls(Calls):
    """Jobs."""

    async def get_job(self, job_id: str, *, timeout_seconds: float | None = None) -> knowledge_pb2.Job:
        """Return one job as it is now."""
        request = knowledge_pb2.GetJobRequest(job_id=job_id)
        return (await self._unary(self._knowledge.GetJob, request, timeout_seconds)).job

    async def jobs(
        self, *, collection: str = "", status: JobStatusName | None = None, page_size: int = 200
    ) -> AsyncGenerator[knowledge_pb2.Job, None]:
        """Yield jobs, newest first."""
        wanted = chosen(knowledge_pb2.JobStatus, status, JobStatusName, field="status")

        async def page(token: str) -> knowledge_pb2.ListJobsResponse:
            return await self._unary(self._knowledge.ListJobs, knowledge_pb2.ListJobsRequest(
                collection=collection, status=wanted, page_size=page_size, page_token=token), None)

        async for response in pages(page):
            for job in response.jobs:
                yield job

    async def watch_job(
        self, job_id: str, *, timeout_seconds: float = 3600.0
    ) -> AsyncGenerator[knowledge_pb2.Job, None]:
        """Yield a job each time it moves, until it is completed or failed; a gateway that restarts is found again.

        While a long document is embedded, its percentage moves between those of `chunked` and `embedded`.

        >>> async with Client("localhost:8080") as client:
        ...     upload = await client.upload(b"Deux jours par semaine.", filename="charte.txt")
        ...     print([(job.stage, job.percentage) async for job in client.watch_job(upload.job_id)])
        [('located', 10), ('parsed', 30), ('chunked', 60), ('embedded', 80), ('done', 100)]
        """
        request = knowledge_pb2.WatchJobRequest(job_id=job_id)
        deadline = time.monotonic() + timeout_seconds
        delay_seconds, away_since = 0.2, time.monotonic()
        while True:
            left = deadline - time.monotonic()
            if left <= 0:
                raise errors.DeadlineExceeded(f"the job {job_id} did not end within {timeout_seconds:g} s")
            try:
                async with aclosing(self._channel.stream(
                    self._knowledge.WatchJob, request, lambda response: response.job, timeout_seconds=left
                )) as jobs:
                    async for job in jobs:
                        delay_seconds, away_since = 0.2, time.monotonic()
                        yield job
                        if job.status in _ENDED:
                            return
            except (errors.Unavailable, errors.Cancelled):
                if not self._channel.reached or time.monotonic() - away_since > _RECONNECT_SECONDS_MAX:
                    raise
            # The stream was cut short: each one begins with the current state, so nothing is missed.
            await asyncio.sleep(min(jittered(delay_seconds), max(deadline - time.monotonic(), 0)))
            delay_seconds = min(delay_seconds * 2, 5.0)

    async def wait_for_job(self, job_id: str, *, timeout_seconds: float = 3600.0) -> knowledge_pb2.Job:
        """Return the job once its document can be found; raise JobFailed, with the reason, when it never will."""
        async with aclosing(self.watch_job(job_id, timeout_seconds=timeout_seconds)) as jobs:
            async for job in jobs:
                if job.status == knowledge_pb2.JOB_STATUS_FAILED:
                    raise errors.JobFailed(job.error.message, reason=job.error.reason)
        return job
