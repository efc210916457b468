"""Requests of OpenAI's chat completions as questions for the gateway; what cannot be done is refused, not passed over.

System prompts are read over: what the language model is told is the service's own affair, for its answers are checked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sourcier.gateway.v1 import answer_pb2
from sourcier.services.chassis.errors import InvalidArgument
from sourcier.services.web.narrowing import narrow
from sourcier.services.web.openai.models import Model, read_model
from sourcier.services.web.openai.sources import without_sources

HISTORY_MESSAGES_MAX, HISTORY_CHARACTERS_MAX = 50, 20_000
"""What the gateway takes."""
STOPS_MAX, STOP_CHARACTERS_MAX = 4, 200
ROLES = frozenset({"system", "developer", "user", "assistant", "tool", "function"})
_ROLES = {"user": answer_pb2.ROLE_USER, "assistant": answer_pb2.ROLE_ASSISTANT}


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """What was said once."""

    role: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """A request that was understood."""

    model: Model
    messages: tuple[Message, ...]
    """Without those of the system."""
    streams: bool
    tells_usage: bool
    stops: tuple[str, ...]
    tokens_max: int
    temperature: float | None
    seed: int | None
    where: answer_pb2.SearchFilter
    """What the question is narrowed to."""

    @property
    def question(self) -> str:
        """What is asked."""
        return self.messages[-1].text

    def ask(self) -> answer_pb2.AskRequest:
        """Return the question as the gateway takes it, with what was said before."""
        request = answer_pb2.AskRequest(question=self.question, tokens_max=self.tokens_max)
        if self.temperature is not None:
            request.temperature = self.temperature
        if self.seed is not None:
            request.seed = self.seed
        request.filter.CopyFrom(self.where)
        self.model.address(request)
        for message in self.messages[:-1][-HISTORY_MESSAGES_MAX:]:
            text = without_sources(message.text) if message.role == "assistant" else message.text
            if text.strip():
                request.history.add(role=_ROLES[message.role], content=text[:HISTORY_CHARACTERS_MAX])
        return request


def read_completion(body: dict[str, Any], *, citations: str) -> Completion:
    """Return what a request asks for; `citations` is how sources are told where its model does not say."""
    _refuse_what_cannot_be_done(body)
    messages = _messages(body.get("messages"))
    options = body.get("stream_options") or {}
    if not isinstance(options, dict):
        raise InvalidArgument("stream_options is no object", field="stream_options")
    return Completion(
        model=read_model(body.get("model"), citations=citations), messages=messages,
        streams=_switch(body, "stream"), tells_usage=_switch(options, "include_usage"), stops=_stops(body.get("stop")),
        tokens_max=_number(body, "max_completion_tokens", "max_tokens"), temperature=_temperature(body),
        seed=_seed(body), where=_where(body),
    )


def _where(body: dict[str, Any]) -> answer_pb2.SearchFilter:
    where = answer_pb2.SearchFilter()
    narrow(where, body)
    return where


def _refuse_what_cannot_be_done(body: dict[str, Any]) -> None:
    if body.get("n") not in (None, 1):
        raise InvalidArgument(f"n is {str(body['n'])[:20]}; this service gives one answer, leave it at 1", field="n")
    if body.get("tool_choice") not in (None, "none", "auto"):
        raise InvalidArgument("this service calls no tools of its caller; leave out tool_choice", field="tool_choice")
    form = body.get("response_format")
    if form is not None and (not isinstance(form, dict) or form.get("type") != "text"):
        raise InvalidArgument("answers are text with citations; leave out response_format", field="response_format")
    if body.get("logprobs"):
        raise InvalidArgument("this service tells no probabilities; leave out logprobs", field="logprobs")


def _messages(given: Any) -> tuple[Message, ...]:
    if not isinstance(given, list) or not given:
        raise InvalidArgument("messages is no list of messages; send at least one of role `user`", field="messages")
    said = []
    for place, each in enumerate(given):
        if not isinstance(each, dict) or each.get("role") not in ROLES:
            raise InvalidArgument(f"messages[{place}] has no role of {', '.join(sorted(ROLES))}",
                                  field=f"messages[{place}].role")
        text = _text(each.get("content"), field=f"messages[{place}].content")
        if each["role"] in _ROLES:
            said.append(Message(role=each["role"], text=text))
    if not said or said[-1].role != "user":
        raise InvalidArgument("the last message is not of role `user`; send the question last", field="messages")
    if not said[-1].text.strip():
        raise InvalidArgument("the last message holds no text; this service reads text alone", field="messages")
    return tuple(said)


def _text(content: Any, *, field: str) -> str:
    """Return the text of a message; its pictures and files are read over where there is text."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if not isinstance(content, list) or not all(isinstance(part, dict) for part in content):
        raise InvalidArgument(f"{field} is neither a text nor a list of parts", field=field)
    return "\n".join(_part(part, field=field) for part in content if part.get("type") in {"text", "refusal"})


def _part(part: dict[str, Any], *, field: str) -> str:
    text = part.get("text", part.get("refusal", ""))
    if not isinstance(text, str):
        raise InvalidArgument(f"a part of {field} has a text that is none", field=field)
    return text


def _switch(values: dict[str, Any], name: str) -> bool:
    value = values.get(name)
    if value is None or isinstance(value, bool):
        return bool(value)
    raise InvalidArgument(f"{name} is {str(value)[:50]!r}; send true or false", field=name)


def _number(body: dict[str, Any], *names: str) -> int:
    for name in names:
        value = body.get(name)
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, int) or not 0 < value < 2**31:
            raise InvalidArgument(f"{name} is {str(value)[:50]!r}; send a whole number above 0", field=name)
        return value
    return 0


def _temperature(body: dict[str, Any]) -> float | None:
    value = body.get("temperature")
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 2:
        raise InvalidArgument(f"temperature is {str(value)[:50]!r}; send a number from 0 to 2", field="temperature")
    return float(value)


def _seed(body: dict[str, Any]) -> int | None:
    value = body.get("seed")
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or not -(2**63) <= value < 2**63:
        raise InvalidArgument(f"seed is {str(value)[:50]!r}; send a whole number", field="seed")
    return value


def _stops(value: Any) -> tuple[str, ...]:
    if value is None:
        return ()
    stops: Sequence[Any] = [value] if isinstance(value, str) else value
    if not isinstance(stops, list) or len(stops) > STOPS_MAX or not all(
        isinstance(stop, str) and 0 < len(stop) <= STOP_CHARACTERS_MAX for stop in stops
    ):
        raise InvalidArgument(f"stop is not one to {STOPS_MAX} texts of 1 to {STOP_CHARACTERS_MAX} characters",
                              field="stop")
    return tuple(stops)
