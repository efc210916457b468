"""Answers in the making: who reads beyond their end is told so."""

from __future__ import annotations

import asyncio
from contextlib import aclosing

import pytest

from services.chassis.errors import InvalidArgument
from services.gateway.events import Finished, Outcome, Token
from services.gateway.live_answer import LiveAnswer
from sourcier.gateway.v1 import answer_pb2

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
