"""Reads tool calls out of a model's text.

Models are told a form by their chat template and write others: Qwen2.5-Coder leaves its tags out and writes bare JSON,
small models put it into a fence. Servers pass on as text what their own parser does not know. Here all the usual forms
are read, for vLLM in this process and for what an endpoint leaks (docs/adr/0013).
"""

from __future__ import annotations

import ast
import json
import re
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

from sourcier.services.generate.engine import Delta, Tool, ToolCall

CALL_CHARACTERS_MAX = 8_192
"""A longer one is text: whoever waits for its end must not wait for ever."""
_TAG = r"<tool_call>|<tools>|<function_call>|<\|python_tag\|>|\[TOOL_CALLS\]"
_TAGS = ("<tool_call>", "<tools>", "<function_call>", "<|python_tag|>", "[TOOL_CALLS]")
_TAGGED = re.compile(_TAG)
_FENCE = re.compile(r"```[a-z_]*\s*")
_OPENINGS = re.compile(rf"(?:{_TAG}|```[a-z_]*\s*|\[(?=\s*\{{)|\s)*")
_CLOSINGS = re.compile(r"(?:</tool_call>|</tools>|</function_call>|```|[\s,;\]}])*")
_CLOSING_TAGS = ("</tool_call>", "</tools>", "</function_call>")
_NAMED = re.compile(r"([A-Za-z0-9_-]{1,64})(?:\[CALL_ID\]\w+)?(?:\[ARGS\])?\s*(?=\{)")
_DECODER = json.JSONDecoder(strict=False)


class _State(Enum):
    START = auto()
    """Nothing has been said but white space."""
    TEXT = auto()
    CALL = auto()
    AFTER = auto()
    """A call has ended; what else is said is another call or nothing."""


class _Incomplete(Exception):
    """The call has not ended yet."""


@dataclass(frozen=True)
class _Found:
    call: ToolCall
    end: int


