"""An answer as OpenAI's clients read it: text in deltas, cut at a stop, then its sources and how it ended."""

from __future__ import annotations

import time
import uuid
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from typing import Any

from sourcier.gateway.v1 import answer_pb2
from sourcier.services.web.answers import Events, failure
from sourcier.services.web.openai.requests import Completion
from sourcier.services.web.openai.sources import Sources, withheld
from sourcier.services.web.refusals import refusal

FINISH_LENGTH, FINISH_STOP = "length", "stop"


@dataclass(slots=True)
class Writing:
    """One answer while it is read."""

    completion: Completion
    sources: Sources
    id: str = field(default_factory=lambda: f"chatcmpl-{uuid.uuid4().hex}")
    created: int = field(default_factory=lambda: int(time.time()))
    answer_id: str = ""
    text: list[str] = field(default_factory=list)
    finished: answer_pb2.Finished = field(default_factory=answer_pb2.Finished)
    withheld: list[answer_pb2.Withheld] = field(default_factory=list)
    stopped: bool = False

    async def deltas(self, events: Events) -> AsyncGenerator[str, None]:
        """Yield text as it comes, an empty one with the first event; raise where the answer fails."""
        cutter = _Cutter(self.completion.stops)
        yield ""
        async for event in events:
            self.answer_id = event.answer_id
            self.sources.take(event)
            match event.WhichOneof("event"):
                case "withheld":
                    self.withheld.append(event.withheld)
                case "failed":
                    raise refusal(failure(event.failed))
                case "finished":
                    self.finished = event.finished
            if piece := cutter.take(_said(event)):
                self.text.append(piece)
                yield piece
            if cutter.stopped:
                self.stopped = True
                return
        if piece := cutter.rest():
            self.text.append(piece)
            yield piece
        if self.completion.model.citations == "list" and (closing := self.sources.markdown()):
            self.text.append(closing)
            yield closing

    def whole(self) -> dict[str, Any]:
        """Return the response of a request that does not stream."""
        message: dict[str, Any] = {"role": "assistant", "content": "".join(self.text), "refusal": None}
        message |= self._annotated()
        told = self._head("chat.completion")
        told["choices"] = [{"index": 0, "message": message, "finish_reason": self.finish_reason, "logprobs": None}]
        return {**told, "usage": self.usage(), "sourcier": self.told()}

    def chunk(self, delta: dict[str, Any], *, finish_reason: str | None = None, **more: Any) -> dict[str, Any]:
        """Return a piece of a response that streams."""
        told = self._head("chat.completion.chunk")
        told["choices"] = [{"index": 0, "delta": delta, "finish_reason": finish_reason, "logprobs": None}]
        return {**told, **more}

    def usage_chunk(self) -> dict[str, Any]:
        """Return the piece that tells the usage alone."""
        return {**self._head("chat.completion.chunk"), "choices": [], "usage": self.usage()}

    def ending(self) -> list[dict[str, Any]]:
        """Return the last pieces: events of sources where they are asked for, annotations, how it ended."""
        events = self.sources.events() if self.completion.model.citations == "events" else []
        return [
            *(self.chunk({}, event=event) for event in events),
            self.chunk(self._annotated(), finish_reason=self.finish_reason, sourcier=self.told()),
        ]

    @property
    def finish_reason(self) -> str:
        """How it ended, in OpenAI's words."""
        truncated = self.finished.outcome == answer_pb2.ANSWER_OUTCOME_TRUNCATED
        return FINISH_LENGTH if truncated and not self.stopped else FINISH_STOP

    def usage(self) -> dict[str, Any]:
        """Return the tokens of the language model; 0 where it was not called."""
        used = self.finished.usage
        return {
            "prompt_tokens": used.prompt_tokens, "completion_tokens": used.completion_tokens,
            "total_tokens": used.prompt_tokens + used.completion_tokens,
            "prompt_tokens_details": {"cached_tokens": used.cached_tokens},
        }

    def told(self) -> dict[str, Any]:
        """Return what OpenAI's form has no place for."""
        outcome = answer_pb2.AnswerOutcome.Name(self.finished.outcome).removeprefix("ANSWER_OUTCOME_").lower()
        return {
            "answer_id": self.answer_id, "outcome": "stopped" if self.stopped else outcome,
            "sources": self.sources.told(), "withheld": withheld(self.withheld),
        }

    def _head(self, kind: str) -> dict[str, Any]:
        return {"id": self.id, "object": kind, "created": self.created, "model": self.completion.model.called}

    def _annotated(self) -> dict[str, Any]:
        wanted = self.completion.model.citations == "annotations"
        return {"annotations": self.sources.annotations()} if wanted else {}


def _said(event: answer_pb2.AskEvent) -> str:
    """Return the text that an event adds: what takes the place of the language model's words comes alone."""
    match event.WhichOneof("event"):
        case "token":
            return event.token.text
        case "refused":
            return event.refused.text
        case "quoted":
            return event.quoted.text
        case "direct_answer":
            return event.direct_answer.text
    return ""


class _Cutter:
    """Passes text on up to the first of some stops; holds back what may be the beginning of one."""

    def __init__(self, stops: tuple[str, ...]) -> None:
        self._stops = stops
        self._held = ""
        self.stopped = False

    def take(self, text: str) -> str:
        """Return what can be shown once more text has come."""
        self._held += text
        places = [place for stop in self._stops if (place := self._held.find(stop)) >= 0]
        if places:
            self.stopped = True
            shown, self._held = self._held[:min(places)], ""
            return shown
        kept = max((size for stop in self._stops for size in range(1, len(stop)) if self._held.endswith(stop[:size])),
                   default=0)
        shown, self._held = self._held[:len(self._held) - kept], self._held[len(self._held) - kept:]
        return shown

    def rest(self) -> str:
        """Return what was held back, once nothing more comes."""
        shown, self._held = self._held, ""
        return shown
