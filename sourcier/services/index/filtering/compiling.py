"""Conditions as SQL over `documents`: texts of this module, and every name and value a parameter."""

# Statements are put together from constants of this room alone.
# ruff: noqa: S608

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from sourcier.services.index.filtering import readings
from sourcier.services.index.filtering.conditions import Condition, Every, Negated, Scalar, Some, Test, check_bounds
from sourcier.services.index.filtering.days import first_day, last_day
from sourcier.services.index.filtering.fields import COLLECTION, Column, field_of
from sourcier.services.index.filtering.readings import number_of, period_asked


@dataclass(frozen=True, slots=True)
class Compiled:
    """A condition as a statement takes it."""

    condition: Condition
    sql: str = field(compare=False)
    """True or false of each row of `documents`, never null."""
    values: dict[str, Any] = field(compare=False)
    """What it takes, by names."""


def compiled(condition: Condition, *, name: str = "where") -> Compiled:
    """Return a condition as SQL; raise `InvalidArgument` where it is out of bounds.

    `name`: what the names of its values begin with, which tells the conditions of one statement apart.
    """
    check_bounds(condition)
    compiler = _Compiler(name)
    return Compiled(condition, compiler.condition(condition), compiler.values)


class _Compiler:
    """Writes one condition, and numbers what it takes."""

    def __init__(self, name: str) -> None:
        self._name = name
        self.values: dict[str, Any] = {}

    def condition(self, condition: Condition) -> str:
        match condition:
            case Test(name, "exists", (False,)):
                return self.condition(Negated(Test(name, "exists", (True,))))
            case Test():
                return self._test(condition)
            case Negated(part):
                return f"(not {self.condition(part)})"
            case Every(parts):
                return self._joined(parts, " and ", nothing="true")
            case Some(parts):
                return self._joined(parts, " or ", nothing="false")

    def _joined(self, parts: tuple[Condition, ...], word: str, *, nothing: str) -> str:
        return "(" + (word.join(map(self.condition, parts)) or nothing) + ")"

    def _test(self, test: Test) -> str:
        about = field_of(test.field)
        if about == COLLECTION:
            # Met by few collections, which are looked up once a statement.
            met = self._met(test, COLLECTION.text)
            return f"(documents.collection_id = any(array(select collections.collection_id from collections where " \
                   f"collections.tenant = %(tenant)s and {met})))"
        if isinstance(about, Column):
            return f"coalesce({self._met(test, about.text, about)}, false)"
        key = self._value(about.name, "text")
        one, several = self._met(test, f"(documents.metadata ->> {key})"), self._met(test, "element.value")
        return f"""(case jsonb_typeof(documents.metadata -> {key})
            when 'array' then exists (
                select from jsonb_array_elements_text(documents.metadata -> {key}) as element (value) where {several}
            )
            when 'object' then false
            else coalesce({one}, false)
        end)"""

    def _met(self, test: Test, text: str, column: Column | None = None) -> str:
        """Return whether a text, as an expression gives it, is what a test wants; where it is a column's, that column's
        days are."""
        dated = column is not None and column.kind == "date"
        # A column of dates gives days; what else may read as one is worked out.
        first = text if dated else first_day(text)
        last = (column.last or text) if column is not None and dated else last_day(text)
        match test.operator:
            case "eq" | "in":
                return self._equal(test.values, text, first, last, dated=dated)
            case "prefix":
                return f"starts_with({text}, {self._value(str(test.values[0]), 'text')})"
            case "exists":
                return f"({text} <> '')"
            case "contains":
                piece = "btrim(piece.value)"
                return f"({self._equal(test.values, text, first, last, dated=dated)} or exists (" \
                       f"select from regexp_split_to_table({text}, '[,;]') as piece (value) " \
                       f"where {self._equal(test.values, piece, first_day(piece), last_day(piece))}))"
            case _:
                return self._compared(test, text, first, last, dated=dated)

    def _equal(
        self, values: tuple[Scalar, ...], text: str, own_first: str, own_last: str, *, dated: bool = False
    ) -> str:
        """Return whether a text is any of the values: as text, as a number, within a date, or in saying yes or no."""
        texts = [value for value in values if isinstance(value, str) and not dated]
        numbers = [number_of(value) for value in values if not (isinstance(value, str | bool) or dated)]
        truths = {value for value in values if isinstance(value, bool) and not dated}
        periods = [period for value in values if (period := period_asked(value)) is not None]
        ways = [f"{text} = any({self._value(texts, 'text[]')})"] if texts else []
        if numbers:
            ways.append(f"{_number(text)} = any({self._value(numbers, 'numeric[]')})")
        for truth in sorted(truths):
            words = list(readings.TRUE_WORDS if truth else readings.FALSE_WORDS)
            ways.append(f"lower({text}) = any({self._value(words, 'text[]')})")
        if periods:
            first, last = self._value([each.first for each in periods], "text[]"), self._value(
                [each.last for each in periods], "text[]")
            # Most values are of other years, and their days need not be worked out.
            years = self._value(sorted({each.first[:4] for each in periods}), "text[]")
            likely = "" if dated else f"(left({text}, 4) = any({years}) or right({text}, 4) = any({years})) and "
            ways.append(f"{likely}exists (select from unnest({first}, {last}) as period (first, last) where "
                        f"{own_first} >= period.first collate \"C\" "
                        f"and {own_last} <= period.last collate \"C\")")
        return f"({' or '.join(ways) or 'false'})"

    def _compared(self, test: Test, text: str, first: str, last: str, *, dated: bool) -> str:
        """Return whether a text is a number, or a date, above or below the test's."""
        [value] = test.values
        number, period = None if dated else number_of(value), period_asked(value)
        sign = {"gt": ">", "gte": ">=", "lt": "<", "lte": "<="}[test.operator]
        ways = []
        if number is not None:
            ways.append(f"{_number(text)} {sign} {self._value(number, 'numeric')}")
        if period is not None:
            ends = {"gt": (first, period.last), "gte": (first, period.first), "lt": (last, period.first),
                    "lte": (last, period.last)}
            end, bound = ends[test.operator]
            ways.append(f"{end} {sign} {self._value(bound, 'text')} collate \"C\"")
        return f"({' or '.join(ways) or 'false'})"

    def _value(self, value: Any, type_name: str) -> str:
        name = f"{self._name}_{len(self.values)}"
        self.values[name] = value
        return f"%({name})s::{type_name}"


def _number(text: str) -> str:
    """Return a text as a number, null where it is none. The case keeps PostgreSQL from casting what is none."""
    return f"(case when {text} ~ '{readings.NUMBER}' and length({text}) <= {readings.NUMBER_CHARACTERS_MAX} " \
           f"then {text}::numeric end)"
