"""Word's tables as grids: merged cells repeated, tables inside cells kept as tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from sourcier.services.ingest.parsing.office.packages import Element, attribute, child, name
from sourcier.services.ingest.parsing.office.shown import Shown, ShownTable, ShownText, flat_text
from sourcier.services.ingest.parsing.tables import CellBudget, GridCell, grid_rows, header_height, split_title
from sourcier.services.ingest.parsing.word.styles import is_on, number

_SPAN_MAX = 1000
_TRANSPARENT = frozenset({"w:sdt", "w:sdtContent", "w:customXml", "w:ins", "w:moveTo", "w:smartTag"})


@dataclass(slots=True)
class _Cell:
    """A cell that was read: what it shows, and how far it reaches."""

    shown: list[Shown]
    column: int
    columns: int
    continues: bool


class TableReader:
    """Reads tables; what cells hold is read by the reader of blocks."""

    def __init__(self, blocks: Callable[[Element], Iterator[Shown]], budget: CellBudget) -> None:
        self._blocks = blocks
        self._budget = budget

    def read(self, table: Element) -> Iterator[Shown]:
        """Yield a table; one that only lays out a page yields what its cells hold, in order."""
        rows: list[list[_Cell]] = []
        headers = 0
        for row in _inside(table, "w:tr"):
            properties = child(row, "w:trPr")
            if child(properties, "w:del") is not None:
                continue
            mark = child(properties, "w:tblHeader")
            if mark is not None and is_on(attribute(mark, "val", "1")) and headers == len(rows):
                headers += 1
            rows.append(self._row(row, properties))
        width = max((cell.column + cell.columns for row in rows for cell in row), default=0)
        if width <= 1 or len(rows) == sum(1 for row in rows if len(row) <= 1):
            # One cell a row: a frame around text, not a table.
            for row in rows:
                for cell in row:
                    yield from cell.shown
            return
        self._budget.take(len(rows) * width)
        yield self._table(rows, width, headers)

    def _row(self, row: Element, properties: Element | None) -> list[_Cell]:
        column = _span(child(properties, "w:gridBefore"), default=0)
        cells: list[_Cell] = []
        for cell in _inside(row, "w:tc"):
            own = child(cell, "w:tcPr")
            if child(own, "w:cellDel") is not None:
                continue
            columns = _span(child(own, "w:gridSpan"), default=1)
            merged = child(own, "w:vMerge")
            continues = merged is not None and attribute(merged, "val", "continue") == "continue"
            joined = child(own, "w:hMerge")
            if joined is not None and attribute(joined, "val", "continue") == "continue" and cells:
                cells[-1].columns += columns
            else:
                cells.append(_Cell([] if continues else list(self._blocks(cell)), column, columns, continues))
            column += columns
        return cells

    def _table(self, rows: list[list[_Cell]], width: int, headers: int) -> ShownTable:
        cells: list[GridCell] = []
        nested: list[tuple[str, ShownTable]] = []
        above: dict[int, int] = {}
        for index, row in enumerate(rows):
            for cell in row:
                if cell.continues and cell.column in above:
                    cells[above[cell.column]].rows += 1
                    continue
                tables = [item for item in cell.shown if isinstance(item, ShownTable)]
                texts = [item for item in cell.shown if isinstance(item, ShownText)]
                text = flat_text(texts)
                lead = text or next((flat_text(other.shown) for other in row if other is not cell and other.shown), "")
                nested.extend((lead, table) for table in tables)
                above[cell.column] = len(cells)
                cells.append(GridCell(index, cell.column, text, columns=cell.columns))
        height = len(rows)
        title, cells = split_title(cells, height=height, width=width)
        if title is not None:
            height, headers = height - 1, max(headers - 1, 0)
        rows_shown = grid_rows(cells, height=height, width=width)
        return ShownTable(rows_shown, header_height(cells, width, headers), title or "", nested)


def _inside(element: Element, wanted: str) -> Iterator[Element]:
    """Yield rows or cells, through the controls that may stand around them."""
    for part in element:
        kind = name(part)
        if kind == wanted:
            yield part
        elif kind in _TRANSPARENT:
            yield from _inside(part, wanted)


def _span(element: Element | None, *, default: int) -> int:
    return min(max(number(attribute(element, "val"), default), default), _SPAN_MAX)
