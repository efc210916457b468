"""A question that asks for a computation, in closed form, and the question as its forms are looked for in it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from enum import Enum

from sourcier.services.gateway.figures.quantities import Quantity
from sourcier.services.gateway.figures.units import Kind
from sourcier.services.index.times.dates import Dated, dates_in


class Operation(Enum):
    """What is to be computed."""

    DIFFERENCE = "difference"
    GROWTH = "growth"
    SUM = "sum"
    AVERAGE = "average"
    SHARE = "share"
    EXTREME = "extreme"
    COUNT = "count"
    DURATION = "duration"
    AGE = "age"
    DEADLINE = "deadline"


@dataclass(frozen=True)
class Asked:
    """A question in closed form."""

    operation: Operation
    about: str
    """Its words, those of the operation left out."""
    parts: tuple[str, ...] = ()
    """The things that are set off or put together; empty for all that there are."""
    percent: bool = False
    highest: bool = True
    """Of an extreme; of a count with a limit, above it."""
    kind: Kind | None = None
    """What the figures have to measure, where the question tells."""
    limit: Quantity | None = None
    dates: tuple[date, ...] = ()
    direction: int = 0
    """1 where the question says that the figure rose or that the first is more, -1 for less."""


@dataclass(frozen=True)
class Said:
    """A question as it was typed, and folded at the same places."""

    typed: str
    plain: str
    language: str

    def without(self, *spans: tuple[int, int]) -> str:
        """Return the question with these parts left out."""
        text = self.typed
        for start, end in sorted(spans, reverse=True):
            text = f"{text[:start]} {text[end:]}"
        return text


AND = re.compile(r"(?:,\s)?\b(?:et|and)\s|,\s")
AMBIGUOUS_DATE = re.compile(r"(?<!\d)(?!(\d\d?)/\1/)(?:0?[1-9]|1[0-2])[/.-](?:0?[1-9]|1[0-2])[/.-]\d{2,4}\b")
"""A day that is another one where the month is written first."""
BETWEEN = re.compile(r"\b(?:entre|between)\s")


def as_typed(question: str) -> str:
    """Return a question on one line, with one kind of apostrophe, and without the sign that it ends with."""
    return " ".join(question.replace("\u2019", "'").split()).rstrip(" ?.!")


def spans_between(joints: Sequence[re.Match[str]], start: int, end: int) -> list[tuple[int, int]]:
    """Return where what joints part from each other stands, between two places."""
    begins = [start, *(joint.end() for joint in joints)]
    ends = [*(joint.start() for joint in joints), end]
    return list(zip(begins, ends, strict=True))


def days_in(text: str) -> list[Dated]:
    """Return the days that a text names."""
    return [each for each in dates_in(text) if each.period.start == each.period.end]
