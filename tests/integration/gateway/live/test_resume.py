"""Answers that outlive their calls: resumed here and elsewhere, left alone, stopped, and ended for a dead gateway."""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from typing import Any

import grpc
import grpc.aio
import pytest

from sourcier.gateway.v1 import answer_pb2
from sourcier.services.chassis.errors import Unavailable
from sourcier.services.chassis.ids import new_id
from sourcier.services.chassis.postgres.database import Database
from sourcier.services.gateway.live.log import AnswerLog
from tests.integration.gateway.answering.test_answer_service import QUESTION, check_stream
from tests.integration.gateway.fix_gateway import Gateway, Scenario, gateway, read
from tests.waiting import eventually, until

LIMIT_SECONDS = 4.0
SENTENCE = ("Le ", "télétravail ", "est ", "possible ", "deux ", "jours ", "par ", "semaine ", "[1]. ")


@asynccontextmanager
async def replicas(
    database: Database, scenario: Scenario, nats_url: str, prefix: str, *, count: int = 2, **settings: Any
) -> AsyncIterator[list[Gateway]]:
    """Serve so many gateways that share a broker."""
    async with AsyncExitStack() as opened:
        yield [
            await opened.enter_async_context(gateway(
                database, scenario, nats_url=nats_url, subject_prefix=prefix, **settings
            )) for _ in range(count)
        ]


def text(events: list[answer_pb2.AskEvent]) -> str:
    return "".join(event.token.text for event in events)


async def first_events(call: Any, count: int) -> list[answer_pb2.AskEvent]:
    return [(await call.read()).event for _ in range(count)]


async def test_twenty_broken_connections_cost_no_word(
    handbook: Database, nats_url: str, subject_prefix: str
) -> None:
    scenario = Scenario(deltas=SENTENCE * 30, pace_seconds=0.02)
    async with replicas(handbook, scenario, nats_url, subject_prefix) as served:
        stayed = served[0].start(QUESTION)
        begun = await first_events(stayed, 1)
        answer_id = begun[0].answer_id

        async def restless() -> tuple[list[answer_pb2.AskEvent], int]:
            events: list[answer_pb2.AskEvent] = []
            breaks = 0
            while not events or not events[-1].HasField("finished"):
                some, error = await served[breaks % 2].resume(
                    answer_id, after=len(events), events_max=5 if breaks < 24 else 1 << 30
                )
                assert error is None
                events += some
                breaks += 1
            return events, breaks - 1

        (resumed, breaks), (rest, error) = await asyncio.gather(restless(), read(stayed))
    assert error is None
    assert breaks >= 20
    check_stream(resumed)
    assert [event.SerializeToString() for event in resumed] == [event.SerializeToString() for event in begun + rest]
    assert text(resumed).strip() == "".join(SENTENCE * 30).strip()
    assert len(scenario.generations) == 1


async def test_an_answer_that_has_ended_is_read_at_another_gateway(
    handbook: Database, nats_url: str, subject_prefix: str
) -> None:
    async with replicas(handbook, Scenario(), nats_url, subject_prefix) as (first, second):
        whole, _ = await first.ask(QUESTION)
        answer_id = whole[0].answer_id
        for after in (0, 3, len(whole) - 1, len(whole)):
            events, error = await second.resume(answer_id, after=after)
            assert (error, events) == (None, whole[after:])
        _, error = await second.resume(answer_id, after=len(whole) + 1)
        assert error is not None
        assert error.code() is grpc.StatusCode.INVALID_ARGUMENT
        assert f"ended with event {len(whole)}" in str(error.details())


async def test_several_readers_at_several_gateways_read_the_same(
    handbook: Database, nats_url: str, subject_prefix: str
) -> None:
    scenario = Scenario(deltas=SENTENCE * 5, pace_seconds=0.02)
    async with replicas(handbook, scenario, nats_url, subject_prefix, count=3) as served:
        call = served[0].start(QUESTION)
        begun = await first_events(call, 1)
        readings = await asyncio.gather(
            read(call), *(one.resume(begun[0].answer_id) for one in served for _ in range(4))
        )
    whole = begun + readings[0][0]
    check_stream(whole)
    assert all((events, error) == (whole, None) for events, error in readings[1:])


