"""The JSON body that asks an OpenAI-compatible endpoint for a generation, in the provider's own names."""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import Any

from sourcier.services.generate.engine import Generation, Message, Tool
from sourcier.services.generate.openai.dialects import Provider


def request_body(
    generation: Generation, *, model: str, provider: Provider, omitted: Collection[str] = ()
) -> dict[str, Any]:
    """Return the body; fields that are `omitted` are left out whatever was asked."""
    sampling = generation.sampling
    body: dict[str, Any] = {
        "model": model,
        "messages": [_message(message) for message in generation.messages],
        "stream": True,
        "temperature": round(sampling.temperature, 6),
        provider.tokens_field: sampling.tokens_max,
    }
    if provider.stream_usage:
        body["stream_options"] = {"include_usage": True}
    # What has its default is left out: not every endpoint knows every field.
    if sampling.top_p != 1.0:
        body["top_p"] = round(sampling.top_p, 6)
    if sampling.seed is not None:
        body[provider.seed_field] = sampling.seed
    if sampling.stop:
        body["stop"] = list(sampling.stop)
    if generation.json_schema:
        body["response_format"] = _response_format(json.loads(generation.json_schema), provider)
    if generation.tools:
        body["tools"] = [tool_definition(tool) for tool in generation.tools]
        body["tool_choice"] = "auto"
    return {name: value for name, value in body.items() if name not in omitted}


def tool_definition(tool: Tool) -> dict[str, Any]:
    """Return a tool as Chat Completions and chat templates define it."""
    return {"type": "function", "function": {
        "name": tool.name, "description": tool.description, "parameters": json.loads(tool.parameters),
    }}


def _message(message: Message) -> dict[str, Any]:
    written: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.tool_calls:
        written["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in message.tool_calls
        ]
    if message.role == "tool":
        written["tool_call_id"] = message.tool_call_id
        if message.tool_name:
            written["name"] = message.tool_name
    return written


def _response_format(schema: Any, provider: Provider) -> dict[str, Any]:
    if provider.schema_form == "json_object":
        return {"type": "json_object", "schema": schema}
    return {"type": "json_schema", "json_schema": {"name": "output", "strict": True, "schema": schema}}
