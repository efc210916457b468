"""Answers across broken connections, as the client reads them."""

from __future__ import annotations

import asyncio
from contextlib import aclosing

import pytest

from sourcier import errors
from sourcier.client import Client
from sourcier.connection import resuming
from sourcier.gateway.v1 import answer_pb2
from sourcier.services.chassis.errors import ResourceExhausted
from tests.unit.sdk.fake_gateway import FakeGateway

pytestmark = pytest.mark.unit

EVENTS = 9
"""Of the script's answer."""


def sequences(events: list[answer_pb2.AskEvent]) -> list[int]:
    return [event.sequence for event in events]


@pytest.fixture(autouse=True)
def no_delay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resuming, "DELAY_SECONDS", 0.001)


@pytest.fixture
def full() -> list[ResourceExhausted]:
    return [ResourceExhausted("the gateway has as many calls as it takes") for _ in range(2)]


async def test_an_answer_goes_on_where_the_connection_broke(client: Client, gateway: FakeGateway) -> None:
    gateway.breaks = [1, 2, 0, 0, 3, 1]
    answer = await client.answer("Combien de jours ?")
    assert answer.text == "Deux jours par semaine [1]."
    resumed = [request for request in gateway.requests if isinstance(request, answer_pb2.ResumeRequest)]
    assert [request.after_sequence for request in resumed] == [1, 3, 3, 3, 6, 7]
    assert {request.answer_id for request in resumed} == {"answer-1"}


async def test_a_gateway_that_is_full_when_an_answer_is_resumed_is_asked_again(
    client: Client, gateway: FakeGateway, full: list[ResourceExhausted]
) -> None:
    gateway.breaks = [3]
    events = []
    async for event in client.ask("Combien ?"):
        events.append(event)
        gateway.failures = full  # from here on the next calls are those that resume
    assert sequences(events) == list(range(1, EVENTS + 1))
    assert full == []


async def test_a_gateway_that_is_full_when_the_question_comes_says_so(
    client: Client, gateway: FakeGateway, full: list[ResourceExhausted]
) -> None:
    gateway.failures = full
    with pytest.raises(errors.ResourceExhausted):
        await client.answer("Combien ?")
    assert len(gateway.requests) == 1


async def test_a_gateway_that_is_full_before_anything_was_read_is_asked_again(
    client: Client, gateway: FakeGateway, full: list[ResourceExhausted]
) -> None:
    gateway.failures = full
    assert sequences([event async for event in client.resume("answer-1", 4)]) == list(range(5, EVENTS + 1))
    assert full == []


@pytest.mark.usefixtures("short_pauses")
async def test_nobody_there_to_resume_an_answer_from() -> None:
    async with Client("127.0.0.1:1") as client:
        with pytest.raises(errors.Unavailable, match="cannot reach a gateway") as nobody:
            _ = [event async for event in client.resume("answer-1")]
    # Whose way out would be the call that just failed.
    assert not isinstance(nobody.value, errors.AnswerInterrupted)


async def test_those_whose_connection_broke_together_do_not_come_back_together(
    client: Client, gateway: FakeGateway, pauses: list[tuple[float, float]]
) -> None:
    gateway.breaks = [1, 1, 1]
    await client.answer("Combien ?")
    assert pauses == [(0.0005, 0.001)] * 3


async def test_each_event_comes_once(client: Client, gateway: FakeGateway) -> None:
    gateway.breaks = [2] * 4
    events = [event async for event in client.ask("Combien ?")]
    assert sequences(events) == list(range(1, EVENTS + 1))


async def test_what_stays_broken_is_said_with_the_place_to_go_on(
    client: Client, gateway: FakeGateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resuming, "TRIES_MAX", 1)
    gateway.breaks = [4] + [0] * 100
    with pytest.raises(errors.AnswerInterrupted) as broken:
        await client.answer("Combien ?")
    assert (broken.value.answer_id, broken.value.after_sequence) == ("answer-1", 4)
    assert 'client.resume("answer-1", after_sequence=4)' in broken.value.hint
    gateway.breaks = []
    rest = [event async for event in client.resume("answer-1", 4)]
    assert sequences(rest) == list(range(5, EVENTS + 1))


async def test_the_deadline_holds_over_all_tries(
    client: Client, gateway: FakeGateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resuming, "DELAY_SECONDS", 0.8)
    monkeypatch.setattr(resuming, "jittered", lambda ceiling_seconds: ceiling_seconds)
    gateway.breaks = [3]
    gateway.token_gate.clear()
    async with asyncio.timeout(20):
        with pytest.raises(errors.DeadlineExceeded):
            _ = [event async for event in client.ask("Combien ?", timeout_seconds=2.5)]
    assert 0 < gateway.metadata[-1]["left"] < 1.8


async def test_a_failed_answer_is_not_resumed(client: Client, gateway: FakeGateway) -> None:
    gateway.answer_failure = answer_pb2.Failed(reason="GATEWAY_LOST", message="the gateway was lost; ask again")
    with pytest.raises(errors.AnswerFailed) as failed:
        await client.answer("Combien ?")
    assert failed.value.reason == "GATEWAY_LOST"
    assert not any(isinstance(request, answer_pb2.ResumeRequest) for request in gateway.requests)


async def test_an_answer_that_never_began_is_not_resumed(client: Client, gateway: FakeGateway) -> None:
    gateway.breaks = [0] * 10
    with pytest.raises(errors.Unavailable) as refused:
        await client.answer("Combien ?")
    assert not isinstance(refused.value, errors.AnswerInterrupted)


async def test_leaving_ones_own_answer_stops_it_and_leaving_a_resumed_one_does_not(
    client: Client, gateway: FakeGateway
) -> None:
    gateway.token_gate.clear()
    async with aclosing(client.ask("Combien ?")) as events:
        async for event in events:
            if event.WhichOneof("event") == "token":
                break
    assert gateway.cancelled == ["answer-1"]
    async with aclosing(client.resume("answer-1")) as events:
        async for _ in events:
            break
    assert gateway.cancelled == ["answer-1"]
    assert not await client.cancel("answer-1")


async def test_a_cancelled_task_stops_its_answer(client: Client, gateway: FakeGateway) -> None:
    gateway.token_gate.clear()
    first_token = asyncio.Event()

    async def ask() -> None:
        async with aclosing(client.ask("Combien ?")) as events:
            async for event in events:
                if event.WhichOneof("event") == "token":
                    first_token.set()

    asking = asyncio.create_task(ask())
    async with asyncio.timeout(5):
        await first_token.wait()
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
    assert gateway.cancelled == ["answer-1"]


async def test_an_answer_that_is_not_there_is_not_found(client: Client) -> None:
    with pytest.raises(errors.NotFound) as missing:
        _ = [event async for event in client.resume("answer-2")]
    assert "answer-2" in missing.value.message
