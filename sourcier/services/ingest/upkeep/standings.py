"""Tells stages without a database whether a version still stands, so that they spend nothing on one that has ended."""

from __future__ import annotations

import asyncio
import logging

from google.protobuf.message import DecodeError
from nats.aio.msg import Msg

from sourcier.events.v1 import events_pb2
from sourcier.services.chassis.errors import ServiceError
from sourcier.services.chassis.postgres.database import Database
from sourcier.services.chassis.queue import subjects
from sourcier.services.chassis.queue.broker_errors import BROKER_ERRORS, quietly
from sourcier.services.chassis.queue.jetstream import JetStream
from sourcier.services.index.collections import versions

logger = logging.getLogger(__name__)

QUEUE_GROUP = "ingest"
"""One of the services answers each question."""


class Standings:
    """Answers for as long as the process works. Who gets no answer works on: nothing is lost by silence."""

    name = "standings"

    def __init__(self, jetstream: JetStream, database: Database) -> None:
        self._jetstream = jetstream
        self._database = database

    async def run(self, stopping: asyncio.Event) -> None:
        """Answer until told to stop."""
        pattern = subjects.VERSION_STANDING.pattern(self._jetstream.prefix)
        # The library subscribes again after a lost connection.
        subscription = await self._jetstream.client.subscribe(pattern, queue=QUEUE_GROUP, cb=self._answer)
        await stopping.wait()
        await quietly(subscription.unsubscribe())

    async def _answer(self, message: Msg) -> None:
        try:
            version = events_pb2.VersionReference.FromString(message.data)
            standing = events_pb2.VersionStanding(ended=await self._has_ended(version))
            await message.respond(standing.SerializeToString())
        except (DecodeError, ServiceError, *BROKER_ERRORS) as error:
            logger.warning("whether a version stands was not told: %s", error or type(error).__name__)

    async def _has_ended(self, version: events_pb2.VersionReference) -> bool:
        async with self._database.transaction(tenant=version.tenant, read_only=True) as connection:
            return await versions.has_ended(connection, tenant=version.tenant, version_id=version.version_id)
