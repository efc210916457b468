"""Generations that nobody waits for leave the model to those that somebody waits for, and are never shut out."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import grpc
import pytest

from sourcier.generate.v1 import generate_pb2 as pb
from sourcier.services.generate.scheduling.turns import bulk_turns_total
from sourcier.services.generate.scripted.script import Rule
from tests.integration.generate.fix_generate import Service, answer, ask, failure, scripted, serving
from tests.waiting import until

CHUNK = Rule(pattern="extrait", text="mot " * 40, tokens_per_second=100)
QUESTION = Rule(pattern="question", text="mot " * 30, tokens_per_second=100)
ENDLESS = Rule(pattern="sans fin", text="mot " * 5000, tokens_per_second=100)


def bulk(text: str = "extrait", **fields: Any) -> pb.GenerateRequest:
    request = ask(text, **fields)
    request.priority = pb.PRIORITY_BULK
    return request


def counted(what: str) -> float:
    return bulk_turns_total.labels(what)._value.get()


def running(service: Service, count: int) -> Callable[[], bool]:
    return lambda: service.supervisor._engine.status().running == count


async def test_an_enrichment_gives_way_to_a_question_and_is_whole_afterwards() -> None:
    engine = scripted(CHUNK, QUESTION)
    gave_way = counted("gave_way")
    async with serving(engine) as service:
        chunk = asyncio.ensure_future(answer(service.stub.Generate(bulk(), timeout=30)))
        await until(running(service, 1))
        question = asyncio.ensure_future(answer(service.stub.Generate(ask("question"), timeout=30)))
        await until(lambda: engine.aborted == 1)
        # The question has the engine for itself.
        assert engine.status().running <= 1
        assert (await question)[0].count("mot") == 30
        assert not chunk.done()
        assert (await chunk)[0].count("mot") == 40
    assert counted("gave_way") == gave_way + 1
    assert service.supervisor.in_hand == 0


async def test_an_enrichment_waits_while_questions_are_asked_and_begins_once_there_are_none() -> None:
    async with serving(scripted(CHUNK, QUESTION)) as service:
        order: list[str] = []

        async def done(name: str, request: pb.GenerateRequest) -> None:
            await answer(service.stub.Generate(request, timeout=30))
            order.append(name)

        async with asyncio.TaskGroup() as group:
            group.create_task(done("first", ask("question")))
            await until(running(service, 1))
            group.create_task(done("chunk", bulk(tokens_max=1)))
            await until(lambda: service.supervisor._turns._waiting == 1)
            # Within the pause after the first, as the generations of one answer come.
            await until(lambda: "first" in order)
            group.create_task(done("second", ask("question")))
    assert order == ["first", "second", "chunk"]


async def test_a_generation_that_gave_way_often_enough_goes_on() -> None:
    engine = scripted(CHUNK, QUESTION)
    async with serving(engine, bulk_yields_max=1) as service:
        service.supervisor._turns._quiet_seconds = 0.05
        chunk = asyncio.ensure_future(answer(service.stub.Generate(bulk(), timeout=30)))
        for _ in range(3):
            await until(running(service, 1))
            await answer(service.stub.Generate(ask("question", tokens_max=2), timeout=30))
        assert (await chunk)[0].count("mot") == 40
    assert engine.aborted == 1


async def test_people_who_never_stop_asking_shut_no_enrichment_out_and_one_goes_on_at_a_time() -> None:
    engine = scripted(CHUNK, ENDLESS)
    beside = counted("beside")
    async with serving(engine, bulk_wait_seconds_max=0.2) as service:
        people = service.stub.Generate(ask("sans fin", tokens_max=2000), timeout=60)
        await people.read()
        chunks = [asyncio.ensure_future(answer(service.stub.Generate(bulk(), timeout=30))) for _ in range(3)]
        highest = 0
        while not all(chunk.done() for chunk in chunks):
            highest = max(highest, engine.status().running)
            await asyncio.sleep(0.01)
        assert [(await chunk)[0].count("mot") for chunk in chunks] == [40, 40, 40]
        assert highest == 2, "the question, and one chunk"
        people.cancel()
    assert counted("beside") == beside + 3


async def test_too_many_that_wait_and_one_that_waits_too_long_are_refused() -> None:
    async with serving(scripted(CHUNK, ENDLESS), queue_max=1) as service:
        people = service.stub.Generate(ask("sans fin", tokens_max=2000), timeout=60)
        await people.read()
        waiting = asyncio.ensure_future(failure(service.stub.Generate(bulk(), timeout=1.5)))
        await until(lambda: service.supervisor._turns._waiting == 1)
        error = await failure(service.stub.Generate(bulk(), timeout=30))
        assert error.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        assert (await waiting).code() is grpc.StatusCode.DEADLINE_EXCEEDED
        await until(lambda: service.supervisor._turns._waiting == 0)
        people.cancel()
    assert service.supervisor.in_hand == 0


async def test_a_caller_that_goes_away_leaves_no_place_taken() -> None:
    async with serving(scripted(CHUNK, ENDLESS)) as service:
        people = service.stub.Generate(ask("sans fin", tokens_max=2000), timeout=60)
        await people.read()
        call = service.stub.Generate(bulk(), timeout=30)
        await until(lambda: service.supervisor._turns._waiting == 1)
        call.cancel()
        await until(lambda: service.supervisor._turns._waiting == 0)
        people.cancel()
        assert (await answer(service.stub.Generate(bulk(), timeout=30)))[0].count("mot") == 40


async def test_a_priority_that_is_not_known_is_refused() -> None:
    async with serving(scripted(CHUNK)) as service:
        request = ask("extrait")
        request.priority = 9  # type: ignore[assignment]
        error = await failure(service.stub.Generate(request, timeout=10))
    assert error.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert "PRIORITY_BULK" in (error.details() or "")


@pytest.mark.parametrize("failing", ["unavailable", "die"])
async def test_an_enrichment_that_fails_says_so_and_frees_its_place(failing: str) -> None:
    rule = Rule.model_validate({"pattern": "échoue", "text": "a", "failure": failing})
    async with serving(scripted(rule)) as service:
        error = await failure(service.stub.Generate(bulk("échoue"), timeout=10))
        assert error.code() is grpc.StatusCode.UNAVAILABLE
        assert service.supervisor._turns._at_work == 0
