"""Rows of cells as a Markdown table: one row a line, so that a table can later be cut between rows."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from sourcier.services.chassis.cleaning import clean_line
from sourcier.services.chassis.errors import DocumentTooLarge
from sourcier.services.ingest.documents import BlockKind

RULE = re.compile(r"\|(?:---\|)+")
"""The line between a table's header and its rows."""
_YEAR = re.compile(r"(?:19|20)[0-9]{2}(?:[-–/](?:19|20)?[0-9]{2})?")
HEADER_ROWS_MAX = 4
HEADER_JOINT = " – "


@dataclass(slots=True)
class GridCell:
    """A cell of a table, from row and column 0, over as many of both as it is merged over."""

    row: int
    column: int
    text: str
    rows: int = 1
    columns: int = 1


class CellBudget:
    """How many cells of tables a document may still have."""

    def __init__(self, cells_max: int) -> None:
        self._left = cells_max
        self._max = cells_max

    def take(self, cells: int) -> None:
        """Count cells; raise DocumentTooLarge over the bound."""
        self._left -= cells
        if self._left < 0:
            raise DocumentTooLarge(f"The document's tables have more than {self._max:,} cells.")


def grid_rows(cells: Sequence[GridCell], *, height: int, width: int) -> list[list[str]]:
    """Return the rows of a table, merged cells repeated, so that a row can be read alone.

    What spans the whole table is a title or a section's name: it stands once, in the first column.
    """
    rows = [[""] * width for _ in range(height)]
    for cell in cells:
        whole = cell.columns >= width and width > 1
        for row in range(cell.row, min(cell.row + cell.rows, height)):
            for column in range(cell.column, min(cell.column + (1 if whole else cell.columns), width)):
                rows[row][column] = cell.text
    return rows


def split_title(cells: Sequence[GridCell], *, height: int, width: int) -> tuple[str | None, list[GridCell]]:
    """Return a table's title, a first row that is one cell over all columns, or None, and the cells below it."""
    first = [cell for cell in cells if cell.row == 0]
    if height < 2 or len(first) != 1 or first[0].columns < width or first[0].rows != 1:
        return None, list(cells)
    return first[0].text, [replace(cell, row=cell.row - 1) for cell in cells if cell.row]


def header_height(cells: Sequence[GridCell], width: int, marked: int = 0) -> int:
    """Return how many first rows name the columns: those that are marked, or that a merged name of the first reaches.

    A name over several columns has names of its own below it, unless these are figures; a name over several rows ends
    where the header does.
    """
    if marked:
        return min(marked, HEADER_ROWS_MAX)
    first = [cell for cell in cells if cell.row == 0]
    partial = [cell for cell in first if 1 < cell.columns < width and cell.text]
    if not partial:
        return 1
    covered = {column for cell in partial for column in range(cell.column, cell.column + cell.columns)}
    below = [cell.text for cell in cells if cell.row == 1 and cell.column in covered and cell.text]
    if below and all(map(_is_figure, below)):
        return 1
    tallest = max((cell.rows for cell in first), default=1)
    return min(max(2, tallest), HEADER_ROWS_MAX)


def _is_figure(text: str) -> bool:
    """Tell whether a cell is a value and no name: years and quarters are names."""
    return any(map(str.isdigit, text)) and not any(map(str.isalpha, text)) and _YEAR.fullmatch(text) is None


def join_header(rows: Sequence[Sequence[str]], header_rows: int) -> list[list[str]]:
    """Return the rows with those of the header joined into one: `Premier semestre – Neuf`.

    One line can be repeated above each part of a table that is cut, and names each column whole.
    """
    body = [list(row) for row in rows[header_rows:]]
    if header_rows <= 1 or not body:
        return [list(row) for row in rows]
    width = max(map(len, rows))
    joined = []
    for column in range(width):
        names = [clean_line(row[column]) for row in rows[:header_rows] if column < len(row)]
        joined.append(HEADER_JOINT.join(dict.fromkeys(name for name in names if name)))
    return [joined, *body]


def render_table(rows: Sequence[Sequence[str]], *, header_rows: int = 1) -> tuple[BlockKind, str]:
    """Return the block's kind and text: a Markdown table, or plain lines where there is only one column.

    The first `header_rows` rows stand above the rule.
    """
    cleaned = [[clean_line(cell) for cell in row] for row in rows]
    header_rows = max(sum(map(any, cleaned[:header_rows])), 1)
    cleaned = [row for row in cleaned if any(row)]
    width = max(map(len, cleaned), default=0)
    kept = [column for column in range(width) if any(column < len(row) and row[column] for row in cleaned)]
    table = [[row[column] if column < len(row) else "" for column in kept] for row in cleaned]
    if len(kept) <= 1:
        return BlockKind.PARAGRAPH, "\n".join(cell for row in table for cell in row)
    rule = "|" + "---|" * len(kept)
    lines = [*map(_line, table[:header_rows]), rule, *map(_line, table[header_rows:])]
    return BlockKind.TABLE, "\n".join(lines)


def header_lines(lines: Sequence[str]) -> int:
    """Return how many of a table's first lines name its columns, the rule included: what each part of it repeats."""
    return next((count for count, line in enumerate(lines, 1) if RULE.fullmatch(line)), min(len(lines), 1))


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
