"""Work that costs much, on a real broker: whose message is next goes by what each tenant has had."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest
from nats.js.api import AckPolicy, ConsumerConfig

from sourcier.events.v1 import events_pb2
from sourcier.services.chassis.errors import InvalidArgument, Superseded, Unavailable
from sourcier.services.chassis.queue import consuming, fair_consuming, subjects
from sourcier.services.chassis.queue.consuming import Delivery
from sourcier.services.chassis.queue.fair_consuming import FairConsumer
from sourcier.services.chassis.queue.jetstream import JetStream
from sourcier.services.chassis.queue.subjects import CHUNKS_READY, CHUNKS_TOLD, Subject
from tests.integration.chassis.fix_jetstream import SUFFIX, hasten, letters, publish, stream_messages
from tests.waiting import eventually, until

Handle = Callable[[events_pb2.ChunksReady, Delivery], Awaitable[None]]
STREAM = "READY"


@pytest.fixture(autouse=True)
def _hastened(monkeypatch: pytest.MonkeyPatch) -> None:
    hasten(monkeypatch)
    monkeypatch.setattr(fair_consuming, "LOOK_SECONDS", 0.1)


@asynccontextmanager
async def consuming_fairly(
    jetstream: JetStream, handle: Handle, *, each_max: int = 2, told: Subject[events_pb2.ChunksReady] = CHUNKS_TOLD,
    cost: Callable[[events_pb2.ChunksReady], float] = lambda ready: 1.0,
) -> AsyncIterator[None]:
    consumer = FairConsumer(
        jetstream, CHUNKS_READY, told=told, stage="embed", concurrency={"interactive": each_max}, handle=handle,
        suffix=SUFFIX, cost=cost,
    )
    stopping = asyncio.Event()
    task = asyncio.create_task(consumer.run(stopping))
    try:
        yield
    finally:
        stopping.set()
        async with asyncio.timeout(30):
            await task


async def emptied(jetstream: JetStream) -> bool:
    return await stream_messages(jetstream) == 0


async def test_a_crowd_in_front_does_not_hold_up_who_comes_last(jetstream: JetStream) -> None:
    """By order, not by the clock: all that the first tenant may have in hand stands still."""
    begun: list[str] = []
    gate = asyncio.Event()

    async def handle(ready: events_pb2.ChunksReady, delivery: Delivery) -> None:
        begun.append(delivery.tenant)
        if delivery.tenant == "crowd":
            await gate.wait()

    await publish(jetstream, *range(200), tenant="crowd")
    async with consuming_fairly(jetstream, handle):
        await until(lambda: begun == ["crowd", "crowd"])
        await publish(jetstream, 0, tenant="single")
        await until(lambda: begun[2:] == ["single"])
        gate.set()
        await eventually(lambda: emptied(jetstream), seconds=30)
    assert Counter(begun) == {"crowd": 200, "single": 1}


async def test_turns_go_by_cost_and_not_by_count(jetstream: JetStream) -> None:
    begun: list[str] = []

    async def handle(ready: events_pb2.ChunksReady, delivery: Delivery) -> None:
        begun.append(delivery.tenant)

    # More tenants than slots: where a slot is free, it's given to whoever wants one.
    for tenant in ("costly-1", "costly-2", "costly-3", "cheap-1", "cheap-2", "cheap-3"):
        await publish(jetstream, *range(20), tenant=tenant)
    async with consuming_fairly(
        jetstream, handle, each_max=1, cost=lambda ready: 10.0 if "costly" in ready.version.tenant else 1.0
    ):
        await eventually(lambda: emptied(jetstream), seconds=60)
    assert len(begun) == 120
    # Twenty cheap pieces cost as much as two costly ones; the last three have both slots to themselves.
    kinds = [tenant.partition("-")[0] for tenant in begun]
    before_most_cheap = kinds[: [place for place, kind in enumerate(kinds) if kind == "cheap"][-6]]
    assert before_most_cheap.count("costly") <= 12, begun


async def test_what_is_dropped_is_not_counted(jetstream: JetStream) -> None:
    done: list[str] = []

    async def handle(ready: events_pb2.ChunksReady, delivery: Delivery) -> None:
        if ready.batch_no < 10 and delivery.tenant == "deleter":
            raise Superseded()
        done.append(delivery.tenant)

    await publish(jetstream, *range(12), tenant="deleter")
    for other in range(3):
        await publish(jetstream, *range(40), tenant=f"other-{other}")
    async with consuming_fairly(
        jetstream, handle, each_max=1, cost=lambda ready: 100.0 if ready.version.tenant == "deleter" else 1.0
    ):
        await eventually(lambda: emptied(jetstream), seconds=60)
    assert done.index("deleter") < 80, "what it deleted was counted as if it had been embedded"


async def test_work_that_comes_to_an_idle_consumer_is_told_of(
    jetstream: JetStream, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fair_consuming, "LOOK_SECONDS", 300.0)
    done: list[int] = []

    async def handle(ready: events_pb2.ChunksReady, delivery: Delivery) -> None:
        done.append(ready.batch_no)

    async with consuming_fairly(jetstream, handle):
        await publish(jetstream, 1)
        await until(lambda: done == [1])
        await publish(jetstream, 2, tenant="another")
        await until(lambda: done == [1, 2])


async def test_work_that_nobody_told_of_is_found(jetstream: JetStream) -> None:
    done: list[int] = []

    async def handle(ready: events_pb2.ChunksReady, delivery: Delivery) -> None:
        done.append(ready.batch_no)

    async with consuming_fairly(jetstream, handle, told=replace(CHUNKS_TOLD, name="chunks.elsewhere")):
        await publish(jetstream, 1)
        await until(lambda: done == [1])


async def test_the_broker_tells_of_messages_without_their_bodies(jetstream: JetStream) -> None:
    told: list[tuple[str, bytes]] = []

    async def heard(message: object) -> None:
        told.append((message.subject, message.data))  # type: ignore[attr-defined]

    await jetstream.client.subscribe(CHUNKS_TOLD.pattern(jetstream.prefix), cb=heard)
    await publish(jetstream, 7)
    await until(lambda: told == [
        (CHUNKS_TOLD.address(jetstream.prefix, tenant="acme", lane="interactive", suffix=SUFFIX), b"")
    ])


async def test_what_fails_is_tried_again_and_given_up_with_a_reason(
    jetstream: JetStream, monkeypatch: pytest.MonkeyPatch
) -> None:
    attempts: dict[int, list[int]] = {1: [], 2: []}

    async def handle(ready: events_pb2.ChunksReady, delivery: Delivery) -> None:
        attempts[ready.batch_no].append(delivery.attempt)
        if ready.batch_no == 2:
            raise InvalidArgument("no such thing")
        if delivery.attempt < 3:
            raise Unavailable()

    await publish(jetstream, 1, 2)
    async with consuming_fairly(jetstream, handle):
        (letter,) = await letters(jetstream, 1)
        await eventually(lambda: emptied(jetstream), seconds=15)
    assert attempts == {1: [1, 2, 3], 2: [1]}
    assert (letter.reason, letter.version.tenant) == ("INVALID_ARGUMENT", "acme")


@pytest.mark.parametrize("lost", ["durable", "stream"])
async def test_a_durable_or_a_stream_that_goes_is_made_again(jetstream: JetStream, lost: str) -> None:
    done: list[int] = []

    async def handle(ready: events_pb2.ChunksReady, delivery: Delivery) -> None:
        done.append(ready.batch_no)

    name = subjects.stream_name(jetstream.prefix, subjects.READY)
    async with consuming_fairly(jetstream, handle):
        await publish(jetstream, 1)
        await until(lambda: done == [1])
        if lost == "stream":
            await jetstream.context.delete_stream(name)
            await jetstream.ensure_streams()
        else:
            (durable,) = await jetstream.context.consumers_info(name)
            await jetstream.context.delete_consumer(name, durable.name)
        await publish(jetstream, 2)
        await until(lambda: done == [1, 2], seconds=20)


async def test_the_durable_that_all_tenants_shared_gives_way_and_nothing_is_lost(jetstream: JetStream) -> None:
    name = subjects.stream_name(jetstream.prefix, subjects.READY)
    await jetstream.context.add_consumer(name, ConsumerConfig(
        durable_name=f"embed_interactive_{SUFFIX}", ack_policy=AckPolicy.EXPLICIT,
        filter_subject=CHUNKS_READY.pattern(jetstream.prefix, "interactive", SUFFIX),
    ))
    await publish(jetstream, 1, 2)
    older = await jetstream.context.pull_subscribe_bind(f"embed_interactive_{SUFFIX}", stream=name)
    assert len(await older.fetch(1)) == 1  # in hand of the older release's process, which is then killed
    done: list[int] = []

    async def handle(ready: events_pb2.ChunksReady, delivery: Delivery) -> None:
        done.append(ready.batch_no)

    async with consuming_fairly(jetstream, handle):
        await until(lambda: sorted(done) == [1, 2])


async def test_depths_count_what_waits_by_space_whether_anybody_works_or_not(jetstream: JetStream) -> None:
    await publish(jetstream, 1, 2, tenant="acme")
    await publish(jetstream, 3, tenant="other", lane="interactive")
    assert (await jetstream.queues.depths())[f"embed_interactive_{SUFFIX}"] == 3


async def test_a_worker_that_dies_with_messages_in_hand_loses_none(
    jetstream: JetStream, monkeypatch: pytest.MonkeyPatch
) -> None:
    hasten(monkeypatch, jetstream, ack_wait=1.0)
    began, done = asyncio.Event(), list[int]()

    async def hang(ready: events_pb2.ChunksReady, delivery: Delivery) -> None:
        began.set()
        await asyncio.Event().wait()

    async def handle(ready: events_pb2.ChunksReady, delivery: Delivery) -> None:
        done.append(ready.batch_no)

    await publish(jetstream, 1, 2, 3)
    dying = asyncio.create_task(FairConsumer(
        jetstream, CHUNKS_READY, told=CHUNKS_TOLD, stage="embed", concurrency={"interactive": 2}, handle=hang,
        suffix=SUFFIX, cost=lambda ready: 1.0,
    ).run(asyncio.Event()))
    await began.wait()
    # A kill hands nothing back.
    monkeypatch.setattr(consuming, "hand_back", _nothing)
    dying.cancel()
    await asyncio.wait([dying])
    async with consuming_fairly(jetstream, handle):
        await until(lambda: sorted(done) == [1, 2, 3], seconds=20)


async def _nothing(*_: object) -> None:
    """As a process that is dead."""
