"""The consume loop: single fetches, bounded concurrency, heartbeats, and one mapping from errors to acknowledgements.

| the handler | the message |
|---|---|
| returns | acknowledged, and the acknowledgement confirmed |
| raises Superseded | acknowledged: a newer version does the work |
| raises a retryable or an unknown error | delivered again after a growing delay with jitter |
| meets an outage again and again | put at the end of its queue with attempts anew, for `OUTAGE_SECONDS_MAX` |
| raises any other error, or attempts are spent | a dead letter, then acknowledged |

A part of the system that is away, or full, is no document's fault: without the third line an outage of PostgreSQL of
half a minute, or a full disk, would give everything under way a dead letter.
"""

from __future__ import annotations

import asyncio
import logging
import random
import sys
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import Generic, TypeVar

import nats.errors
from google.protobuf.message import DecodeError
from nats.aio.msg import Msg
from nats.js import JetStreamContext

from sourcier.events.v1 import events_pb2
from sourcier.services.chassis import telemetry
from sourcier.services.chassis.errors import ResourceExhausted, ServiceError, Superseded, Unavailable, told_to_logs
from sourcier.services.chassis.failpoints import failpoint
from sourcier.services.chassis.ids import new_id
from sourcier.services.chassis.queue import subjects
from sourcier.services.chassis.queue.broker_errors import BROKER_ERRORS, quietly
from sourcier.services.chassis.queue.heartbeats import heartbeat
from sourcier.services.chassis.queue.jetstream import LETTER_BYTES_MAX, JetStream
from sourcier.services.chassis.queue.origins import request_id_of, traced
from sourcier.services.chassis.queue.subjects import Payload, Subject
from sourcier.services.chassis.tracing import spans

logger = logging.getLogger(__name__)

M = TypeVar("M", bound=Payload)

DELIVERIES_MAX = 8
UNSETTLED_MAX = 8
"""Deliveries beyond: where neither a letter nor a copy of the last one could be written, the work is tried again."""
FETCH_SECONDS = 2.0
"""Bounds how long a stop takes on an idle queue."""
CHECK_SECONDS = 15.0
"""A deleted durable leaves idle pullers waiting unaware (nats-server #3969), so its existence is asked for."""
NAK_DELAY_SECONDS_MAX = 5.0
"""A delayed nak holds one of `max_ack_pending` places; longer delays belong in the outbox."""
OUTAGE_SECONDS_MAX = 900.0
"""How long a message is kept going while something it needs cannot be reached."""
REASON_CHARACTERS_MAX = 8_000
"""Of what a dead letter says of its error: the letter has to be written, whatever a message quotes."""
FIRST_SEEN_HEADER = "Sourcier-First-Seen"
"""When a message that was put at the end of its queue was first published, in seconds since 1970."""


class Disposition(StrEnum):
    """What becomes of a message whose handler raised."""

    ACKNOWLEDGE = "acknowledged"
    RETRY = "retried"
    RENEW = "renewed"
    DEAD_LETTER = "dead_lettered"


def disposition(
    error: BaseException, *, deliveries: int, deliveries_max: int = DELIVERIES_MAX, age_seconds: float = 0.0
) -> Disposition:
    """Map an error to what becomes of its message; the one mapping, tested over every subclass."""
    if isinstance(error, Superseded):
        return Disposition.ACKNOWLEDGE
    if isinstance(error, ServiceError) and not error.retryable:
        return Disposition.DEAD_LETTER
    if deliveries < deliveries_max:
        return Disposition.RETRY
    if isinstance(error, Unavailable | ResourceExhausted) and age_seconds < OUTAGE_SECONDS_MAX:
        return Disposition.RENEW
    return Disposition.DEAD_LETTER


def retry_delay_seconds(deliveries: int) -> float:
    """Return the delay before the next delivery: growing, capped, with full jitter against retry storms."""
    # What is never given up is delivered thousands of times: a power of that many would be out of range.
    return jittered(min(0.2 * 2.0 ** min(deliveries - 1, 10), NAK_DELAY_SECONDS_MAX))


def jittered(ceiling_seconds: float) -> float:
    """Return a delay of half of this to all of it: what failed together must not come back together."""
    return random.uniform(ceiling_seconds / 2, ceiling_seconds)  # noqa: S311 - not a secret


