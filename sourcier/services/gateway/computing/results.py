"""What a computation comes to: its operands with their places, how it was computed, and its result."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from decimal import ROUND_HALF_UP, Decimal
from enum import Enum

from sourcier.services.gateway.computing.asking import Operation
from sourcier.services.gateway.figures.readings import Reading
from sourcier.services.gateway.figures.units import Unit


class Doubt(Enum):
    """Why a computation is not given."""

    AMBIGUOUS = "ambiguous"
    """Several figures could be meant."""
    INEXACT = "inexact"
    """A figure is « about », « up to », planned or denied."""
    UNITS = "units"
    """The figures are of different units."""
    INCOMPLETE = "incomplete"
    """A table goes on elsewhere, or lacks a figure."""
    CONFLICT = "conflict"
    """Documents give different figures, or a total that its rows do not add up to."""


@dataclass(frozen=True)
class Place:
    """Where an operand stands."""

    source: int
    start: int
    end: int


@dataclass(frozen=True)
class Operand:
    """A figure, or a date, of the computation."""

    text: str
    """As it is shown."""
    label: str
    """What it is of."""
    place: Place


@dataclass(frozen=True)
class Computed:
    """A result."""

    operation: Operation
    operands: tuple[Operand, ...]
    expression: str
    """What was computed, operands by their texts: « 58 − 41 »; empty where nothing is set off."""
    value: Decimal | None = None
    unit: Unit | None = None
    day: date | None = None
    label: str = ""
    """What was chosen, of an extreme."""
    exact: bool = True
    """Not rounded."""
    note: str = ""
    """What the result rests on beside the operands: `working_days`, `inclusive`, `others`."""
    clock: str = ""
    """A duration in hours and minutes."""

    @property
    def places(self) -> tuple[Place, ...]:
        """Return where its operands stand, each once."""
        return tuple(dict.fromkeys(each.place for each in self.operands))


@dataclass(frozen=True)
class Doubtful:
    """A computation that was asked for and is not given."""

    operation: Operation
    doubt: Doubt
    places: tuple[Place, ...]
    """What comes closest."""


def place_of(reading: Reading) -> Place:
    """Return where a figure stands."""
    return Place(reading.source, reading.start, reading.end)


def rounded(value: Decimal, digits: int) -> tuple[Decimal, bool]:
    """Return a value with so many decimals at most, and whether that is exact."""
    short = value.quantize(Decimal(1).scaleb(-digits), rounding=ROUND_HALF_UP)
    return short, short == value
