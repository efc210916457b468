"""The chunks of a Chat Completion, and the body that asks for one."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest
from pydantic import SecretStr

from services.chassis.errors import (
    DeadlineExceeded,
    FailedPrecondition,
    InvalidArgument,
    ResourceExhausted,
    ServiceError,
    Unavailable,
)
from services.generate.completion import Completion
from services.generate.engine import Delta, Finish, FinishReason, Generation, Message, Piece, Sampling, Usage
from services.generate.event_stream import MalformedStream
from services.generate.openai_engine import Endpoint, request_body, status_error

ENDPOINT = Endpoint(url="https://api.example.com/v1", model="m", key=SecretStr("sk-secret"))


def chunk(content: Any = None, reason: str | None = None) -> str:
    return json.dumps({"choices": [{"delta": {"content": content}, "finish_reason": reason}]})


USAGE = json.dumps({"choices": [], "usage": {
    "prompt_tokens": 12, "completion_tokens": 3, "prompt_tokens_details": {"cached_tokens": 8}}})


def pieces(*events: str) -> list[Piece]:
    return list(Completion().read(events))


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
    assert request_body(generation(), ENDPOINT) == {
        "model": "m", "messages": [{"role": "user", "content": "Bonjour"}], "stream": True, "temperature": 0.0,
        "max_tokens": 64, "stream_options": {"include_usage": True},
    }


def test_the_body_says_all_that_was_asked_in_the_endpoints_own_names() -> None:
    endpoint = Endpoint(url="http://x", model="m", stream_usage=False, tokens_field="max_completion_tokens")
    sampling = {"temperature": 0.5, "top_p": 0.9, "seed": 7, "stop": ("a",)}
    body = request_body(generation(sampling=sampling, json_schema='{"type": "object"}'), endpoint)
    assert "stream_options" not in body
    assert "max_tokens" not in body
    assert (body["max_completion_tokens"], body["top_p"], body["seed"], body["stop"]) == (64, 0.9, 7, ["a"])
    assert body["response_format"]["json_schema"]["schema"] == {"type": "object"}


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
])
def test_the_address_is_completed_and_named_without_credentials(url: str, posted: str, host: str) -> None:
    endpoint = Endpoint(url=url, model="m")
    assert (endpoint.completions_url, endpoint.host) == (posted, host)


def test_the_key_does_not_show() -> None:
    assert "sk-secret" not in repr(ENDPOINT)
