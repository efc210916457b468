"""One run of paragraphs: the text, a note, a header; with the tables that its rows make."""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import dataclass, field

from sourcier.services.ingest.documents import TITLE_CHARACTERS_MAX, BlockKind
from sourcier.services.ingest.parsing.office.lines import PLAIN, Line, Look
from sourcier.services.ingest.parsing.office.shown import Shown, ShownTable, ShownText
from sourcier.services.ingest.parsing.tables import CellBudget, GridCell, grid_rows, header_height

_SAME_EDGE_TWIPS = 40
_BULLET = re.compile(r"[•·▪■●○◦‣–—§*o-]")


@dataclass(slots=True)
class CellShape:
    """Where a cell of a row ends, and whether it is merged into the one before or above."""

    edge: int = 0
    goes_on_right: bool = False
    goes_on_below: bool = False


@dataclass(slots=True)
class Paragraph:
    """What the properties of a paragraph say of it."""

    heading: int = 0
    in_table: bool = False
    level: int = 1


@dataclass(slots=True)
class _Row:
    cells: list[str]
    shapes: list[CellShape]
    is_header: bool


@dataclass(slots=True)
class Story:
    """Takes text and ends of paragraphs, cells and rows."""

    budget: CellBudget
    shown: list[Shown] = field(default_factory=list)
    shapes: list[CellShape] = field(default_factory=list)
    is_header: bool = False
    label: str = ""
    _line: Line = field(default_factory=Line)
    _has_text: bool = False
    _cell: list[str] = field(default_factory=list)
    _cells: list[str] = field(default_factory=list)
    _rows: list[_Row] = field(default_factory=list)
    _later: list[Shown] = field(default_factory=list)

    @property
    def line(self) -> Line:
        """The line that is being written."""
        self._has_text = True
        return self._line

    def add(self, text: str, look: Look = PLAIN) -> None:
        """Append text to the line."""
        if text:
            self.line.add(text, look)

    def follow(self, shown: list[Shown]) -> None:
        """Have what is anchored in this paragraph follow it."""
        self._later += shown

    def end_paragraph(self, paragraph: Paragraph) -> None:
        """End a paragraph, of the text or of a cell."""
        text = self._taken().strip()
        label, self.label = self.label.strip(), ""
        if paragraph.in_table:
            self._cell.append(f"{label} {text}".strip())
            return
        self.end_table()
        if text:
            self.shown.append(_block(text, label, paragraph))
        self.shown += self._later
        self._later = []

    def end_cell(self) -> None:
        """End a cell of the row."""
        text, label = self._taken().strip(), self.label.strip()
        self.label = ""
        self._cell.append(f"{label} {text}".strip())
        self._cells.append(" ".join(filter(None, self._cell)))
        self._cell = []
        self.budget.take(1)

    def end_row(self) -> None:
        """End a row; what its cells' shapes are was told by now."""
        if self._cells:
            self._rows.append(_Row(self._cells, list(self.shapes), self.is_header))
        self._cells = []

    def end_table(self) -> None:
        """Append the table that the rows make, if there are some."""
        if self._cell:
            # A paragraph said that it stands in a table, and no cell came.
            self.shown += [ShownText(BlockKind.PARAGRAPH, text) for text in self._cell if text]
            self._cell = []
        if self._cells:
            self.end_row()
        if self._rows:
            rows, self._rows = self._rows, []
            self.shown += _table(rows, self.budget)
            self.shown += self._later
            self._later = []

    def end(self) -> list[Shown]:
        """End the story and return all of it."""
        if self._has_text or self.label:
            self.end_paragraph(Paragraph())
        self.end_table()
        self.shown += self._later
        self._later = []
        return self.shown

    def _taken(self) -> str:
        text, self._line, self._has_text = self._line.text() if self._has_text else "", Line(), False
        return text


def _block(text: str, label: str, paragraph: Paragraph) -> ShownText:
    if paragraph.heading and len(text) <= TITLE_CHARACTERS_MAX:
        numbered = text if not label or _BULLET.fullmatch(label) else f"{label} {text}"
        return ShownText(BlockKind.HEADING, numbered, paragraph.heading + 1)
    if label:
        sign = "-" if _BULLET.fullmatch(label) else label
        return ShownText(BlockKind.LIST_ITEM, f"{sign} {text}", paragraph.level)
    return ShownText(BlockKind.PARAGRAPH, text)


def _table(rows: list[_Row], budget: CellBudget) -> list[Shown]:
    """Return a table; one of a single column is a frame around text."""
    if all(len(row.cells) <= 1 for row in rows):
        return [ShownText(BlockKind.PARAGRAPH, cell) for row in rows for cell in row.cells if cell]
    columns = _Columns(rows)
    cells: list[GridCell] = []
    above: dict[int, GridCell] = {}
    for index, row in enumerate(rows):
        before: GridCell | None = None
        for position, text in enumerate(row.cells):
            shape = row.shapes[position] if position < len(row.shapes) else CellShape()
            column, span = columns.place(row, position)
            if shape.goes_on_right and before is not None:
                before.columns = column + span - before.column
                continue
            if shape.goes_on_below and column in above:
                above[column].rows = index - above[column].row + 1
                before = None
                continue
            before = GridCell(index, column, text, columns=span)
            above[column] = before
            cells.append(before)
    budget.take(len(rows) * columns.width)
    marked = next((index for index, row in enumerate(rows) if not row.is_header), 0)
    grid = grid_rows(cells, height=len(rows), width=columns.width)
    return [ShownTable(grid, header_height(cells, columns.width, marked))]


class _Columns:
    """The columns of a table, from the edges of the cells of all its rows."""

    def __init__(self, rows: list[_Row]) -> None:
        self._edges: list[int] = []
        shaped = all(len(row.shapes) >= len(row.cells) for row in rows)
        for edge in sorted({shape.edge for row in rows for shape in row.shapes[: len(row.cells)]}) if shaped else ():
            if not self._edges or edge - self._edges[-1] > _SAME_EDGE_TWIPS:
                self._edges.append(edge)
        self.width = max(len(self._edges), *(len(row.cells) for row in rows))

    def place(self, row: _Row, position: int) -> tuple[int, int]:
        """Return the first column of a cell and how many it takes."""
        if not self._edges:
            return position, 1
        first = self._index(row.shapes[position - 1].edge) + 1 if position else 0
        return first, max(self._index(row.shapes[position].edge) - first + 1, 1)

    def _index(self, edge: int) -> int:
        after = bisect_left(self._edges, edge)
        if after and (after == len(self._edges) or edge - self._edges[after - 1] <= self._edges[after] - edge):
            return after - 1
        return after
