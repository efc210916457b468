"""The events of one streamed Chat Completion, put together."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from services.chassis.errors import FailedPrecondition, Unavailable
from services.generate.engine import Delta, Finish, FinishReason, Piece, Usage
from services.generate.event_stream import MalformedStream

_REASONS = {"stop": FinishReason.STOP, "length": FinishReason.LENGTH, "model_length": FinishReason.LENGTH}


class Completion:
    """Reads `chat.completion.chunk` objects; the usage may come after the finish reason."""

    def __init__(self) -> None:
        self.done = False
        self._reason: FinishReason | None = None
        self._usage = Usage()

    def read(self, events: Sequence[str]) -> Iterator[Piece]:
        """Yield what the events say, all their text as one delta."""
        text = ""
        for event in events:
            if event == "[DONE]":
                self.done = True
                break
            text += self._chunk(event)
        if text:
            yield Delta(text)
        if self.done:
            yield from self.end()

    def end(self) -> Iterator[Piece]:
        """Yield the end; Unavailable when the stream stopped before the answer did."""
        if self._reason is None:
            raise Unavailable("the model endpoint broke off its answer; try again")
        self.done = True
        yield Finish(self._reason, self._usage)

    def _chunk(self, event: str) -> str:
        try:
            chunk = json.loads(event)
        except ValueError as error:
            raise MalformedStream(f"data that is not JSON: {event[:80]!r}") from error
        if not isinstance(chunk, dict):
            raise MalformedStream(f"data that is not an object: {event[:80]!r}")
        if failure := chunk.get("error"):
            message = failure.get("message") if isinstance(failure, dict) else failure
            raise Unavailable(f"the model endpoint failed within its answer: {str(message)[:300]}; try again")
        if isinstance(usage := chunk.get("usage"), dict):
            self._usage = token_usage(usage)
        choices = chunk.get("choices") or ()
        if not choices:
            return ""
        if reason := choices[0].get("finish_reason"):
            self._reason = _finish_reason(reason)
        return _text((choices[0].get("delta") or {}).get("content"))


def _finish_reason(reason: str) -> FinishReason:
    known = _REASONS.get(reason)
    if known is None:
        # Such as `content_filter` or `tool_calls`: the same request would end the same way.
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
