"""Dead letters → the failed job and its reason, where a person finds them."""

from __future__ import annotations

import logging

from google.protobuf.message import DecodeError

from sourcier.events.v1 import events_pb2
from sourcier.services.chassis.postgres.database import Database
from sourcier.services.chassis.queue import subjects
from sourcier.services.chassis.queue.consuming import Consumer, Delivery
from sourcier.services.chassis.queue.jetstream import JetStream
from sourcier.services.index.moves import upkeep as space_upkeep
from sourcier.services.index.pipeline import dead_letters
from sourcier.services.index.pipeline.dead_letters import Failure
from sourcier.services.index.units import work as unit_work
from sourcier.services.ingest.messages import version_reference
from sourcier.services.ingest.progress import Progress
from sourcier.services.ingest.relay import Relay

logger = logging.getLogger(__name__)

ENRICH_AGAIN_SECONDS = 600.0
"""When a chunk is sent again whose unit failed because a service was away."""


class FailureStage:
    """Records what any stage gave up, once, in the transaction that fails its job."""

    def __init__(self, jetstream: JetStream, database: Database, progress: Progress, relay: Relay) -> None:
        self._jetstream = jetstream
        self._database = database
        self._progress = progress
        self._relay = relay

    def consumers(self) -> list[Consumer[events_pb2.DeadLetter]]:
        """Return one consumer for the letters of each stage."""
        return [
            Consumer(self._jetstream, subject, stage=f"failures_{stage}", concurrency={"": 1}, handle=self.handle)
            for stage, subject in subjects.DEAD_BY_STAGE.items()
        ]

    async def handle(self, letter: events_pb2.DeadLetter, delivery: Delivery) -> None:
        """Record one dead letter; a second delivery finds the version failed already."""
        if not letter.version.version_id:
            logger.error("a dead letter without a version", extra={"subject": letter.subject, "stage": letter.stage})
            return
        if letter.stage == "enrich":
            await self._of_unit(letter)
            return
        if await self._of_build(letter):
            return
        failure = Failure(
            stage=letter.stage,
            reason=letter.reason,
            message=letter.message,
            attempts=letter.attempts,
            subject=letter.subject,
            payload=letter.payload,
        )
        async with self._database.transaction(tenant=letter.version.tenant) as connection:
            await dead_letters.fail_version(connection, version_reference(letter.version), failure)
        self._relay.wake()
        await self._progress.tell(tenant=letter.version.tenant, job_id=letter.version.job_id, finished=True)

    async def _of_unit(self, letter: events_pb2.DeadLetter) -> None:
        """Note the reason at the chunk's unit: its document is found as it is."""
        try:
            message = events_pb2.ChunkToEnrich.FromString(letter.payload)
        except DecodeError:
            logger.error("a dead letter of no unit", extra={"subject": letter.subject})
            return
        async with self._database.transaction(tenant=letter.version.tenant) as connection:
            await unit_work.give_up(
                connection, tenant=letter.version.tenant, unit_id=message.unit_id, reason=letter.reason,
                message=letter.message, again_seconds=ENRICH_AGAIN_SECONDS,
            )

    async def _of_build(self, letter: events_pb2.DeadLetter) -> bool:
        """Note the reason at the build where the letter is one of a build's: its version stands as it is."""
        try:
            message: events_pb2.ChunksReady | events_pb2.ChunksEmbedded
            if letter.stage == "embed":
                message = events_pb2.ChunksReady.FromString(letter.payload)
            elif letter.stage == "index":
                message = events_pb2.ChunksEmbedded.FromString(letter.payload)
            else:
                return False
        except DecodeError:
            return False
        if message.rebuild:
            version = letter.version
            async with self._database.transaction(tenant=version.tenant) as connection:
                await space_upkeep.note_error(
                    connection, tenant=version.tenant, collection_id=version.collection_id,
                    space_id=message.space_id, error=f"{letter.message} [{letter.reason}]",
                )
        return message.rebuild
