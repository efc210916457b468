"""Filters as people and programs write them: `date >= 2024 and (type = avenant or not archived)`, or the same as JSON.

    filter  = part {"or" part}          part = one {"and" one}
    one     = "not" one | "(" filter ")" | test
    test    = field                                          it is true
            | field ("=" | "!=" | "<" | "<=" | ">" | ">=") value
            | field ["not"] ("in" "(" value {"," value} ")" | "contains" value | "prefix" value | "exists")
    value   = number | date | true | false | word | "text" | 'text' | « text »

`et`, `ou`, `non`, `dans`, `contient` and `existe` are read as `and`, `or`, `not`, `in`, `contains` and `exists`.
Words may have signs in them, as `2024-03-12`, `v2.1` and `text/plain`; a text with spaces or parentheses stands in
quotes. A size may have a unit: `size > 10 MB` is written `size > 10MB`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

from google.protobuf import json_format

from sourcier.errors import InvalidArgument
from sourcier.gateway.v1 import answer_pb2

Filter = str | Mapping[str, Any] | answer_pb2.Condition
"""An expression, the same as JSON, or the contract's message."""

CHARACTERS_MAX = 20_000
NESTED_MAX = 30
"""Parentheses and `not` inside one another, so that reading ends; the service takes 8 that put conditions together."""
EXAMPLE = "date >= 2024 and (type = avenant or not archived)"

_TOKEN = re.compile(
    r"""(?P<space>\s+)|(?P<sign><=|>=|!=|==|[<>=(),]|[≤≥≠])|(?P<word>[^\s<>=!(),"'«»≤≥≠]+)"""
)
_QUOTES = {'"': '"', "'": "'", "«": "»"}
_NUMBER = re.compile(r"-?[0-9]+(?:\.[0-9]+)?")
_SIZE = re.compile(r"([0-9]+(?:\.[0-9]+)?)([kmg])(?:o|b)", re.IGNORECASE)
_SIGNS = {"=": "eq", "==": "eq", ">": "gt", ">=": "gte", "≥": "gte", "<": "lt", "<=": "lte", "≤": "lte"}
_UNEQUAL = frozenset({"!=", "≠"})
_WORDS = frozenset({"and", "or", "not", "in", "contains", "prefix", "exists"})
_FRENCH = {"et": "and", "ou": "or", "non": "not", "dans": "in", "contient": "contains", "existe": "exists"}
"""The same words for those who write French; as a value each is a text: `archived = non`."""
_UNITS = {"k": 10**3, "m": 10**6, "g": 10**9}
_SIZES = frozenset({"size", "size_bytes"})


def condition(written: Filter) -> answer_pb2.Condition:
    """Return a filter as the contract's message; raise InvalidArgument where it cannot be read."""
    if isinstance(written, answer_pb2.Condition):
        return written
    if isinstance(written, str):
        written = parse(written)
    if not isinstance(written, Mapping):
        raise InvalidArgument(f"the filter is {written!r}; write an expression such as {EXAMPLE}, or a JSON object",
                              field="filter")
    try:
        return json_format.ParseDict(dict(written), answer_pb2.Condition())
    except (json_format.ParseError, TypeError, ValueError, RecursionError) as error:
        raise InvalidArgument(
            f"the filter is not understood ({str(error)[:200]}); a condition has \"and\", \"or\", \"not\", or "
            "\"field\" with eq, in, gt, gte, lt, lte, exists, prefix or contains", field="filter",
        ) from error


def parse(expression: str) -> dict[str, Any]:
    """Return what an expression says, as JSON; raise InvalidArgument, with the place, where it says nothing.

    >>> parse("date >= 2024 and not archived")
    {'and': [{'field': 'date', 'gte': 2024}, {'not': {'field': 'archived', 'eq': True}}]}
    """
    if len(expression) > CHARACTERS_MAX:
        raise InvalidArgument(f"the filter has {len(expression):,} characters; use at most {CHARACTERS_MAX:,}",
                              field="filter")
    return _Reader(expression).read()


@dataclass(frozen=True, slots=True)
class _Token:
    text: str
    start: int
    sign: bool = False
    quoted: bool = False

    @property
    def keyword(self) -> str:
        """The word of the language that it is; empty for none."""
        word = self.text.lower()
        return "" if self.quoted or self.sign else _FRENCH.get(word, word if word in _WORDS else "")


