"""How far a job is: the row is the record, a message on core NATS wakes whoever watches."""

from __future__ import annotations

from services.chassis import subjects
from services.chassis.jetstream import JetStream
from services.chassis.postgres import Database
from services.index import jobs
from sourcier.events.v1 import events_pb2

LOCATED, PARSED, METADATA, CHUNKED = ("located", 10), ("parsed", 30), ("metadata", 40), ("chunked", 60)


class Progress:
    """Moves jobs on and tells those who watch."""

    def __init__(self, database: Database, jetstream: JetStream) -> None:
        self._database = database
        self._jetstream = jetstream

    async def advance(self, version: events_pb2.VersionReference, *stages: tuple[str, int]) -> None:
        """Move a version's job on through stages to the last one; it never goes back."""
        *passed, (stage, percentage) = stages
        # Nothing rests on it: a stage that comes again notes it again, and the commit says how it ended.
        async with self._database.transaction(tenant=version.tenant, flushed=False) as connection:
            await jobs.advance_job(
                connection, tenant=version.tenant, job_id=version.job_id, stage=stage, percentage=percentage,
                passed=[name for name, _ in passed],
            )
        await self.tell(tenant=version.tenant, job_id=version.job_id)

    async def tell(self, *, tenant: str, job_id: str, finished: bool = False) -> None:
        """Wake those who watch a job that moved."""
        told = events_pb2.JobProgress(tenant=tenant, job_id=job_id, finished=finished)
        await self._jetstream.tell(subjects.PROGRESS, told, tenant=tenant, suffix=job_id)
