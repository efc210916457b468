"""The chunks of a Chat Completion, and the body that asks for one."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest
from pydantic import SecretStr

from sourcier.services.chassis.errors import (
    DeadlineExceeded,
    FailedPrecondition,
    InvalidArgument,
    ResourceExhausted,
    ServiceError,
    Unavailable,
)
from sourcier.services.generate.engine import (
    Delta,
    Finish,
    FinishReason,
    Generation,
    Message,
    Piece,
    Sampling,
    Tool,
    ToolCall,
    Usage,
)
from sourcier.services.generate.openai.completion import Completion
from sourcier.services.generate.openai.dialects import PROVIDERS, Provider
from sourcier.services.generate.openai.engine import Endpoint, retry_seconds, status_error
from sourcier.services.generate.openai.event_stream import MalformedStream
from sourcier.services.generate.openai.request import request_body

ENDPOINT = Endpoint(url="https://api.example.com/v1", model="m", key=SecretStr("sk-secret"))


def chunk(content: Any = None, reason: str | None = None) -> str:
    return json.dumps({"choices": [{"delta": {"content": content}, "finish_reason": reason}]})


USAGE = json.dumps({"choices": [], "usage": {
    "prompt_tokens": 12, "completion_tokens": 3, "prompt_tokens_details": {"cached_tokens": 8}}})


SEARCH = Tool("search", "Searches.", '{"type": "object", "properties": {"query": {}}, "required": ["query"]}')


def pieces(*events: str, tools: tuple[Tool, ...] = ()) -> list[Piece]:
    return list(Completion(tools).read(events))


def call_chunk(*pieces: dict[str, Any], reason: str | None = None) -> str:
    return json.dumps({"choices": [{"delta": {"tool_calls": list(pieces)}, "finish_reason": reason}]})


def test_text_that_came_together_is_one_delta() -> None:
    assert pieces(chunk(""), chunk("Bon"), chunk("jour")) == [Delta("Bonjour")]


def test_the_usage_may_come_after_the_reason() -> None:
    assert pieces(chunk("a"), chunk(None, "stop"), USAGE, "[DONE]") == [
        Delta("a"), Finish(FinishReason.STOP, Usage(prompt_tokens=12, cached_tokens=8, completion_tokens=3))]


def test_the_length_is_a_reason() -> None:
    assert pieces(chunk("a", "length"), "[DONE]")[-1] == Finish(FinishReason.LENGTH, Usage())


def test_a_stream_without_done_ends_where_a_reason_was_given() -> None:
    completion = Completion()
    assert list(completion.read([chunk("a", "stop")])) == [Delta("a")]
    assert list(completion.end()) == [Finish(FinishReason.STOP, Usage())]


def test_parts_of_a_content_that_are_no_text_are_left_out() -> None:
    assert pieces(chunk([{"type": "thinking", "thinking": []}, {"type": "text", "text": "a"}])) == [Delta("a")]


@pytest.mark.parametrize(("events", "kind", "says"), [
    ([chunk("a"), "[DONE]"], Unavailable, "broke off"),
    (['{"error": {"message": "overloaded"}}'], Unavailable, "overloaded"),
    ([chunk("a", "content_filter")], FailedPrecondition, "content_filter"),
    (["oops"], MalformedStream, "not JSON"),
    (["[]"], MalformedStream, "not an object"),
    ([chunk(3)], MalformedStream, "neither text nor parts"),
])
def test_what_breaks_an_answer_is_said(events: list[str], kind: type[Exception], says: str) -> None:
    with pytest.raises(kind, match=says):
        pieces(*events)


def generation(**changes: Any) -> Generation:
    sampling = Sampling(tokens_max=64, **changes.pop("sampling", {}))
    return Generation(id="1", messages=(Message("user", "Bonjour"),), sampling=sampling, deadline=0.0, **changes)


def test_the_body_leaves_out_what_has_its_default() -> None:
    assert request_body(generation(), model="m", provider=Provider()) == {
        "model": "m", "messages": [{"role": "user", "content": "Bonjour"}], "stream": True, "temperature": 0.0,
        "max_tokens": 64, "stream_options": {"include_usage": True},
    }


def test_the_body_says_all_that_was_asked_in_the_providers_own_names() -> None:
    provider = Provider(stream_usage=False, tokens_field="max_completion_tokens", seed_field="random_seed")
    sampling = {"temperature": 0.5, "top_p": 0.9, "seed": 7, "stop": ("a",)}
    asked = generation(sampling=sampling, json_schema='{"type": "object"}')
    body = request_body(asked, model="m", provider=provider)
    assert not {"stream_options", "max_tokens", "seed", "tools"} & body.keys()
    assert (body["max_completion_tokens"], body["top_p"], body["random_seed"], body["stop"]) == (64, 0.9, 7, ["a"])
    assert body["response_format"]["json_schema"]["schema"] == {"type": "object"}
    llama = request_body(asked, model="m", provider=PROVIDERS["llama.cpp"])
    assert llama["response_format"] == {"type": "json_object", "schema": {"type": "object"}}
    assert "temperature" not in request_body(asked, model="m", provider=provider, omitted={"temperature"})


def test_tools_their_calls_and_their_answers_are_written_as_chat_completions_has_them() -> None:
    call = ToolCall("abc123def", "search", '{"query": "a"}')
    messages = (Message("user", "A ?"), Message("assistant", "", (call,)), Message("tool", "B", (), call.id, call.name))
    asked = Generation(id="1", messages=messages, sampling=Sampling(tokens_max=1), deadline=0.0, tools=(SEARCH,))
    body = request_body(asked, model="m", provider=Provider())
    assert body["tool_choice"] == "auto"
    assert body["tools"] == [{"type": "function", "function": {
        "name": "search", "description": "Searches.", "parameters": json.loads(SEARCH.parameters)}}]
    assert body["messages"][1:] == [
        {"role": "assistant", "content": "", "tool_calls": [
            {"id": "abc123def", "type": "function", "function": {"name": "search", "arguments": '{"query": "a"}'}}]},
        {"role": "tool", "content": "B", "tool_call_id": "abc123def", "name": "search"},
    ]


@pytest.mark.parametrize(("events", "calls"), [
    # OpenAI and vLLM: an index, the arguments in pieces, two calls one after the other.
    ([call_chunk({"index": 0, "id": "a", "function": {"name": "search", "arguments": ""}}),
      call_chunk({"index": 0, "function": {"arguments": '{"query"'}}), call_chunk({"index": 0, "function": {
          "arguments": ': "x"}'}}),
      call_chunk({"index": 1, "id": "b", "function": {"name": "search", "arguments": '{"query": "y"}'}}),
      call_chunk(reason="tool_calls")], [("a", '{"query": "x"}'), ("b", '{"query": "y"}')]),
    # Mistral: both whole in one chunk, with the reason.
    ([call_chunk({"index": 0, "id": "a", "function": {"name": "search", "arguments": '{"query": "x"}'}},
                 {"index": 1, "id": "b", "function": {"name": "search", "arguments": '{"query": "y"}'}},
                 reason="tool_calls")], [("a", '{"query": "x"}'), ("b", '{"query": "y"}')]),
    # Ollama before 0.6: every call has the index 0, and the reason is `stop`.
    ([call_chunk({"index": 0, "id": "a", "function": {"name": "search", "arguments": '{"query": "x"}'}}),
      call_chunk({"index": 0, "id": "b", "function": {"name": "search", "arguments": '{"query": "y"}'}}),
      call_chunk(reason="stop")], [("a", '{"query": "x"}'), ("b", '{"query": "y"}')]),
    # No index at all, and the arguments as an object.
    ([call_chunk({"id": "a", "function": {"name": "search", "arguments": {"query": "x"}}}), call_chunk(reason="stop")],
     [("a", '{"query": "x"}')]),
])
def test_calls_are_put_together_whatever_their_pieces(events: list[str], calls: list[tuple[str, str]]) -> None:
    read = pieces(*events, "[DONE]", tools=(SEARCH,))
    assert read == [*(ToolCall(identity, "search", arguments) for identity, arguments in calls),
                    Finish(FinishReason.TOOL_CALLS, Usage())]


def test_a_call_that_a_server_took_for_text_is_read() -> None:
    read = pieces(chunk('{"name": "search", '), chunk('"arguments": {"query": "x"}}'), chunk(None, "stop"), "[DONE]",
                  tools=(SEARCH,))
    assert isinstance(read[0], ToolCall)
    assert (read[0].name, json.loads(read[0].arguments), len(read[0].id)) == ("search", {"query": "x"}, 9)
    assert read[1:] == [Finish(FinishReason.TOOL_CALLS, Usage())]


def test_json_is_text_where_no_tool_was_offered() -> None:
    text = '{"name": "search", "arguments": {"query": "x"}}'
    assert pieces(chunk(text), chunk(None, "stop"), "[DONE]")[0] == Delta(text)


@pytest.mark.parametrize(("header", "seconds"), [
    ("7", 7), ("0.2", 1), ("Sun, 22 Nov 2026 10:00:30 GMT", 30), ("Sun, 22 Nov 2026 09:00:00 GMT", 0), ("soon", 0),
    ("", 0), ("-3", 0), ("inf", 0), ("nan", 0),
])
def test_the_time_to_wait_is_read_as_a_number_or_a_date(header: str, seconds: int) -> None:
    assert retry_seconds(header, now=datetime(2026, 11, 22, 10, 0, tzinfo=UTC)) == seconds


@pytest.mark.parametrize(("code", "kind", "says"), [
    (400, InvalidArgument, "no such field"), (401, FailedPrecondition, "SOURCIER_GENERATE_OPENAI_KEY"),
    (403, FailedPrecondition, "SOURCIER_GENERATE_OPENAI_KEY"),
    (404, FailedPrecondition, "SOURCIER_GENERATE_OPENAI_URL"),
    (408, DeadlineExceeded, "408"), (422, InvalidArgument, "422"), (429, ResourceExhausted, "try again in 7 s"),
    (500, Unavailable, "500"), (503, Unavailable, "try again"), (504, DeadlineExceeded, "504"),
    (301, FailedPrecondition, "does not name the endpoint"),
])
def test_every_status_is_mapped(code: int, kind: type[ServiceError], says: str) -> None:
    error = status_error(httpx.Response(code, headers={"retry-after": "7"}), ENDPOINT, said="no such field")
    assert type(error) is kind
    assert says in error.message
    assert "api.example.com answered" in error.message


@pytest.mark.parametrize(("url", "posted", "host"), [
    ("https://a.example/v1", "https://a.example/v1/chat/completions", "a.example"),
    ("https://a.example/v1/", "https://a.example/v1/chat/completions", "a.example"),
    ("http://u:p@b.example:81/v1/chat/completions", "http://u:p@b.example:81/v1/chat/completions", "b.example:81"),
    ("https://c.example/openai/deployments/d?api-version=1",
     "https://c.example/openai/deployments/d/chat/completions?api-version=1", "c.example"),
])
def test_the_address_is_completed_and_named_without_credentials(url: str, posted: str, host: str) -> None:
    endpoint = Endpoint(url=url, model="m")
    assert (endpoint.completions_url, endpoint.host) == (posted, host)


def test_the_key_does_not_show() -> None:
    assert "sk-secret" not in repr(ENDPOINT)