class _Reader:
    """Reads one expression from left to right."""

    def __init__(self, expression: str) -> None:
        self._expression = expression
        self._tokens = self._split()
        self._place = 0
        self._nested = 0

    def read(self) -> dict[str, Any]:
        if not self._tokens:
            raise InvalidArgument(f"the filter is empty; write one such as {EXAMPLE}", field="filter")
        read = self._either()
        if self._next is not None:
            before = self._tokens[self._place - 1]
            if not (self._next.sign or before.sign or self._next.keyword):
                self._refuse("put a text of several words in quotes, and `and` or `or` between two conditions")
            self._refuse("put `and` or `or` before it, or take it out")
        return read

    def _split(self) -> list[_Token]:
        tokens, place, text = [], 0, self._expression
        while place < len(text):
            if text[place] in _QUOTES:
                token, end = self._quoted(place)
                tokens.append(_Token(token, place, quoted=True))
                place = end
                continue
            match = _TOKEN.match(text, place)
            if match is None:
                self._refuse_at(place, "a sign stands alone")
            if match.lastgroup != "space":
                tokens.append(_Token(match[0], place, sign=match.lastgroup == "sign"))
            place = match.end()
        return tokens

    def _quoted(self, start: int) -> tuple[str, int]:
        """Return the text in quotes that begins here, and where it ends; a backslash keeps the sign behind it."""
        text, close = self._expression, _QUOTES[self._expression[start]]
        inside: list[str] = []
        place = start + 1
        while True:
            if place >= len(text):
                self._refuse_at(start, "a quote is not closed")
            if text[place] == close:
                said = "".join(inside)
                return said.strip() if close == "»" else said, place + 1
            if text[place] == "\\" and close != "»":
                place += 1
            inside.append(text[place : place + 1])
            place += 1

    @property
    def _next(self) -> _Token | None:
        return self._tokens[self._place] if self._place < len(self._tokens) else None

    def _take(self, *wanted: str) -> str:
        """Go past a sign or a word of the language where it comes next; return it, empty where something else does."""
        token = self._next
        if token is None or token.quoted:
            return ""
        said = token.text if token.sign else token.keyword
        if said not in wanted:
            return ""
        self._place += 1
        return said

    def _either(self) -> dict[str, Any]:
        parts = [self._both()]
        while self._take("or"):
            parts.append(self._both())
        return _together("or", parts)

    def _both(self) -> dict[str, Any]:
        parts = [self._one()]
        while self._take("and"):
            parts.append(self._one())
        return _together("and", parts)

    def _one(self) -> dict[str, Any]:
        self._nested += 1
        if self._nested > NESTED_MAX:
            self._refuse(f"it is nested more than {NESTED_MAX} deep")
        try:
            if self._take("not"):
                return {"not": self._one()}
            if self._take("("):
                read = self._either()
                if not self._take(")"):
                    self._refuse("a closing parenthesis is missing")
                return read
            return self._test()
        finally:
            self._nested -= 1

    def _test(self) -> dict[str, Any]:
        token = self._next
        if token is None or token.sign or token.keyword:
            self._refuse("the name of a field is missing")
        self._place += 1
        field = token.text
        if sign := self._take(*_SIGNS):
            return {"field": field, _SIGNS[sign]: self._value(field)}
        if self._take(*_UNEQUAL):
            return {"not": {"field": field, "eq": self._value(field)}}
        turned = self._turned()
        if self._take("in"):
            read: dict[str, Any] = {"field": field, "in": self._values(field)}
        elif self._take("contains"):
            read = {"field": field, "contains": self._value(field)}
        elif self._take("prefix"):
            read = {"field": field, "prefix": self._text()}
        elif self._take("exists"):
            read = {"field": field, "exists": True}
        elif turned:
            self._refuse("`not` behind a field stands before in, contains, prefix or exists")
        else:
            return {"field": field, "eq": True}
        return {"not": read} if turned else read

    def _turned(self) -> bool:
        return bool(self._take("not"))

    def _values(self, field: str) -> list[Any]:
        if not self._take("("):
            self._refuse("`in` takes a list in parentheses, such as (avenant, contrat)")
        values = [self._value(field)]
        while self._take(","):
            values.append(self._value(field))
        if not self._take(")"):
            self._refuse("the list goes on with a comma, or ends with a closing parenthesis")
        return values

    def _value(self, field: str) -> Any:
        token = self._taken_value()
        if token.quoted:
            return token.text
        if token.text.lower() in {"true", "false"}:
            return token.text.lower() == "true"
        if _NUMBER.fullmatch(token.text) and len(token.text) <= 15:
            return float(token.text) if "." in token.text else int(token.text)
        size = _SIZE.fullmatch(token.text) if field in _SIZES else None
        return float(size[1]) * _UNITS[size[2].lower()] if size else token.text

    def _text(self) -> str:
        return self._taken_value().text

    def _taken_value(self) -> _Token:
        token = self._next
        if token is None or token.sign:
            self._refuse("a value is missing")
        if token.keyword and token.text.lower() not in _FRENCH:
            self._refuse(f"a value is missing; put {token.text!r} in quotes if it is one")
        self._place += 1
        return token

    def _refuse(self, why: str) -> NoReturn:
        token = self._next
        self._refuse_at(len(self._expression) if token is None else token.start, why)

    def _refuse_at(self, place: int, why: str) -> NoReturn:
        rest = self._expression[place:].strip()
        where = f"at {rest[:40]!r} (character {place + 1})" if rest else "at its end"
        raise InvalidArgument(f"the filter cannot be read {where}: {why}", field="filter",
                              hint=f"a filter looks so: {EXAMPLE}")


def _together(word: str, parts: list[dict[str, Any]]) -> dict[str, Any]:
    """Return conditions put together; what is put together by the same word already is not nested."""
    if len(parts) == 1:
        return parts[0]
    return {word: [inner for part in parts for inner in part.get(word, [part])]}
