"""The consume loop of work that costs much: whose message is next goes by what each tenant has had, not by who came
first.

Each tenant has a durable of its own, made when it has work and removed by the server when it has had none for a while.
One message is fetched at a time, from the tenant whose turn it is (docs/adr/0027-a-durable-for-each-tenant.md). What
becomes of it is the business of `consuming`.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from types import TracebackType
from typing import Self, TypeVar

from google.protobuf.message import DecodeError
from nats.aio.msg import Msg
from nats.aio.subscription import Subscription
from nats.js.api import Header

from sourcier.services.chassis.errors import Superseded, Unavailable
from sourcier.services.chassis.fair_turns import FairSlots
from sourcier.services.chassis.queue import subjects
from sourcier.services.chassis.queue.broker_errors import quietly
from sourcier.services.chassis.queue.consuming import Consumer, Delivery, hand_back
from sourcier.services.chassis.queue.jetstream import JetStream
from sourcier.services.chassis.queue.subjects import Payload, Subject

M = TypeVar("M", bound=Payload)

LOOK_SECONDS = 1.0
"""How often the stream is asked who has work: what the broker told of may be lost, and what was handed back is told by
nobody."""
FETCH_SECONDS = 5.0
"""How long the broker may take to say that it has nothing."""
IDLE_SECONDS_MAX = 600.0
"""How long a tenant's durable stays without being asked. It knows how often a message was delivered, so that this is
longer than all attempts of one take."""
_NOTHING = frozenset({"404", "408", "409"})


class FairConsumer(Consumer[M]):
    """Works on one kind of message; tenants that wait get by turns what costs as much."""

    def __init__(
        self, jetstream: JetStream, subject: Subject[M], *, told: Subject[M], stage: str, concurrency: dict[str, int],
        handle: Callable[[M, Delivery], Awaitable[None]], suffix: str, cost: Callable[[M], float],
    ) -> None:
        """Prepare to consume; `told` is where the broker tells of new messages, `cost` what one takes.

        `concurrency` is by lane, for a tenant alone: a third as many slots are kept for others.
        """
        super().__init__(
            jetstream, subject, stage=stage, concurrency=concurrency, handle=self._refunding, suffix=suffix
        )
        self._told = told
        self._cost = cost
        self._work_on = handle
        self._slots: dict[str, FairSlots] = {}

    async def _refunding(self, message: M, delivery: Delivery) -> None:
        """Work on a message; what is dropped before it costs anything is not counted."""
        try:
            await self._work_on(message, delivery)
        except Superseded:
            self._slots[delivery.lane].refund(delivery.tenant, cost=self._cost(message))
            raise

    async def _consume(
        self, lane: str, concurrency: int, group: asyncio.TaskGroup, stopping: asyncio.Event
    ) -> None:
        slots = self._slots[lane] = FairSlots(each_max=concurrency)
        await self._serve_until(stopping, partial(self._serve_fairly, lane, slots, group, stopping))
        await slots.all_given_back()

    async def _serve_fairly(
        self, lane: str, slots: FairSlots, group: asyncio.TaskGroup, stopping: asyncio.Event
    ) -> None:
        """Fetch and hand out messages until told to stop, or until the broker does not answer."""
        await self._jetstream.ensure_streams()
        queue = _LaneQueue(self._jetstream, self._subject, stage=self.name, lane=lane, suffix=self._suffix)

        async def heard(message: Msg) -> None:
            slots.may_want(self._told.tenant_of(message.subject))

        pattern = self._told.pattern(self._jetstream.prefix, lane, self._suffix)
        async with queue, _subscribed(self._jetstream, pattern, heard):
            looked_at = -LOOK_SECONDS
            while not stopping.is_set():
                if time.monotonic() - looked_at >= LOOK_SECONDS:
                    looked_at = time.monotonic()
                    for waiting in await queue.tenants():
                        slots.may_want(waiting)
                tenant = slots.next_tenant()
                if tenant is None:
                    await slots.changed(stopping, seconds=LOOK_SECONDS)
                    continue
                # First: what is told of while the broker is asked counts.
                slots.wants_nothing(tenant)
                message = await queue.fetch(tenant)
                if message is None:
                    continue
                slots.may_want(tenant)
                if stopping.is_set():
                    await hand_back(message, 0.01)
                    return
                slots.take(tenant, cost=self._cost_of(message))
                task = group.create_task(self._work(message, lane), name=f"{self.name} message")
                task.add_done_callback(partial(self._give_back, slots, tenant))

    @staticmethod
    def _give_back(slots: FairSlots, tenant: str, _: asyncio.Task[None]) -> None:
        slots.give_back(tenant)

    def _cost_of(self, message: Msg) -> float:
        try:
            return self._cost(self._subject.message.FromString(message.data))
        except DecodeError:
            return float(len(message.data))  # the loop gives it up


@asynccontextmanager
async def _subscribed(
    jetstream: JetStream, pattern: str, heard: Callable[[Msg], Awaitable[None]]
) -> AsyncIterator[None]:
    subscription = await jetstream.client.subscribe(pattern, cb=heard)
    try:
        yield
    finally:
        await quietly(subscription.unsubscribe())


class _LaneQueue:
    """One lane's messages on the broker, by tenant; use it as an async context manager.

    What is asked for is answered on one inbox, one question at a time: a subscription for each tenant would cost the
    broker interest that comes and goes with every document. After a question without an answer it is not used again.
    """

    def __init__(self, jetstream: JetStream, subject: Subject[Payload], *, stage: str, lane: str, suffix: str) -> None:
        assert subject.stream is not None
        self._jetstream = jetstream
        self._subject = subject
        self._stream = subject.stream
        self._stage, self._lane, self._suffix = stage, lane, suffix
        self._durables: dict[str, tuple[str, float]] = {}
        """Name of each tenant's durable, and when it was last asked."""
        self._answers: Subscription

    async def __aenter__(self) -> Self:
        await self._remove_shared()
        self._inbox = self._jetstream.client.new_inbox()
        self._answers = await self._jetstream.client.subscribe(self._inbox)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await quietly(self._answers.unsubscribe())

    async def _remove_shared(self) -> None:
        """Remove what older releases had: a durable for all tenants, whose messages stay and are delivered again, and
        one for all spaces, whose messages nobody would fetch."""
        stream, shared = subjects.stream_name(self._jetstream.prefix, self._stream), f"{self._stage}_{self._lane}"
        await self._jetstream.remove_durable(stream, shared, purge=True)
        await self._jetstream.remove_durable(stream, f"{shared}_{self._suffix}")

    async def tenants(self) -> set[str]:
        """Return the tenants of which a message waits or is in hand."""
        counts = await self._jetstream.queues.counts(self._subject, lane=self._lane, suffix=self._suffix)
        return {self._subject.tenant_of(address) for address in counts}

    async def fetch(self, tenant: str) -> Msg | None:
        """Return a tenant's next message, or None where there is none now."""
        stream = subjects.stream_name(self._jetstream.prefix, self._stream)
        durable = await self._durable(tenant)
        asked = json.dumps({"batch": 1, "no_wait": True}).encode()
        await self._jetstream.client.publish(
            f"$JS.API.CONSUMER.MSG.NEXT.{stream}.{durable}", asked, reply=self._inbox
        )
        message = await self._answers.next_msg(timeout=FETCH_SECONDS)
        status = (message.headers or {}).get(Header.STATUS)
        if status is None:
            return message
        if status not in _NOTHING:  # the durable was removed, or its stream with it
            raise Unavailable(f"the durable {durable} does not answer: status {status}")
        return None

    async def _durable(self, tenant: str) -> str:
        name, asked_at = self._durables.get(tenant, ("", 0.0))
        if not name or time.monotonic() - asked_at > IDLE_SECONDS_MAX / 2:
            self._forget_idle()
            _, name = await self._jetstream.ensure_durable(
                self._subject, stage=self._stage, lane=self._lane, suffix=self._suffix, tenant=tenant,
                idle_seconds_max=IDLE_SECONDS_MAX,
            )
        self._durables[tenant] = (name, time.monotonic())
        return name

    def _forget_idle(self) -> None:
        since = time.monotonic() - IDLE_SECONDS_MAX / 2
        self._durables = {tenant: known for tenant, known in self._durables.items() if known[1] >= since}
