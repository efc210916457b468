"""Counts: rows of a table, those of them over or under a limit, items of a list below its lead-in."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

from sourcier.services.gateway.clauses.tokens import tokens_of
from sourcier.services.gateway.computing.aggregates import series
from sourcier.services.gateway.computing.asking import Asked
from sourcier.services.gateway.computing.restricting import common_forms, counted_rows, meant
from sourcier.services.gateway.computing.results import Computed, Doubt, Doubtful, Operand, Place, place_of
from sourcier.services.gateway.figures.readings import Grid, Source, covers, wanted
from sourcier.services.gateway.figures.row_roles import Role, sums_up
from sourcier.services.gateway.figures.showing import amount
from sourcier.services.gateway.figures.tables import listings_in
from sourcier.services.gateway.figures.units import NONE
from sourcier.services.gateway.figures.words import forms_of, told

ITEMS_MAX = 100


def counted(
    asked: Asked, sources: Sequence[Source], grids: Sequence[Grid], *, language: str
) -> Computed | Doubtful | None:
    """Return how many rows or items a question asks for; None where no table or list has them."""
    if asked.limit is not None:
        return _over_a_limit(asked, grids, language=language)
    found = [*_rows(asked, grids), *_items(asked, sources)]
    if len(found) != 1:
        return Doubtful(asked.operation, Doubt.AMBIGUOUS, ()) if found else None
    return found[0]


def _over_a_limit(asked: Asked, grids: Sequence[Grid], *, language: str) -> Computed | Doubtful | None:
    found = series(asked, grids)
    if found is None:
        return None
    if isinstance(found, Doubt):
        return Doubtful(asked.operation, found, ())
    limit = asked.limit
    assert limit is not None
    if limit.unit is not NONE and limit.unit.comparable != found.unit.comparable:
        return None
    if limit.unit is NONE and found.unit.symbol and not wanted(asked.about):
        return None
    bound = limit.base if limit.unit is not NONE else limit.value * found.unit.factor
    chosen = [
        each for each in found.readings
        if (each.quantity.base > bound if asked.highest else each.quantity.base < bound)
    ]
    operands = tuple(
        Operand(amount(each.quantity.value, each.unit, language=language), each.label, place_of(each))
        for each in (chosen or found.readings)
    )
    return Computed(asked.operation, operands, "", value=Decimal(len(chosen)), note="" if chosen else "none")


def _rows(asked: Asked, grids: Sequence[Grid]) -> list[Computed | Doubtful]:
    """Return the rows of tables that a question counts: « combien d'associations figurent dans le tableau ? »."""
    words = wanted(asked.about)
    found: list[Computed | Doubtful] = []
    for grid in grids:
        kinds = grid.row_forms | common_forms(grid)
        if not words or not any(told(token, kinds) for token in words):
            continue
        among = meant(grid, words)
        chosen_by = frozenset[str]() if isinstance(among, Doubt) else among.forms
        if not all(covers(token, kinds | grid.around | chosen_by, NONE) for token in words):
            continue
        if isinstance(among, Doubt) or _has_unsure_rows(grid):
            found.append(Doubtful(asked.operation, Doubt.AMBIGUOUS, ()))
            continue
        if grid.source.cut:
            found.append(Doubtful(asked.operation, Doubt.INCOMPLETE, ()))
            continue
        rows = sorted(among.rows)
        found.append(_count(asked, grid.source.number, [
            (grid.label(row), grid.table.rows[row].start, grid.table.rows[row].end) for row in rows
        ]))
    return found


def _has_unsure_rows(grid: Grid) -> bool:
    """Return whether a row may be the sum of others."""
    rows = range(len(grid.table.rows))
    if any(grid.role(row) is Role.DOUBTFUL for row in rows):
        return True
    if any(grid.role(row) is Role.TOTAL for row in rows):
        return False
    return any(
        sums_up([each.quantity.base for row in counted_rows(grid) if (each := grid.at(row, column)) is not None])
        for column in grid.numeric
    )


def _items(asked: Asked, sources: Sequence[Source]) -> list[Computed | Doubtful]:
    """Return the items of lists whose lead-in says what is asked for."""
    words = wanted(asked.about)
    found: list[Computed | Doubtful] = []
    for source in sources:
        around = forms_of(tokens_of(source.context))
        for listing in listings_in(source.text):
            lead = forms_of(tokens_of(listing.caption))
            if not listing.caption.endswith(":") or not words:
                continue
            if not told(words[0], lead) or not all(covers(token, lead | around, NONE) for token in words):
                continue
            at_an_end = source.text[: listing.start].strip() == "" or source.text[listing.end :].strip() == ""
            if source.cut and at_an_end:
                found.append(Doubtful(asked.operation, Doubt.INCOMPLETE, ()))
                continue
            found.append(_count(asked, source.number, [
                (source.text[start:end], start, end) for start, end in listing.items
            ]))
    return found


def _count(asked: Asked, number: int, items: Sequence[tuple[str, int, int]]) -> Computed | Doubtful:
    places = tuple(Operand("", label.strip(" ;.,"), Place(number, start, end)) for label, start, end in items)
    if len(places) > ITEMS_MAX:
        return Doubtful(asked.operation, Doubt.INCOMPLETE, ())
    return Computed(asked.operation, places, "", value=Decimal(len(places)))


