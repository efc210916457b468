"""Suffixes of subjects: consumers that share a stream by them, and the durable of a release that had none."""

from __future__ import annotations

import asyncio
from typing import Any

import nats
import pytest
from nats.js.api import AckPolicy, ConsumerConfig, DiscardPolicy, RetentionPolicy, StreamConfig

from sourcier.events.v1 import events_pb2
from sourcier.services.chassis.queue import subjects
from sourcier.services.chassis.queue.consuming import Consumer, Delivery
from sourcier.services.chassis.queue.jetstream import JetStream
from sourcier.services.chassis.queue.subjects import CHUNKS_READY
from tests.integration.chassis.fix_jetstream import connected, hasten, ready, stream_messages
from tests.waiting import eventually


async def test_a_consumer_with_a_suffix_takes_its_own_and_leaves_the_others(
    jetstream: JetStream, monkeypatch: pytest.MonkeyPatch
) -> None:
    hasten(monkeypatch)
    taken: dict[str, list[int]] = {"one": [], "two": []}
    consumers = [
        Consumer(jetstream, CHUNKS_READY, stage="embed", concurrency={"bulk": 1}, suffix=suffix,
                 handle=keeping(taken[suffix]))
        for suffix in taken
    ]
    stopping = asyncio.Event()
    async with asyncio.TaskGroup() as group:
        for consumer in consumers:
            group.create_task(consumer.run(stopping))
        for number in range(6):
            await jetstream.publish(CHUNKS_READY, ready(number), tenant="acme", lane="bulk",
                                    suffix=("one", "two")[number % 2], message_id=str(number))

        async def done() -> bool:
            return await stream_messages(jetstream) == 0

        await eventually(done, seconds=15)
        stopping.set()
    assert {suffix: sorted(numbers) for suffix, numbers in taken.items()} == {"one": [0, 2, 4], "two": [1, 3, 5]}


def keeping(numbers: list[int]) -> Any:
    async def handle(message: events_pb2.ChunksReady, delivery: Delivery) -> None:
        numbers.append(message.batch_no)

    return handle


async def test_the_durable_of_an_older_release_gives_way(nats_url: str, subject_prefix: str) -> None:
    """Streams, a durable and a message as they were before subjects named a space."""
    name = subjects.stream_name(subject_prefix, subjects.READY)
    client = await nats.connect(nats_url)
    context = client.jetstream()
    await context.add_stream(StreamConfig(
        name=name, subjects=[f"{subject_prefix}chunks.ready.*.*"], retention=RetentionPolicy.WORK_QUEUE,
        discard=DiscardPolicy.NEW, discard_new_per_subject=True, max_msgs_per_subject=20_000,
    ))
    await context.add_consumer(name, ConsumerConfig(
        durable_name="embed_bulk", filter_subject=f"{subject_prefix}chunks.ready.bulk.*", ack_policy=AckPolicy.EXPLICIT
    ))
    await context.publish(f"{subject_prefix}chunks.ready.bulk.acme", b"x")
    await client.close()
    async with connected(nats_url, subject_prefix) as jetstream:
        _, durable = await jetstream.ensure_durable(CHUNKS_READY, stage="embed", lane="bulk", suffix="one")
        assert durable == "embed_bulk_one"
        assert [info.name for info in await jetstream.context.consumers_info(name)] == [durable]
        assert await stream_messages(jetstream) == 0
