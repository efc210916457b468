"""`Score` over real gRPC: probabilities, refusals, deadlines, cancellation and bounds; scripted, and at an endpoint."""

from __future__ import annotations

import asyncio
import json
import math
from typing import Any

import grpc
import grpc.aio
import pytest

from sourcier.generate.v1 import generate_pb2 as pb
from sourcier.services.generate.openai.engine import Endpoint, OpenAIEngine
from sourcier.services.generate.scripted.script import Rule
from tests.integration.generate.fix_endpoint import Exchange, Reply, http_endpoint
from tests.integration.generate.fix_generate import answer, scripted, serving
from tests.waiting import until

JUDGE = Rule(pattern="affirmation", scores={"Oui": 0.7, "Non": 0.2})
SLOW = Rule(pattern="lent", scores={"Oui": 0.5}, first_token_seconds=60)


def question(text: str, *choices: str, **fields: Any) -> pb.ScoreRequest:
    """Return a request about one message of the user."""
    return pb.ScoreRequest(
        messages=[pb.Message(role=pb.ROLE_USER, content=text)], choices=choices or ("Oui", "Non"), **fields
    )


async def refusal(call: Any) -> grpc.aio.AioRpcError:
    """Return the error that a call ends with."""
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await call
    return caught.value


async def test_answers_come_back_in_order_with_their_probabilities() -> None:
    async with serving(scripted(JUDGE)) as service:
        response = await service.stub.Score(question("Affirmation : deux jours.", "Non", "Oui"), timeout=10)
        described = await service.stub.Describe(pb.DescribeRequest(), timeout=10)
    assert [each.choice for each in response.scores] == ["Non", "Oui"]
    assert [math.exp(each.log_probability) for each in response.scores] == pytest.approx([0.2, 0.7], rel=1e-5)
    assert (response.model, response.usage.prompt_tokens) == ("scripted", 4)
    assert described.scores
    assert service.supervisor.in_hand == 0


@pytest.mark.parametrize(("request_", "said"), [
    (question("x", "Oui"), "1 choices"),
    (pb.ScoreRequest(choices=["Oui", "Non"]), "0 messages"),
    (question("x", cache_salt="x" * 300), "cache_salt has 300 characters"),
    (question(" ".join(["mot"] * 5000)), "5000 tokens"),
])
async def test_what_cannot_be_scored_is_refused(request_: pb.ScoreRequest, said: str) -> None:
    async with serving(scripted(JUDGE)) as service:
        error = await refusal(service.stub.Score(request_, timeout=10))
    assert error.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert said in (error.details() or "")


async def test_an_engine_without_probabilities_says_so_beforehand_and_refuses() -> None:
    async with serving(scripted()) as service:
        described = await service.stub.Describe(pb.DescribeRequest(), timeout=10)
        error = await refusal(service.stub.Score(question("x"), timeout=10))
    assert not described.scores
    assert error.code() is grpc.StatusCode.FAILED_PRECONDITION
    assert "SOURCIER_GENERATE_OPENAI_LOGPROBS" in (error.details() or "")


async def test_a_cancelled_scoring_is_aborted_and_leaves_its_place() -> None:
    engine = scripted(SLOW)
    async with serving(engine, sequences_max=1, queue_max=0) as service:
        call = service.stub.Score(question("lent"), timeout=60)
        await until(lambda: engine.status().running == 1)
        full = await refusal(service.stub.Score(question("lent"), timeout=60))
        assert full.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        call.cancel()
        await until(lambda: engine.status().running == 0)
        assert (engine.aborted, service.supervisor.in_hand) == (1, 0)


async def test_a_scoring_ends_with_its_callers_deadline() -> None:
    engine = scripted(SLOW)
    async with serving(engine) as service:
        error = await refusal(service.stub.Score(question("lent"), timeout=0.2))
        assert error.code() is grpc.StatusCode.DEADLINE_EXCEEDED
        await until(lambda: engine.status().running == 0)


async def test_an_engine_that_dies_over_a_scoring_ends_the_process() -> None:
    async with serving(scripted(Rule(pattern="meurs", scores={"Oui": 1.0}, failure="die"))) as service:
        error = await refusal(service.stub.Score(question("meurs"), timeout=10))
        assert error.code() is grpc.StatusCode.UNAVAILABLE
        await asyncio.wait({service.watch}, timeout=10)
        assert service.watch.exception() is not None


async def test_an_engine_that_hangs_over_a_scoring_is_taken_for_dead() -> None:
    engine = scripted(Rule(pattern="bloque", scores={"Oui": 1.0}, failure="hang"))
    async with serving(engine, stall_seconds=0.3) as service:
        error = await refusal(service.stub.Score(question("bloque"), timeout=30))
        assert error.code() is grpc.StatusCode.UNAVAILABLE
        assert "no progress" in (error.details() or "")