async def test_a_gateway_too_busy_to_say_that_it_makes_an_answer_is_waited_for(
    handbook: Database, nats_url: str, subject_prefix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    scenario = Scenario(deltas=SENTENCE * 5, pace_seconds=0.02)
    async with replicas(handbook, scenario, nats_url, subject_prefix) as (first, second):
        call = first.start(QUESTION)
        begun = await first_events(call, 1)
        inquiries = 0

        async def unanswered(*args: Any, **fields: Any) -> None:
            nonlocal inquiries
            inquiries += 1
            raise Unavailable("nobody answered")

        async def nothing_stored(*args: Any, **fields: Any) -> AsyncIterator[Any]:
            for nothing in ():
                yield nothing

        # The first look finds nothing in the log yet, whose copies come a moment after the events.
        with monkeypatch.context() as early:
            early.setattr(AnswerLog, "inquire", unanswered)
            early.setattr(AnswerLog, "read", nothing_stored)
            resumed = asyncio.create_task(second.resume(begun[0].answer_id))
            await until(lambda: inquiries, seconds=15)
        (rest, error), resumed_to = await asyncio.gather(read(call), resumed)
    assert (error, resumed_to) == (None, (begun + rest, None))


async def test_nobody_resumes_what_is_not_theirs_or_is_not_there(
    handbook: Database, nats_url: str, subject_prefix: str
) -> None:
    async with replicas(handbook, Scenario(hang=True), nats_url, subject_prefix) as (first, second):
        call = first.start(QUESTION)
        answer_id = (await first_events(call, 1))[0].answer_id
        for served in (first, second):
            for tenant, named in (("other", answer_id), ("acme", new_id())):
                _, error = await served.resume(named, tenant=tenant, timeout=10)
                assert error is not None
                assert error.code() is grpc.StatusCode.NOT_FOUND
                assert named in str(error.details())
                assert "ask again" in str(error.details())
                with pytest.raises(grpc.aio.AioRpcError) as refused:
                    await served.cancel(named, tenant=tenant)
                assert refused.value.code() is grpc.StatusCode.NOT_FOUND
            _, error = await served.resume("*", timeout=10)
            assert error is not None
            assert error.code() is grpc.StatusCode.INVALID_ARGUMENT
        assert not first.scenario.generation_ended.is_set()


@pytest.mark.parametrize("elsewhere", [False, True])
async def test_cancel_stops_the_model_and_tells_every_reader(
    handbook: Database, nats_url: str, subject_prefix: str, elsewhere: bool
) -> None:
    scenario = Scenario(deltas=SENTENCE * 4, hang=True)
    async with replicas(handbook, scenario, nats_url, subject_prefix) as served:
        call = served[0].start(QUESTION)
        begun = await first_events(call, 5)
        following = asyncio.ensure_future(served[1].resume(begun[0].answer_id))
        await scenario.generating.wait()
        assert await served[elsewhere].cancel(begun[0].answer_id)
        async with asyncio.timeout(5):
            rest, error = await read(call)
            followed, _ = await following
            await scenario.generation_ended.wait()
        assert not await served[elsewhere].cancel(begun[0].answer_id)
    assert error is None
    assert followed == begun + rest
    check_stream(followed)
    assert rest[-1].finished.outcome == answer_pb2.ANSWER_OUTCOME_CANCELLED


async def test_cancel_of_an_answer_that_ends_as_its_gateway_is_asked(
    handbook: Database, nats_url: str, subject_prefix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def unanswered(*args: Any, **fields: Any) -> None:
        raise Unavailable("nobody answered")

    scenario = Scenario(deltas=SENTENCE * 4, hang=True)
    async with replicas(handbook, scenario, nats_url, subject_prefix) as (first, second):
        call = first.start(QUESTION)
        begun = await first_events(call, 5)
        await scenario.generating.wait()
        with monkeypatch.context() as busy:
            busy.setattr(AnswerLog, "inquire", unanswered)
            with pytest.raises(grpc.aio.AioRpcError, match="nobody answered"):
                await second.cancel(begun[0].answer_id)
            assert await first.cancel(begun[0].answer_id)
            await read(call)
            await scenario.generation_ended.wait()

            async def ended() -> bool:
                with suppress(grpc.aio.AioRpcError):  # its last record comes a moment after its last event
                    return not await second.cancel(begun[0].answer_id)
                return False

            await eventually(ended, seconds=15)


async def test_a_reader_who_is_away_for_less_than_the_linger_loses_nothing(
    handbook: Database, nats_url: str, subject_prefix: str
) -> None:
    scenario = Scenario(deltas=SENTENCE * 12, pace_seconds=0.02)
    async with replicas(handbook, scenario, nats_url, subject_prefix, answer_linger_seconds=5) as (first, second):
        begun, _ = await read(first.start(QUESTION), events_max=6)
        async with asyncio.timeout(15):
            await scenario.generation_ended.wait()
        rest, error = await second.resume(begun[0].answer_id, after=6)
    assert error is None
    check_stream(begun + rest)
    assert rest[-1].finished.outcome == answer_pb2.ANSWER_OUTCOME_ANSWERED


async def test_an_identifier_that_no_gateway_made_is_refused_soon(
    handbook: Database, nats_url: str, subject_prefix: str
) -> None:
    """Whoever sends an identifier wrote the time that it holds: one of the year 10889 was young for ever."""
    future = f"ffffffff-ffff-7{new_id()[15:]}"
    unlike_ours = "5f0c6a52-7d1e-4b0e-9c7a-2f6b8a1d4e90"
    ahead = str(uuid.UUID(int=uuid.UUID(new_id()).int + (int(LIMIT_SECONDS * 1000) << 80)))
    async with replicas(handbook, Scenario(), nats_url, subject_prefix, count=1) as (served,):
        for named in (future, unlike_ours, ahead):
            # Well within the deadline: a gateway that waited would answer DEADLINE_EXCEEDED.
            events, error = await served.resume(named, timeout=10 * LIMIT_SECONDS)
            assert not events
            assert error is not None
            assert error.code() is grpc.StatusCode.NOT_FOUND, named


async def test_an_answer_that_nobody_reads_is_abandoned(
    handbook: Database, nats_url: str, subject_prefix: str
) -> None:
    scenario = Scenario(deltas=SENTENCE * 4, hang=True)
    async with replicas(handbook, scenario, nats_url, subject_prefix, answer_linger_seconds=0) as (first, second):
        begun, _ = await read(first.start(QUESTION), events_max=6)
        left_at = time.monotonic()
        async with asyncio.timeout(5):
            await scenario.generation_ended.wait()
        lingered = time.monotonic() - left_at
        rest, error = await second.resume(begun[0].answer_id, after=6)
    assert 0.9 <= lingered <= 2.5
    assert error is None
    check_stream(begun + rest)
    assert rest[-1].finished.outcome == answer_pb2.ANSWER_OUTCOME_ABANDONED


async def test_a_reader_at_another_gateway_keeps_an_answer_alive(
    handbook: Database, nats_url: str, subject_prefix: str
) -> None:
    scenario = Scenario(deltas=SENTENCE * 4, hang=True)
    async with replicas(handbook, scenario, nats_url, subject_prefix, answer_linger_seconds=0) as (first, second):
        begun, _ = await read(first.start(QUESTION), events_max=6)
        reader = second.answers.Resume(
            answer_pb2.ResumeRequest(answer_id=begun[0].answer_id), timeout=30, metadata=(("sourcier-tenant", "acme"),)
        )
        await first_events(reader, 6)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(4):
                await scenario.generation_ended.wait()
        reader.cancel()
        async with asyncio.timeout(5):
            await scenario.generation_ended.wait()


async def test_one_gateway_resumes_its_own_answers_without_a_broker(handbook: Database) -> None:
    scenario = Scenario(deltas=SENTENCE * 3, pace_seconds=0.02)
    async with gateway(handbook, scenario) as served:
        begun, _ = await read(served.start(QUESTION), events_max=6)
        rest, error = await served.resume(begun[0].answer_id, after=6)
        _, ended = await served.resume(begun[0].answer_id)
    assert error is None
    check_stream(begun + rest)
    assert not any(event.HasField("degraded") for event in rest)
    assert ended is not None
    assert ended.code() is grpc.StatusCode.NOT_FOUND


async def test_a_full_gateway_gives_up_what_nobody_reads(handbook: Database) -> None:
    scenario = Scenario(deltas=SENTENCE * 4, hang=True)
    async with gateway(handbook, scenario, answers_max=2) as served:
        left, _ = await read(served.start(QUESTION), events_max=1)
        stayed = [served.start(QUESTION) for _ in range(2)]
        for call in stayed:
            await first_events(call, 1)
        given_up = None
        async with asyncio.timeout(30):
            while given_up is None:  # who resumes while it is being given up reads its end
                _, given_up = await served.resume(left[0].answer_id, timeout=20)
        _, refused = await read(served.start(QUESTION))
        for call in stayed:
            call.cancel()
    assert given_up is not None
    assert given_up.code() is grpc.StatusCode.NOT_FOUND
    assert refused is not None
    assert refused.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert "SOURCIER_GATEWAY_ANSWERS_MAX" in str(refused.details())
