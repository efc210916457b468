"""Tools in a request: what is refused, with the field and the way out."""

from __future__ import annotations

import pytest

from sourcier.generate.v1 import generate_pb2 as pb
from sourcier.services.chassis.errors import FailedPrecondition, InvalidArgument
from sourcier.services.generate.engine import Tool, ToolCall
from sourcier.services.generate.server import checked_messages
from sourcier.services.generate.tools.requests import checked_tools

SCHEMA = '{"type": "object"}'
SEARCH = pb.Tool(name="search", description="Searches.", parameters=SCHEMA)
CALL = pb.ToolCall(id="a", name="search", arguments="{}")
USER = pb.Message(role=pb.ROLE_USER, content="x")
CALLING = pb.Message(role=pb.ROLE_ASSISTANT, tool_calls=[CALL])
ANSWER = pb.Message(role=pb.ROLE_TOOL, content="y", tool_call_id="a", tool_name="search")


def request(*tools: pb.Tool, **fields: object) -> pb.GenerateRequest:
    return pb.GenerateRequest(tools=tools, **fields)  # type: ignore[arg-type]


def test_tools_are_taken_over() -> None:
    assert checked_tools(request(SEARCH), refusal="") == (Tool("search", "Searches.", SCHEMA),)
    assert checked_tools(request(), refusal="no tools") == ()


def test_a_model_without_tools_refuses_them() -> None:
    with pytest.raises(FailedPrecondition, match="no tools here"):
        checked_tools(request(SEARCH), refusal="no tools here")


@pytest.mark.parametrize(("asked", "field"), [
    (request(*[pb.Tool(name=f"t{n}", parameters=SCHEMA) for n in range(17)]), "tools"),
    (request(pb.Tool(name="a b", parameters=SCHEMA)), "tools[0].name"),
    (request(SEARCH, SEARCH), "tools[1].name"),
    (request(pb.Tool(name="a", description="x" * 9000, parameters=SCHEMA)), "tools[0]"),
    (request(pb.Tool(name="a", parameters="{")), "tools[0].parameters"),
    (request(pb.Tool(name="a", parameters='{"type": "array"}')), "tools[0].parameters"),
    (request(SEARCH, json_schema=SCHEMA), "json_schema"),
])
def test_what_is_no_tool_is_refused(asked: pb.GenerateRequest, field: str) -> None:
    with pytest.raises(InvalidArgument) as raised:
        checked_tools(asked, refusal="")
    assert raised.value.field == field


def test_calls_and_their_answers_are_taken_over() -> None:
    messages = checked_messages(pb.GenerateRequest(messages=[USER, CALLING, ANSWER]))
    assert messages[1].tool_calls == (ToolCall("a", "search", "{}"),)
    assert (messages[2].role, messages[2].tool_call_id, messages[2].tool_name) == ("tool", "a", "search")


@pytest.mark.parametrize(("messages", "field"), [
    ([USER, CALLING], "messages"),
    ([USER, CALLING, USER], "messages[2]"),
    ([USER, ANSWER], "messages[1].tool_call_id"),
    ([USER, CALLING, ANSWER, ANSWER], "messages[3].tool_call_id"),
    ([USER, pb.Message(role=pb.ROLE_USER, content="x", tool_calls=[CALL])], "messages[1].tool_calls"),
    ([USER, pb.Message(role=pb.ROLE_ASSISTANT, tool_calls=[pb.ToolCall(name="search")])],
     "messages[1].tool_calls[0]"),
    ([USER, pb.Message(role=pb.ROLE_ASSISTANT, tool_calls=[CALL] * 17)], "messages[1].tool_calls"),
    ([USER, pb.Message(role=pb.ROLE_ASSISTANT)], "messages[1].content"),
])
def test_an_order_that_providers_refuse_is_refused_first(messages: list[pb.Message], field: str) -> None:
    with pytest.raises(InvalidArgument) as raised:
        checked_messages(pb.GenerateRequest(messages=messages))
    assert raised.value.field == field
