"""The tables of a sheet: where each begins and ends, what stands above it, and how many lines its header has."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, field
from statistics import median_high

from sourcier.services.ingest.parsing.sheets.cells import Cell, Sheet, Span
from sourcier.services.ingest.parsing.tables import HEADER_ROWS_MAX, CellBudget, GridCell, grid_rows, header_height

_ENOUGH = 0.6
"""The share of a table's usual number of cells that its header has at least."""
_PREAMBLE_ROWS_MAX = 40
_UNIT = re.compile(r"\([^()]{1,20}\)|%|[a-zA-Z]{0,3}€(?:/\w{1,10})?|k€|M€")
_NOTE = re.compile(r"(?:\([0-9a-z]{1,2}\)|[0-9]\)|\*{1,3}|(?:source|note|nb|n\.b\.|lecture|champ)s?\s?:)\s?\S", re.I)
_COLUMNS_BETWEEN_TABLES = 2
_GAP_MAX = 3
"""Rows that may lie between two rows of one table: an empty one or two."""


@dataclass(slots=True)
class Region:
    """A table with what stands above it: lines of text, then rows of which the first `header_rows` name columns."""

    above: list[str]
    rows: list[list[str]]
    header_rows: int
    raw: list[tuple[str, list[str]]]
    """For each column with numbers that are shown otherwise than stored: its name and the stored ones."""
    above_numbers: list[int]
    """The row of each line above, from 1."""
    numbers: list[int]
    """The row of each of `rows`."""
    columns: list[int]
    """The columns that the region reaches over, from 1."""
    below: list[tuple[int, str]] = field(default_factory=list)
    """The notes below the table: the row of each, and its text."""


def regions(sheet: Sheet, tables: list[Span], budget: CellBudget) -> list[Region]:
    """Return the regions of a sheet, from the top; raise DocumentTooLarge for more cells than are allowed."""
    found: list[Region] = []
    for group in _row_groups(sheet):
        for numbers, columns in _side_by_side(sheet, group):
            # A sparse table takes a cell for each place, not for each value.
            budget.take(len(numbers) * len(columns))
            found.append(_region(sheet, numbers, columns, [*tables, *sheet.filtered]))
    return found


def _row_groups(sheet: Sheet) -> list[list[int]]:
    """Return runs of rows without an empty one between them; what is merged over several holds them together."""
    reach = {span.top: span.bottom for span in sheet.merged if span.bottom > span.top}
    groups: list[list[int]] = []
    end = 0
    for number in sorted(sheet.rows):
        if groups and (number <= end + 1 or (number <= end + _GAP_MAX and _goes_on(sheet, groups[-1], number))):
            groups[-1].append(number)
        else:
            groups.append([number])
        end = max(end, reach.get(number, number), number)
    return groups


def _goes_on(sheet: Sheet, group: list[int], number: int) -> bool:
    """Tell whether a row after an empty one belongs to the table above: it has numbers, below cells of that table."""
    row, last = sheet.rows[number], sheet.rows[group[-1]]
    if len(row) < 2 or len(last) < 2 or not any(cell.is_number for cell in row.values()):
        return False
    return sum(column in last for column in row) >= len(row) / 2


def _side_by_side(sheet: Sheet, group: list[int]) -> list[tuple[list[int], list[int]]]:
    """Return the row group, cut where two tables with headers of their own stand beside each other."""
    columns = sorted({column for number in group for column in sheet.rows[number]})
    parts: list[list[int]] = []
    for column in columns:
        if parts and column == parts[-1][-1] + 1:
            parts[-1].append(column)
        else:
            parts.append([column])
    header = sheet.rows[group[0]]
    whole = all(len(part) >= _COLUMNS_BETWEEN_TABLES and all(column in header for column in part) for part in parts)
    spans = any(span.right > span.left for number in group for span in sheet.spans_from(number))
    if len(parts) < 2 or not whole or spans or len(group) < 2:
        return [(group, columns)]
    cut = [([number for number in group if any(c in sheet.rows[number] for c in part)], part) for part in parts]
    return [(numbers, part) for numbers, part in cut if numbers]


def _region(sheet: Sheet, numbers: list[int], columns: list[int], tables: list[Span]) -> Region:
    if not tables and _is_form(sheet, numbers, columns):
        lines = [_line(sheet.rows[number], columns) for number in numbers]
        return Region(lines, [], 0, [], numbers, [], columns)
    start = _header_index(sheet, numbers, columns, tables)
    end = _notes_index(sheet, numbers, columns, start)
    below = [(number, _line(sheet.rows[number], columns)) for number in numbers[end:]]
    numbers = numbers[:end]
    above = [_line(sheet.rows[number], columns) for number in numbers[:start]]
    shown = numbers[start:]
    cells = _grid(sheet, shown, columns)
    rows = grid_rows(cells, height=len(shown), width=len(columns))
    height = header_height(cells, len(columns))
    frozen = sum(number <= sheet.frozen_rows for number in shown)
    height = max(height, min(frozen, HEADER_ROWS_MAX) if _are_texts(sheet, shown[:frozen]) else 0)
    if height == 1 and _has_second_line(sheet, shown, columns):
        rows[0] = _spread(rows[0], rows[1])
        height = 2
    while height < min(len(shown) - 1, HEADER_ROWS_MAX) and _is_units(sheet.rows[shown[height]]):
        height += 1
    height = min(height, max(len(shown) - 1, 1))
    raw = _raw_values(sheet, shown, columns, rows, height)
    return Region(above, rows, height, raw, numbers[:start], shown, columns, below)


