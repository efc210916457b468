"""Moves accepted documents on: releases them into the pipeline a few at a time, and publishes the outbox.

Back-pressure is a queue in the database, not a refused publish in the middle of the pipe. Both halves wake when told
that there is work and look by themselves once a second: the telling is a hint, the tables are the record. Nobody waits
for room here: what a full hop refuses waits in the outbox, and the others go past it.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import TypeVar

from sourcier.services.chassis import telemetry
from sourcier.services.chassis.errors import ResourceExhausted, ServiceError
from sourcier.services.chassis.failpoints import failpoint
from sourcier.services.chassis.lifecycle import first_of
from sourcier.services.chassis.postgres.database import ALL_TENANTS, Connection, Database
from sourcier.services.chassis.queue import subjects
from sourcier.services.chassis.queue.jetstream import JetStream
from sourcier.services.index.pipeline import brokers, outbox, releases
from sourcier.services.index.pipeline.outbox import OutboxMessage, PendingMessage
from sourcier.services.index.pipeline.releases import WaitingVersion
from sourcier.services.ingest.messages import received_message

logger = logging.getLogger(__name__)

T = TypeVar("T")

LOOK_SECONDS = 1.0
RELEASE_LIMIT = 64
PUBLISH_LIMIT = 100
PUBLISH_BYTES_MAX = 1024 * 1024
"""Sent before the first of them is acknowledged; a larger message is sent alone."""
POSTPONED_SECONDS = 5.0
"""How long the messages of a full hop wait in the outbox before it is tried again."""
BROKER_SECONDS = 5.0
"""How often the broker's streams are compared with what they were."""
HOUSEKEEPING_SECONDS = 60.0
HOPS = (
    subjects.DOCUMENT_RECEIVED, subjects.DOCUMENT_SCANNED, subjects.DOCUMENT_PARSED, subjects.CHUNKS_READY,
    subjects.CHUNKS_EMBEDDED,
)
"""A document's way, in its order: asked in it, they show each message at least once, since the next hop's is published
before the one before it is acknowledged."""


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
        self._compared_at = 0.0
        self._told: set[str] = set()
        """Queues of which a figure was told."""

    def wake(self) -> None:
        """Say that there may be work now."""
        self._woken.set()

    async def run(self, stopping: asyncio.Event) -> None:
        """Move documents on until told to stop."""
        while not stopping.is_set():
            self._woken.clear()
            # Each has a try of its own: where one fails again and again, the others go on.
            # What was not taken in full leaves nothing to look for, until somebody wakes us.
            more = await _tried(self._dispatch) == RELEASE_LIMIT
            more = await _tried(self._publish) == PUBLISH_LIMIT or more
            await _tried(self._look_at_broker)
            await _tried(self._keep_house)
            if not more:
                await first_of(self._woken, stopping, seconds=LOOK_SECONDS)

    async def _dispatch(self) -> int:
        # Not flushed: what a crash of the server undoes waits again as it did before, and is released again.
        async with self._database.transaction(tenant=ALL_TENANTS, flushed=False, by_key=True) as connection:
            released = await releases.release(connection, in_flight_max=self._in_flight_max, limit=RELEASE_LIMIT)
            await self._put(connection, released, attempt="")
        return len(released)

    async def _put(self, connection: Connection, released: list[WaitingVersion], *, attempt: str) -> None:
        async with connection.pipeline():
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
        # Not flushed: messages that a crash of the server puts back are published twice, as below.
        async with self._database.transaction(tenant=ALL_TENANTS, flushed=False, by_key=True) as connection:
            messages = await outbox.take(connection, limit=PUBLISH_LIMIT)
            sent: list[int] = []
            full: set[str] = set()
            failed: list[ServiceError] = []
            for together in _together(messages):
                trying = [message for message in together if message.subject not in full]
                # In their order, without waiting for each other's acknowledgement: that is most of a message's time.
                errors = await asyncio.gather(*map(self._publish_one, trying))
                sent += [message.outbox_id for message, error in zip(trying, errors, strict=True) if error is None]
                full |= {message.subject for message, error in zip(trying, errors, strict=True)
                         if isinstance(error, ResourceExhausted)}
                failed += [error for error in errors if error and not isinstance(error, ResourceExhausted)]
                if failed:
                    break
            if sent:
                await outbox.sent(connection, sent)
            if full:
                await self._postpone(connection, full)
        if failed:
            raise failed[0]
        return len(messages)

    async def _postpone(self, connection: Connection, full: set[str]) -> None:
        """Let all that is due for full hops wait: else each round would read it again, in front of the others."""
        count = await outbox.postpone(connection, subjects=sorted(full), seconds=POSTPONED_SECONDS)
        telemetry.degradations_total.labels(self.name, ResourceExhausted.reason).inc(count)
        logger.warning("%d messages wait in the outbox, their queues are full", count,
                       extra={"subjects": sorted(full)})

    async def _publish_one(self, message: PendingMessage) -> ServiceError | None:
        """Publish a message; return why it has to be tried again."""
        try:
            await self._jetstream.publish_payload(
                message.subject, message.payload, message_id=message.message_id, wait_seconds=0
            )
            # A crash between here and the commit publishes twice; the stages' keys and states know.
            await failpoint("relay.after-publish")
        except ServiceError as error:
            if error.retryable:
                return error
            # It never will be published, and all that waits behind it would wait for ever.
            logger.error("dropped from the outbox: %s", error, extra={"message_id": message.message_id})
        return None

    async def _look_at_broker(self) -> None:
        if time.monotonic() - self._compared_at < BROKER_SECONDS:
            return
        self._compared_at = time.monotonic()
        await self.release_lost()
        await self._measure()

    async def _measure(self) -> None:
        """Tell how much waits where, and for how long: the lag that replicas are scaled by."""
        depths = await self._jetstream.queues.depths()
        # A queue without a durable is in no answer once it is empty.
        self._told |= depths.keys()
        for queue in self._told:
            telemetry.queue_messages.labels(queue).set(depths.get(queue, 0))
        async with self._database.transaction(tenant=ALL_TENANTS, read_only=True) as connection:
            waiting = await releases.oldest_under_way(connection)
            counts = await releases.waiting_counts(connection)
        for lane in subjects.LANES:
            telemetry.documents_waiting.labels(lane).set(counts.get(lane, 0))
            telemetry.queue_oldest_seconds.labels(lane).set(waiting.get(lane, 0.0))

    async def _stream_states(self) -> list[brokers.StreamState]:
        return [brokers.StreamState(*state) for state in await self._jetstream.stream_states()]

    async def release_lost(self) -> int:
        """Release what is under way again if the broker lost messages; return how many versions that were."""
        states = await self._stream_states()
        released = 0
        async with self._database.transaction(tenant=ALL_TENANTS) as connection:
            went_back, recorded_at = await brokers.lost_messages(connection, states, look=self._stream_states)
            while went_back:
                page = await releases.stalled(
                    connection, older_than_seconds=0, limit=RELEASE_LIMIT, before=recorded_at
                )
                await self._put(connection, page, attempt=f"-{time.time_ns()}")
                released += len(page)
                if len(page) < RELEASE_LIMIT:
                    break
        if went_back:
            telemetry.broker_losses_total.inc()
            logger.error("the broker lost messages: %d documents released again", released,
                         extra={"streams": went_back})
        return released

    async def _keep_house(self) -> None:
        if time.monotonic() - self._kept_house_at < HOUSEKEEPING_SECONDS:
            return
        self._kept_house_at = time.monotonic()
        queued = await self._jetstream.queues.waiting(HOPS)
        async with self._database.transaction(tenant=ALL_TENANTS) as connection:
            stalled = await releases.stalled(
                connection, older_than_seconds=self._stalled_seconds, limit=RELEASE_LIMIT, queued=queued
            )
            for version in stalled:
                logger.warning("released again: no end in sight", extra={"version_id": version.version_id})
            # Another message id: the first one may still be in the duplicates window.
            await self._put(connection, stalled, attempt=f"-{time.time_ns()}")


async def _tried(work: Callable[[], Awaitable[T]]) -> T | None:
    try:
        return await work()
    except ServiceError as error:
        logger.warning("relay: %s", error)
        return None


def _together(messages: Sequence[PendingMessage]) -> Iterator[list[PendingMessage]]:
    """Yield what is published at once: runs of messages of so many bytes at most, in the order of each subject.

    The first message of each subject goes ahead of its others, so that a full hop costs one try a round.
    """
    tried: set[str] = set()
    for run in _runs(messages):
        first: dict[str, PendingMessage] = {}
        for message in run:
            if message.subject not in tried:
                first.setdefault(message.subject, message)
        tried |= first.keys()
        ahead = list(first.values())
        yield from filter(None, (ahead, [message for message in run if message is not first.get(message.subject)]))


def _runs(messages: Sequence[PendingMessage]) -> Iterator[list[PendingMessage]]:
    run: list[PendingMessage] = []
    size = 0
    for message in messages:
        if run and size + len(message.payload) > PUBLISH_BYTES_MAX:
            yield run
            run, size = [], 0
        run.append(message)
        size += len(message.payload)
    if run:
        yield run
