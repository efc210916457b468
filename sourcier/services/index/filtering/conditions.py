"""A condition on documents as a tree: fields with what they have to be, put together by and, or, not."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from sourcier.services.chassis.errors import InvalidArgument
from sourcier.services.chassis.storable import check_storable

DEPTH_MAX = 8
TESTS_MAX = 100
VALUES_MAX = 1_000
CHARACTERS_MAX = 1_024
"""Of a value, as of a value in metadata; and of a field's name."""

Scalar = str | float | bool
Operator = Literal["eq", "in", "gt", "gte", "lt", "lte", "exists", "prefix", "contains"]
RANGES: frozenset[Operator] = frozenset({"gt", "gte", "lt", "lte"})
FIELD = "filter.where"
"""The request's field that errors name."""


@dataclass(frozen=True, slots=True)
class Test:
    """What a field has to be."""

    field: str
    operator: Operator
    values: tuple[Scalar, ...]
    """One; for `in` as many as there are."""

    __test__ = False


@dataclass(frozen=True, slots=True)
class Every:
    """All of these hold."""

    parts: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class Some:
    """At least one of these holds."""

    parts: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class Negated:
    """This does not hold."""

    part: Condition


Condition = Test | Every | Some | Negated


def tests_of(condition: Condition) -> Iterator[Test]:
    """Yield what is asked of fields, in the order in which it was written."""
    match condition:
        case Test():
            yield condition
        case Negated(part):
            yield from tests_of(part)
        case Every(parts) | Some(parts):
            for part in parts:
                yield from tests_of(part)


def check_bounds(condition: Condition) -> None:
    """Raise `InvalidArgument` for a condition that is too deep, too long, or asks for what no value can be."""
    if _depth(condition) > DEPTH_MAX:
        raise InvalidArgument(f"The filter is nested more than {DEPTH_MAX} deep; flatten it.", field=FIELD)
    tests = list(tests_of(condition))
    if len(tests) > TESTS_MAX:
        raise InvalidArgument(
            f"A filter asks for at most {TESTS_MAX} things, not {len(tests):,}; `in` asks for many values at once.",
            field=FIELD,
        )
    values = sum(len(test.values) for test in tests)
    if values > VALUES_MAX:
        raise InvalidArgument(f"A filter names at most {VALUES_MAX:,} values, not {values:,}; name fewer.", field=FIELD)
    for test in tests:
        _check_test(test)


def _depth(condition: Condition) -> int:
    match condition:
        case Test():
            return 0
        case Negated(part):
            return 1 + _depth(part)
        case Every(parts) | Some(parts):
            return 1 + max(map(_depth, parts), default=0)


def _check_test(test: Test) -> None:
    name = shown(test.field)
    if not test.values:
        raise InvalidArgument(f"The filter's list for {name} is empty; name a value, or leave the list out.",
                              field=FIELD)
    for text in (test.field, *(value for value in test.values if isinstance(value, str))):
        check_storable(text, field=FIELD)
        if len(text) > CHARACTERS_MAX:
            raise InvalidArgument(
                f"The filter's text {shown(text)} has {len(text):,} characters; use at most {CHARACTERS_MAX:,}.",
                field=FIELD,
            )
    for value in test.values:
        if isinstance(value, float) and not math.isfinite(value):
            raise InvalidArgument(f"The filter compares {name} with {value}, which is no number; use one.", field=FIELD)
        if test.operator in RANGES and isinstance(value, bool):
            raise InvalidArgument(
                f"The filter asks whether {name} is above or below {shown(value)}; numbers and dates are compared so, "
                "true and false with =.", field=FIELD,
            )


def shown(value: Scalar) -> str:
    """Return a value, or a name, as it is written in a filter, shortened."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return repr(value if len(value) <= 80 else value[:79] + "…")
    return f"{value:.15g}"
