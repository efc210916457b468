"""The consume loop, on a real broker: every way a message can end, and every way the loop can be disturbed."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import nats.js.errors
import pytest

from sourcier.events.v1 import events_pb2
from sourcier.services.chassis import telemetry
from sourcier.services.chassis.errors import DocumentEncrypted, DocumentMalformed, Superseded, Unavailable
from sourcier.services.chassis.queue import consuming, subjects
from sourcier.services.chassis.queue.consuming import DELIVERIES_MAX, UNSETTLED_MAX, Delivery
from sourcier.services.chassis.queue.jetstream import JetStream
from sourcier.services.chassis.queue.subjects import CHUNKS_READY, DEAD_EMBED
from tests.integration.chassis.fix_jetstream import (
    SUFFIX,
    consumer_info,
    consuming_with,
    hasten,
    letters,
    publish,
    ready,
    stream_messages,
)
from tests.waiting import eventually


class Recorder:
    """A handler that notes what it got and fails as it is told: an error for each attempt, then none."""

    def __init__(self, *errors: Exception | None, always: Exception | None = None) -> None:
        self.seen: list[tuple[int, int, str]] = []
        self.request_ids: list[str] = []
        self._errors = list(errors)
        self._always = always

    async def __call__(self, message: events_pb2.ChunksReady, delivery: Delivery) -> None:
        self.seen.append((message.batch_no, delivery.attempt, delivery.lane))
        self.request_ids.append(telemetry.current_request_id())
        error = self._errors.pop(0) if self._errors else self._always
        if error is not None:
            raise error


async def settled(jetstream: JetStream) -> None:
    """Wait until the queue is empty: a work queue keeps what is not acknowledged."""
    async def empty() -> bool:
        return await stream_messages(jetstream) == 0

    await eventually(empty, seconds=15)


@pytest.fixture(autouse=True)
def fast(monkeypatch: pytest.MonkeyPatch) -> None:
    hasten(monkeypatch)


async def test_a_message_is_acknowledged_after_its_work(jetstream: JetStream) -> None:
    during: list[int] = []

    async def handle(message: events_pb2.ChunksReady, delivery: Delivery) -> None:
        during.append((await consumer_info(jetstream)).num_ack_pending or 0)

    async with consuming_with(jetstream, handle):
        await publish(jetstream, 1)
        await settled(jetstream)
    assert during == [1]
    assert (await consumer_info(jetstream)).num_ack_pending == 0


async def test_what_was_published_before_the_worker_came_is_done(jetstream: JetStream) -> None:
    handler = Recorder()
    await publish(jetstream, 1, 2)
    await publish(jetstream, 3, lane="bulk")
    async with consuming_with(jetstream, handler):
        await settled(jetstream)
    assert sorted(handler.seen) == [(1, 1, "interactive"), (2, 1, "interactive"), (3, 1, "bulk")]


@pytest.mark.parametrize("error", [Unavailable("not now"), ValueError("a bug")])
async def test_what_may_heal_comes_again(jetstream: JetStream, error: Exception) -> None:
    handler = Recorder(error, error)
    async with consuming_with(jetstream, handler):
        await publish(jetstream, 1)
        await settled(jetstream)
    assert [attempt for _, attempt, _ in handler.seen] == [1, 2, 3]


async def test_a_permanent_error_is_a_dead_letter_at_once(jetstream: JetStream) -> None:
    handler = Recorder(always=DocumentEncrypted("a password is needed"))
    async with consuming_with(jetstream, handler):
        await publish(jetstream, 1)
        (letter,) = await letters(jetstream, 1)
        await settled(jetstream)
    assert len(handler.seen) == 1
    assert (letter.stage, letter.reason, letter.message, letter.attempts) == (
        "embed", "DOCUMENT_ENCRYPTED", "a password is needed", 1,
    )
    assert letter.version.version_id == "v"
    assert events_pb2.ChunksReady.FromString(letter.payload) == ready(1)
    assert letter.subject == CHUNKS_READY.address(jetstream.prefix, tenant="acme", suffix=SUFFIX)


async def test_an_error_that_does_not_heal_is_a_dead_letter_once_attempts_are_spent(jetstream: JetStream) -> None:
    handler = Recorder(always=ValueError("a secret of the house"))
    async with consuming_with(jetstream, handler):
        await publish(jetstream, 1)
        (letter,) = await letters(jetstream, 1)
        await settled(jetstream)
    assert [attempt for _, attempt, _ in handler.seen] == list(range(1, DELIVERIES_MAX + 1))
    assert (letter.reason, letter.attempts) == ("INTERNAL", DELIVERIES_MAX)
    assert "secret" not in letter.message


async def test_attempts_that_no_handler_could_count_are_counted(
    jetstream: JetStream, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker that crashes on a message never raises: its deliveries end by the ack wait alone."""
    hasten(monkeypatch, jetstream, ack_wait=0.25)
    await publish(jetstream, 1)
    stream, durable = await jetstream.ensure_durable(CHUNKS_READY, stage="embed", lane="interactive")
    subscription = await jetstream.context.pull_subscribe_bind(durable, stream=stream)
    for attempt in range(1, DELIVERIES_MAX + UNSETTLED_MAX + 1):
        async with asyncio.timeout(10):
            (message,) = await subscription.fetch(1, timeout=5)
        assert message.metadata.num_delivered == attempt
    await subscription.unsubscribe()
    handler = Recorder()
    async with consuming_with(jetstream, handler):
        (letter,) = await letters(jetstream, 1)
        await settled(jetstream)
    assert handler.seen == []
    assert (letter.reason, letter.attempts) == ("ATTEMPTS_SPENT", DELIVERIES_MAX + UNSETTLED_MAX + 1)