class ToolCallReader:
    """Takes text as it comes; gives it on as soon as it cannot be part of a call, and each call once it is whole."""

    def __init__(self, tools: Sequence[Tool]) -> None:
        """Take the tools that were offered: JSON that names no other one is text."""
        self._tools = {tool.name: tool for tool in tools}
        self._state = _State.START
        self._held = ""
        self.called = False
        """Whether there was a call."""
        self.over = False
        """Whether the model has begun to talk after its calls: what it goes on to say is not read."""

    def feed(self, text: str) -> Iterator[Delta | ToolCall]:
        """Take more text and yield what has become certain."""
        if self.over:
            return
        self._held += text
        while self._held:
            state, held = self._state, self._held
            yield from self._step()
            if (self._state, self._held) == (state, held):
                return

    def finish(self) -> Iterator[Delta | ToolCall]:
        """Yield what is left at the end of the text."""
        if self._state is _State.CALL:
            try:
                found = self._read_call(final=True)
            except _Incomplete:
                found = None
            if found is not None:
                self.called = True
                self._held = ""
                yield found.call
        if self._held and not self.called:
            yield Delta(self._held)
        self._held = ""

    def _step(self) -> Iterator[Delta | ToolCall]:
        match self._state:
            case _State.START:
                self._begin()
            case _State.TEXT:
                yield from self._pass_on()
            case _State.CALL:
                yield from self._call()
            case _State.AFTER:
                self._after()

    def _begin(self) -> None:
        rest = self._held.lstrip()
        if self._opens(rest):
            self._state = _State.CALL
        elif rest and not self._may_open(rest):
            self._state = _State.TEXT

    def _pass_on(self) -> Iterator[Delta]:
        tag = _TAGGED.search(self._held)
        end = tag.start() if tag else len(self._held) - _overlap(self._held)
        if end:
            yield Delta(self._held[:end])
        self._held = self._held[end:]
        if tag:
            self._state = _State.CALL

    def _call(self) -> Iterator[Delta | ToolCall]:
        try:
            found = self._read_call(final=any(tag in self._held for tag in _CLOSING_TAGS))
        except _Incomplete:
            if len(self._held) <= CALL_CHARACTERS_MAX:
                return
            found = None
        if found is None:
            self._state = _State.TEXT
            # A tag that opens no call must not be looked at again.
            tag = _TAGGED.match(self._held)
            end = tag.end() if tag else 1
            yield Delta(self._held[:end])
            self._held = self._held[end:]
            return
        self.called = True
        self._state = _State.AFTER
        self._held = self._held[found.end:]
        yield found.call

    def _after(self) -> None:
        closed = _CLOSINGS.match(self._held)
        rest = self._held[closed.end():] if closed else self._held
        if self._opens(rest):
            self._held, self._state = rest, _State.CALL
        elif rest and not self._may_open(rest) and not any(tag.startswith(rest) for tag in _CLOSING_TAGS):
            self._held, self.over = "", True

    def _opens(self, text: str) -> bool:
        """Return whether a call begins here, as far as its first characters tell."""
        return bool(
            text.startswith("{") or re.match(r"\[\s*\{", text) or _TAGGED.match(text)
            or (_FENCE.match(text) and _FENCE.sub("", text, count=1)[:1] in ("{", "[", "<"))
            or any(text.startswith((f"{name}(", f"{name}{{", f"{name}[ARGS]")) for name in self._tools)
        )

    def _may_open(self, text: str) -> bool:
        """Return whether these characters may become the beginning of a call."""
        return bool(
            text == "[" or any(tag.startswith(text) for tag in _TAGS) or "```".startswith(text)
            or re.fullmatch(r"```[a-z_]*\s*|\[\s*", text)
            or any(f"{name}[ARGS]".startswith(text) for name in self._tools)
        )

    def _may_go_on(self, text: str) -> bool:
        """Return whether what follows an opening may still become a call."""
        return bool(
            re.fullmatch(r"(?:\[\s*)?", text) or any(tag.startswith(text) for tag in _TAGS)
            or any(name.startswith(text) or text.startswith(f"{name}[") or text == name for name in self._tools)
        )

    def _read_call(self, *, final: bool) -> _Found | None:
        """Return the call that the held text begins with, None where it is none."""
        opening = _OPENINGS.match(self._held)
        start = opening.end() if opening else 0
        text = self._held[start:]
        named = _NAMED.match(text)
        if named and named[1] in self._tools:
            arguments, end = self._object(text, named.end(), final=final)
            return _Found(_call(named[1], arguments), start + end) if isinstance(arguments, dict) else None
        for name in self._tools:
            if text.startswith(f"{name}("):
                return self._written_as_code(name, text, start, final=final)
        if not text.startswith("{"):
            if not final and self._may_go_on(text):
                raise _Incomplete
            return None
        written, end = self._object(text, 0, final=final)
        call = self._from_object(written)
        return None if call is None else _Found(call, start + end)

    def _object(self, text: str, start: int, *, final: bool) -> tuple[Any, int]:
        """Return the JSON value at a place and where it ends; at the end of the text, also one that was cut there."""
        try:
            return _DECODER.raw_decode(text, start)
        except (ValueError, RecursionError):
            pass
        if text.startswith("{{", start):
            # A template that shows its form with doubled braces is copied with them.
            try:
                value, end = _DECODER.raw_decode(text, start + 1)
            except (ValueError, RecursionError):
                pass
            else:
                return value, end + text[end:].startswith("}")
        if not final:
            raise _Incomplete
        cut = text[start:].partition("</")[0].rstrip()
        for ending in ("}", "}}", '"}}', '"}'):
            try:
                return _DECODER.raw_decode(cut + ending)[0], len(text)
            except (ValueError, RecursionError):
                continue
        return None, len(text)

    def _from_object(self, written: Any) -> ToolCall | None:
        if not isinstance(written, dict):
            return None
        if isinstance(written.get("function"), dict):
            written = written["function"]
        name = written.get("name") or written.get("function") or written.get("tool")
        arguments = written.get("arguments", written.get("parameters"))
        if name in self._tools and arguments is not None:
            return _call(name, arguments)
        if name is None and len(self._tools) == 1:
            # The arguments alone, where there is one tool that they can be for.
            (tool,) = self._tools.values()
            schema = json.loads(tool.parameters)
            required = set(schema.get("required", ()))
            if required and required <= written.keys() <= schema.get("properties", {}).keys():
                return _call(tool.name, written)
        return None

    def _written_as_code(self, name: str, text: str, start: int, *, final: bool) -> _Found | None:
        for end in (place + 1 for place, character in enumerate(text) if character == ")"):
            try:
                parsed = ast.parse(text[:end], mode="eval").body
            except (SyntaxError, ValueError, RecursionError, MemoryError):
                continue
            if not isinstance(parsed, ast.Call):
                return None
            properties = list(json.loads(self._tools[name].parameters).get("properties", {}))
            pairs = [*zip(properties, parsed.args, strict=False),
                     *((each.arg, each.value) for each in parsed.keywords if each.arg)]
            arguments = {key: value.value for key, value in pairs if isinstance(value, ast.Constant)}
            return _Found(_call(name, arguments), start + end)
        if not final:
            raise _Incomplete
        return None


def call_id() -> str:
    """Return the id of a call: nine letters and digits, which is all that Mistral takes."""
    return uuid.uuid4().hex[:9]


def _call(name: str, arguments: Any) -> ToolCall:
    text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    return ToolCall(call_id(), name, text)


def _overlap(text: str) -> int:
    """Return how many characters at the end may be the beginning of a tag."""
    longest = min(len(text), max(map(len, _TAGS)) - 1)
    return next((size for size in range(longest, 0, -1) if any(tag.startswith(text[-size:]) for tag in _TAGS)), 0)
