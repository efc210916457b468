"""The relay: so many at a time, and a crash anywhere between the database and the broker loses nothing."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import pytest

from sourcier.events.v1 import events_pb2
from sourcier.services.chassis import telemetry
from sourcier.services.chassis.errors import Unavailable
from sourcier.services.chassis.ids import new_id
from sourcier.services.chassis.postgres.database import ALL_TENANTS
from sourcier.services.chassis.queue import subjects
from sourcier.services.chassis.queue.durables import durable_name
from sourcier.services.index.pipeline import outbox, releases
from sourcier.services.ingest import relay
from sourcier.services.ingest.relay import Relay
from tests.integration.ingest.conftest import Serve
from tests.integration.ingest.fix_pipeline import Pipeline
from tests.waiting import eventually, until


async def stored(service: Pipeline) -> list[events_pb2.DocumentReceived]:
    """Return what waits for the parse stage."""
    name = subjects.stream_name(service.jetstream.prefix, subjects.RECEIVED)
    info = await service.jetstream.context.stream_info(name)
    found = []
    for sequence in range(info.state.first_seq, info.state.last_seq + 1):
        message = await service.jetstream.context.get_msg(name, sequence)
        found.append(events_pb2.DocumentReceived.FromString(message.data or b""))
    return found


async def upload(service: Pipeline, count: int, *, lane: str = "bulk") -> None:
    for number in range(count):
        await service.submit(f"text {number}", filename=f"{lane}-{number}.md", lane=lane)


async def states(service: Pipeline) -> dict[str, int]:
    return dict(await service.rows("select state, count(*) from document_versions group by state"))


async def test_at_most_so_many_are_released_per_lane_oldest_first(serve: Serve) -> None:
    async with serve(stages="", in_flight_max=2) as service:
        await upload(service, 4)
        await upload(service, 3, lane="interactive")
        await service.relay._dispatch()
        await service.relay._publish()
        names = [received.filename for received in await stored(service)]
        assert [name for name in names if "interactive" in name] == ["interactive-0.md", "interactive-1.md"]
        assert [name for name in names if "bulk" in name] == ["bulk-0.md", "bulk-1.md"]
        assert await states(service) == {"released": 4, "accepted": 3}
        assert await service.relay._dispatch() == 0


async def test_a_place_that_gets_free_is_taken(serve: Serve) -> None:
    async with serve(stages="", in_flight_max=1) as service:
        await upload(service, 2)
        assert await service.relay._dispatch() == 1
        async with service.database.transaction(tenant=ALL_TENANTS) as connection:
            await connection.execute("update document_versions set state = 'failed' where state = 'released'")
        assert await service.relay._dispatch() == 1


async def test_the_lag_is_that_of_the_oldest_of_each_lane(serve: Serve) -> None:
    async with serve(stages="", in_flight_max=1) as service:
        async def waiting() -> dict[str, float]:
            async with service.database.transaction(tenant=ALL_TENANTS, read_only=True) as connection:
                return await releases.oldest_under_way(connection)

        assert await waiting() == {}
        await upload(service, 2)
        await upload(service, 1, lane="interactive")
        await service.relay._dispatch()
        async with service.database.transaction(tenant=ALL_TENANTS) as connection:
            await connection.execute("""update document_versions set created_at = now() - interval '1 hour'
                                        where lane = 'bulk' and state = 'accepted'""")
        lag = await waiting()
        assert lag.keys() == {"bulk", "interactive"}
        assert lag["bulk"] == pytest.approx(3600, abs=60)
        assert lag["interactive"] < 60
        async with service.database.transaction(tenant=ALL_TENANTS) as connection:
            await connection.execute("update document_versions set state = 'committed' where lane = 'bulk'")
        assert (await waiting()).keys() == {"interactive"}


async def test_what_is_released_says_all_that_the_first_stage_needs(serve: Serve) -> None:
    async with serve(stages="") as service:
        submitted = await service.submit("text", filename="a.md", title="Guide", content_type="text/markdown")
        await service.relay._dispatch()
        await service.relay._publish()
        (received,) = await stored(service)
    assert (received.filename, received.title, received.content_type) == ("a.md", "Guide", "text/markdown")
    assert (received.source, received.original.size_bytes, received.chunking.method) == ("a.md", 4, "hybrid")
    assert received.version.job_id == submitted.job.job_id
    assert len(received.version.request_id) == 36


async def test_a_crash_between_publishing_and_committing_publishes_once(serve: Serve) -> None:
    async with serve(stages="") as service:
        await upload(service, 3)
        await service.relay._dispatch()
        try:
            async with service.database.transaction(tenant=ALL_TENANTS) as connection:
                for message in await outbox.take(connection, limit=100):
                    await service.jetstream.publish_payload(
                        message.subject, message.payload, message_id=message.message_id
                    )
                raise ConnectionError("the process ends here")
        except ConnectionError:
            pass
        assert await service.relay._publish() == 3
        assert len(await stored(service)) == 3
        assert await service.rows("select * from outbox") == []


async def test_two_relays_release_and_publish_everything_once(serve: Serve) -> None:
    async with serve(stages="") as service:
        await upload(service, 10)
        other = Relay(service.database, service.jetstream, in_flight_max=64, stalled_seconds=900)
        released = await asyncio.gather(service.relay._dispatch(), other._dispatch())
        published = await asyncio.gather(service.relay._publish(), other._publish())
        assert sum(released) == 10
        assert sum(published) == 10
        assert len(await stored(service)) == 10


async def test_what_stalls_is_released_again(serve: Serve) -> None:
    async with serve(stages="", stalled_seconds=60) as service:
        await upload(service, 2)
        await service.relay._dispatch()
        await service.relay._publish()
        async with service.database.transaction(tenant=ALL_TENANTS) as connection:
            await connection.execute(
                "update document_versions set released_at = now() - interval '61 seconds' where filename = 'bulk-1.md'"
            )
        await service.jetstream.context.purge_stream(
            subjects.stream_name(service.jetstream.prefix, subjects.RECEIVED),
            subject=subjects.DOCUMENT_RECEIVED.address(service.jetstream.prefix, tenant="acme", lane="bulk"),
        )
        await upload(service, 1, lane="interactive")
        await service.relay._dispatch()
        await service.relay._keep_house()
        await service.relay._publish()
        # In spite of the duplicates window: the first message is lost, and this one may not count as its copy. What
        # another lane has in its queue tells nothing of this one.
        assert [received.filename for received in await stored(service)] == ["interactive-0.md", "bulk-1.md"]


async def test_what_waits_in_a_queue_is_not_released_again_until_it_is_very_old(serve: Serve) -> None:
    async with serve(stages="", stalled_seconds=60) as service:
        async def kept_house_after(seconds: float) -> list[str]:
            async with service.database.transaction(tenant=ALL_TENANTS) as connection:
                await connection.execute(
                    "update document_versions set released_at = now() - make_interval(secs => %s)", (seconds,)
                )
            service.relay._kept_house_at = 0.0
            await service.relay._keep_house()
            await service.relay._publish()
            return [received.filename for received in await stored(service)]

        await upload(service, 2)
        await service.relay._dispatch()
        await service.relay._publish()
        # Nobody has read them yet: copies would only be read after them, and each be embedded once more.
        assert await kept_house_after(61) == ["bulk-0.md", "bulk-1.md"]
        # One message of a queue that is never empty may be lost, too.
        assert sorted(await kept_house_after(60 * releases.QUEUED_TIMES + 1)) == [
            "bulk-0.md", "bulk-0.md", "bulk-1.md", "bulk-1.md",
        ]


async def test_what_a_stage_has_in_hand_is_not_released_again(serve: Serve) -> None:
    async with serve(stalled_seconds=60) as service:
        service.embedder.gate.clear()
        job = (await service.submit("# Guide\n\nLe télétravail est possible.")).job
        await service.embedder.held.wait()
        async with service.database.transaction(tenant=ALL_TENANTS) as connection:
            await connection.execute("update document_versions set released_at = now() - interval '61 seconds'")
        await Relay(service.database, service.jetstream, in_flight_max=64, stalled_seconds=60)._keep_house()
        assert await service.rows(
            "select state from document_versions where released_at < now() - interval '61 seconds'"
        ) == [("released",)]
        service.embedder.gate.set()
        assert (await service.finished(job.job_id)).percentage == 100


async def test_a_broker_that_lost_everything_gets_it_again(serve: Serve) -> None:
    """The record is PostgreSQL: what the broker acknowledged and lost is found by its age."""
    async with serve() as service:
        service.embedder.gate.clear()
        job = (await service.submit("# Guide\n\nLe télétravail est possible.")).job
        await service.embedder.held.wait()
        for stream in (subjects.RECEIVED, subjects.PARSED, subjects.READY):
            await service.jetstream.context.purge_stream(subjects.stream_name(service.jetstream.prefix, stream))
        async with service.database.transaction(tenant=ALL_TENANTS) as connection:
            await connection.execute("update document_versions set released_at = now() - interval '1 day'")
        service.relay._kept_house_at = 0.0
        service.relay.wake()
        service.embedder.gate.set()
        finished = await service.finished(job.job_id)
        assert finished.percentage == 100
        assert len(await service.texts()) == finished.chunk_count


async def test_a_message_that_cannot_be_published_does_not_hold_up_the_others(serve: Serve) -> None:
    async with serve(stages="") as service:
        async with service.database.transaction(tenant=ALL_TENANTS) as connection:
            await outbox.put(connection, outbox.OutboxMessage(
                tenant="acme", subject=subjects.DOCUMENT_DELETED.address(service.jetstream.prefix, tenant="acme"),
                payload=b"x" * (subjects.BODY_BYTES_MAX + 1), message_id=new_id(),
            ))
        await upload(service, 2)
        await service.relay._dispatch()

        async def published() -> bool:
            await service.relay._publish()
            return len(await stored(service)) == 2

        await eventually(published, seconds=10)


async def test_what_the_broker_does_not_take_waits_and_the_others_leave_the_outbox(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with serve(stages="") as service:
        await upload(service, 3)
        await service.relay._dispatch()
        publish_payload = service.jetstream.publish_payload
        tried: list[str] = []

        async def away_once(subject: str, payload: bytes, *, message_id: str, **options: Any) -> None:
            tried.append(message_id)
            if len(tried) == 2:
                raise Unavailable("no leader")
            await publish_payload(subject, payload, message_id=message_id, **options)

        monkeypatch.setattr(service.jetstream, "publish_payload", away_once)
        with pytest.raises(Unavailable):
            await service.relay._publish()
        assert await service.rows("select message_id from outbox") == [(tried[1],)]
        assert await service.relay._publish() == 1
        assert [received.filename for received in await stored(service)] == ["bulk-0.md", "bulk-2.md", "bulk-1.md"]
        assert await service.rows("select * from outbox") == []


async def held(service: Pipeline, stream: subjects.Stream) -> int:
    """Return how many messages a stream holds."""
    name = subjects.stream_name(service.jetstream.prefix, stream)
    return int((await service.jetstream.context.stream_info(name)).state.messages)


@asynccontextmanager
async def running(relay: Relay) -> AsyncIterator[None]:
    stopping = asyncio.Event()
    async with asyncio.TaskGroup() as group:
        group.create_task(relay.run(stopping))
        try:
            yield
        finally:
            stopping.set()


async def fill_ready(service: Pipeline, *, replayed: int) -> str:
    """Fill a space's queue that has room for one message, as where its embed service is away, and replay letters."""
    address = subjects.CHUNKS_READY.address(service.jetstream.prefix, tenant="acme", lane="bulk", suffix="away")
    await service.jetstream.publish_payload(address, b"first", message_id="first")
    async with service.database.transaction(tenant="acme") as connection:
        for number in range(replayed):
            # Large: more than one of them is published in a run of its own.
            await outbox.put(connection, outbox.OutboxMessage(
                tenant="acme", subject=address, payload=b"y" * 400_000, message_id=f"replayed-{number}"
            ))
    return address


