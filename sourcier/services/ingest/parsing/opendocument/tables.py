"""OpenDocument's tables as grids: merged cells repeated, tables inside cells kept as tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from sourcier.services.ingest.parsing.office.packages import Element, attribute, name, whole_number
from sourcier.services.ingest.parsing.office.shown import Shown, ShownTable, ShownText, flat_text
from sourcier.services.ingest.parsing.tables import CellBudget, GridCell, grid_rows, header_height, split_title

CELLS = frozenset({"table:table-cell", "table:covered-table-cell"})
_GROUPS = frozenset({"table:table-rows", "table:table-row-group", "table:table-header-rows", "text:soft-page-break"})
_SPAN_MAX = 1000
_REPEATED_MAX = 1000


@dataclass(slots=True)
class _Cell:
    shown: list[Shown]
    column: int
    columns: int
    rows: int


@dataclass(slots=True)
class _Grid:
    rows: list[list[_Cell]] = field(default_factory=list)
    headers: int = 0


class TableReader:
    """Reads tables; what cells hold is read by the reader of blocks."""

    def __init__(self, blocks: Callable[[Element], Iterator[Shown]], budget: CellBudget) -> None:
        self._blocks = blocks
        self._budget = budget

    def read(self, table: Element) -> Iterator[Shown]:
        """Yield a table; one that only lays out a page yields what its cells hold, in order."""
        grid = _Grid()
        for row, is_header in table_rows(table):
            if is_header and grid.headers == len(grid.rows):
                grid.headers += 1
            cells = self._row(row)
            shown = any(cell.shown for cell in cells)
            repeated = whole_number(attribute(row, "table:number-rows-repeated", "1"), 1, most=_REPEATED_MAX)
            grid.rows += [cells] * (repeated if shown else 1)
            self._budget.take(len(cells) * (repeated if shown else 1))
        width = max((cell.column + cell.columns for row in grid.rows for cell in row), default=0)
        if width <= 1 or all(len(row) <= 1 for row in grid.rows):
            # One cell a row: a frame around text, not a table.
            for row_cells in grid.rows:
                for cell in row_cells:
                    yield from cell.shown
            return
        self._budget.take(len(grid.rows) * width)
        yield _shown(grid, width)

    def _row(self, row: Element) -> list[_Cell]:
        column = 0
        cells: list[_Cell] = []
        for cell in row:
            kind = name(cell)
            if kind not in CELLS:
                continue
            repeated = whole_number(attribute(cell, "table:number-columns-repeated", "1"), 1, most=_REPEATED_MAX)
            if kind == "table:table-cell":
                columns = _span(cell, "table:number-columns-spanned")
                rows = _span(cell, "table:number-rows-spanned")
                shown = list(self._blocks(cell))
                cells += [_Cell(shown, column + index, columns, rows) for index in range(repeated)]
            column += repeated
        return cells


def table_rows(table: Element) -> Iterator[tuple[Element, bool]]:
    """Yield the rows of a table, and whether each is one of its header."""
    for part in table:
        kind = name(part)
        if kind == "table:table-row":
            yield part, False
        elif kind in _GROUPS:
            yield from ((row, inner or kind == "table:table-header-rows") for row, inner in table_rows(part))


def _span(cell: Element, wanted: str) -> int:
    return max(whole_number(attribute(cell, wanted, "1"), 1, most=_SPAN_MAX), 1)


def _own_text(cell: _Cell) -> str:
    return flat_text([item for item in cell.shown if isinstance(item, ShownText)])


def _shown(grid: _Grid, width: int) -> ShownTable:
    cells: list[GridCell] = []
    nested: list[tuple[str, ShownTable]] = []
    for index, row in enumerate(grid.rows):
        for cell in row:
            text = _own_text(cell)
            lead = text or next(filter(None, (_own_text(other) for other in row if other is not cell)), "")
            nested.extend((lead, item) for item in cell.shown if isinstance(item, ShownTable))
            cells.append(GridCell(index, cell.column, text, rows=cell.rows, columns=cell.columns))
    height, headers = len(grid.rows), grid.headers
    title, cells = split_title(cells, height=height, width=width)
    if title is not None:
        height, headers = height - 1, max(headers - 1, 0)
    if headers >= height:
        headers = 0
    return ShownTable(
        grid_rows(cells, height=height, width=width), header_height(cells, width, headers), title or "", nested
    )
