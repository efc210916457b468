"""Markdown tables in the text of a passage: the names of rows and columns, and where each cell stands."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sourcier.services.gateway.clauses import cutting

ROWS_MAX = 500
COLUMNS_MAX = 100
"""A wider table is not read: a part of it would be summed up as the whole."""
CAPTION_CHARACTERS_MAX = 300

_RULE = re.compile(r"\|(?:\s?:?-{2,}:?\s?\|)+")
_CELL = re.compile(r"\|((?:[^|\\]|\\.)*)")


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell, and where its text stands in the passage."""

    text: str
    start: int


@dataclass(frozen=True, slots=True)
class Row:
    """One line of a table."""

    start: int
    end: int
    cells: tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """One table."""

    start: int
    end: int
    caption: str
    """The line above it."""
    header: tuple[str, ...]
    rows: tuple[Row, ...]
    head: tuple[int, int] | None = None
    """Where the line with the columns' names stands; None for a list."""

    @property
    def width(self) -> int:
        """How many columns it has."""
        return len(self.header)

    def column(self, number: int) -> list[str]:
        """Return the cells of a column, from the top."""
        return [row.cells[number].text if number < len(row.cells) else "" for row in self.rows]


def tables_in(text: str) -> list[Table]:
    """Return the tables of a text; lines of cells without a header are none."""
    found: list[Table] = []
    for run in _runs(text):
        rule = next((place for place, (start, end) in enumerate(run) if _RULE.fullmatch(text[start:end].strip())), 0)
        if not rule:
            continue
        head = [_row(text, *line) for line in run[:rule]]
        width = max(len(row.cells) for row in head)
        if width > COLUMNS_MAX:
            continue
        header = tuple(
            " – ".join(dict.fromkeys(
                row.cells[column].text for row in head if column < len(row.cells) and row.cells[column].text
            )) for column in range(width)
        )
        rows = tuple(_row(text, *line) for line in run[rule + 1 : rule + 1 + ROWS_MAX + 1])
        if rows:
            found.append(Table(run[0][0], run[-1][1], _above(text, run[0][0]), header, rows, run[rule - 1]))
    return found


ITEM = re.compile(rf"\s*{cutting.ITEM.pattern}")
_PAIR = re.compile(r"(?P<key>[^:|\n]{1,80}?)\s?:\s+(?P<value>\S[^\n]{0,120})$")
ITEM_CHARACTERS_MAX = 300


@dataclass(frozen=True, slots=True)
class Listing:
    """The items below a line that leads in to them."""

    start: int
    end: int
    caption: str
    items: tuple[tuple[int, int], ...]
    """Where each stands, its mark left out."""


def listings_in(text: str) -> list[Listing]:
    """Return the lists of a text: two items or more."""
    found: list[Listing] = []
    items: list[tuple[int, int]] = []
    caption, marked, start = "", False, 0
    for line in [*text.split("\n"), ""]:
        mark = ITEM.match(line)
        is_item = bool(line.strip()) and len(line) <= ITEM_CHARACTERS_MAX and not line.lstrip().startswith("|") and (
            mark is not None or (not marked and _PAIR.match(line) is not None)
        )
        if is_item:
            marked = mark is not None
            items.append((start + (mark.end() if mark is not None else 0), start + len(line.rstrip())))
        else:
            if len(items) > 1:
                found.append(Listing(items[0][0], items[-1][1], caption, tuple(items)))
            items, marked = [], False
            caption = line.strip() if line.strip() else ""
        start += len(line) + 1
    return found


def as_table(listing: Listing, text: str) -> Table | None:
    """Return a list of « name : figure » as a table of two columns; None for another."""
    rows = []
    for start, end in listing.items:
        pair = _PAIR.match(text[start:end])
        if pair is None:
            return None
        rows.append(Row(start, end, (
            Cell(pair.group("key").strip(), start), Cell(pair.group("value").strip(), start + pair.start("value"))
        )))
    return Table(listing.start, listing.end, listing.caption, ("", ""), tuple(rows))


def goes_on(text: str, following: str) -> bool:
    """Return whether a table or list that a text ends with may go on in the text that follows it."""
    last = text.rstrip().rpartition("\n")[2]
    first = following.lstrip().partition("\n")[0]
    if last.lstrip().startswith("|"):
        own, other = tables_in(text), tables_in(following)
        # Each part of a table that was cut has its header again, and its caption where there is room.
        repeated = bool(own and other) and own[-1].header == other[0].header
        return repeated or first.startswith("|")
    return _is_item(last) and (_is_item(first) or _is_item(following.lstrip().partition("\n")[2].partition("\n")[0]))


def _is_item(line: str) -> bool:
    return bool(line.strip()) and len(line) <= ITEM_CHARACTERS_MAX and (
        ITEM.match(line) is not None or _PAIR.match(line) is not None
    )


def _runs(text: str) -> Iterator[Sequence[tuple[int, int]]]:
    """Give the runs of lines that are cells."""
    run: list[tuple[int, int]] = []
    start = 0
    for line in text.split("\n"):
        end = start + len(line)
        if line.lstrip().startswith("|"):
            run.append((start, end))
        elif run:
            yield run
            run = []
        start = end + 1
    if run:
        yield run


def _row(text: str, start: int, end: int) -> Row:
    cells = []
    for match in _CELL.finditer(text, start, end):
        raw = match.group(1)
        begins = match.start(1) + len(raw) - len(raw.lstrip())
        cells.append(Cell(raw.strip(), begins))
    if cells and not cells[-1].text and text[start:end].rstrip().endswith("|"):
        # What is behind the last bar is no cell.
        cells.pop()
    return Row(start, end, tuple(cells))


def _above(text: str, place: int) -> str:
    before = text[:place].rstrip("\n")
    line = before[before.rfind("\n") + 1 :].strip()
    return "" if line.startswith("|") else line[-CAPTION_CHARACTERS_MAX:]