async def test_a_full_queue_costs_one_try_a_round_and_its_messages_wait_while_the_others_go_on(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with serve(stages="", queue_messages_max=1) as service:
        address = await fill_ready(service, replayed=4)
        await upload(service, 1)
        await service.relay._dispatch()
        publish_payload = service.jetstream.publish_payload
        tried: list[str] = []
        postponed = telemetry.degradations_total.labels("relay", "RESOURCE_EXHAUSTED")
        before = postponed._value.get()

        async def counted(subject: str, *arguments: Any, **options: Any) -> None:
            tried.append(subject)
            await publish_payload(subject, *arguments, **options)

        monkeypatch.setattr(service.jetstream, "publish_payload", counted)
        async with asyncio.timeout(30):
            assert await service.relay._publish() == 5
        assert tried.count(address) == 1
        assert [received.filename for received in await stored(service)] == ["bulk-0.md"]
        assert postponed._value.get() - before == 4
        # Not even read again before their time, which is no longer than a delivery may be delayed.
        assert await service.rows(
            "select count(*)::int, min(not_before) > now(), max(not_before) <= now() + interval '5 seconds' from outbox"
        ) == [(4, True, True)]
        assert await service.relay._publish() == 0


async def test_the_relay_runs_on_beside_a_full_queue_and_fills_it_when_there_is_room(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(relay, "POSTPONED_SECONDS", 0.3)
    async with serve(stages="", queue_messages_max=1) as service:
        await fill_ready(service, replayed=3)
        await upload(service, 1)

        async def holds_one(stream: subjects.Stream) -> bool:
            return await held(service, stream) == 1

        async def left(count: int) -> bool:
            return await service.rows("select count(*)::int from outbox") == [(count,)]

        async with running(service.relay):
            await eventually(partial(holds_one, subjects.RECEIVED), seconds=10)
            await until(lambda: service.relay._compared_at and service.relay._kept_house_at)
            assert await held(service, subjects.READY) == 1
            assert await left(3)
            await service.jetstream.context.purge_stream(
                subjects.stream_name(service.jetstream.prefix, subjects.READY)
            )
            await eventually(partial(holds_one, subjects.READY))
            await eventually(partial(left, 2))


@pytest.mark.parametrize("failing", ["_dispatch", "_publish", "_look_at_broker"])
async def test_what_fails_in_a_round_keeps_nothing_else_from_being_done(
    serve: Serve, monkeypatch: pytest.MonkeyPatch, failing: str
) -> None:
    async with serve(stages="") as service:
        done: list[str] = []

        async def fails() -> None:
            raise Unavailable("away")

        for name in ("_dispatch", "_publish", "_look_at_broker", "_keep_house"):
            async def work(name: str = name) -> int:
                done.append(name)
                return 0

            monkeypatch.setattr(service.relay, name, fails if name == failing else work)
        async with running(service.relay):
            await until(lambda: len(done) >= 3)
        assert {*done, failing} == {"_dispatch", "_publish", "_look_at_broker", "_keep_house"}


async def test_a_queue_whose_durables_are_tenants_is_told_as_empty_when_it_is(serve: Serve) -> None:
    async with serve(stages="") as service:
        label = durable_name("embed", lane="bulk", suffix="gone")
        address = subjects.CHUNKS_READY.address(service.jetstream.prefix, tenant="acme", lane="bulk", suffix="gone")
        await service.jetstream.publish_payload(address, b"first", message_id="first")
        told = telemetry.queue_messages.labels(label)
        await service.relay._measure()
        assert told._value.get() == 1
        await service.jetstream.context.purge_stream(
            subjects.stream_name(service.jetstream.prefix, subjects.READY)
        )
        await service.relay._measure()
        assert told._value.get() == 0
