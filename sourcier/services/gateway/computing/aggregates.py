"""Figures of whole tables: sums, means, extremes, shares and counts over all rows, where all of them are there."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from sourcier.services.gateway.clauses.tokens import Token
from sourcier.services.gateway.computing.asking import Asked, Operation
from sourcier.services.gateway.computing.restricting import Meant, common_forms, meant
from sourcier.services.gateway.computing.results import Doubt
from sourcier.services.gateway.figures.readings import (
    TOTALS,
    Grid,
    Reading,
    covers,
    wanted,
)
from sourcier.services.gateway.figures.row_roles import Role, sums_up
from sourcier.services.gateway.figures.tables import ROWS_MAX
from sourcier.services.gateway.figures.units import NONE, Kind, Unit
from sourcier.services.gateway.figures.words import told
from sourcier.services.index.language.stop_words import fold_in_place
from sourcier.services.index.times.dates import MONTH

_TIME_HEADER = re.compile(
    rf"(?:{MONTH})\b.{{0,8}}|(?:t|q|s|trimestre|semestre|semaine|week|sem\.?|quarter)\s?\d{{1,2}}.{{0,8}}|"
    r"(?:19|20)\d\d|(?:lundi|mardi|mercredi|jeudi|vendredi|samedi|dimanche).{0,4}"
)


@dataclass(frozen=True)
class Series:
    """Figures of one kind, one of each row of a column, or one of each column of a row."""

    grid: Grid
    readings: tuple[Reading, ...]
    total: Reading | None
    """What the table itself gives as their sum."""

    @property
    def unit(self) -> Unit:
        """The unit of all."""
        return self.readings[0].unit


def series(asked: Asked, grids: Sequence[Grid]) -> Series | Doubt | None:
    """Return the figures that a question about all of them means; None where no table has them."""
    words = wanted(asked.about)
    found: list[tuple[int, Series | Doubt]] = []
    if asked.operation is Operation.AVERAGE and any(_is_weighted(grid) for grid in grids):
        return Doubt.AMBIGUOUS
    for grid in grids:
        rows = meant(grid, words)
        chosen = _column(grid, words, asked, frozenset() if isinstance(rows, Doubt) else rows.forms)
        if chosen is not None:
            score, column = chosen
            found.append((score, rows if isinstance(rows, Doubt)
                          else Doubt.AMBIGUOUS if column < 0 else _down(grid, column, rows)))
        elif asked.operation in (Operation.SUM, Operation.AVERAGE):
            across = _across(grid, words)
            if across is not None:
                found.append((0, across))
    if not found:
        return None
    most = max(score for score, _ in found)
    leading = [each for score, each in found if score == most]
    doubt = next((each for each in leading if isinstance(each, Doubt)), None)
    if doubt is not None:
        return doubt
    [first, *others] = [each for each in leading if isinstance(each, Series)]
    if any(_figures(each) != _figures(first) for each in others):
        return Doubt.AMBIGUOUS
    return first


_WEIGHTS = re.compile(r"\b(?:coef|ponder|poids|weight|quantite|qte|qty|quantity)")


def _is_weighted(grid: Grid) -> bool:
    """Return whether a table tells how much each of its rows counts."""
    return any(_WEIGHTS.search(fold_in_place(name)) is not None for name in grid.table.header)


def _figures(each: Series) -> list[object]:
    return [reading.quantity.same_as for reading in each.readings]


def _column(
    grid: Grid, words: Sequence[Token], asked: Asked, chosen_by: frozenset[str]
) -> tuple[int, int] | None:
    """Return how well a table fits and the column meant, -1 where several may be; None where none is."""
    rows = grid.row_forms | common_forms(grid) | chosen_by
    fitting: list[tuple[int, int]] = []
    for column in grid.numeric:
        unit = _unit(grid, column)
        head = grid.header_forms[column]
        if asked.kind is not None and unit.kind is not asked.kind:
            continue
        if asked.limit is not None and asked.limit.unit is not NONE and unit.comparable != asked.limit.unit.comparable:
            continue
        if not all(covers(token, head | rows | grid.around, unit) for token in words):
            continue
        literal = sum(told(token, head) for token in words)
        tied = sum(told(token, head | rows | grid.around) for token in words)
        if asked.operation is Operation.EXTREME and asked.kind is None and not _is_measured(grid, head, words, unit):
            # « le club le plus grand » names no column: that a table has but one is no reason to take it.
            continue
        if tied:
            fitting.append((100 * literal + tied, column))
    if not fitting:
        return None
    most = max(score for score, _ in fitting)
    chosen = [column for score, column in fitting if score == most]
    if len(chosen) > 1:
        return most, -1
    if most < 100 and sum(1 for each in grid.numeric if _may_be(grid, each, asked, words, rows)) > 1:
        return most, -1
    return most, chosen[0]


def _is_measured(grid: Grid, head: frozenset[str], words: Sequence[Token], unit: Unit) -> bool:
    """Return whether a word names what a column measures, and not only what its rows are."""
    what = grid.row_forms | common_forms(grid)
    return any(told(token, head) or (covers(token, grid.around, unit) and not told(token, what)) for token in words)


def _may_be(grid: Grid, column: int, asked: Asked, words: Sequence[Token], rows: frozenset[str]) -> bool:
    unit = _unit(grid, column)
    if asked.kind is not None:
        return unit.kind is asked.kind
    head = grid.header_forms[column]
    return all(covers(token, rows | head | grid.around, unit) for token in words)


def _unit(grid: Grid, column: int) -> Unit:
    units = {each.unit for each in grid.readings if each.place == column}
    return units.pop() if len(units) == 1 else Unit("?", Kind.OTHER)


def _down(grid: Grid, column: int, meant_rows: Meant) -> Series | Doubt:
    """Return a column's figures, the rows that sum up or repeat others left out."""
    if grid.source.cut or len(grid.table.rows) > ROWS_MAX:
        return Doubt.INCOMPLETE
    readings: list[Reading] = []
    totals: list[Reading] = []
    for row in range(len(grid.table.rows)):
        reading = grid.at(row, column)
        role = grid.role(row)
        if role is Role.DOUBTFUL:
            return Doubt.AMBIGUOUS
        if role in (Role.AVERAGE, Role.PART):
            continue
        if role is Role.TOTAL:
            totals += [reading] if reading is not None else []
            continue
        if totals:
            # What stands below a total is of another kind: « TVA », « Total TTC ».
            return Doubt.AMBIGUOUS
        if row not in meant_rows.rows:
            continue
        if reading is None:
            return Doubt.INCOMPLETE
        readings.append(reading)
    # A total is one of all rows.
    return _checked(grid, readings, [] if meant_rows.chosen else totals)


