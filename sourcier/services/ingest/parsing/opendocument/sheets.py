"""OpenDocument spreadsheets: cells as they are shown, with what is stored where that says more."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import replace

from sourcier.services.index.places.place import column_name
from sourcier.services.ingest.parsing.office.lines import STRUCK
from sourcier.services.ingest.parsing.office.packages import (
    Element,
    attribute,
    child,
    children,
    descendants,
    name,
    whole_number,
)
from sourcier.services.ingest.parsing.opendocument.runs import Controls, RunReader
from sourcier.services.ingest.parsing.opendocument.styles import Styles, TextLook
from sourcier.services.ingest.parsing.opendocument.tables import CELLS, table_rows
from sourcier.services.ingest.parsing.sheets.cells import (
    COLUMNS_MAX,
    ROWS_MAX,
    Cell,
    Sheet,
    Span,
    parse_span,
    raw_number,
)
from sourcier.services.ingest.parsing.tables import CellBudget
from sourcier.services.ingest.reading_warnings import ReadingWarnings, WarningCode

_NUMBERS = frozenset({"float", "percentage", "currency"})
_DATED = frozenset({"date", "time"})
_UNSEEN = frozenset({"collapse", "filter"})
_COLUMN_GROUPS = frozenset({"table:table-column-group", "table:table-columns", "table:table-header-columns"})


class SheetReader:
    """Reads the cells of one sheet."""

    def __init__(
        self, styles: Styles, warnings: ReadingWarnings, budget: CellBudget, *, sheet_name: str, comments: bool = False
    ) -> None:
        """Comments are read with `comments`, else told."""
        self._styles = styles
        self._warnings = warnings
        self._budget = budget
        self._name = sheet_name
        self._runs = RunReader(styles, warnings, Controls(), comments=comments)
        self._hidden_columns: set[int] = set()
        self._columns_with_hidden_cells: set[int] = set()
        self._columns: tuple[list[int], list[str]] = ([], [])
        """The last column of each run of columns, and the style of its cells."""
        self._struck: dict[str, bool] = {}

    def read(self, table: Element) -> Sheet:
        """Return the sheet."""
        self._learn_columns(table)
        sheet = Sheet()
        number = 1
        for row, is_header in table_rows(table):
            repeated = whole_number(attribute(row, "table:number-rows-repeated", "1"), 1)
            cells = self._row(row, number, sheet)
            if cells and attribute(row, "table:visibility") in _UNSEEN:
                self._warnings.add(WarningCode.HIDDEN_CELLS, places=[f"{self._name}!{number}:{number}"], detail="rows")
            elif cells:
                last = min(number + repeated - 1, ROWS_MAX)
                self._budget.take(len(cells) * (last - number + 1))
                sheet.rows.update((line, dict(cells)) for line in range(number, last + 1))
                if is_header and sheet.frozen_rows == number - 1:
                    sheet.frozen_rows = last
            number += repeated
            if number > ROWS_MAX:
                break
        places = [f"{self._name}!{column_name(column)}:{column_name(column)}"
                  for column in sorted(self._columns_with_hidden_cells)]  # fmt: skip
        self._warnings.add(WarningCode.HIDDEN_CELLS, count=len(places), places=places, detail="columns")
        return sheet

    def _learn_columns(self, table: Element) -> None:
        number = 1
        for column in _columns(table):
            repeated = whole_number(attribute(column, "table:number-columns-repeated", "1"), 1)
            last = min(number + repeated - 1, COLUMNS_MAX)
            if attribute(column, "table:visibility") in _UNSEEN:
                self._hidden_columns.update(range(number, last + 1))
            self._columns[0].append(last)
            self._columns[1].append(attribute(column, "table:default-cell-style-name"))
            number = last + 1

    def _row(self, row: Element, number: int, sheet: Sheet) -> dict[int, Cell]:
        cells: dict[int, Cell] = {}
        column = 1
        for entry in row:
            kind = name(entry)
            if kind not in CELLS:
                continue
            repeated = whole_number(attribute(entry, "table:number-columns-repeated", "1"), 1)
            if kind == "table:table-cell" and column <= COLUMNS_MAX:
                cell = self._cell(entry, number, column)
                if cell.text.strip():
                    self._put(cells, cell, range(column, min(column + repeated, COLUMNS_MAX + 1)))
                    self._merge(entry, number, column, sheet)
            column += repeated
        return cells

    def _put(self, cells: dict[int, Cell], cell: Cell, columns: range) -> None:
        self._budget.take(len(columns) - 1)
        for column in columns:
            if column in self._hidden_columns:
                self._columns_with_hidden_cells.add(column)
            else:
                cells[column] = cell

    def _merge(self, entry: Element, row: int, column: int, sheet: Sheet) -> None:
        rows = whole_number(attribute(entry, "table:number-rows-spanned", "1"), 1)
        columns = whole_number(attribute(entry, "table:number-columns-spanned", "1"), 1)
        if rows > 1 or columns > 1:
            sheet.merged.append(Span(row, column, row + rows - 1, column + columns - 1))

    def _cell(self, entry: Element, row: int, column: int) -> Cell:
        cell = self._shown(entry, row, column)
        comments = (self._runs.comment(each) for each in children(entry, "office:annotation"))
        said = "".join(comment.shown for comment in comments if comment is not None)
        return replace(cell, text=f"{cell.text}{said}".strip()) if said else cell

    def _shown(self, entry: Element, row: int, column: int) -> Cell:
        kind = attribute(entry, "office:value-type")
        text = "\n".join(filter(None, (self._runs.paragraph(line)[0] for line in _lines(entry))))
        stored = attribute(entry, "office:value")
        if not text and not kind and attribute(entry, "table:formula"):
            return self._formula_without_value(entry, row, column)
        if not text:
            text = stored or attribute(entry, f"office:{kind}-value") or attribute(entry, "office:string-value")
        style = attribute(entry, "table:style-name") or self._column_style(column)
        if text and self._is_struck(style):
            text = f"{STRUCK}{text.strip(STRUCK)}{STRUCK}"
        if kind in _NUMBERS:
            return Cell(text, is_number=True, raw=_raw(stored, text))
        return Cell(text, is_number=kind in _DATED)

    def _column_style(self, column: int) -> str:
        lasts, styles = self._columns
        place = bisect_left(lasts, column)
        return styles[place] if place < len(styles) else ""

    def _is_struck(self, style: str) -> bool:
        if style not in self._struck:
            self._struck[style] = self._styles.look("table-cell", style, TextLook()).look.struck
        return self._struck[style]

    def _formula_without_value(self, entry: Element, row: int, column: int) -> Cell:
        place = f"{self._name}!{column_name(column)}{row}"
        self._warnings.add(WarningCode.FORMULAS_WITHOUT_VALUE, places=[place])
        formula = attribute(entry, "table:formula").partition("=")[2]
        return Cell(f"={formula}", is_number=True)


def table_spans(spreadsheet: Element, sheet_name: str) -> list[Span]:
    """Return the ranges that a spreadsheet names as tables with a header on a sheet."""
    found = []
    for entry in descendants(spreadsheet, "table:database-range"):
        sheet, _, first = attribute(entry, "table:target-range-address").partition(".")
        span = parse_span(first.replace(f"{sheet}.", ""))
        filtered = attribute(entry, "table:display-filter-buttons") == "true"
        if span and filtered and sheet.strip("$'") == sheet_name:
            found.append(span)
    return found


def is_hidden_sheet(table: Element, styles: Styles) -> bool:
    """Tell whether people do not see a sheet."""
    style = attribute(table, "table:style-name")
    return styles.property("table", style, "table", "table:display") == "false"


def _columns(table: Element) -> Iterator[Element]:
    for part in table:
        kind = name(part)
        if kind == "table:table-column":
            yield part
        elif kind in _COLUMN_GROUPS:
            yield from _columns(part)


def _lines(entry: Element) -> Iterator[Element]:
    for part in entry:
        if name(part) in ("text:p", "text:h"):
            yield part
        elif name(part) == "text:list":
            yield from descendants(part, "text:p", "text:h")


def _raw(stored: str, shown: str) -> str:
    """Return the stored number where the shown one says less, in whichever language it is written."""
    try:
        value = float(stored)
    except ValueError:
        return ""
    ways = [raw_number(value, shown, french=french) for french in (True, False)]
    return ways[0] if all(ways) else ""


def shapes_of(table: Element) -> list[Element]:
    """Return what is drawn on a sheet."""
    shapes = child(table, "table:shapes")
    return list(shapes) if shapes is not None else []
