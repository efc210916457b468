"""Answers in the making: who reads beyond their end is told so, and who stops them leaves them time to be kept."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing

import pytest

from sourcier.gateway.v1 import answer_pb2
from sourcier.services.chassis.errors import InvalidArgument
from sourcier.services.gateway.events import Event, Finished, Outcome, Token
from sourcier.services.gateway.live import answers
from sourcier.services.gateway.live.answers import Answers
from sourcier.services.gateway.live.live_answer import LiveAnswer

pytestmark = pytest.mark.unit


async def read(answer: LiveAnswer, *, after: int) -> list[answer_pb2.AskEvent]:
    async with aclosing(answer.read(after_sequence=after)) as events:
        return [event async for event in events]


def begun() -> LiveAnswer:
    """Return an answer of one event that is still going."""
    answer = LiveAnswer(tenant="acme", answer_id="answer-1")
    answer.append(Token("Deux "))
    return answer


@pytest.mark.parametrize("after", [3, 4, 1_000_000])
async def test_a_place_that_an_answer_under_way_never_reaches_is_refused_at_its_end(after: int) -> None:
    answer = begun()
    reading = asyncio.create_task(read(answer, after=after))
    await asyncio.sleep(0)
    assert answer.readers == 1
    answer.append(Finished(Outcome.ANSWERED, {}))
    async with asyncio.timeout(5):
        with pytest.raises(InvalidArgument, match=f"after_sequence is {after}, and the answer ended with event 2"):
            await reading
    assert answer.readers == 0


async def test_a_place_that_an_answer_under_way_reaches_later_is_waited_for() -> None:
    answer = begun()
    reading = asyncio.create_task(read(answer, after=2))
    for word in ("jours ", "par ", "semaine."):
        await asyncio.sleep(0)
        answer.append(Token(word))
    answer.append(Finished(Outcome.ANSWERED, {}))
    async with asyncio.timeout(5):
        assert [event.sequence for event in await reading] == [3, 4, 5]


async def test_an_answer_that_is_stopped_has_the_time_to_be_written_down(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answers, "LOOK_SECONDS", 0.01)
    told, kept = asyncio.Event(), asyncio.Event()

    async def make(answer_id: str) -> AsyncGenerator[Event, None]:
        try:
            yield Token("Deux ")
            told.set()
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(20 * answers.LOOK_SECONDS)  # the database is slow
            kept.set()

    async with asyncio.timeout(10), Answers(None, linger_seconds=60, answers_max=4, grace_seconds=1) as making:
        answer = making.start(make, tenant="acme")
        await told.wait()
        assert await making.cancel(tenant="acme", answer_id=answer.answer_id)
        events = await read(answer, after=0)
    assert events[-1].finished.outcome == answer_pb2.ANSWER_OUTCOME_CANCELLED
    assert kept.is_set()


async def test_an_answer_whose_cancellation_was_swallowed_is_cancelled_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answers, "CANCEL_AGAIN_SECONDS", 0.01)
    told = asyncio.Event()

    async def make(answer_id: str) -> AsyncGenerator[Event, None]:
        yield Token("Deux ")
        told.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            await asyncio.Event().wait()

    async with asyncio.timeout(10), Answers(None, linger_seconds=60, answers_max=4, grace_seconds=1) as making:
        answer = making.start(make, tenant="acme")
        await told.wait()
        assert await making.cancel(tenant="acme", answer_id=answer.answer_id)
        events = await read(answer, after=0)
    assert events[-1].finished.outcome == answer_pb2.ANSWER_OUTCOME_CANCELLED
