"""The endpoint's engine against each provider's dialect, over real HTTP: tools, usage, what each refuses and how."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import sys
from pathlib import Path
from typing import Any

import grpc
import pytest
from pydantic import SecretStr

from sourcier.generate.v1 import generate_pb2 as pb
from sourcier.generate.v1 import generate_pb2_grpc
from sourcier.services.chassis.grpc.channels import open_channel
from sourcier.services.generate.openai.dialects import PROVIDERS
from sourcier.services.generate.openai.engine import Endpoint, OpenAIEngine
from tests.integration.generate.fix_dialects import ARGUMENTS, DIALECTS, TEXT, USAGE, Dialect
from tests.integration.generate.fix_endpoint import Exchange, http_endpoint
from tests.integration.generate.fix_generate import answer, ask, failure, responses, serving

ROOT = Path(__file__).parents[4]
KEY, HEADER = "sk-quite-secret", "team-quite-secret"
SCHEMA = '{"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]}'
SEARCH = pb.Tool(name="search", description="Searches.", parameters=SCHEMA)


def engine_of(dialect: Dialect, url: str, **changes: object) -> OpenAIEngine:
    return OpenAIEngine(Endpoint(**({  # type: ignore[arg-type]
        "url": url, "key": SecretStr(KEY), "model": "m", "provider": PROVIDERS[dialect.name],
        "headers": {"x-team": SecretStr(HEADER)},
    } | changes)), connections_max=4)


def everything(text: str) -> pb.GenerateRequest:
    """Return a request that uses every field."""
    return ask(text, system="Sois bref.", seed=3, temperature=0.7, top_p=0.9, tokens_max=50, stop=["FIN"])


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
async def test_a_tool_is_asked_for_and_answered_in_every_dialect(dialect: Dialect) -> None:
    async with http_endpoint(dialect.reply) as endpoint, serving(engine_of(dialect, endpoint.url)) as service:
        request = everything("Les repas ?")
        request.tools.append(SEARCH)
        first = [part async for part in responses(service.stub.Generate(request, timeout=10))]
        call = first[0].tool_call
        assert [part.WhichOneof("part") for part in first] == ["tool_call", "finish"]
        assert (call.name, json.loads(call.arguments)) == ("search", json.loads(ARGUMENTS))
        assert first[1].finish.reason == pb.FINISH_REASON_TOOL_CALLS
        request.messages.extend([
            pb.Message(role=pb.ROLE_ASSISTANT, tool_calls=[call]),
            pb.Message(role=pb.ROLE_TOOL, content="Rien.", tool_call_id=call.id, tool_name=call.name),
        ])
        text, finish, _ = await answer(service.stub.Generate(request, timeout=10))
    assert text == "".join(TEXT)
    assert finish.reason == pb.FINISH_REASON_STOP
    assert finish.usage.prompt_tokens == (USAGE["prompt_tokens"] if dialect.usage else 0)
    sent = endpoint.exchanges[1]
    assert [message["role"] for message in sent.body["messages"]] == ["system", "user", "assistant", "tool"]
    assert sent.body["messages"][3]["tool_call_id"] == call.id
    assert sent.headers["x-team"] == HEADER


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
async def test_a_schema_is_sent_in_the_form_that_the_provider_knows(dialect: Dialect) -> None:
    async with http_endpoint(dialect.reply) as endpoint, serving(engine_of(dialect, endpoint.url)) as service:
        await answer(service.stub.Generate(ask("x", schema=SCHEMA), timeout=10))
    form = endpoint.exchanges[0].body["response_format"]
    assert form.get("schema" if dialect.name == "llama.cpp" else "json_schema")


async def test_a_provider_that_is_taken_for_another_says_the_field_and_the_way_out(
    caplog: pytest.LogCaptureFixture
) -> None:
    mistral = DIALECTS[1]
    caplog.set_level(logging.DEBUG)
    async with (
        http_endpoint(mistral.reply) as endpoint,
        serving(engine_of(mistral, endpoint.url, provider=PROVIDERS["other"])) as service,
    ):
        error = await failure(service.stub.Generate(everything("x"), timeout=10))
    assert error.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert "extra_forbidden" in (error.details() or "")
    assert "SOURCIER_GENERATE_OPENAI_PROVIDER" in (error.details() or "")
    assert KEY not in caplog.text + str(error)


async def test_a_field_that_a_model_refuses_can_be_left_out() -> None:
    openai = DIALECTS[0]
    async with (
        http_endpoint(openai.reply) as endpoint,
        serving(engine_of(openai, endpoint.url, omitted=frozenset({"temperature", "seed"}))) as service,
    ):
        await answer(service.stub.Generate(everything("x"), timeout=10))
    assert not {"temperature", "seed"} & endpoint.exchanges[0].body.keys()


async def test_an_error_within_the_answer_tells_no_secret(caplog: pytest.LogCaptureFixture) -> None:
    async def break_down(exchange: Exchange) -> None:
        await exchange.begin()
        await exchange.say("Je")
        await exchange.send(f'data: {{"error": {{"message": "overloaded for {KEY} of {HEADER}", "code": 500}}}}\n\n')

    caplog.set_level(logging.DEBUG)
    async with http_endpoint(break_down) as endpoint, serving(engine_of(DIALECTS[0], endpoint.url)) as service:
        error = await failure(service.stub.Generate(ask("x"), timeout=10))
    assert error.code() is grpc.StatusCode.UNAVAILABLE
    assert "overloaded for *** of ***" in (error.details() or "")
    assert KEY not in caplog.text + str(error)
    assert HEADER not in caplog.text + str(error)


async def test_a_model_without_tools_is_said_by_describe_and_refused_with_the_setting() -> None:
    dialect = DIALECTS[2]
    async with (
        http_endpoint(dialect.reply) as endpoint, serving(engine_of(dialect, endpoint.url, tools=False)) as service,
    ):
        description = await service.stub.Describe(pb.DescribeRequest(), timeout=10)
        request = ask("x")
        request.tools.append(SEARCH)
        error = await failure(service.stub.Generate(request, timeout=10))
    assert not description.tools
    assert "SOURCIER_GENERATE_OPENAI_TOOLS" in description.tools_refusal
    assert (error.code(), error.details()) == (grpc.StatusCode.FAILED_PRECONDITION, description.tools_refusal)
    assert endpoint.exchanges == []


async def test_the_old_names_run_the_service_and_are_warned_of() -> None:
    mistral = DIALECTS[1]
    kept = {name: value for name, value in os.environ.items()
            if not name.startswith(("SOURCIER_GENERATE_", "MISTRAL_", "RAG_PROVIDER"))}
    async with http_endpoint(mistral.reply) as endpoint:
        old = {"RAG_PROVIDER": "mistral", "MISTRAL_API_KEY": KEY, "MISTRAL_API_URL": endpoint.url.removesuffix("/v1")}
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "sourcier.services.generate", env=kept | old, cwd=ROOT,
            stderr=asyncio.subprocess.PIPE)
        assert process.stderr is not None
        said: list[dict[str, Any]] = []
        try:
            async with asyncio.timeout(60):
                while not said or said[-1]["message"] != "ready":
                    said.append(json.loads(await process.stderr.readline()))
            channel = open_channel(f"127.0.0.1:{said[-1]['port']}")
            text, _, _ = await answer(
                generate_pb2_grpc.GenerateServiceStub(channel).Generate(everything("x"), timeout=20))
            await channel.close()
        finally:
            process.terminate()
            _, rest = await process.communicate()
    assert text == "".join(TEXT)
    assert endpoint.exchanges[0].headers["authorization"] == f"Bearer {KEY}"
    # Beside these stands that the port is open to whoever reaches it, where no internal token is set.
    warned = [entry["message"] for entry in said
              if entry["level"] == "WARNING" and "SOURCIER_INTERNAL_TOKEN" not in entry["message"]]
    assert [message.partition(" ")[0] for message in warned] == list(old)
    assert "SOURCIER_GENERATE_OPENAI_KEY" in warned[1]
    assert KEY not in str(said) + rest.decode()
