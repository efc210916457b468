"""One sheet's cells as people see them: hidden rows and columns left out, values in their formats."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

import lxml.etree  # type: ignore[import-untyped]

from sourcier.services.chassis.errors import DocumentMalformed
from sourcier.services.index.places.place import column_name
from sourcier.services.ingest.parsing.office.lines import STRUCK
from sourcier.services.ingest.parsing.office.links import Links, formula_reference
from sourcier.services.ingest.parsing.office.packages import Element, attribute, child, children, name
from sourcier.services.ingest.parsing.office.symbols import box
from sourcier.services.ingest.parsing.sheets.number_formats import GENERAL, is_date, show, show_text
from sourcier.services.ingest.parsing.sheets.workbook import Workbook, rich_text
from sourcier.services.ingest.parsing.tables import CellBudget
from sourcier.services.ingest.reading_warnings import ReadingWarnings, WarningCode

COLUMNS_MAX = 16_384
ROWS_MAX = 1_048_576
_REFERENCE = re.compile(r"\$?([A-Z]{1,3})\$?(\d{1,7})")
_ON = frozenset({"1", "true", "on"})
_SHARED_FORMULA = "formula"


@dataclass(frozen=True, slots=True)
class Cell:
    """What a cell shows; `raw` is the stored number where it says more than what is shown."""

    text: str
    is_number: bool = False
    raw: str = ""


@dataclass(frozen=True, slots=True)
class Span:
    """A rectangle of cells, rows and columns from 1, both ends included."""

    top: int
    left: int
    bottom: int
    right: int


@dataclass(slots=True)
class Sheet:
    """The cells that are seen, by row and column from 1, and what tells where tables begin."""

    rows: dict[int, dict[int, Cell]] = field(default_factory=dict)
    merged: list[Span] = field(default_factory=list)
    frozen_rows: int = 0
    filtered: list[Span] = field(default_factory=list)
    _by_row: dict[int, list[Span]] = field(default_factory=dict)

    def spans_from(self, row: int) -> list[Span]:
        """Return the merged cells that begin in a row."""
        if not self._by_row:
            for span in self.merged:
                self._by_row.setdefault(span.top, []).append(span)
        return self._by_row.get(row, [])


class SheetReader:
    """Reads the cells of one sheet from its part, row by row."""

    def __init__(
        self, workbook: Workbook, warnings: ReadingWarnings, budget: CellBudget, *, sheet_name: str,
        target: Callable[[str], str] = lambda identifier: "",
    ) -> None:
        """`target` returns the address that a link of the sheet's part names."""
        self._target = target
        self._links = Links()
        self._workbook = workbook
        self._warnings = warnings
        self._budget = budget
        self._name = sheet_name
        self._sheet = Sheet()
        self._hidden_columns: set[int] = set()
        self._columns_with_hidden_cells: set[int] = set()

    def read(self, content: bytes) -> Sheet:
        """Return the sheet; raise DocumentMalformed for broken XML."""
        row_number = 0
        try:
            for element in _top_elements(content):
                kind = name(element)
                if kind == "x:row":
                    row_number = self._row(element, row_number)
                else:
                    self._other(element, kind)
        except lxml.etree.XMLSyntaxError as error:
            raise DocumentMalformed(f"The sheet “{self._name}” is no valid XML: the file is damaged.") from error
        self._warn()
        return self._sheet

    def _other(self, element: Element, kind: str) -> None:
        if kind == "x:col" and (attribute(element, "hidden") in _ON or attribute(element, "width") == "0"):
            first, last = attribute(element, "min"), attribute(element, "max")
            if first.isdigit() and last.isdigit() and len(self._hidden_columns) < COLUMNS_MAX:
                self._hidden_columns.update(range(int(first), min(int(last), COLUMNS_MAX) + 1))
        elif kind == "x:pane" and attribute(element, "state").startswith("frozen"):
            rows = attribute(element, "ySplit").partition(".")[0]
            self._sheet.frozen_rows = int(rows) if rows.isdigit() and len(rows) < 5 else 0
        elif kind == "x:hyperlink":
            self._link(parse_span(attribute(element, "ref")), self._target(attribute(element, "r:id")))
        elif kind in ("x:mergeCell", "x:autoFilter"):
            span = parse_span(attribute(element, "ref"))
            if span:
                (self._sheet.merged if kind == "x:mergeCell" else self._sheet.filtered).append(span)

    def _link(self, span: Span | None, reference: str) -> None:
        """Add where a cell's link leads; links over several cells lead to one place and are told in the first."""
        row = self._sheet.rows.get(span.top, {}) if span else {}
        cell = row.get(span.left) if span else None
        if span and cell:
            row[span.left] = self._linked(cell, reference)

    def _linked(self, cell: Cell, reference: str) -> Cell:
        address = self._links.address(reference, shown=cell.text)
        return replace(cell, text=f"{cell.text} ({address})") if address else cell

    def _row(self, element: Element, before: int) -> int:
        given = attribute(element, "r")
        number = int(given) if given.isdigit() and len(given) < 8 else before + 1
        hidden = attribute(element, "hidden") in _ON or attribute(element, "ht") == "0"
        cells: dict[int, Cell] = {}
        column = 0
        for entry in children(element, "x:c"):
            column = _column(attribute(entry, "r")) or column + 1
            if column > COLUMNS_MAX or number > ROWS_MAX:
                continue
            cell = self._cell(entry, number, column)
            if not cell.text:
                continue
            if column in self._hidden_columns:
                self._columns_with_hidden_cells.add(column)
            else:
                cells[column] = cell
        if hidden and cells:
            self._warnings.add(WarningCode.HIDDEN_CELLS, places=[f"{self._name}!{number}:{number}"], detail="rows")
        elif cells:
            self._budget.take(len(cells))
            self._sheet.rows[number] = cells
        return number

    def _cell(self, entry: Element, row: int, column: int) -> Cell:
        kind = attribute(entry, "t", "n")
        shown_as = self._workbook.format(attribute(entry, "s", "0"))
        value = child(entry, "x:v") if kind != "inlineStr" else None
        stored = (value.text or "") if value is not None else ""
        formula = child(entry, "x:f")
        if formula is not None and not stored and kind not in ("str", "inlineStr"):
            return self._formula_without_value(formula, row, column)
        if kind == "n":
            cell = self._number(stored, shown_as.code)
        elif kind == "b" and shown_as.boxed:
            cell = Cell(box(stored in _ON))
        elif kind == "d":
            cell = Cell(stored.replace("T00:00:00", "").replace("T", " "))
        else:
            cell = Cell(show_text(self._text(entry, kind, stored), shown_as.code))
        if formula is not None:
            cell = self._linked(cell, formula_reference(formula.text or ""))
        return Cell(f"{STRUCK}{cell.text}{STRUCK}") if shown_as.struck and cell.text.strip() else cell

    def _text(self, entry: Element, kind: str, stored: str) -> str:
        if kind == "s":
            known = stored.isdigit() and len(stored) < 9 and int(stored) < len(self._workbook.texts)
            return self._workbook.texts[int(stored)] if known else ""
        if kind == "inlineStr":
            inline = child(entry, "x:is")
            return rich_text(inline) if inline is not None else ""
        if kind == "b":
            words = ("VRAI", "FAUX") if self._workbook.french else ("TRUE", "FALSE")
            return words[0] if stored in _ON else words[1]
        return stored

    def _number(self, stored: str, code: str) -> Cell:
        try:
            value = float(stored)
        except ValueError:
            return Cell(stored)
        shown = show(value, code, date_1904=self._workbook.date_1904, french=self._workbook.french)
        is_plain = code == GENERAL or is_date(code)
        raw = "" if is_plain or not shown else raw_number(value, shown, french=self._workbook.french)
        return Cell(shown, is_number=True, raw=raw)

    def _formula_without_value(self, formula: Element, row: int, column: int) -> Cell:
        place = f"{self._name}!{column_name(column)}{row}"
        self._warnings.add(WarningCode.FORMULAS_WITHOUT_VALUE, places=[place])
        text = (formula.text or "").strip()
        return Cell(f"={text or _SHARED_FORMULA}", is_number=True)

    def _warn(self) -> None:
        places = [f"{self._name}!{column_name(column)}:{column_name(column)}"
                  for column in sorted(self._columns_with_hidden_cells)]  # fmt: skip
        self._warnings.add(WarningCode.HIDDEN_CELLS, count=len(places), places=places, detail="columns")


