"""Tables whose cells are drawn: ruling lines that cross make a grid, and each word belongs to the cell around it."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from sourcier.services.ingest.parsing.pdf.content.elements import Box, Page, Rule, Word
from sourcier.services.ingest.parsing.pdf.tables import Cell, Table, cell_of
from sourcier.services.ingest.parsing.tables import HEADER_ROWS_MAX, GridCell, header_height

_RULES_MAX = 1_500
"""Of one direction on a page: a page with more of them is a drawing."""
_TOUCH = 2.5
_SIDES_MIN = 4.0
"""Lines nearer to each other are one."""
_CELLS_MAX = 20_000
_FILLED_SHARE = 0.5
_REPEATED_CHARACTERS_MAX = 80
_NOTHING = Cell()
_CELL_CHARACTERS_MAX = 1_500
"""A grid with longer cells lays out a page: it is read cell by cell, as text."""


@dataclass(frozen=True, slots=True)
class _Grid:
    xs: tuple[float, ...]
    ys: tuple[float, ...]
    horizontal: tuple[Rule, ...]
    vertical: tuple[Rule, ...]

    @property
    def box(self) -> Box:
        return Box(self.xs[0], self.ys[0], self.xs[-1], self.ys[-1])


def ruled_tables(page: Page, words: Sequence[Word]) -> tuple[list[Table], list[Word]]:
    """Return the page's drawn tables and the words outside of them."""
    tables: list[Table] = []
    rest = list(words)
    for grid in _grids(page):
        inside = [word for word in rest if _within(word, grid.box)]
        table = _table(page.number, grid, inside) if inside else None
        if table is not None:
            tables.append(table)
            rest = [word for word in rest if not _within(word, grid.box)]
    return tables, rest


def _within(word: Word, box: Box) -> bool:
    return box.holds((word.left + word.right) / 2, word.baseline - 0.3 * word.size)


def _grids(page: Page) -> Iterator[_Grid]:
    horizontal, vertical = page.horizontal, page.vertical
    if not (1 < len(horizontal) <= _RULES_MAX and 0 < len(vertical) <= _RULES_MAX):
        return
    for across, down in sorted(_components(horizontal, vertical), key=lambda part: -len(part[0]) * len(part[1])):
        ends = [end for rule in across for end in (rule.start, rule.end)]
        sides = [end for rule in down for end in (rule.start, rule.end)]
        xs = _clustered([rule.at for rule in down] + [min(ends), max(ends)])
        ys = _clustered([rule.at for rule in across] + [min(sides), max(sides)])
        cells = (len(xs) - 1) * (len(ys) - 1)
        if len(xs) > 2 and len(ys) > 2 and cells <= _CELLS_MAX:
            yield _Grid(tuple(xs), tuple(ys), tuple(sorted(across)), tuple(sorted(down)))


def _components(horizontal: Sequence[Rule], vertical: Sequence[Rule]) -> Iterator[tuple[list[Rule], list[Rule]]]:
    """Yield lines that touch one another."""
    parent = list(range(len(horizontal) + len(vertical)))

    def root(index: int) -> int:
        while parent[index] != index:
            parent[index] = parent[parent[index]]
            index = parent[index]
        return index

    levels = sorted(range(len(horizontal)), key=lambda index: horizontal[index].at)
    heights = [horizontal[index].at for index in levels]
    for number, rule in enumerate(vertical, len(horizontal)):
        low = bisect_left(heights, rule.start - _TOUCH)
        for place in levels[low : bisect_right(heights, rule.end + _TOUCH)]:
            across = horizontal[place]
            if across.start - _TOUCH <= rule.at <= across.end + _TOUCH:
                parent[root(place)] = root(number)
    parts: dict[int, tuple[list[Rule], list[Rule]]] = defaultdict(lambda: ([], []))
    for index, rule in enumerate((*horizontal, *vertical)):
        parts[root(index)][index >= len(horizontal)].append(rule)
    yield from (part for part in parts.values() if len(part[0]) >= 2 and part[1])


def _clustered(values: Iterable[float]) -> list[float]:
    clustered: list[float] = []
    for value in sorted(values):
        if not clustered or value - clustered[-1] > _SIDES_MIN:
            clustered.append(value)
    return clustered


