"""Tables of a page as rows of cells: every cell that spans several stands in each of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import lxml.html  # type: ignore[import-untyped]

from sourcier.services.ingest.parsing.tables import CellBudget

_SECTIONS = ("thead", "tbody", "tfoot")
_TABLE_ROLES = frozenset({"table", "grid", "treegrid"})
_ROLES = {
    "rowgroup": "tbody", "row": "tr", "cell": "td", "gridcell": "td", "columnheader": "th", "rowheader": "th",
}  # fmt: skip
_SPAN_MAX = 1000
"""As in the HTML standard."""
_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")


@dataclass(frozen=True, slots=True)
class Grid:
    """Rows of cells; the first `header_rows` of them name the columns."""

    rows: list[list[str]]
    header_rows: int
    titles: list[str]
    """Rows above the header with one cell over all columns."""


@dataclass(slots=True)
class _Cell:
    text: str
    columns: int
    rows_left: int
    is_header: bool


def make_tables(root: lxml.html.HtmlElement) -> None:
    """Turn what a page calls a table by its roles alone into the elements of one."""
    for table in list(root.iter("div", "section", "span", "ul", "dl")):
        parts = [part for part in table.iterdescendants() if part.get("role") in _ROLES]
        if table.get("role") not in _TABLE_ROLES or not any(part.get("role") == "row" for part in parts):
            continue
        table.tag = "table"
        for part in parts:
            part.tag = _ROLES[part.get("role")]
            above = part.getparent()
            # What stands between only arranges: rows are looked for in tables, cells in rows.
            while above is not None and above is not table and above.get("role") not in _ROLES:
                wrapper, above = above, above.getparent()
                wrapper.drop_tag()


def is_layout(table: lxml.html.HtmlElement) -> bool:
    """Tell whether a table only arranges the page: its cells are read one after the other."""
    if table.get("role") in ("presentation", "none"):
        return True
    if any(child.tag in ("caption", "thead") for child in table):
        return False
    rows = list(_rows(table))
    cells = [cell for _, row in rows for cell in _cells(row)]
    if any(cell.tag == "th" for cell in cells):
        return False
    if max((len(_cells(row)) for _, row in rows), default=0) <= 1:
        return True
    return any(next(cell.iter("table", *_HEADINGS), None) is not None for cell in cells)


def read_grid(
    table: lxml.html.HtmlElement, cell_text: Callable[[lxml.html.HtmlElement, bool], str], budget: CellBudget
) -> Grid:
    """Return a table's grid; `cell_text` gives a cell's text and is told whether it names a column."""
    rows: list[list[str]] = []
    header_rows, titles, in_header = 0, list[str](), True
    open_cells: dict[int, _Cell] = {}
    section_before: object = None
    for section, row in _rows(table):
        if section is not section_before:
            open_cells.clear()  # no cell reaches beyond its section
            section_before = section
        placed = _place(row, open_cells, cell_text, budget)
        named = section is not None and section.tag == "thead"
        filled = [cell for cell in placed.values() if cell.text]
        is_header = in_header and bool(filled) and (named or all(cell.is_header for cell in filled))
        distinct = {id(cell) for cell in placed.values()}
        if not rows and len(distinct) == 1 and len(placed) > 1 and filled and is_header:
            titles.append(filled[0].text)
        else:
            rows.append(_texts(placed, is_header=is_header))
            in_header = is_header or not filled
            header_rows += is_header
        open_cells = {column: cell for column, cell in placed.items() if cell.rows_left > 0}
    return Grid(rows, header_rows, titles)


def named_values(table: lxml.html.HtmlElement, grid: Grid) -> bool:
    """Tell whether each row is a name and its value, and no row names the columns."""
    if grid.header_rows or max(map(len, grid.rows), default=0) != 2:
        return False
    return all([cell.tag for cell in _cells(row)] == ["th", "td"] for _, row in _rows(table))


def _place(
    row: lxml.html.HtmlElement, open_cells: dict[int, _Cell],
    cell_text: Callable[[lxml.html.HtmlElement, bool], str], budget: CellBudget,
) -> dict[int, _Cell]:
    placed = dict(open_cells)
    for cell in {id(cell): cell for cell in open_cells.values()}.values():
        cell.rows_left -= 1
    column = 0
    for element in _cells(row):
        while column in placed:
            column += 1
        columns, rows = _span(element, "colspan"), _span(element, "rowspan")
        budget.take(columns)
        is_header = element.tag == "th"
        cell = _Cell(cell_text(element, is_header), columns, rows - 1, is_header)
        for covered in range(column, column + columns):
            placed.setdefault(covered, cell)
        column += columns
    budget.take(len(open_cells))
    return placed


def _texts(placed: dict[int, _Cell], *, is_header: bool) -> list[str]:
    width = max(placed, default=-1) + 1
    # A cell over a whole row is a line between the rows, not a value of each column.
    if not is_header and width > 1 and len({id(cell) for cell in placed.values()}) == 1 and len(placed) == width:
        return [placed[0].text, *[""] * (width - 1)]
    return [placed[column].text if column in placed else "" for column in range(width)]


def _rows(table: lxml.html.HtmlElement) -> Iterator[tuple[lxml.html.HtmlElement | None, lxml.html.HtmlElement]]:
    """Yield each row with its section: those of the head first, those of the foot last."""
    sections: Sequence[lxml.html.HtmlElement] = [child for child in table if child.tag in (*_SECTIONS, "tr")]
    order = {"thead": 0, "tfoot": 2}
    for section in sorted(sections, key=lambda child: order.get(child.tag, 1)):
        if section.tag == "tr":
            yield None, section
        else:
            for row in section:
                if row.tag == "tr":
                    yield section, row


def _cells(row: lxml.html.HtmlElement) -> list[lxml.html.HtmlElement]:
    return [cell for cell in row if cell.tag in ("td", "th")]


def _span(cell: lxml.html.HtmlElement, name: str) -> int:
    value = (cell.get(name) or "1").strip()
    if not value.isdecimal() or len(value) > 6:
        return 1
    # A row span of 0 reaches to the end of its section.
    return min(int(value), _SPAN_MAX) or (_SPAN_MAX if name == "rowspan" else 1)
