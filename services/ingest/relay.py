"""Moves accepted documents on: releases them into the pipeline a few at a time, and publishes the outbox.

Back-pressure is a queue in the database, not a refused publish in the middle of the pipe. Both halves wake when told
that there is work and look by themselves once a second: the telling is a hint, the tables are the record.
"""

from __future__ import annotations

import asyncio
import logging
import time

from services.chassis import subjects
from services.chassis.errors import ServiceError
from services.chassis.jetstream import JetStream
from services.chassis.postgres import ALL_TENANTS, Connection, Database
from services.index import inbox, outbox, versions
from services.index.outbox import OutboxMessage
from services.index.versions import WaitingVersion
from services.ingest.messages import received_message

logger = logging.getLogger(__name__)

LOOK_SECONDS = 1.0
RELEASE_LIMIT = 64
PUBLISH_LIMIT = 100
HOUSEKEEPING_SECONDS = 60.0
INBOX_KEPT_SECONDS = 3 * 24 * 3600.0


class Relay:
    """The dispatcher and the outbox's publisher."""

    name = "relay"

    def __init__(self, database: Database, jetstream: JetStream, *, in_flight_max: int, stalled_seconds: float) -> None:
        self._database = database
        self._jetstream = jetstream
        self._in_flight_max = in_flight_max
        self._stalled_seconds = stalled_seconds
        self._woken = asyncio.Event()
        self._kept_house_at = 0.0

    def wake(self) -> None:
        """Say that there may be work now."""
        self._woken.set()

    async def run(self, stopping: asyncio.Event) -> None:
        """Move documents on until told to stop."""
        while not stopping.is_set():
            self._woken.clear()
            try:
                moved = await self._dispatch() + await self._publish()
                await self._keep_house()
            except ServiceError as error:
                logger.warning("relay: %s", error)
                moved = 0
            if moved == 0:
                await _first_of(self._woken, stopping, seconds=LOOK_SECONDS)

    async def _dispatch(self) -> int:
        async with self._database.transaction(tenant=ALL_TENANTS) as connection:
            released = await versions.release(connection, in_flight_max=self._in_flight_max, limit=RELEASE_LIMIT)
            await self._put(connection, released, attempt="")
        return len(released)

    async def _put(self, connection: Connection, released: list[WaitingVersion], *, attempt: str) -> None:
        for version in released:
            await outbox.put(
                connection,
                OutboxMessage(
                    tenant=version.tenant,
                    subject=subjects.DOCUMENT_RECEIVED.address(
                        self._jetstream.prefix, tenant=version.tenant, lane=version.lane
                    ),
                    payload=received_message(version).SerializeToString(),
                    message_id=f"{version.version_id}-received{attempt}",
                ),
            )

    async def _publish(self) -> int:
        async with self._database.transaction(tenant=ALL_TENANTS) as connection:
            messages = await outbox.take(connection, limit=PUBLISH_LIMIT)
            for message in messages:
                # A crash between here and the commit publishes twice; the consumers' inbox and keys know.
                await self._publish_one(message)
            if messages:
                await outbox.sent(connection, [message.outbox_id for message in messages])
        return len(messages)

    async def _publish_one(self, message: OutboxMessage) -> None:
        try:
            await self._jetstream.publish_payload(message.subject, message.payload, message_id=message.message_id)
        except ServiceError as error:
            if error.retryable:
                raise
            # It never will be published, and all that waits behind it would wait for ever.
            logger.error("dropped from the outbox: %s", error, extra={"message_id": message.message_id})

    async def _keep_house(self) -> None:
        if time.monotonic() - self._kept_house_at < HOUSEKEEPING_SECONDS:
            return
        self._kept_house_at = time.monotonic()
        async with self._database.transaction(tenant=ALL_TENANTS) as connection:
            stalled = await versions.stalled(connection, older_than_seconds=self._stalled_seconds, limit=RELEASE_LIMIT)
            for version in stalled:
                logger.warning("released again: no end in sight", extra={"version_id": version.version_id})
            # Another message id: the first one may still be in the duplicates window.
            await self._put(connection, stalled, attempt=f"-{time.time_ns()}")
            await inbox.forget(connection, older_than_seconds=INBOX_KEPT_SECONDS)


async def _first_of(*events: asyncio.Event, seconds: float) -> None:
    waits = [asyncio.ensure_future(event.wait()) for event in events]
    try:
        await asyncio.wait(waits, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for wait in waits:
            wait.cancel()