def _table(number: int, grid: _Grid, words: Sequence[Word]) -> Table | None:
    columns, rows = len(grid.xs) - 1, len(grid.ys) - 1
    owners = _merged(grid)
    contents: dict[int, list[Word]] = defaultdict(list)
    for word in words:
        column = min(max(bisect_right(grid.xs, (word.left + word.right) / 2) - 1, 0), columns - 1)
        row = min(max(bisect_right(grid.ys, word.baseline - 0.3 * word.size) - 1, 0), rows - 1)
        contents[owners[row * columns + column]].append(word)
    texts = {owner: cell_of(cell) for owner, cell in contents.items()}
    if max((len(cell.text) for cell in texts.values()), default=0) > _CELL_CHARACTERS_MAX:
        return None
    named, said = {owner % columns for owner in texts}, {owner // columns for owner in texts}
    # Bars and boxes of a drawing cross, too; most of their stripes hold nothing.
    if len(named) < max(2, _FILLED_SHARE * columns) or len(said) < max(2, _FILLED_SHARE * rows):
        return None
    title = _title(texts, owners, rows, columns)
    if title.text:
        texts = {owner - columns: cell for owner, cell in texts.items() if owner >= columns}
        owners, rows = [owner - columns for owner in owners[columns:]], rows - 1
    height = _header_height(texts, owners, rows, columns)
    filled = _filled(texts, owners, rows, columns, header=height)
    return Table(number, grid.box, filled, grid.xs, header_rows=height, ruled=True, title=title)


def _title(texts: dict[int, Cell], owners: Sequence[int], rows: int, columns: int) -> Cell:
    """Return what stands in a first row that is one cell over all columns, a name of the table."""
    whole = set(owners[:columns]) == {0} and min(owners[columns:], default=0) >= columns and rows > 2
    return texts.get(0, _NOTHING) if whole else _NOTHING


def _header_height(texts: dict[int, Cell], owners: Sequence[int], rows: int, columns: int) -> int:
    """Return how many rows name the columns: more than one where names are merged over columns that have own names.

    A form is drawn as a grid with merged cells, too: each column but that of the labels must have a name of its own in
    the last of these rows, and no cell of the row below may be merged over columns.
    """
    grid = [owners[row * columns : (row + 1) * columns] for row in range(rows)]
    height = next((number for number, row in enumerate(grid, 1) if len(set(row)) == columns), 1)
    if not 1 < height < min(rows, HEADER_ROWS_MAX + 1):
        return 1
    is_named = all(texts.get(owner, _NOTHING).text for owner in grid[height - 1][1:])
    is_plain = len(set(grid[height])) == columns and min(grid[height]) >= height * columns
    if not (is_named and is_plain):
        return 1
    return height if header_height(_grid_cells(texts, owners, columns), columns) > 1 else 1


def _grid_cells(texts: dict[int, Cell], owners: Sequence[int], columns: int) -> list[GridCell]:
    """Return the cells with what each is merged over."""
    places: dict[int, list[int]] = defaultdict(list)
    for place, owner in enumerate(owners):
        places[owner].append(place)
    return [
        GridCell(
            owner // columns, owner % columns, texts.get(owner, _NOTHING).text,
            rows=own[-1] // columns - owner // columns + 1,
            columns=max(place % columns for place in own) - owner % columns + 1,
        )
        for owner, own in places.items()
    ]


def _filled(
    texts: dict[int, Cell], owners: Sequence[int], rows: int, columns: int, *, header: int
) -> list[list[Cell]]:
    """Return the cells: one over several columns of the `header` rows or over several rows is said in each."""
    table: list[list[Cell]] = []
    for row in range(rows):
        cells: list[Cell] = []
        for column in range(columns):
            owner = owners[row * columns + column]
            own = owner == row * columns + column
            spans_rows_only = owner % columns == column
            cell = texts.get(owner, _NOTHING)
            short = len(cell.text) <= _REPEATED_CHARACTERS_MAX
            repeated = short and (spans_rows_only or owner // columns < header)
            cells.append(cell if own or repeated else _NOTHING)
        table.append(cells)
    return [row for row in table if any(cell.text for cell in row)]


def _merged(grid: _Grid) -> list[int]:
    """Return for each place of the grid the cell that it belongs to: that at the upper left of what no line parts."""
    columns, rows = len(grid.xs) - 1, len(grid.ys) - 1
    down, across = _by_place(grid.vertical, grid.xs), _by_place(grid.horizontal, grid.ys)
    owners = list(range(rows * columns))
    for row in range(rows):
        middle = (grid.ys[row] + grid.ys[row + 1]) / 2
        for column in range(columns):
            place = row * columns + column
            centre = (grid.xs[column] + grid.xs[column + 1]) / 2
            if row and not _covers(across[row], centre):
                owners[place] = owners[place - columns]
            elif column and not _covers(down[column], middle):
                owners[place] = owners[place - 1]
    return owners


def _by_place(rules: Sequence[Rule], places: Sequence[float]) -> list[list[Rule]]:
    """Return the lines of each place of the grid, in their order."""
    found: list[list[Rule]] = [[] for _ in places]
    for rule in rules:
        index = min(max(bisect_right(places, rule.at + 0.01) - 1, 0), len(places) - 1)
        found[index].append(rule)
    return [sorted(level, key=lambda rule: rule.start) for level in found]


def _covers(level: Sequence[Rule], at: float) -> bool:
    return any(rule.start - _TOUCH <= at <= rule.end + _TOUCH for rule in level)
