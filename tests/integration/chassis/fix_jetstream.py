"""A broker of the test's own streams, small messages to put on them, and a way to see what became of them."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from nats.js.api import ConsumerInfo

from sourcier.events.v1 import events_pb2
from sourcier.services.chassis.ids import new_id
from sourcier.services.chassis.queue import consuming, subjects
from sourcier.services.chassis.queue.consuming import Consumer, Delivery
from sourcier.services.chassis.queue.jetstream import JetStream
from sourcier.services.chassis.queue.subjects import CHUNKS_READY, Subject

SUFFIX = "space"
Handler = Callable[[events_pb2.ChunksReady, Delivery], Awaitable[None]]


@asynccontextmanager
async def connected(url: str, prefix: str) -> AsyncIterator[JetStream]:
    """Open a connection with every stream in place, and remove them after it."""
    async with JetStream(url=url, prefix=prefix, name="test") as jetstream:
        try:
            yield jetstream
        finally:
            for stream, _ in subjects.streams():
                try:
                    await jetstream.context.delete_stream(subjects.stream_name(prefix, stream))
                except Exception:  # a test may have deleted it, or closed the connection
                    break


def ready(number: int = 0, *, tenant: str = "acme", request_id: str = "") -> events_pb2.ChunksReady:
    """Return a message that is told apart by its number."""
    return events_pb2.ChunksReady(
        batch_no=number, version=events_pb2.VersionReference(tenant=tenant, version_id="v", request_id=request_id)
    )


async def publish(
    jetstream: JetStream, *numbers: int, lane: str = "interactive", tenant: str = "acme", request_id: str = ""
) -> None:
    """Put messages on `chunks.ready`."""
    for number in numbers:
        await jetstream.publish(
            CHUNKS_READY, ready(number, tenant=tenant, request_id=request_id), tenant=tenant, lane=lane,
            suffix=SUFFIX, message_id=new_id(),
        )


@asynccontextmanager
async def consuming_with(
    jetstream: JetStream, handle: Any, *, subject: Subject[Any] = CHUNKS_READY, stage: str = "embed",
    concurrency: dict[str, int] | None = None,
) -> AsyncIterator[asyncio.Event]:
    """Run a consumer; the event stops it, leaving the block does so too."""
    consumer = Consumer(
        jetstream, subject, stage=stage, handle=handle,
        concurrency={"interactive": 4, "bulk": 2} if concurrency is None else concurrency,
    )
    stopping = asyncio.Event()
    task = asyncio.create_task(consumer.run(stopping), name=stage)
    try:
        yield stopping
    finally:
        stopping.set()
        async with asyncio.timeout(30):
            await asyncio.gather(task)


async def consumer_info(jetstream: JetStream, *, lane: str = "interactive", stage: str = "embed") -> ConsumerInfo:
    """Return the server's view of a stage's durable."""
    return await jetstream.context.consumer_info(
        subjects.stream_name(jetstream.prefix, subjects.READY), f"{stage}_{lane}"
    )


async def stream_messages(jetstream: JetStream, stream: subjects.Stream = subjects.READY) -> int:
    """Return how many messages a stream holds."""
    info = await jetstream.context.stream_info(subjects.stream_name(jetstream.prefix, stream))
    return int(info.state.messages)


async def letters(jetstream: JetStream, count: int, *, stage: str = "embed") -> list[events_pb2.DeadLetter]:
    """Return the dead letters of a stage, once there are so many."""
    subscription = await jetstream.context.subscribe(
        subjects.DEAD_BY_STAGE[stage].pattern(jetstream.prefix), ordered_consumer=True
    )
    found = []
    async with asyncio.timeout(20):
        while len(found) < count:
            message = await subscription.next_msg(timeout=20)
            found.append(events_pb2.DeadLetter.FromString(message.data))
    await subscription.unsubscribe()
    return found


def hasten(
    monkeypatch: pytest.MonkeyPatch, jetstream: JetStream | None = None, *, ack_wait: float | None = None,
    delay: float = 0.02, check: float | None = None,
) -> None:
    """Make the consume loop's patience a test's; the ack wait reaches the server with the durable."""
    monkeypatch.setattr(consuming, "FETCH_SECONDS", 0.3)
    monkeypatch.setattr(consuming, "NAK_DELAY_SECONDS_MAX", delay)
    if ack_wait is not None:
        assert jetstream is not None
        monkeypatch.setattr(
            jetstream, "limits", dataclasses.replace(jetstream.limits, ack_wait_seconds=ack_wait)
        )
    if check is not None:
        monkeypatch.setattr(consuming, "CHECK_SECONDS", check)


def with_limit(subject: Subject[Any], *, messages_max: int) -> subjects.Stream:
    """Return the subject's stream with room for so many messages of a tenant and lane."""
    assert subject.stream is not None
    return dataclasses.replace(subject.stream, messages_per_subject_max=messages_max)
