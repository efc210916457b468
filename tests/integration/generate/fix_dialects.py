"""Chat Completions as different providers speak them: the fields that each takes, and how each streams."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sourcier.services.generate.openai.dialects import ProviderName
from tests.integration.generate.fix_endpoint import Exchange

CALL_ID = "D681PevKs"
ARGUMENTS = '{"query": "frais de repas", "limit": 3}'
TEXT = ("Les repas ", "sont remboursés [1].")
USAGE = {"prompt_tokens": 21, "completion_tokens": 8, "total_tokens": 29}
_BASIC = {"model", "messages", "stream", "temperature", "top_p", "stop", "tools", "tool_choice", "response_format"}
_USUAL = frozenset(_BASIC | {"max_tokens", "seed", "stream_options"})


@dataclass(frozen=True)
class Dialect:
    """One provider."""

    name: ProviderName
    fields: frozenset[str]
    """What it takes; anything else is refused."""
    refusal: Callable[[str], tuple[str, Any]]
    """Status and body that refuse a field."""
    events: Callable[[bool], list[str]]
    """The stream of a tool call, or of a text."""
    usage: bool = True
    """Whether it tells what was used."""

    async def reply(self, exchange: Exchange) -> None:
        """Answer as the provider does: a tool call, and once that is answered, a text."""
        unknown = sorted(set(exchange.body) - self.fields)
        if unknown:
            status, body = self.refusal(unknown[0])
            await exchange.begin(status, "application/json")
            await exchange.send(json.dumps(body))
            return
        await exchange.begin()
        calls = bool(exchange.body.get("tools")) and exchange.body["messages"][-1]["role"] != "tool"
        for event in self.events(calls):
            await exchange.send(event)


def _data(*choices: Any, **fields: Any) -> str:
    chunk = {"object": "chat.completion.chunk", "choices": list(choices), **fields}
    return f"data: {json.dumps(chunk)}\n\n"


def _choice(reason: str | None = None, **delta: Any) -> dict[str, Any]:
    return {"index": 0, "delta": delta, "finish_reason": reason}


def _call(
    index: int | None = 0, identity: str | None = CALL_ID, name: str | None = "search", arguments: Any = ""
) -> Any:
    function = {"arguments": arguments} | ({"name": name} if name else {})
    piece: dict[str, Any] = {"function": function}
    if identity:
        piece |= {"id": identity, "type": "function"}
    return piece if index is None else piece | {"index": index}


def _openai(calls: bool) -> list[str]:
    """Pieces of arguments, the role apart, the usage after the reason in a chunk without choices."""
    if calls:
        parts = [_data(_choice(role="assistant", content=None, tool_calls=[_call()]))]
        parts += [_data(_choice(tool_calls=[_call(identity=None, name=None, arguments=ARGUMENTS[at:at + 7])]))
                  for at in range(0, len(ARGUMENTS), 7)]
    else:
        parts = [_data(_choice(role="assistant", content="")), *(_data(_choice(content=text)) for text in TEXT)]
    return [*parts, _data(_choice("tool_calls" if calls else "stop")), _data(usage=USAGE), "data: [DONE]\n\n"]


def _mistral(calls: bool) -> list[str]:
    """The call whole, with reason and usage in the same chunk."""
    if calls:
        call = _call(arguments=ARGUMENTS)
        return [_data(_choice(role="assistant", content="")),
                _data(_choice("tool_calls", content="", tool_calls=[call]), usage=USAGE), "data: [DONE]\n\n"]
    return [*(_data(_choice(content=text)) for text in TEXT), _data(_choice("stop", content=""), usage=USAGE),
            "data: [DONE]\n\n"]


def _ollama(calls: bool) -> list[str]:
    """The call whole, and `stop` as its reason."""
    if calls:
        return [_data(_choice(role="assistant", content="", tool_calls=[_call(arguments=ARGUMENTS)])),
                _data(_choice("stop", role="assistant", content="")), _data(usage=USAGE), "data: [DONE]\n\n"]
    return [*(_data(_choice(role="assistant", content=text)) for text in TEXT), _data(_choice("stop", content="")),
            _data(usage=USAGE), "data: [DONE]\n\n"]


def _litellm(calls: bool) -> list[str]:
    """Comments that keep the connection alive, no index, no end mark, no usage."""
    alive = ": keep-alive\n\n"
    if calls:
        return [alive, _data(_choice(content=None, tool_calls=[_call(None, arguments=ARGUMENTS)])), alive,
                _data(_choice("tool_calls"))]
    return [alive, *(_data(_choice(content=text)) for text in TEXT), alive, _data(_choice("stop"))]


def _llama_cpp(calls: bool) -> list[str]:
    """The model's text as it is, where its template is not known to the server; CRLF; usage beside the reason."""
    written = f'{{"name": "search", "arguments": {ARGUMENTS}}}'
    texts = (written[:9], written[9:]) if calls else TEXT
    events = [*(_data(_choice(content=text)) for text in texts), _data(_choice("stop"), usage=USAGE),
              "data: [DONE]\n\n"]
    return [event.replace("\n", "\r\n") for event in events]


def _pydantic(name: str) -> tuple[str, Any]:
    return "422 Unprocessable Entity", {"detail": [
        {"type": "extra_forbidden", "loc": ["body", name], "msg": "Extra inputs are not permitted"}]}


def _unsupported(name: str) -> tuple[str, Any]:
    return "400 Bad Request", {"error": {"message": f"Unsupported parameter: '{name}'", "param": name}}


DIALECTS = (
    Dialect("openai", frozenset(_BASIC | {"max_completion_tokens", "seed", "stream_options"}), _unsupported, _openai),
    Dialect("mistral", frozenset(_BASIC | {"max_tokens", "random_seed"}), _pydantic, _mistral),
    Dialect("ollama", _USUAL, _unsupported, _ollama),
    Dialect("litellm", _USUAL, _unsupported, _litellm, usage=False),
    Dialect("llama.cpp", _USUAL, _unsupported, _llama_cpp),
    Dialect("vllm", _USUAL, _unsupported, _openai),
)
