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
        """Move a version's job on to each stage in turn; it never goes back."""
        async with self._database.transaction(tenant=version.tenant) as connection:
            for stage, percentage in stages:
                await jobs.advance_job(
                    connection, tenant=version.tenant, job_id=version.job_id, stage=stage, percentage=percentage
                )
        await self.tell(tenant=version.tenant, job_id=version.job_id)

    async def tell(self, *, tenant: str, job_id: str) -> None:
        """Wake those who watch a job that moved."""
        await self._jetstream.tell(
            subjects.PROGRESS, events_pb2.JobProgress(tenant=tenant, job_id=job_id), tenant=tenant, suffix=job_id
        )
