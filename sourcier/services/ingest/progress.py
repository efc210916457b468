"""How far a job is: the row is the record, a message on core NATS wakes whoever watches.

Stages are gathered for a moment and noted together, for all documents under way in one statement: nothing rests on
them. A stage that comes again is noted again, and the commit says how a document ended. Between `chunked` and
`embedded` a job of several batches moves by those that are staged; `saved` and `done` are the commit's to note.
"""

from __future__ import annotations

import asyncio
import logging
import time
from dataclasses import replace

from sourcier.events.v1 import events_pb2
from sourcier.services.chassis.errors import ServiceError
from sourcier.services.chassis.lifecycle import first_of
from sourcier.services.chassis.postgres.database import ALL_TENANTS, Database
from sourcier.services.chassis.queue import subjects
from sourcier.services.chassis.queue.jetstream import JetStream
from sourcier.services.index.collections import jobs
from sourcier.services.index.collections.jobs import StageReached

logger = logging.getLogger(__name__)

LOCATED, PARSED, METADATA, CHUNKED = ("located", 10), ("parsed", 30), ("metadata", 40), ("chunked", 60)
EMBEDDED = ("embedded", 80)
GATHER_SECONDS = 0.1
"""How late a watcher may learn of a stage."""
LOOK_SECONDS = 1.0
WAITING_MAX = 10_000
"""Jobs whose stages wait to be noted; further ones are left out."""
ATTEMPTS_MAX = 3
"""A job that a commit holds just then is noted after it."""


class Progress:
    """Moves jobs on and tells those who watch."""

    name = "progress"

    def __init__(self, database: Database, jetstream: JetStream) -> None:
        self._database = database
        self._jetstream = jetstream
        self._waiting: dict[str, list[StageReached]] = {}
        self._noting: dict[str, list[StageReached]] = {}
        """What the statement under way notes, unless a commit holds the job just then."""
        self._woken = asyncio.Event()

    def advance(
        self, version: events_pb2.VersionReference, *stages: tuple[str, int], arrived: bool = True
    ) -> None:
        """Have a version's job moved on through stages to the last one; it never goes back.

        Without `arrived` the job moves on within a stage that it came to before.
        """
        if len(self._waiting) >= WAITING_MAX and version.job_id not in self._waiting:
            return
        self._waiting.setdefault(version.job_id, []).extend(
            StageReached(
                tenant=version.tenant, job_id=version.job_id, stage=stage, percentage=percentage, at=time.monotonic(),
                arrived=arrived,
            ) for stage, percentage in stages
        )
        self._woken.set()

    def count_batch(self, version: events_pb2.VersionReference, *, staged: int, batch_count: int) -> None:
        """Have a version's job moved on for a batch that was staged, `staged` with it and not all of them.

        Each is counted once, under the document's lock: a step of a percent is told with the one batch that makes it.
        """
        percentage = percentage_staged(staged, batch_count)
        if percentage > percentage_staged(staged - 1, batch_count):
            self.advance(version, (CHUNKED[0], percentage), arrived=False)

    def ages(self, job_id: str) -> dict[str, float]:
        """Return how many seconds ago a job came to the stages that are not noted yet: its commit notes them, too."""
        now = time.monotonic()
        gathered = [*self._noting.get(job_id, ()), *self._waiting.get(job_id, ())]
        # What came first is written last: a stage that comes again keeps its first time.
        return {reached.stage: now - reached.at for reached in reversed(gathered) if reached.arrived}

    def forget(self, job_id: str) -> None:
        """Leave out a job whose commit noted its stages."""
        self._waiting.pop(job_id, None)

    async def run(self, stopping: asyncio.Event) -> None:
        """Note what is gathered until told to stop; `flush` notes what workers come to while they end."""
        while not stopping.is_set():
            await first_of(self._woken, stopping, seconds=LOOK_SECONDS)
            await first_of(stopping, seconds=GATHER_SECONDS)
            self._woken.clear()
            await self.flush()

    async def flush(self) -> None:
        """Note what is gathered, and tell of the jobs that moved."""
        waiting, self._waiting = self._waiting, {}
        self._noting = waiting
        gathered = [reached for stages in waiting.values() for reached in stages]
        if not gathered:
            return
        try:
            # Not flushed: a crash of the server may undo the last of it, as a crash of this process does.
            async with self._database.transaction(tenant=ALL_TENANTS, flushed=False, by_key=True) as connection:
                noted = await jobs.advance_jobs(connection, gathered, now=time.monotonic())
        except ServiceError as error:
            logger.warning("progress of %d stages not noted: %s", len(gathered), error)
            return
        finally:
            self._noting = {}
        for job_id, stages in waiting.items():
            if job_id in noted:
                await self.tell(tenant=stages[0].tenant, job_id=job_id)
            elif stages[0].attempts + 1 < ATTEMPTS_MAX:
                again = [replace(reached, attempts=reached.attempts + 1) for reached in stages]
                self._waiting[job_id] = again + self._waiting.get(job_id, [])
                self._woken.set()

    async def tell(self, *, tenant: str, job_id: str, finished: bool = False) -> None:
        """Wake those who watch a job that moved."""
        told = events_pb2.JobProgress(tenant=tenant, job_id=job_id, finished=finished)
        await self._jetstream.tell(subjects.PROGRESS, told, tenant=tenant, suffix=job_id)


def percentage_staged(staged: int, batch_count: int) -> int:
    """Return how far a job is when so many of its batches are staged: from `chunked` to `embedded`, rounded down."""
    return CHUNKED[1] + (EMBEDDED[1] - CHUNKED[1]) * staged // batch_count