def completion(*likeliest: tuple[str, float]) -> dict[str, Any]:
    told = [{"token": token, "logprob": math.log(value)} for token, value in likeliest]
    return {"choices": [{"message": {"content": "Oui"}, "logprobs": {"content": [{"top_logprobs": told}]}}],
            "usage": {"prompt_tokens": 12, "completion_tokens": 1, "prompt_tokens_details": {"cached_tokens": 8}}}


def says(document: Any, *, status: str = "200 OK") -> Reply:
    """Return a reply with a JSON body."""
    async def reply(exchange: Exchange) -> None:
        await exchange.begin(status, "application/json")
        await exchange.send(document if isinstance(document, str) else json.dumps(document))

    return reply


async def test_an_endpoints_probabilities_are_asked_for_in_one_completion() -> None:
    async with http_endpoint(says(completion(("Oui", 0.6), ("oui", 0.2), ("Non", 0.1)))) as endpoint:
        engine = OpenAIEngine(Endpoint(url=endpoint.url, model="m"), connections_max=4)
        async with serving(engine) as service:
            response = await service.stub.Score(question("Confirme ?"), timeout=10)
            assert (await service.stub.Describe(pb.DescribeRequest(), timeout=10)).scores
    body = endpoint.exchanges[0].body
    assert (body["max_tokens"], body["logprobs"], body["top_logprobs"], body["temperature"]) == (1, True, 20, 0.0)
    assert "stream" not in body
    assert [math.exp(each.log_probability) for each in response.scores] == pytest.approx([0.8, 0.1], rel=1e-5)
    assert (response.usage.prompt_tokens, response.usage.cached_tokens) == (12, 8)


@pytest.mark.parametrize(("reply", "code", "said"), [
    (says({"choices": [{"message": {"content": "Oui"}}]}), "FAILED_PRECONDITION", "OPENAI_LOGPROBS=false"),
    (says("<html>"), "UNAVAILABLE", "not JSON"),
    (says("x" * (2 << 20)), "UNAVAILABLE", "more than 1048576 bytes"),
    (says({"error": {"message": "logprobs are not known"}}, status="400 Bad Request"), "INVALID_ARGUMENT",
     "logprobs are not known"),
    (says({"error": {"message": "slow down"}}, status="429 Too Many Requests"), "RESOURCE_EXHAUSTED", "slow down"),
])
async def test_an_endpoint_that_cannot_tell_is_told_as_it_is(reply: Reply, code: str, said: str) -> None:
    async with http_endpoint(reply) as endpoint:
        engine = OpenAIEngine(Endpoint(url=endpoint.url, model="m"), connections_max=4)
        async with serving(engine) as service:
            error = await refusal(service.stub.Score(question("Confirme ?"), timeout=10))
    assert error.code().name == code
    assert said in (error.details() or "")


async def test_an_endpoint_that_does_not_answer_costs_the_callers_deadline_and_is_left() -> None:
    async def silence(exchange: Exchange) -> None:
        await asyncio.Event().wait()

    async with http_endpoint(silence) as endpoint:
        engine = OpenAIEngine(Endpoint(url=endpoint.url, model="m"), connections_max=4)
        async with serving(engine) as service:
            error = await refusal(service.stub.Score(question("Confirme ?"), timeout=0.3))
            assert error.code() is grpc.StatusCode.DEADLINE_EXCEEDED
            await until(lambda: service.supervisor.in_hand == 0)
        async with asyncio.timeout(10):
            await endpoint.closed_early.wait()


@pytest.mark.parametrize("said", [
    {"logprobs": False}, {"omitted": {"logprobs"}}, {"omitted": {"temperature", "top_logprobs"}},
])
async def test_an_endpoint_that_is_said_not_to_know_probabilities_is_not_asked(said: dict[str, Any]) -> None:
    async with http_endpoint(says({})) as endpoint:
        engine = OpenAIEngine(Endpoint(url=endpoint.url, model="m", **said), connections_max=4)
        async with serving(engine) as service:
            error = await refusal(service.stub.Score(question("Confirme ?"), timeout=10))
            described = await service.stub.Describe(pb.DescribeRequest(), timeout=10)
    assert not described.scores
    assert error.code() is grpc.StatusCode.FAILED_PRECONDITION
    assert "SOURCIER_GENERATE_OPENAI_OMIT" in str(error.details())
    assert endpoint.exchanges == []


async def test_answers_stream_while_others_are_scored() -> None:
    story = Rule(pattern="récit", text=" ".join(["mot"] * 50), tokens_per_second=200)
    async with serving(scripted(JUDGE, story)) as service:
        call = service.stub.Generate(pb.GenerateRequest(
            messages=[pb.Message(role=pb.ROLE_USER, content="récit")]), timeout=30)
        await call.read()
        response = await service.stub.Score(question("Affirmation"), timeout=10)
        assert len(response.scores) == 2
        _, finish, _ = await answer(call)
        assert finish.usage.completion_tokens == 50
