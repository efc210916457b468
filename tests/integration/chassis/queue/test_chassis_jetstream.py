"""Streams and publishing: created once, brought up to date, and nothing dropped when a hop is full."""

from __future__ import annotations

import asyncio
import dataclasses
import shutil
from pathlib import Path

import nats
import nats.js.errors
import pytest
from nats.aio.msg import Msg
from nats.js.api import RetentionPolicy, StorageType, StreamConfig

from sourcier.events.v1 import events_pb2
from sourcier.services.chassis import telemetry
from sourcier.services.chassis.errors import FailedPrecondition, ResourceExhausted, ServiceError, TooLarge, Unavailable
from sourcier.services.chassis.lifecycle import loop_factory
from sourcier.services.chassis.queue import jetstream as chassis_jetstream
from sourcier.services.chassis.queue import streams as chassis_streams
from sourcier.services.chassis.queue import subjects
from sourcier.services.chassis.queue.jetstream import JetStream
from sourcier.services.chassis.queue.subjects import CHUNKS_READY, PROGRESS, READY
from sourcier.services.stack.servers.nats import NatsServer, NatsServerSettings
from tests.integration.chassis.fix_jetstream import SUFFIX, publish, ready, stream_messages
from tests.waiting import eventually, until
from tests.walking import paths_below


def name_of(jetstream: JetStream, stream: subjects.Stream = READY) -> str:
    return subjects.stream_name(jetstream.prefix, stream)


async def limit_ready(jetstream: JetStream, messages_max: int) -> None:
    """Leave a tenant and lane room for so many messages, as a full hop would."""
    config = jetstream.streams.configuration(
        dataclasses.replace(READY, messages_per_subject_max=messages_max), [CHUNKS_READY]
    )
    await jetstream.context.update_stream(config)


async def refuse(jetstream: JetStream, server: NatsServer, times: int) -> list[nats.js.errors.ServerError]:
    """Delete a stream and let the broker's next attempts to make it fail; return the list that its refusals go to."""
    [folder] = [path for path in paths_below(server.settings.folder) if path.name == name_of(jetstream)]
    await jetstream.context.delete_stream(name_of(jetstream))
    add_stream = jetstream.context.add_stream
    refused: list[nats.js.errors.ServerError] = []

    async def add(config: StreamConfig) -> object:
        if config.name == name_of(jetstream) and len(refused) < times:
            shutil.rmtree(folder, ignore_errors=True)
            folder.touch()
        try:
            return await add_stream(config)
        except nats.js.errors.ServerError as error:
            refused.append(error)
            raise

    jetstream.context.add_stream = add  # type: ignore[method-assign, assignment]
    return refused


async def test_the_state_of_each_work_queue_is_told_and_of_nothing_else(jetstream: JetStream) -> None:
    told = [name for name, _, _ in await jetstream.stream_states()]
    assert told == [name_of(jetstream, stream) for stream, _ in subjects.streams() if stream.work_queue]


async def test_every_stream_of_the_table_is_there_and_never_drops_work(jetstream: JetStream) -> None:
    for stream, held in subjects.streams():
        config = (await jetstream.context.stream_info(name_of(jetstream, stream))).config
        assert config.subjects == [subject.pattern(jetstream.prefix) for subject in held]
        assert (config.retention == RetentionPolicy.WORK_QUEUE) is stream.work_queue
        assert (config.discard == "new") is stream.work_queue
        assert config.storage == (StorageType.MEMORY if stream.in_memory else StorageType.FILE)
        assert not (stream.work_queue and stream.in_memory)


async def test_opening_again_changes_nothing(jetstream: JetStream, nats_url: str) -> None:
    await publish(jetstream, 1)
    async with JetStream(url=nats_url, prefix=jetstream.prefix, name="second"):
        pass
    await jetstream.ensure_streams()
    assert await stream_messages(jetstream) == 1


async def test_a_folder_that_goes_away_under_a_new_stream_is_made_again(
    jetstream: JetStream, nats_server: NatsServer
) -> None:
    refused = await refuse(jetstream, nats_server, times=1)
    await jetstream.ensure_streams()
    await publish(jetstream, 1)
    assert await stream_messages(jetstream) == 1
    assert len(refused) == 1


async def test_a_stream_that_the_server_cannot_make_is_refused_in_the_end(
    jetstream: JetStream, nats_server: NatsServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chassis_streams, "_CREATE_PAUSES_SECONDS", (0.0, 0.0))
    refused = await refuse(jetstream, nats_server, times=10)
    with pytest.raises(FailedPrecondition, match="JetStream refuses the stream"):
        await jetstream.ensure_streams()
    assert len(refused) == 3


