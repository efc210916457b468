"""Rows of a table that a question means: those of one value of a column, « les formations de Lyon », or all of them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from sourcier.services.gateway.clauses.tokens import Token, tokens_of
from sourcier.services.gateway.computing.results import Doubt
from sourcier.services.gateway.figures.readings import MONEY_WORDS, NEUTRAL, TIME_WORDS, Grid
from sourcier.services.gateway.figures.row_roles import Role
from sourcier.services.gateway.figures.words import forms_of, told
from sourcier.services.index.language.stop_words import fold_in_place

_DENIAL = re.compile(r"\b(?:non|pas|sans|hors|sauf|not|no|without)\b")


@dataclass(frozen=True)
class Meant:
    """The rows that a question counts."""

    rows: frozenset[int]
    forms: frozenset[str] = frozenset()
    """What all of them tell and others do not: the value that they were chosen by."""

    @property
    def chosen(self) -> bool:
        """Whether they are not all rows."""
        return bool(self.forms)


def counted_rows(grid: Grid) -> list[int]:
    """Return the rows that are data."""
    return [row for row in range(len(grid.table.rows)) if grid.role(row) is Role.DATA]


def common_forms(grid: Grid) -> frozenset[str]:
    """Return the forms that all of the rows' names have: « Tranche A », « Tranche B »."""
    rows = [grid.label_forms[row] for row in counted_rows(grid)]
    return frozenset.intersection(*rows) if len(rows) > 1 else frozenset()


def meant(grid: Grid, words: Sequence[Token]) -> Meant | Doubt:
    """Return the rows that a question's words leave: all, or those with one value of one column."""
    every = counted_rows(grid)
    rows = frozenset(every)
    forms: frozenset[str] = frozenset()
    above = grid.row_forms | grid.around
    measured = frozenset().union(*(grid.header_forms[column] for column in grid.numeric))
    for token in words:
        if token.text in NEUTRAL or (told(token, measured) and token.text in MONEY_WORDS | TIME_WORDS):
            continue
        telling = [row for row in every if _tells(token, grid.label(row))]
        if not telling or len(telling) == len(every):
            if _is_denied(token, grid, telling) or (not telling and _of_a_column(token, grid, every, measured)):
                return Doubt.AMBIGUOUS
            continue
        kept = rows.intersection(telling)
        if len(kept) < 2:
            # One row is a part of a whole, or its figures are put together across.
            if told(token, above | measured):
                return Doubt.AMBIGUOUS
            continue
        if not _is_one_value(token, grid, telling):
            return Doubt.AMBIGUOUS
        rows = kept
        forms |= token.forms
    return Meant(rows, forms)


def _tells(token: Token, label: str) -> bool:
    if token.text.isdecimal():
        return token.text in fold_in_place(label)
    return told(token, forms_of(tokens_of(label)))


def _named_cells(grid: Grid, row: int) -> list[tuple[int, str]]:
    return [(place, cell.text) for place, cell in enumerate(grid.table.rows[row].cells) if place not in grid.numeric]


def _is_one_value(token: Token, grid: Grid, telling: Sequence[int]) -> bool:
    """Return whether all rows that tell a word tell it by the same value of the same column."""
    values = {
        (place, fold_in_place(text).strip(" *_"))
        for row in telling for place, text in _named_cells(grid, row) if _tells(token, text)
    }
    return len(values) == 1


def _is_denied(token: Token, grid: Grid, telling: Sequence[int]) -> bool:
    """Return whether some of the rows that tell a word deny it: « Payée », « Non payée »."""
    return any(
        _tells(token, text) and _DENIAL.search(fold_in_place(text)) is not None
        for row in telling for _, text in _named_cells(grid, row)
    )


def _of_a_column(token: Token, grid: Grid, every: Sequence[int], measured: frozenset[str]) -> bool:
    """Return whether a word names a column of words beside the first, whose cells differ: « Payée : oui, non »."""
    if told(token, measured) or told(token, grid.row_forms):
        return False
    for place in range(1, grid.table.width):
        if place in grid.numeric or not told(token, grid.header_forms[place]):
            continue
        if len({text for row in every for at, text in _named_cells(grid, row) if at == place}) > 1:
            return True
    return False