def _across(grid: Grid, words: Sequence[Token]) -> Series | Doubt | None:
    """Return a row's figures over columns of time: « le total de la région Sud »."""
    rows = grid.row_forms | grid.around
    named = [
        row for row in range(len(grid.table.rows))
        if any(told(token, grid.label_forms[row]) and not told(token, rows) for token in words)
        and all(covers(token, grid.label_forms[row] | rows, _unit(grid, grid.numeric[0]))
                for token in words)
    ]
    if not named:
        return None
    if len(named) > 1 or not all(
        _TIME_HEADER.fullmatch(fold_in_place(grid.table.header[column])) for column in grid.numeric
    ):
        return Doubt.AMBIGUOUS
    readings = [grid.at(named[0], column) for column in grid.numeric]
    if any(each is None for each in readings):
        return Doubt.INCOMPLETE
    return _checked(grid, [each for each in readings if each is not None], [])


def _checked(grid: Grid, readings: Sequence[Reading], totals: Sequence[Reading]) -> Series | Doubt:
    if len(readings) < 2 or len(totals) > 1:
        return Doubt.AMBIGUOUS
    every = [*readings, *totals]
    if not all(each.is_fact for each in every):
        return Doubt.INEXACT
    if len({each.unit.comparable for each in every}) > 1:
        return Doubt.UNITS
    total = totals[0] if totals else None
    if total is not None and total.unit.kind is not Kind.PERCENT and total.quantity.base != sum_of(readings):
        return Doubt.CONFLICT
    if total is None and sums_up([each.quantity.base for each in readings]):
        # A total, or a section above its rows, that no word tells.
        return Doubt.AMBIGUOUS
    return Series(grid, tuple(readings), total)


def sum_of(readings: Sequence[Reading]) -> Decimal:
    """Return the sum in the unit that figures are compared in."""
    return sum((each.quantity.base for each in readings), Decimal(0))


def member(asked: Asked, grids: Sequence[Grid]) -> tuple[Reading, Series] | Doubt | None:
    """Return the figure of the one row that a question names, and those of its column: a part of a whole."""
    words = wanted(asked.about)
    found: list[tuple[Reading, Series] | Doubt] = []
    for grid in grids:
        known = grid.row_forms | grid.around | frozenset().union(*(
            grid.header_forms[column] for column in grid.numeric
        ))
        scored = [
            (sum(told(token, grid.label_forms[row]) for token in words), row)
            for row in range(len(grid.table.rows)) if grid.role(row) is Role.DATA
        ]
        most = max((score for score, _ in scored), default=0)
        rows = [row for score, row in scored if score == most and most]
        if not rows:
            continue
        if len(rows) > 1:
            found.append(Doubt.AMBIGUOUS)
            continue
        own = grid.label_forms[rows[0]]
        rest = " ".join(token.text for token in words if not told(token, own) and token.text not in TOTALS)
        if not any(told(token, own) and not told(token, known) for token in words):
            continue
        others = wanted(rest)
        among = meant(grid, others)
        if isinstance(among, Doubt):
            found.append(among)
            continue
        chosen = _column(grid, others or words, asked, among.forms)
        if chosen is None and not others and len(grid.numeric) == 1:
            chosen = (0, grid.numeric[0])
        if chosen is None:
            continue
        down = Doubt.AMBIGUOUS if chosen[1] < 0 else _down(grid, chosen[1], among)
        reading = grid.at(rows[0], chosen[1])
        if isinstance(down, Doubt):
            found.append(down)
        elif reading is not None:
            found.append((reading, down))
    if not found:
        return None
    if len(found) > 1:
        return Doubt.AMBIGUOUS
    return found[0]