@pytest.mark.parametrize("room", [{"file_store_bytes_max": 2**20}, {"memory_store_bytes_max": 2**10}])
async def test_a_broker_without_room_for_the_streams_says_what_to_set(
    room: dict[str, int], tmp_path: Path, subject_prefix: str
) -> None:
    settings = NatsServerSettings(folder=tmp_path / "nats", log=tmp_path / "nats.log", **room)
    says = r"refuses the stream .*insufficient .*; raise .* max_file_store or max_memory_store, or lower .*_BYTES_MAX"
    async with NatsServer(settings) as server:
        with pytest.raises(FailedPrecondition, match=says):
            async with JetStream(url=server.url, prefix=subject_prefix, name="test"):
                pass


async def test_a_cluster_without_room_for_a_stream_says_what_to_set(
    jetstream: JetStream, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def full(config: StreamConfig) -> object:
        raise nats.js.errors.ServiceUnavailableError(code=503, err_code=10023, description="insufficient resources")

    await jetstream.context.delete_stream(name_of(jetstream))
    monkeypatch.setattr(jetstream.context, "add_stream", full)
    with pytest.raises(FailedPrecondition, match=r"insufficient resources; raise JetStream's max_file_store"):
        await jetstream.ensure_streams()


async def test_a_stream_of_an_older_release_is_brought_up_to_date_with_its_messages(jetstream: JetStream) -> None:
    await publish(jetstream, 1)
    await limit_ready(jetstream, 7)
    await jetstream.ensure_streams()
    info = await jetstream.context.stream_info(name_of(jetstream))
    assert info.config.max_msgs_per_subject == jetstream.limits.messages_per_subject_max
    assert info.state.messages == 1


async def test_a_stream_that_cannot_be_brought_up_to_date_is_named(nats_url: str, subject_prefix: str) -> None:
    client = await nats.connect(nats_url)
    name = subjects.stream_name(subject_prefix, READY)
    try:
        # Another storage cannot be changed into ours.
        await client.jetstream().add_stream(StreamConfig(
            name=name, subjects=[CHUNKS_READY.pattern(subject_prefix)], storage=StorageType.MEMORY
        ))
        with pytest.raises(ServiceError, match=name):
            async with JetStream(url=nats_url, prefix=subject_prefix, name="test"):
                pass
    finally:
        for stream, _ in subjects.streams():
            try:
                await client.jetstream().delete_stream(subjects.stream_name(subject_prefix, stream))
            except nats.js.errors.NotFoundError:
                continue
        await client.close()


async def test_a_broker_that_is_not_there_is_said_without_its_password() -> None:
    with pytest.raises(Unavailable, match=r"cannot connect to NATS at nats://\*\*\*@127.0.0.1:1: .*failed") as raised:
        async with JetStream(
            url="nats://user:hunter2@127.0.0.1:1", prefix="test.none.", name="test", wait_seconds=0.3
        ):
            pass
    assert "hunter2" not in raised.value.message


async def test_the_same_message_id_is_stored_once(jetstream: JetStream) -> None:
    for _ in range(3):
        await jetstream.publish(CHUNKS_READY, ready(), tenant="acme", lane="bulk", suffix=SUFFIX, message_id="same")
    assert await stream_messages(jetstream) == 1


async def test_a_publisher_waits_for_room_and_goes_on(
    jetstream: JetStream, caplog: pytest.LogCaptureFixture
) -> None:
    await limit_ready(jetstream, 2)
    await publish(jetstream, 1, 2)
    waiting = asyncio.create_task(publish(jetstream, 3))

    async def refused() -> bool:
        return "queue full, waiting" in caplog.text

    await eventually(refused, seconds=15)
    assert not waiting.done()
    # Another tenant, and the other lane, have room of their own.
    await publish(jetstream, 4, tenant="other")
    await publish(jetstream, 5, lane="bulk")
    await jetstream.context.purge_stream(name_of(jetstream))
    async with asyncio.timeout(10):
        await waiting
    assert await stream_messages(jetstream) == 1


async def test_a_queue_that_stays_full_is_an_error_worth_a_retry(
    jetstream: JetStream, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chassis_jetstream, "FULL_WAIT_SECONDS", 0.3)
    await limit_ready(jetstream, 1)
    await publish(jetstream, 1)
    with pytest.raises(ResourceExhausted, match="stayed full") as raised:
        await publish(jetstream, 2)
    assert raised.value.retryable


async def test_who_does_not_wait_is_told_at_once_that_a_queue_is_full(jetstream: JetStream) -> None:
    await limit_ready(jetstream, 1)
    address = CHUNKS_READY.address(jetstream.prefix, tenant="acme", suffix=SUFFIX)
    await jetstream.publish_payload(address, b"first", message_id="first", wait_seconds=0)
    async with asyncio.timeout(10):
        with pytest.raises(ResourceExhausted, match="is full"):
            await jetstream.publish_payload(address, b"second", message_id="second", wait_seconds=0)


async def test_a_stream_that_is_gone_is_unavailable(jetstream: JetStream) -> None:
    await jetstream.context.delete_stream(name_of(jetstream))
    with pytest.raises(Unavailable):
        await publish(jetstream, 1)


async def test_a_body_over_the_limit_is_refused_before_it_resets_the_connection(jetstream: JetStream) -> None:
    for size, fits in ((subjects.BODY_BYTES_MAX, True), (subjects.BODY_BYTES_MAX + 1, False)):
        sent = jetstream.publish_payload(
            CHUNKS_READY.address(jetstream.prefix, tenant="acme", suffix=SUFFIX), b"x" * size, message_id=str(size)
        )
        if fits:
            await sent
        else:
            with pytest.raises(TooLarge, match=str(size)):
                await sent
    assert jetstream.connected


async def test_the_oldest_message_of_a_lane_and_a_suffix_is_known_until_it_is_worked_off(jetstream: JetStream) -> None:
    queues = jetstream.queues

    async def oldest(suffix: str = SUFFIX) -> int | None:
        return await queues.oldest_sequence(CHUNKS_READY, lane="bulk", suffix=suffix)

    assert (await oldest(), await queues.last_sequence(CHUNKS_READY)) == (None, 0)
    await publish(jetstream, 1)
    await publish(jetstream, 2, 3, lane="bulk", tenant="other")
    assert (await oldest(), await oldest("elsewhere"), await queues.last_sequence(CHUNKS_READY)) == (2, None, 3)
    await jetstream.context.delete_msg(name_of(jetstream), 2)
    assert await oldest() == 3


async def test_a_request_id_is_a_header(jetstream: JetStream) -> None:
    with telemetry.request("ask-1"):
        await publish(jetstream, 1)
    stored = await jetstream.context.get_msg(name_of(jetstream), 1)
    assert stored.headers is not None
    assert stored.headers[telemetry.REQUEST_ID_KEY] == "ask-1"


async def test_progress_is_told_to_who_listens_to_that_job(jetstream: JetStream) -> None:
    heard: asyncio.Queue[str] = asyncio.Queue()

    async def hear(message: Msg) -> None:
        await heard.put(events_pb2.JobProgress.FromString(message.data).job_id)

    stop = await jetstream.listen(PROGRESS, tenant="acme", suffix="job-1", heard=hear)
    for job in ("job-2", "job-1"):
        await jetstream.tell(PROGRESS, events_pb2.JobProgress(job_id=job), tenant="acme", suffix=job)
    assert await asyncio.wait_for(heard.get(), 5) == "job-1"
    await stop()


async def test_telling_nobody_over_a_closed_connection_is_no_error(nats_url: str, subject_prefix: str) -> None:
    async with JetStream(url=nats_url, prefix=subject_prefix, name="test") as jetstream:
        for stream, _ in subjects.streams():
            await jetstream.context.delete_stream(subjects.stream_name(subject_prefix, stream))
    await jetstream.tell(PROGRESS, events_pb2.JobProgress(), tenant="acme", suffix="job")
    assert not jetstream.connected


async def test_what_is_published_as_a_connection_ends_leaves_with_the_next_one(
    nats_url: str, subject_prefix: str
) -> None:
    heard: list[bytes] = []
    numbers = [b"%d" % number for number in range(60)]

    async def hear(message: Msg) -> None:
        heard.append(message.data)

    async def publish_while_it_breaks() -> None:
        async with (
            JetStream(url=nats_url, prefix=subject_prefix, name="breaks") as broken,
            JetStream(url=nats_url, prefix=subject_prefix, name="hears") as whole,
        ):
            await whole.client.subscribe(f"{subject_prefix}some", cb=hear)
            await whole.client.flush()
            for start in range(0, len(numbers), 30):
                await until(lambda: broken.connected)
                # The library finds out some turns of the loop later; uvloop's transport refuses at once.
                broken.client._transport._io_writer.transport.abort()  # type: ignore[attr-defined, union-attr]
                for number in numbers[start : start + 30]:
                    await broken.client.publish(f"{subject_prefix}some", number)
                    await asyncio.sleep(0)
            await until(lambda: len(heard) == len(numbers), seconds=20)

    def run() -> None:
        with asyncio.Runner(loop_factory=loop_factory()) as runner:
            assert "uvloop" in type(runner.get_loop()).__module__
            runner.run(publish_while_it_breaks())

    await asyncio.to_thread(run)
    assert heard == numbers