def unsettled_delay_seconds(deliveries: int, *, deliveries_max: int = DELIVERIES_MAX) -> float:
    """Return the delay before the next delivery of a message whose copy or dead letter could not be written.

    It grows once attempts are spent, so that an outage of `OUTAGE_SECONDS_MAX` is over before `UNSETTLED_MAX` is.
    """
    return NAK_DELAY_SECONDS_MAX * 2.0 ** min(max(deliveries - deliveries_max, 0), 6)


@dataclass(frozen=True)
class Delivery:
    """How a message came."""

    attempt: int
    lane: str
    identity: str = ""
    """The same at each delivery of a message: what is published for it is published once."""
    tenant: str = ""
    """Whose it is, by its address; empty where the subject has no tenants."""


class Consumer(Generic[M]):
    """Works on one kind of message with at most `concurrency` in hand for each lane."""

    def __init__(
        self,
        jetstream: JetStream,
        subject: Subject[M],
        *,
        stage: str,
        concurrency: dict[str, int],
        handle: Callable[[M, Delivery], Awaitable[None]],
        suffix: str = "",
    ) -> None:
        """Prepare to consume; `concurrency` is by lane, or by "" for a subject without lanes.

        With a suffix, only messages whose subject ends with it.
        """
        self.name = stage
        self._jetstream = jetstream
        self._subject = subject
        self._suffix = suffix
        self._concurrency = concurrency
        self._handle = handle
        # The stage that reads dead letters has nowhere to put its own: giving one up would lose a document.
        self._deliveries_max = DELIVERIES_MAX if stage in subjects.DEAD_BY_STAGE else sys.maxsize

    async def run(self, stopping: asyncio.Event) -> None:
        """Consume until told to stop, then finish what is in hand."""
        async with asyncio.TaskGroup() as group:
            for lane, concurrency in self._concurrency.items():
                if concurrency > 0:
                    group.create_task(
                        self._consume(lane, concurrency, group, stopping), name=f"{self.name} {lane}".strip()
                    )

    async def _consume(
        self, lane: str, concurrency: int, group: asyncio.TaskGroup, stopping: asyncio.Event
    ) -> None:
        slots = asyncio.Semaphore(concurrency)
        await self._serve_until(stopping, partial(self._serve, lane, slots, group, stopping))
        # Every slot free again means that nothing is in hand.
        for _ in range(concurrency):
            await slots.acquire()

    async def _serve_until(self, stopping: asyncio.Event, serve: Callable[[], Awaitable[None]]) -> None:
        """Serve, and begin anew where the broker or the durable was lost, until told to stop."""
        while not stopping.is_set():
            try:
                await serve()
            except (*BROKER_ERRORS, ServiceError) as error:
                logger.warning("%s lost its queue, looking again: %s", self.name, error or type(error))
                await pause(stopping, 0.5)
            except Exception:  # outermost loop of the lane's task
                # What a client library raises while its server restarts is not all on one list, and a lane that ended
                # would end the process with what the others hold.
                logger.exception("%s lost its queue, looking again", self.name)
                await pause(stopping, 1.0)

    async def _serve(
        self, lane: str, slots: asyncio.Semaphore, group: asyncio.TaskGroup, stopping: asyncio.Event
    ) -> None:
        """Fetch and hand out messages until told to stop, or until the broker does not answer."""
        subscription = await self._subscribe(lane)
        try:
            await self._fetch(subscription, lane, slots, group, stopping)
        finally:
            await quietly(subscription.unsubscribe())

    async def _subscribe(self, lane: str) -> JetStreamContext.PullSubscription:
        await self._jetstream.ensure_streams()
        stream, durable = await self._jetstream.ensure_durable(
            self._subject, stage=self.name, lane=lane, suffix=self._suffix
        )
        return await self._jetstream.context.pull_subscribe_bind(durable, stream=stream)

    async def _fetch(
        self,
        subscription: JetStreamContext.PullSubscription,
        lane: str,
        slots: asyncio.Semaphore,
        group: asyncio.TaskGroup,
        stopping: asyncio.Event,
    ) -> None:
        checked_at = time.monotonic()
        while not stopping.is_set():
            await slots.acquire()
            if stopping.is_set():
                # The stop came while all slots were taken: what would be fetched now had to be handed back, and each
                # fetch is one of a message's deliveries.
                slots.release()
                return
            message: Msg | None = None
            try:
                message = await _fetch_one(subscription)
                if message is None and time.monotonic() - checked_at > CHECK_SECONDS:
                    await subscription.consumer_info()
                    checked_at = time.monotonic()
            finally:
                if message is None:
                    slots.release()
            if message is None:
                continue
            if stopping.is_set():
                # It came while the stop did. What it needs may be stopping too, and would fail it with an outage's
                # error; another worker takes it at once instead of after the ack wait.
                slots.release()
                await hand_back(message, 0.01)
                return
            task = group.create_task(self._work(message, lane), name=f"{self.name} message")
            task.add_done_callback(lambda _: slots.release())

    async def _work(self, message: Msg, lane: str) -> None:
        started = time.monotonic()
        gauge = telemetry.messages_in_hand.labels(self.name)
        tenant = self._subject.tenant_of(message.subject) if self._subject.tenanted else ""
        delivery = Delivery(message.metadata.num_delivered or 1, lane, str(message.metadata.sequence.stream), tenant)
        await failpoint("consume.after-fetch")
        with gauge.track_inprogress():
            try:
                outcome = await self._work_and_settle(message, delivery)
            except asyncio.CancelledError:
                # Cut off by the end of the grace: another worker takes it now instead of after the ack wait.
                await hand_back(message, retry_delay_seconds(delivery.attempt))
                raise
        telemetry.messages_total.labels(self.name, outcome).inc()
        telemetry.message_seconds.labels(self.name).observe(time.monotonic() - started)

    async def _work_and_settle(self, message: Msg, delivery: Delivery) -> str:
        try:
            parsed = self._subject.message.FromString(message.data)
        except DecodeError:
            return await self._settle_failed(message, None, delivery, _Malformed())
        with telemetry.request(request_id_of(message, parsed)), traced(
            message, parsed, stage=self.name, tenant=delivery.tenant, attempt=delivery.attempt
        ):
            try:
                if delivery.attempt > self._deliveries_max + UNSETTLED_MAX:
                    # Attempts spent by crashes or ack time-outs alone: the handler never got to count them.
                    raise _AttemptsSpent()
                async with self._heartbeat(message):
                    await self._handle(parsed, delivery)
            except Exception as caught:  # outermost loop of a message's task
                return await self._settle_failed(message, parsed, delivery, _innermost(caught))
            if await failpoint("consume.before-acknowledge"):
                return "unconfirmed"  # as if the acknowledgement had been lost
            telemetry.message_attempts.labels(self.name).observe(delivery.attempt)
            return await _acknowledge(message, "done")

    async def _settle_failed(self, message: Msg, parsed: M | None, delivery: Delivery, error: Exception) -> str:
        decision = disposition(
            error, deliveries=delivery.attempt, deliveries_max=self._deliveries_max, age_seconds=_age_seconds(message)
        )
        known = isinstance(error, ServiceError)
        if decision is not Disposition.ACKNOWLEDGE:
            spans.current().failed(spans.reason_of(error))
        logger.log(
            logging.INFO if decision is Disposition.ACKNOWLEDGE else logging.WARNING,
            "%s: %s (%s, attempt %d)", self.name, told_to_logs(error), decision.value, delivery.attempt,
            exc_info=None if known else error,
        )
        if decision is Disposition.RETRY:
            await hand_back(message, retry_delay_seconds(delivery.attempt))
            return decision.value
        try:
            # A full queue keeps a copy or a letter waiting for many ack waits.
            async with self._heartbeat(message):
                if decision is Disposition.RENEW:
                    await self._renew(message, delivery)
                elif decision is Disposition.DEAD_LETTER:
                    await self._bury(message, parsed, delivery, error)
        except Exception as caught:  # outermost loop of a message's task
            # Neither a letter nor a copy, so no acknowledgement: it comes again.
            unsettled = _innermost(caught)
            known = isinstance(unsettled, ServiceError)
            logger.warning("%s: %s not written: %s", self.name, decision.value, unsettled if known else repr(unsettled),
                           exc_info=None if known else unsettled)
            await hand_back(message, unsettled_delay_seconds(delivery.attempt, deliveries_max=self._deliveries_max))
            return Disposition.RETRY.value
        telemetry.message_attempts.labels(self.name).observe(delivery.attempt)
        return await _acknowledge(message, decision.value)

    def _heartbeat(self, message: Msg) -> heartbeat:
        return heartbeat(message, every_seconds=self._jetstream.limits.ack_wait_seconds / 3)

    async def _renew(self, message: Msg, delivery: Delivery) -> None:
        """Publish the message once more; the copy's deliveries are counted from one."""
        first_seen = f"{time.time() - _age_seconds(message):.3f}"
        await self._jetstream.publish_payload(
            message.subject, message.data, message_id=f"renewed-{self.name}-{delivery.identity}",
            headers={FIRST_SEEN_HEADER: first_seen},
        )

    async def _bury(self, message: Msg, parsed: M | None, delivery: Delivery, error: Exception) -> None:
        known = error if isinstance(error, ServiceError) else ServiceError()
        letter = events_pb2.DeadLetter(
            dead_letter_id=new_id(), stage=self.name, reason=known.reason,
            message=known.message[:REASON_CHARACTERS_MAX], attempts=delivery.attempt, subject=message.subject,
            payload=message.data,
        )
        letter.failed_at.GetCurrentTime()
        version = getattr(parsed, "version", None)
        tenant = self._subject.tenant_of(message.subject)
        if isinstance(version, events_pb2.VersionReference):
            letter.version.CopyFrom(version)
            # One that names no version is given up all the same: its address has a tenant.
            tenant = version.tenant or tenant
        dead = subjects.DEAD_BY_STAGE.get(self.name)
        if dead is None:
            logger.error("%s gave up on a message", self.name, extra={"subject": message.subject})
            return
        identity = f"{message.metadata.stream}-{message.metadata.sequence.stream}"
        await self._jetstream.publish(
            dead, letter, tenant=tenant, message_id=f"dead-{self.name}-{identity}", bytes_max=LETTER_BYTES_MAX
        )
        telemetry.dead_letters_total.labels(self.name, known.reason).inc()