async def test_an_outage_whose_renewal_cannot_be_written_gives_no_dead_letter(
    jetstream: JetStream, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish_payload, refused = jetstream.publish_payload, [Unavailable("no leader")]

    async def electing(*arguments: Any, **options: Any) -> Any:
        if refused and str(options.get("message_id", "")).startswith("renewed-"):
            raise refused.pop()
        return await publish_payload(*arguments, **options)

    monkeypatch.setattr(jetstream, "publish_payload", electing)
    handler = Recorder(*[Unavailable("away")] * (DELIVERIES_MAX + 1))
    async with consuming_with(jetstream, handler):
        await publish(jetstream, 1)
        await settled(jetstream)
    # The ninth delivery is renewed; the copy, whose deliveries are counted from one, is done.
    assert [attempt for _, attempt, _ in handler.seen] == [*range(1, DELIVERIES_MAX + 2), 1]
    assert not refused


async def test_a_message_that_cannot_be_read_is_a_dead_letter(jetstream: JetStream) -> None:
    handler = Recorder()
    address = CHUNKS_READY.address(jetstream.prefix, tenant="acme", suffix=SUFFIX)
    async with consuming_with(jetstream, handler):
        await jetstream.publish_payload(address, b"\xff\xff no protobuf", message_id="bad")
        await publish(jetstream, 2)
        (letter,) = await letters(jetstream, 1)
        await settled(jetstream)
    assert [number for number, _, _ in handler.seen] == [2]
    assert (letter.reason, letter.payload, letter.subject) == ("MALFORMED", b"\xff\xff no protobuf", address)


@pytest.mark.parametrize("named", [True, False])
async def test_the_largest_message_has_its_letter_and_so_has_one_without_a_version(
    jetstream: JetStream, named: bool
) -> None:
    """A letter holds its message and says why: it is larger than a message may be."""
    message = ready(1) if named else events_pb2.ChunksReady(batch_no=1)
    message.title = "x" * (subjects.BODY_BYTES_MAX - message.ByteSize() - 8)
    assert subjects.BODY_BYTES_MAX - 16 < message.ByteSize() <= subjects.BODY_BYTES_MAX
    handler = Recorder(always=DocumentMalformed("“…” is damaged: " + "é" * 100_000))
    async with consuming_with(jetstream, handler):
        await jetstream.publish(CHUNKS_READY, message, tenant="acme", suffix=SUFFIX, message_id="large")
        (letter,) = await letters(jetstream, 1)
        await settled(jetstream)
    assert [attempt for _, attempt, _ in handler.seen] == [1]
    assert events_pb2.ChunksReady.FromString(letter.payload) == message
    assert letter.version.version_id == ("v" if named else "")
    assert letter.message.startswith("“…” is damaged: é")
    assert await stream_messages(jetstream, subjects.DEAD) == 1


async def test_superseded_work_is_done(jetstream: JetStream) -> None:
    handler = Recorder(always=Superseded("a newer version"))
    async with consuming_with(jetstream, handler):
        await publish(jetstream, 1)
        await settled(jetstream)
    assert len(handler.seen) == 1
    assert await stream_messages(jetstream, subjects.DEAD) == 0


async def test_a_letter_that_cannot_be_written_keeps_its_message(jetstream: JetStream) -> None:
    handler = Recorder(always=DocumentMalformed("damaged"))

    async def subscribed() -> bool:
        try:
            return ((await consumer_info(jetstream)).num_waiting or 0) > 0
        except nats.js.errors.NotFoundError:
            return False

    async with consuming_with(jetstream, handler, concurrency={"interactive": 1}):
        await eventually(subscribed, seconds=15)
        await jetstream.context.delete_stream(subjects.stream_name(jetstream.prefix, subjects.DEAD))
        await publish(jetstream, 1)

        async def tried_twice() -> bool:
            return len(handler.seen) >= 2

        await eventually(tried_twice, seconds=15)
        assert await stream_messages(jetstream) == 1
        await jetstream.ensure_streams()
        (letter,) = await letters(jetstream, 1)
        await settled(jetstream)
    assert letter.reason == "DOCUMENT_MALFORMED"


async def test_the_stage_of_dead_letters_never_gives_up_on_what_may_heal(jetstream: JetStream) -> None:
    attempts: list[int] = []
    healed = asyncio.Event()

    async def handle(letter: events_pb2.DeadLetter, delivery: Delivery) -> None:
        attempts.append(delivery.attempt)
        if len(attempts) <= DELIVERIES_MAX + 2:
            raise Unavailable("the database is away")
        healed.set()

    async with consuming_with(
        jetstream, handle, subject=DEAD_EMBED, stage="failures_embed", concurrency={"": 1}
    ):
        await jetstream.publish(DEAD_EMBED, events_pb2.DeadLetter(stage="embed"), tenant="acme", message_id="one")
        await asyncio.wait_for(healed.wait(), 20)
    assert attempts == list(range(1, DELIVERIES_MAX + 4))


async def test_a_heartbeat_keeps_the_message_of_a_slow_handler(
    jetstream: JetStream, monkeypatch: pytest.MonkeyPatch
) -> None:
    hasten(monkeypatch, jetstream, ack_wait=0.6)
    seen: list[int] = []

    async def handle(message: events_pb2.ChunksReady, delivery: Delivery) -> None:
        seen.append(delivery.attempt)
        await asyncio.sleep(2.0)  # over three ack waits: what is tested is the time itself

    async with consuming_with(jetstream, handle):
        await publish(jetstream, 1)
        await settled(jetstream)
    assert seen == [1]


async def test_a_heartbeat_keeps_the_message_of_a_slow_dead_letter(
    jetstream: JetStream, monkeypatch: pytest.MonkeyPatch
) -> None:
    hasten(monkeypatch, jetstream, ack_wait=0.6)
    publish_payload = jetstream.publish_payload

    async def slow(*arguments: Any, **options: Any) -> Any:
        if str(options.get("message_id", "")).startswith("dead-"):
            await asyncio.sleep(2.0)  # a full queue: over three ack waits
        return await publish_payload(*arguments, **options)

    monkeypatch.setattr(jetstream, "publish_payload", slow)
    handler = Recorder(always=DocumentMalformed("damaged"))
    async with consuming_with(jetstream, handler):
        await publish(jetstream, 1)
        await settled(jetstream)
    assert [attempt for _, attempt, _ in handler.seen] == [1]


async def test_a_heartbeat_that_dies_ends_the_work_before_another_worker_begins(
    nats_url: str, jetstream: JetStream, monkeypatch: pytest.MonkeyPatch
) -> None:
    hasten(monkeypatch, jetstream, ack_wait=1.5)
    started, ended = asyncio.Event(), asyncio.Event()
    at: dict[str, float] = {}

    async def hang(message: events_pb2.ChunksReady, delivery: Delivery) -> None:
        started.set()
        at["started"] = time.monotonic()
        try:
            await asyncio.Event().wait()
        finally:
            at["ended"] = time.monotonic()
            ended.set()

    async with (
        JetStream(url=nats_url, prefix=jetstream.prefix, name="cut off", limits=jetstream.limits) as cut_off,
        consuming_with(cut_off, hang),
    ):
        await publish(jetstream, 1)
        await asyncio.wait_for(started.wait(), 10)
        await cut_off._client.close()
        await asyncio.wait_for(ended.wait(), 10)
    assert at["ended"] - at["started"] < 1.5
    handler = Recorder()
    async with consuming_with(jetstream, handler):
        await settled(jetstream)
    assert [attempt for _, attempt, _ in handler.seen] == [2]


async def test_a_durable_that_is_deleted_is_made_again(
    jetstream: JetStream, monkeypatch: pytest.MonkeyPatch
) -> None:
    hasten(monkeypatch, check=0.3)
    handler = Recorder()
    stream = subjects.stream_name(jetstream.prefix, subjects.READY)
    async with consuming_with(jetstream, handler):
        await publish(jetstream, 1)
        await settled(jetstream)
        await jetstream.context.delete_consumer(stream, "embed_interactive")
        await publish(jetstream, 2)
        await settled(jetstream)
    assert [number for number, _, _ in handler.seen] == [1, 2]


async def test_a_stream_that_is_deleted_is_made_again(
    jetstream: JetStream, monkeypatch: pytest.MonkeyPatch
) -> None:
    hasten(monkeypatch, check=0.3)
    handler = Recorder()
    async with consuming_with(jetstream, handler):
        await publish(jetstream, 1)
        await settled(jetstream)
        await jetstream.context.delete_stream(subjects.stream_name(jetstream.prefix, subjects.READY))

        async def published() -> bool:
            try:
                await publish(jetstream, 2)
            except Unavailable:
                return False
            return True

        await eventually(published, seconds=15)
        await settled(jetstream)
    assert [number for number, _, _ in handler.seen] == [1, 2]


async def test_a_stop_finishes_what_is_in_hand_and_leaves_the_rest(jetstream: JetStream) -> None:
    release, inside = asyncio.Event(), asyncio.Event()
    done: list[int] = []

    async def handle(message: events_pb2.ChunksReady, delivery: Delivery) -> None:
        inside.set()
        await release.wait()
        done.append(message.batch_no)

    await publish(jetstream, 1, 2, 3)
    async with consuming_with(jetstream, handle, concurrency={"interactive": 1}) as stopping:
        await inside.wait()
        stopping.set()
        release.set()
    assert done == [1]
    # The next worker gets them now, not after the ack wait of 30 s; they were not fetched, so no delivery is spent.
    handler = Recorder()
    async with consuming_with(jetstream, handler):
        async with asyncio.timeout(10):
            await settled(jetstream)
    assert sorted(handler.seen) == [(2, 1, "interactive"), (3, 1, "interactive")]


async def test_work_that_is_cut_off_is_handed_back(jetstream: JetStream) -> None:
    """The grace ended: the consumer's task is cancelled, and its message does not wait for the ack wait of 30 s."""
    inside = asyncio.Event()

    async def hang(message: events_pb2.ChunksReady, delivery: Delivery) -> None:
        inside.set()
        await asyncio.Event().wait()

    consumer = consuming.Consumer(
        jetstream, CHUNKS_READY, stage="embed", concurrency={"interactive": 1}, handle=hang
    )
    task = asyncio.create_task(consumer.run(asyncio.Event()))
    await publish(jetstream, 1)
    await asyncio.wait_for(inside.wait(), 10)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    handler = Recorder()
    async with consuming_with(jetstream, handler):
        async with asyncio.timeout(10):
            await settled(jetstream)
    assert [attempt for _, attempt, _ in handler.seen] == [2]


async def test_no_more_is_in_hand_than_there_are_slots(jetstream: JetStream) -> None:
    in_hand, most = 0, 0
    full, release = asyncio.Event(), asyncio.Event()

    async def handle(message: events_pb2.ChunksReady, delivery: Delivery) -> None:
        nonlocal in_hand, most
        in_hand += 1
        most = max(most, in_hand)
        if in_hand == 3:
            full.set()
        await release.wait()
        in_hand -= 1

    await publish(jetstream, *range(10))
    async with consuming_with(jetstream, handle, concurrency={"interactive": 3}):
        await asyncio.wait_for(full.wait(), 10)
        # A fourth fetch would be on its way by now.
        assert ((await consumer_info(jetstream)).num_ack_pending or 0) == 3
        release.set()
        await settled(jetstream)
    assert most == 3


async def test_bulk_work_does_not_hold_up_the_interactive_lane(jetstream: JetStream) -> None:
    release, done = asyncio.Event(), asyncio.Event()

    async def handle(message: events_pb2.ChunksReady, delivery: Delivery) -> None:
        if delivery.lane == "bulk":
            await release.wait()
        else:
            done.set()

    await publish(jetstream, *range(20), lane="bulk")
    async with consuming_with(jetstream, handle, concurrency={"interactive": 1, "bulk": 2}):
        await publish(jetstream, 100)
        await asyncio.wait_for(done.wait(), 10)
        assert await stream_messages(jetstream) >= 20
        release.set()
        await settled(jetstream)


async def test_a_lane_without_slots_is_left_to_others(jetstream: JetStream) -> None:
    handler = Recorder()
    await publish(jetstream, 1, lane="bulk")
    async with consuming_with(jetstream, handler, concurrency={"interactive": 1, "bulk": 0}):
        await publish(jetstream, 2)

        async def one_left() -> bool:
            return await stream_messages(jetstream) == 1

        await eventually(one_left, seconds=15)
    assert [number for number, _, _ in handler.seen] == [2]
    with pytest.raises(nats.js.errors.NotFoundError):
        await consumer_info(jetstream, lane="bulk")


async def test_two_workers_share_a_queue_without_doing_anything_twice(nats_url: str, jetstream: JetStream) -> None:
    first, second = Recorder(), Recorder()
    async with (
        JetStream(url=nats_url, prefix=jetstream.prefix, name="second") as other,
        consuming_with(jetstream, first),
        consuming_with(other, second),
    ):
        await asyncio.gather(*(publish(jetstream, number) for number in range(60)))
        await settled(jetstream)
    assert sorted(number for number, _, _ in first.seen + second.seen) == list(range(60))


async def test_the_request_id_comes_from_the_header_else_from_the_version(jetstream: JetStream) -> None:
    handler = Recorder()
    async with consuming_with(jetstream, handler, concurrency={"interactive": 1}):
        with telemetry.request("ask-1"):
            await publish(jetstream, 1, request_id="upload-1")
        await settled(jetstream)
        await publish(jetstream, 2, request_id="upload-1")  # as the relay does, outside of any request
        await settled(jetstream)
        await publish(jetstream, 3)
        await settled(jetstream)
    assert handler.request_ids[:2] == ["ask-1", "upload-1"]
    assert len(handler.request_ids[2]) == 36


async def test_outcomes_are_counted(jetstream: JetStream) -> None:
    def counted(outcome: str) -> float:
        return telemetry.messages_total.labels("embed", outcome)._value.get()  # type: ignore[no-any-return]

    before = {outcome: counted(outcome) for outcome in ("done", "retried", "dead_lettered")}
    handler = Recorder(None, Unavailable("not now"), None, DocumentMalformed("damaged"))
    async with consuming_with(jetstream, handler, concurrency={"interactive": 1}):
        await publish(jetstream, 1)
        await settled(jetstream)
        await publish(jetstream, 2)
        await settled(jetstream)
        await publish(jetstream, 3)
        await settled(jetstream)
    assert {outcome: counted(outcome) - was for outcome, was in before.items()} == {
        "done": 2, "retried": 1, "dead_lettered": 1,
    }


@pytest.mark.slow
async def test_a_thousand_idle_rounds_without_a_stall(jetstream: JetStream, monkeypatch: pytest.MonkeyPatch) -> None:
    """nats.py #986: a fetch on an idle queue may wait its whole time-out with a message there. Ours may not."""
    monkeypatch.setattr(consuming, "FETCH_SECONDS", 60.0)
    handled = asyncio.Event()

    async def handle(message: events_pb2.ChunksReady, delivery: Delivery) -> None:
        handled.set()

    async with consuming_with(jetstream, handle, concurrency={"interactive": 1}):
        for number in range(1000):
            await publish(jetstream, number)
            # A third of the time-out: a busy machine takes long, but not so long.
            async with asyncio.timeout(20):
                await handled.wait()
            handled.clear()
