"""Checks the tools of a request, and the calls and answers among its messages."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from sourcier.generate.v1 import generate_pb2
from sourcier.services.chassis.errors import FailedPrecondition
from sourcier.services.chassis.grpc.serving import require
from sourcier.services.generate.engine import Message, Tool, ToolCall

TOOLS_MAX = 16
TOOL_CHARACTERS_MAX = 8_192
CALLS_MAX = 16
CALL_ID_CHARACTERS_MAX = 128

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


def checked_tools(request: generate_pb2.GenerateRequest, *, refusal: str) -> tuple[Tool, ...]:
    """Return the tools that the model may ask for; FailedPrecondition, with `refusal`, where it takes none."""
    if not request.tools:
        return ()
    if refusal:
        raise FailedPrecondition(refusal)
    require(len(request.tools) <= TOOLS_MAX, f"{len(request.tools)} tools; send {TOOLS_MAX} at most", field="tools")
    require(not request.json_schema, "json_schema is given beside tools, and a tool call would not satisfy it; send "
            "one of the two", field="json_schema")
    tools: list[Tool] = []
    for place, tool in enumerate(request.tools):
        field = f"tools[{place}]"
        require(_NAME.fullmatch(tool.name) is not None,
                f"{field}.name is {tool.name[:80]!r}; use 1 to 64 letters, digits, _ and -", field=f"{field}.name")
        require(tool.name not in {each.name for each in tools}, f"{field}.name is {tool.name!r} for a second time; "
                "give each tool its own", field=f"{field}.name")
        require(len(tool.description) + len(tool.parameters) <= TOOL_CHARACTERS_MAX,
                f"{field} has {len(tool.description) + len(tool.parameters)} characters of description and parameters; "
                f"send {TOOL_CHARACTERS_MAX} at most", field=field)
        require(_is_object_schema(tool.parameters),
                f'{field}.parameters is no JSON schema of an object; send one such as {{"type": "object", …}}',
                field=f"{field}.parameters")
        tools.append(Tool(tool.name, tool.description, tool.parameters))
    return tuple(tools)


def checked_tool_calls(message: generate_pb2.Message, *, field: str) -> tuple[ToolCall, ...]:
    """Return the tool calls of a message, or refuse what no model could have asked for."""
    require(not message.tool_calls or message.role == generate_pb2.ROLE_ASSISTANT,
            f"{field}.tool_calls is given, and the message is not by ROLE_ASSISTANT; leave it out",
            field=f"{field}.tool_calls")
    require(len(message.tool_calls) <= CALLS_MAX, f"{field} has {len(message.tool_calls)} tool calls; send "
            f"{CALLS_MAX} at most", field=f"{field}.tool_calls")
    for place, call in enumerate(message.tool_calls):
        require(0 < len(call.id) <= CALL_ID_CHARACTERS_MAX and bool(call.name),
                f"{field}.tool_calls[{place}] has no name or no id of 1 to {CALL_ID_CHARACTERS_MAX} characters; send "
                "the call as it came", field=f"{field}.tool_calls[{place}]")
    return tuple(ToolCall(call.id, call.name, call.arguments) for call in message.tool_calls)


def check_tool_order(messages: Sequence[Message]) -> None:
    """Refuse calls that are not answered one by one right after they were made: several providers do, less clearly."""
    open_calls: list[str] = []
    for place, message in enumerate(messages):
        if message.role == "tool":
            require(message.tool_call_id in open_calls,
                    f"messages[{place}].tool_call_id is {message.tool_call_id[:80]!r}, which names no call right "
                    "before it that waits for its answer; send the calls of ROLE_ASSISTANT, then a ROLE_TOOL for each",
                    field=f"messages[{place}].tool_call_id")
            open_calls.remove(message.tool_call_id)
        else:
            require(not open_calls,
                    f"messages[{place}] comes before the answer to the tool call {''.join(open_calls[:1])!r}; send one "
                    "message of ROLE_TOOL for each call first", field=f"messages[{place}]")
            open_calls = [call.id for call in message.tool_calls]
    require(not open_calls, f"the tool call {''.join(open_calls[:1])!r} has no answer; add a message of ROLE_TOOL",
            field="messages")


def _is_object_schema(text: str) -> bool:
    try:
        schema = json.loads(text)
    except (ValueError, RecursionError):
        return False
    return isinstance(schema, dict) and schema.get("type") == "object"
