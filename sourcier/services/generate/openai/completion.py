"""The events of one streamed Chat Completion, put together."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from sourcier.services.chassis.errors import FailedPrecondition, Unavailable
from sourcier.services.generate.engine import Delta, Finish, FinishReason, Piece, Tool, ToolCall, Usage
from sourcier.services.generate.openai.event_stream import MalformedStream
from sourcier.services.generate.tools.calls import ToolCallReader, call_id

CALLS_MAX = 16
_REASONS = {
    "stop": FinishReason.STOP, "length": FinishReason.LENGTH, "model_length": FinishReason.LENGTH,
    "tool_calls": FinishReason.TOOL_CALLS, "function_call": FinishReason.TOOL_CALLS,
}


@dataclass
class _Call:
    """A tool call that comes in pieces."""

    id: str = ""
    name: str = ""
    arguments: str = ""


class Completion:
    """Reads `chat.completion.chunk` objects; the usage may come after the finish reason."""

    def __init__(self, tools: Sequence[Tool] = (), *, secrets: Sequence[str] = ()) -> None:
        """Take the tools that were offered, for some servers leave calls in the text, and what must not be said."""
        self._secrets = secrets
        self.done = False
        self._reason: FinishReason | None = None
        self._usage = Usage()
        self._calls: list[_Call] = []
        self._by_index: dict[int, _Call] = {}
        self._offered = bool(tools)
        self._reader = ToolCallReader(tools) if tools else None

    def read(self, events: Sequence[str]) -> Iterator[Piece]:
        """Yield what the events say, all their text as one delta."""
        text = ""
        for event in events:
            if event == "[DONE]":
                self.done = True
                break
            text += self._chunk(event)
        if text:
            yield from [Delta(text)] if self._reader is None else self._reader.feed(text)
        if self.done:
            yield from self.end()

    def end(self) -> Iterator[Piece]:
        """Yield the end; Unavailable when the stream stopped before the answer did."""
        if self._reason is None:
            raise Unavailable("the model endpoint broke off its answer; try again")
        self.done = True
        if self._reader is not None:
            yield from self._reader.finish()
        called = bool(self._calls) or (self._reader is not None and self._reader.called)
        for call in self._calls:
            yield ToolCall(call.id or call_id(), call.name, call.arguments or "{}")
        if self._reason is FinishReason.TOOL_CALLS and not called:
            raise Unavailable("the model endpoint ended its answer for tool calls and sent none; try again")
        if called and self._reason is FinishReason.STOP:
            # Some servers end with `stop` after a call, and all do after one that they took for text.
            self._reason = FinishReason.TOOL_CALLS
        yield Finish(self._reason, self._usage)

    def _chunk(self, event: str) -> str:
        try:
            chunk = json.loads(event)
        except ValueError as error:
            raise MalformedStream(f"data that is not JSON: {event[:80]!r}") from error
        if not isinstance(chunk, dict):
            raise MalformedStream(f"data that is not an object: {event[:80]!r}")
        if failure := chunk.get("error"):
            message = str(failure.get("message", failure) if isinstance(failure, dict) else failure)
            for secret in self._secrets:
                message = message.replace(secret, "***")
            raise Unavailable(f"the model endpoint failed within its answer: {message[:300]}; try again")
        if isinstance(usage := chunk.get("usage"), dict):
            self._usage = token_usage(usage)
        choices = chunk.get("choices") or ()
        if not choices:
            return ""
        if reason := choices[0].get("finish_reason"):
            self._reason = self._finish_reason(reason)
        delta = choices[0].get("delta") or {}
        for piece in delta.get("tool_calls") or ():
            self._take_call(piece)
        return _text(delta.get("content"))

    def _take_call(self, piece: Any) -> None:
        """Add a piece of a tool call to the call that it belongs to."""
        function = piece.get("function") if isinstance(piece, dict) else None
        if not isinstance(function, dict):
            raise MalformedStream(f"a tool call that is no function: {str(piece)[:80]!r}")
        call = self._call_of(piece.get("index"), str(piece.get("id") or ""), named=bool(function.get("name")))
        call.name = str(function.get("name") or call.name)
        arguments = function.get("arguments")
        if isinstance(arguments, dict):
            # A few servers send the object itself instead of its text.
            call.arguments = json.dumps(arguments, ensure_ascii=False)
        elif arguments:
            call.arguments += str(arguments)

    def _call_of(self, index: Any, identity: str, *, named: bool) -> _Call:
        known = self._by_index.get(index) if isinstance(index, int) else (self._calls[-1] if self._calls else None)
        # Without an index, or with 0 for every call, another id or another name begins another call.
        another = known is not None and known.name and named and identity != known.id
        if known is not None and not another:
            known.id = known.id or identity
            return known
        if len(self._calls) == CALLS_MAX:
            raise FailedPrecondition(f"the model asked for more than {CALLS_MAX} tools at once; ask another model")
        call = _Call(id=identity)
        self._calls.append(call)
        if isinstance(index, int):
            self._by_index[index] = call
        return call

    def _finish_reason(self, reason: str) -> FinishReason:
        known = _REASONS.get(reason)
        if known is None or (known is FinishReason.TOOL_CALLS and not self._offered):
            # Such as `content_filter`: the same request would end the same way.
            raise FailedPrecondition(f"the model endpoint ended its answer for the reason {str(reason)[:40]!r}")
        return known


def _text(content: Any) -> str:
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        # Parts of several kinds, of which only text is the answer; the others are the model's thinking.
        return "".join(str(part.get("text", "")) for part in content
                       if isinstance(part, dict) and part.get("type") == "text")
    raise MalformedStream(f"content that is neither text nor parts: {str(content)[:80]!r}")


def token_usage(usage: dict[str, Any]) -> Usage:
    """Return what a completion's `usage` says."""
    details = usage.get("prompt_tokens_details") or {}
    return Usage(
        prompt_tokens=int(usage.get("prompt_tokens") or 0), cached_tokens=int(details.get("cached_tokens") or 0),
        completion_tokens=int(usage.get("completion_tokens") or 0),
    )