def _top_elements(content: bytes) -> Iterator[Element]:
    """Yield rows and the few elements that matter as they end, and free them: a sheet may have a million rows."""
    wanted = [f"{{*}}{local}" for local in ("col", "pane", "row", "mergeCell", "autoFilter", "hyperlink")]
    events = lxml.etree.iterparse(
        io.BytesIO(content), events=("end",), tag=wanted, resolve_entities=False, no_network=True,
        remove_comments=True, remove_pis=True,
    )  # fmt: skip
    for _, element in events:
        yield element
        element.clear()
        while element.getprevious() is not None:
            del element.getparent()[0]


def raw_number(value: float, shown: str, *, french: bool) -> str:
    """Return the stored number where the shown one is another: a percentage, or rounded; else nothing."""
    if "%" not in shown:
        point, group = (",", ".") if french else (".", ",")
        digits = re.sub(r"[^\d,.]", "", shown).replace(group, "").replace(point, ".").strip(".")
        if not _loses(value, digits):
            return ""
    return f"{value:.15g}"


def _loses(value: float, digits: str) -> bool:
    try:
        return abs(abs(value) - float(digits)) > 1e-9 * max(abs(value), 1)
    except ValueError:
        return False


def parse_span(reference: str) -> Span | None:
    """Return the rectangle that a reference such as `A1:C3` names."""
    found = _REFERENCE.findall(reference[:40])
    if not found:
        return None
    (first_column, first_row), (last_column, last_row) = found[0], found[-1]
    return Span(int(first_row), _column(first_column), int(last_row), _column(last_column))


def _column(reference: str) -> int:
    number = 0
    for letter in reference.lstrip("$")[:4]:
        if not "A" <= letter <= "Z":
            break
        number = number * 26 + ord(letter) - ord("A") + 1
    return number