def _is_form(sheet: Sheet, numbers: list[int], columns: list[int]) -> bool:
    """Tell whether rows are labels with their values, below no header: one pair at most, or labels with colons."""
    if len(columns) != 2:
        return False
    rows = [sheet.rows[number] for number in numbers]
    if sum(len(row) == 2 for row in rows) == 1:
        return True
    labels = [row[columns[0]].text.strip() for row in rows if columns[0] in row]
    return len(labels) == len(rows) and all(label.endswith(":") for label in labels)


def _notes_index(sheet: Sheet, numbers: list[int], columns: list[int], start: int) -> int:
    """Return where the notes begin that close a table: rows of one text, each behind the sign of a note or a source."""
    end = len(numbers)
    while end - 1 > start + 1 and len(columns) > 1:
        row = sheet.rows[numbers[end - 1]]
        if len(row) != 1 or columns[0] not in row or not _NOTE.match(row[columns[0]].text.strip()):
            break
        end -= 1
    return end


def _header_index(sheet: Sheet, numbers: list[int], columns: list[int], tables: list[Span]) -> int:
    """Return which of the rows is the first of the header: what is above it is a preamble."""
    for index, number in enumerate(numbers):
        if any(span.top == number and span.left <= columns[-1] and span.right >= columns[0] for span in tables):
            return index
    filled = [_filled(sheet, number, columns) for number in numbers]
    usual = median_high(filled)
    if usual < 2:
        return 0
    least = max(2, _ENOUGH * usual)
    full = [index for index, count in enumerate(filled[:_PREAMBLE_ROWS_MAX]) if count >= least]
    with_numbers = (index for index in full if any(cell.is_number for cell in sheet.rows[numbers[index]].values()))
    first_numbers = next(with_numbers, len(numbers))
    texts = [index for index in full if index < first_numbers]
    if not texts:
        return full[0] if full else 0
    # A line of the preamble may have two cells or three; the names of the columns fill their row.
    most = max(filled[index] for index in texts)
    return next(index for index in texts if filled[index] >= _ENOUGH * most)


def _filled(sheet: Sheet, number: int, columns: list[int]) -> int:
    """Count a row's cells, those that are merged over columns as many times; a merged title counts once."""
    count = sum(column in sheet.rows[number] for column in columns)
    for span in sheet.spans_from(number):
        if span.left in sheet.rows[number] and span.right - span.left + 1 < len(columns):
            count += span.right - span.left
    return count


def _grid(sheet: Sheet, numbers: list[int], columns: list[int]) -> list[GridCell]:
    place = {column: index for index, column in enumerate(columns)}
    cells = []
    for index, number in enumerate(numbers):
        merged = {span.left: span for span in sheet.spans_from(number)}
        for column, cell in sheet.rows[number].items():
            if column not in place:
                continue
            span = merged.get(column)
            high = bisect_right(numbers, span.bottom) - index if span else 1
            wide = bisect_right(columns, span.right) - place[column] if span else 1
            cells.append(GridCell(index, place[column], cell.text, rows=high, columns=wide))
    return cells


def _has_second_line(sheet: Sheet, numbers: list[int], columns: list[int]) -> bool:
    """Tell whether the second row names columns too, under names of the first that reach over several, unmerged."""
    if len(numbers) < 3:
        return False
    first, second, third = (sheet.rows[number] for number in numbers[:3])
    if not _are_texts(sheet, numbers[:2]) or len(first) >= len(columns):
        return False
    fills = [column for column in columns if column in second and column not in first]
    numbers_below = any(third[column].is_number for column in fills if column in third)
    return numbers_below and len(second) >= len(first)


def _spread(first: list[str], second: list[str]) -> list[str]:
    """Repeat a name to the right, over the columns that have a name of their own below."""
    spread, last = [], ""
    for above, below in zip(first, second, strict=True):
        last = above or (last if below else "")
        spread.append(last)
    return spread


def _are_texts(sheet: Sheet, numbers: list[int]) -> bool:
    return bool(numbers) and not any(cell.is_number for number in numbers for cell in sheet.rows[number].values())


def _is_units(row: dict[int, Cell]) -> bool:
    return bool(row) and all(_UNIT.fullmatch(cell.text.strip()) for cell in row.values())


def _line(row: dict[int, Cell], columns: list[int]) -> str:
    texts = [row[column].text.strip() for column in columns if column in row]
    if len(texts) == 2 and not texts[0].endswith(":"):
        return " : ".join(texts)
    return " ".join(texts)


def _raw_values(
    sheet: Sheet, numbers: list[int], columns: list[int], rows: list[list[str]], height: int
) -> list[tuple[str, list[str]]]:
    found = []
    for index, column in enumerate(columns):
        stored = [sheet.rows[number][column].raw for number in numbers[height:] if column in sheet.rows[number]]
        values = list(dict.fromkeys(value for value in stored if value))
        if values:
            names = dict.fromkeys(row[index] for row in rows[:height] if row[index])
            found.append((" – ".join(names), values))
    return found