class _Malformed(ServiceError):
    """The message cannot be read; its publisher speaks another version of the contract."""

    reason = "MALFORMED"


class _AttemptsSpent(ServiceError):
    """The work was begun several times and never finished; the worker may have crashed on it."""

    reason = "ATTEMPTS_SPENT"


def _age_seconds(message: Msg) -> float:
    """Return how long ago a message, or the one it is a copy of, was published."""
    first_seen = (message.headers or {}).get(FIRST_SEEN_HEADER)
    published = float(first_seen) if first_seen else message.metadata.timestamp.timestamp()
    return max(time.time() - published, 0.0)


def _innermost(error: Exception) -> Exception:
    while isinstance(error, ExceptionGroup) and len(error.exceptions) >= 1:
        error = error.exceptions[0]
    return error


async def _fetch_one(subscription: JetStreamContext.PullSubscription) -> Msg | None:
    try:
        messages = await subscription.fetch(1, timeout=FETCH_SECONDS)
    except (TimeoutError, nats.errors.TimeoutError):
        return None
    return messages[0] if messages else None


async def _acknowledge(message: Msg, outcome: str) -> str:
    try:
        await message.ack_sync(timeout=5)
    except BROKER_ERRORS as error:
        # The work is done and idempotent: a second delivery finds it so.
        logger.warning("acknowledgement not confirmed: %s", error or type(error))
        return "unconfirmed"
    return outcome


async def hand_back(message: Msg, delay_seconds: float) -> None:
    """Have a message delivered again after a delay."""
    try:
        await message.nak(delay=delay_seconds)
    except BROKER_ERRORS as error:
        logger.warning("nak not sent, the ack wait does it: %s", error)


async def pause(stopping: asyncio.Event, seconds: float) -> None:
    """Wait so long, or until told to stop."""
    try:
        async with asyncio.timeout(seconds):
            await stopping.wait()
    except TimeoutError:
        pass
