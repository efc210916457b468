"""An OpenAI-compatible endpoint as the engine, over real HTTP and real gRPC."""

from __future__ import annotations

import asyncio
import logging

import grpc
import pytest
from pydantic import SecretStr

from sourcier.generate.v1 import generate_pb2 as pb
from sourcier.services.generate.openai.engine import Endpoint, OpenAIEngine
from tests.integration.generate.fix_endpoint import Exchange, Reply, http_endpoint
from tests.integration.generate.fix_generate import answer, ask, failure, serving
from tests.waiting import until

KEY = "sk-quite-secret"


def engine_at(url: str, *, timeout_seconds: float = 30.0) -> OpenAIEngine:
    endpoint = Endpoint(url=url, key=SecretStr(KEY), model="mistral-small", timeout_seconds=timeout_seconds)
    return OpenAIEngine(endpoint, connections_max=8)


async def hello(exchange: Exchange) -> None:
    await exchange.begin()
    await exchange.send(": keep-alive\n\n")
    await exchange.say("Bon")
    await exchange.say("jour")
    await exchange.finish()


async def never(exchange: Exchange) -> None:
    await exchange.begin()
    await exchange.say("Je")
    await asyncio.Event().wait()


async def test_an_answer_streams_with_its_usage() -> None:
    async with http_endpoint(hello) as endpoint, serving(engine_at(endpoint.url)) as service:
        text, finish, _ = await answer(service.stub.Generate(ask("Salut", system="Sois poli.", seed=3), timeout=10))
        description = await service.stub.Describe(pb.DescribeRequest(), timeout=10)
    assert text == "Bonjour"
    assert finish == pb.Finish(
        reason=pb.FINISH_REASON_STOP, model="mistral-small",
        usage=pb.Usage(prompt_tokens=7, cached_tokens=4, completion_tokens=2))
    assert (description.engine, description.model, description.context_tokens_max) == ("openai", "mistral-small", 0)
    exchange = endpoint.exchanges[0]
    assert exchange.path == "/v1/chat/completions"
    assert exchange.headers["authorization"] == f"Bearer {KEY}"
    assert exchange.body["messages"] == [
        {"role": "system", "content": "Sois poli."}, {"role": "user", "content": "Salut"}]
    assert exchange.body["seed"] == 3


async def test_cancelling_the_call_closes_the_connection() -> None:
    async with http_endpoint(never) as endpoint, serving(engine_at(endpoint.url)) as service:
        call = service.stub.Generate(ask("x"), timeout=30)
        assert (await call.read()).text == "Je"
        call.cancel()
        async with asyncio.timeout(10):
            await endpoint.closed_early.wait()
        await until(lambda: service.supervisor.in_hand == 0)


async def test_the_callers_deadline_closes_the_connection() -> None:
    async with http_endpoint(never) as endpoint, serving(engine_at(endpoint.url)) as service:
        error = await failure(service.stub.Generate(ask("x"), timeout=0.3))
        assert error.code() is grpc.StatusCode.DEADLINE_EXCEEDED
        async with asyncio.timeout(10):
            await endpoint.closed_early.wait()


async def test_the_endpoints_own_time_limit_is_named() -> None:
    async with http_endpoint(never) as endpoint, serving(engine_at(endpoint.url, timeout_seconds=0.3)) as service:
        error = await failure(service.stub.Generate(ask("x"), timeout=30))
        assert error.code() is grpc.StatusCode.DEADLINE_EXCEEDED
        assert "SOURCIER_GENERATE_OPENAI_TIMEOUT_SECONDS=0.3" in (error.details() or "")


@pytest.mark.parametrize(("status", "code", "says"), [
    ("401 Unauthorized", grpc.StatusCode.FAILED_PRECONDITION, "SOURCIER_GENERATE_OPENAI_KEY"),
    ("404 Not Found", grpc.StatusCode.FAILED_PRECONDITION, "SOURCIER_GENERATE_OPENAI_MODEL"),
    ("422 Unprocessable", grpc.StatusCode.INVALID_ARGUMENT, "no such key ***"),
    ("429 Too Many Requests", grpc.StatusCode.RESOURCE_EXHAUSTED, "try again in 12 s"),
    ("503 Unavailable", grpc.StatusCode.UNAVAILABLE, "try again"),
])
async def test_an_error_of_the_endpoint_is_mapped_and_never_tells_the_key(
    status: str, code: grpc.StatusCode, says: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def refuse(exchange: Exchange) -> None:
        await exchange.begin(status, "application/json", retry_after="12")
        await exchange.send('{"error": {"message": "no such key ' + KEY + '"}}')

    caplog.set_level(logging.DEBUG)
    async with http_endpoint(refuse) as endpoint, serving(engine_at(endpoint.url)) as service:
        error = await failure(service.stub.Generate(ask("x"), timeout=10))
    assert error.code() is code
    assert says in (error.details() or "")
    assert KEY not in caplog.text + str(error)


async def test_an_error_that_quotes_the_prompt_never_tells_what_delimits_its_passages(
    caplog: pytest.LogCaptureFixture
) -> None:
    async def refuse(exchange: Exchange) -> None:
        await exchange.begin("422 Unprocessable", "application/json")
        quoted = "<<<677640d69a\\n> Deux jours.\\n677640d69a>>>"
        await exchange.send(f'{{"detail": [{{"msg": "too long", "input": "{quoted}"}}]}}')

    caplog.set_level(logging.DEBUG)
    async with http_endpoint(refuse) as endpoint, serving(engine_at(endpoint.url)) as service:
        error = await failure(service.stub.Generate(ask("x"), timeout=10))
    assert "Deux jours." in (error.details() or "")
    assert "677640" not in caplog.text + str(error)


async def break_off(exchange: Exchange) -> None:
    await exchange.begin()
    await exchange.say("Je")


async def answer_json(exchange: Exchange) -> None:
    await exchange.begin(kind="application/json")
    await exchange.send('{"choices": [{"message": {"content": "x"}}]}')


async def answer_page(exchange: Exchange) -> None:
    await exchange.begin()
    await exchange.send("<html>\n</html>\n")


@pytest.mark.parametrize(("reply", "says"), [
    (break_off, "broke off"), (answer_json, "application/json"), (answer_page, "no field of an event"),
])
async def test_an_answer_that_is_not_whole_is_never_taken_for_one(reply: Reply, says: str) -> None:
    async with http_endpoint(reply) as endpoint, serving(engine_at(endpoint.url)) as service:
        error = await failure(service.stub.Generate(ask("x"), timeout=10))
    assert error.code() is grpc.StatusCode.UNAVAILABLE
    assert says in (error.details() or "")


async def test_an_endpoint_that_is_not_there_fails_the_call_and_not_the_process() -> None:
    async with http_endpoint(hello) as gone:
        pass
    async with serving(engine_at(gone.url), stall_seconds=0.2) as service:
        await service.supervisor.warm_up(seconds_max=1)
        error = await failure(service.stub.Generate(ask("x"), timeout=10))
        assert error.code() is grpc.StatusCode.UNAVAILABLE
        assert "127.0.0.1" in (error.details() or "")
        assert "SOURCIER_GENERATE_OPENAI_URL" in (error.details() or "")
        assert not service.watch.done()


async def test_an_endpoint_that_is_silent_does_not_end_the_process() -> None:
    async with http_endpoint(never) as endpoint, serving(engine_at(endpoint.url), stall_seconds=0.2) as service:
        error = await failure(service.stub.Generate(ask("x"), timeout=1))
        assert error.code() is grpc.StatusCode.DEADLINE_EXCEEDED
        assert not service.watch.done()
