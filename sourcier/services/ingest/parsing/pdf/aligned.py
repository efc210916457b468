"""Tables that only alignment shows: lines whose segments stand in the same columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import median

from sourcier.services.ingest.parsing.pdf.content.elements import Box
from sourcier.services.ingest.parsing.pdf.lines import Line, Segment
from sourcier.services.ingest.parsing.pdf.stripes import cut_at_stripes
from sourcier.services.ingest.parsing.pdf.tables import Cell, Table, cell_of_segments

_ROWS_MIN = 2
_GAP_MAX = 3.2
"""Rows further apart, in sizes of the font, belong to different tables."""
_BETWEEN_COLUMNS = 0.5
_COLUMNS_MAX = 40
_PROSE_WORDS = 11
_MARGIN = 0.7
_JUMP = 1.2
"""Rows are further apart than lines of a cell by this factor."""
_LEADING_MAX = 1.5
_SPACED_ROWS_MIN = 3
_BROKEN = 0.6
_CONTINUES = 0.87
"""A line nearer to the one above than this share of the usual distance of rows goes on with its cells."""


@dataclass(slots=True)
class _Band:
    """A column: from where to where its cells reach."""

    left: float
    right: float


@dataclass(slots=True)
class _Candidate:
    """Lines that stand in the same columns."""

    lines: list[Line]
    bands: list[_Band] = field(default_factory=list)


def aligned_tables(lines: Sequence[Line], page: int) -> list[Table | Line]:
    """Return the lines, those that form a table as one."""
    found: list[Table | Line] = []
    index = 0
    cut = cut_at_stripes(lines)
    while index < len(lines):
        candidate = _grow(cut, index)
        rows = _rows(candidate) if candidate else []
        if candidate and _is_table(rows, candidate):
            table = _table(rows, candidate, page)
            above = found[-1] if found else None
            if isinstance(above, Line) and _spans(above, candidate):
                found.pop()
                table.rows.insert(0, _spanning_header(above, candidate))
            found.append(table)
            index += len(candidate.lines)
        else:
            found.append(lines[index])
            index += 1
    return found


def _grow(lines: Sequence[Line], start: int) -> _Candidate | None:
    first = lines[start]
    if len(first.segments) < 2 or not _tabular(first):
        return None
    candidate = _Candidate([first], [_Band(s.left, s.right) for s in first.segments])
    for line in lines[start + 1 :]:
        previous = candidate.lines[-1]
        if line.top - previous.bottom > _GAP_MAX * max(line.size, previous.size) or not _tabular(line):
            break
        bands = _placed(line, candidate.bands)
        if bands is None or (len(line.segments) == 1 and not _belongs(line, candidate, bands)):
            break
        candidate.lines.append(line)
        candidate.bands = bands
    while candidate.lines and len(candidate.lines[-1].segments) == 1 and _ends_apart(candidate):
        candidate.lines.pop()
    return candidate


def _tabular(line: Line) -> bool:
    return all(len(segment.words) <= _PROSE_WORDS for segment in line.segments)


def _placed(line: Line, bands: Sequence[_Band]) -> list[_Band] | None:
    """Return the columns widened by a line's segments, None where one would reach into a second column."""
    widened = [_Band(band.left, band.right) for band in bands]
    filled: set[int] = set()
    for segment in line.segments:
        over = [band for band in widened if min(band.right, segment.right) - max(band.left, segment.left) > 0.5]
        if len(over) > 1 or (over and id(over[0]) in filled):
            return None
        filled.update(map(id, over))
        if not over:
            widened.append(_Band(segment.left, segment.right))
            widened.sort(key=lambda band: band.left)
        else:
            over[0].left, over[0].right = min(over[0].left, segment.left), max(over[0].right, segment.right)
    between = _BETWEEN_COLUMNS * line.size
    apart = all(right.left - left.right >= between for left, right in pairwise(widened))
    return widened if apart and len(widened) <= _COLUMNS_MAX else None


def _belongs(line: Line, candidate: _Candidate, bands: Sequence[_Band]) -> bool:
    """Tell whether a line with one segment is a row, or goes on with a cell: a paragraph below a table is neither."""
    segment = line.segments[0]
    if len(bands) > len(candidate.bands) and len(candidate.lines) > 1:
        return False
    alone = next(
        (i for i, band in enumerate(bands) if band.left - 1 <= segment.left and segment.right <= band.right + 1), -1
    )
    previous = candidate.lines[-1]
    if alone > 0:
        return True
    # In the first column: a label whose other cells are empty, or a heading or text below the table.
    if segment.bold and not previous.bold:
        return False
    distance = line.baseline - previous.baseline
    usual = _usual(candidate.lines)
    return (
        alone == 0
        and distance <= 1.35 * usual
        and abs(segment.left - candidate.bands[0].left) <= 2 * line.size
        and len(segment.words) <= 6
        and segment.right <= _first_reach(candidate) + 6 * line.size
    )


def _first_reach(candidate: _Candidate) -> float:
    return max(line.segments[0].right for line in candidate.lines)


def _usual(lines: Sequence[Line]) -> float:
    distances = [below.baseline - above.baseline for above, below in pairwise(lines[-12:])]
    return median(distances) if distances else 1.6 * lines[0].size


def _ends_apart(candidate: _Candidate) -> bool:
    """Tell whether the last line, with one segment in the first column, stands further away than the rows do."""
    lines, last = candidate.lines, candidate.lines[-1]
    if len(lines) < 3 or last.segments[0].left > candidate.bands[0].right:
        return False
    return lines[-1].baseline - lines[-2].baseline > 1.2 * _usual(lines[:-1])


def _rows(candidate: _Candidate) -> list[list[list[Segment]]]:
    """Return rows of cells of segments; lines that go on with the row above are part of it."""
    distances = [
        below.baseline - above.baseline
        for above, below in pairwise(candidate.lines)
        if len(below.segments) > 1 and _column(below.segments[0], candidate.bands) == 0
    ]
    usual = median(distances) if distances else 0.0
    spaced = _spaced_rows(candidate)
    if spaced:
        return spaced
    rows: list[list[list[Segment]]] = []
    previous: Line | None = None
    for line in candidate.lines:
        cells: list[list[Segment]] = [[] for _ in candidate.bands]
        for segment in line.segments:
            cells[_column(segment, candidate.bands)].append(segment)
        goes_on = previous is not None and not _stacks_figures(rows[-1], cells) and (
            _continues(line, previous, cells, usual, candidate.bands)
            or (len(rows) == 1 and _header_goes_on(line, previous, cells, rows[0]))
        )
        if goes_on:
            for cell, more in zip(rows[-1], cells, strict=True):
                cell.extend(more)
        else:
            rows.append(cells)
        previous = line
    return rows


def _stacks_figures(row: Sequence[Sequence[Segment]], cells: Sequence[Sequence[Segment]]) -> bool:
    """Tell whether a figure would come below a figure in one cell: these are two rows."""
    return any(cell and more and _is_figure(cell[-1].text) and _is_figure(more[0].text)
               for cell, more in zip(row, cells, strict=True))


def _is_figure(text: str) -> bool:
    return any(map(str.isdigit, text)) and not any(map(str.isalpha, text))


def _spaced_rows(candidate: _Candidate) -> list[list[list[Segment]]]:
    """Return rows where white parts them and a cell of several lines has its neighbours at its middle or its foot.

    Empty where that is not certain: lines that white groups may be rows of a section.
    """
    lines, bands = candidate.lines, candidate.bands
    distances = sorted(below.baseline - above.baseline for above, below in pairwise(lines))
    size = median(line.size for line in lines)
    # The widest of them: where a label stands between two lines, there are half distances, too.
    within = max((before for before, after in pairwise(distances)
                  if before <= _LEADING_MAX * size and after >= _JUMP * before), default=0.0)
    if not within:
        return []
    rows: list[list[list[Segment]]] = []
    above: Line | None = None
    for line in lines:
        if above is None or line.baseline - above.baseline > within + 0.5:
            rows.append([[] for _ in bands])
        for segment in line.segments:
            rows[-1][_column(segment, bands)].append(segment)
        above = line
    return rows if len(rows) >= _SPACED_ROWS_MIN and _are_whole(rows, bands) else []


def _are_whole(rows: Sequence[Sequence[Sequence[Segment]]], bands: Sequence[_Band]) -> bool:
    """Tell whether groups of lines are one row each: a column has one line in each, text goes on in the others."""
    single = any(
        all(len(row[column]) <= 1 for row in rows) and 2 * sum(bool(row[column]) for row in rows) > len(rows)
        for column in range(len(bands))
    )
    several = [(band, cell) for row in rows for band, cell in zip(bands, row, strict=True) if len(cell) > 1]
    if not single or any(not any(map(str.isalpha, segment.text)) for _, cell in several for segment in cell[:1]):
        return False
    # What the margin of its column broke filled the line before.
    broken = [
        after.text[:1].islower() and before.right - before.left >= _BROKEN * (band.right - band.left)
        for band, cell in several for before, after in pairwise(cell)
    ]
    return bool(broken) and 2 * sum(broken) >= len(broken)


def _continues(
    line: Line, previous: Line, cells: Sequence[Sequence[Segment]], usual: float, bands: Sequence[_Band]
) -> bool:
    distance = line.baseline - previous.baseline
    if usual and distance < _CONTINUES * usual and distance <= 1.5 * line.size:
        return len(line.segments) < len(bands) or not cells[0]
    if cells[0] or len(line.segments) > 1 or distance > 1.5 * line.size:
        return False
    segment = line.segments[0]
    band = bands[_column(segment, bands)]
    above = next((s for s in previous.segments if _column(s, bands) == _column(segment, bands)), None)
    return (
        above is not None and segment.text[:1].islower() and above.right - above.left >= 0.7 * (band.right - band.left)
    )


def _header_goes_on(
    line: Line, header: Line, cells: Sequence[Sequence[Segment]], above: Sequence[Sequence[Segment]]
) -> bool:
    """Tell whether a line is the second one of a header: it begins where words break, and says no figures."""
    under = all(above[column] for column, cell in enumerate(cells) if cell)
    breaks = [s.text[:1].islower() or s.text[:1] in "(/[" for cell in cells for s in cell]
    near = line.baseline - header.baseline <= 1.6 * line.size
    return near and under and all(breaks) and line.bold == header.bold and len(line.segments) < len(above)


def _column(segment: Segment, bands: Sequence[_Band]) -> int:
    return max(
        range(len(bands)),
        key=lambda i: min(bands[i].right, segment.right) - max(bands[i].left, segment.left),
    )


def _is_table(rows: Sequence[Sequence[Sequence[Segment]]], candidate: _Candidate) -> bool:
    columns = len(candidate.bands)
    if _is_stretched(candidate.lines):
        return False
    labels = [row[0][-1].text.endswith(":") for row in rows if row[0]]
    if 2 * sum(labels) >= max(len(labels), 1) or all(cell[-1].text.endswith(":") for cell in rows[0][::2] if cell):
        return False  # labels and values, one or more pairs a line
    full = [row for row in rows if sum(bool(cell) for cell in row) >= 2]
    if columns < 3:
        return len(rows) >= 3 and len(full) >= max(2, 0.5 * len(rows)) and _has_header(rows)
    wide = [row for row in rows if sum(bool(cell) for cell in row) >= min(3, columns)]
    return len(rows) >= _ROWS_MIN and len(full) >= max(2, 0.5 * len(rows)) and len(wide) >= 1


def _is_stretched(lines: Sequence[Line]) -> bool:
    """Tell whether lines are prose whose spaces were made wide: all reach both margins, most words begin small."""
    left, right = lines[0].left, lines[0].right
    if any(abs(line.left - left) > _MARGIN or abs(line.right - right) > _MARGIN for line in lines):
        return False
    words = [segment.text for line in lines for segment in line.segments]
    return 2 * sum(text[:1].islower() for text in words) > len(words)


def _has_header(rows: Sequence[Sequence[Sequence[Segment]]]) -> bool:
    """Tell whether a table of two columns has a header: otherwise it is a list of labels and values."""
    first, rest = rows[0], rows[1:]
    if not all(first):
        return False
    values = [cell[0].text for row in rest for cell in row[1:2] if cell]
    numbers = sum(any(map(str.isdigit, value)) for value in values)
    header = [segment for cell in first for segment in cell]
    bold = all(segment.bold for segment in header) and not all(s.bold for row in rest for cell in row[1:] for s in cell)
    words_only = not any(character.isdigit() for segment in header for character in segment.text)
    return bold or (words_only and len(rest) >= 3 and numbers == len(values) == len(rest))


def _spans(line: Line, candidate: _Candidate) -> bool:
    """Tell whether the line above a table is its first header: it says what several columns have in common."""
    first = candidate.lines[0]
    near = 0 < first.baseline - line.baseline <= 2 * max(line.size, first.size)
    reach = candidate.bands[0].left - 2 * line.size, candidate.bands[-1].right + 2 * line.size
    within = line.left >= reach[0] and line.right <= reach[1]
    return near and within and len(line.segments) > 1 and _tabular(line)


def _is_spanning(texts: Sequence[Sequence[str]], first: Line) -> bool:
    """Tell whether the first row says what columns have in common that the second one names."""
    return (
        len(texts) > 2
        and 1 < len(first.segments) < len(texts[0]) - 1
        and not texts[0][0]
        and all(texts[1])
        and not any(character.isdigit() for cell in texts[1] for character in cell)
    )


def _spanning_header(line: Line, candidate: _Candidate) -> list[Cell]:
    """Return for each column the segment that stands above it."""
    middles = [(segment.left + segment.right) / 2 for segment in line.segments]
    reach = min(right - left for left, right in pairwise(middles)) / 2
    header: list[Cell] = []
    for band in candidate.bands:
        middle = (band.left + band.right) / 2
        away, nearest = min((abs(middle - other), index) for index, other in enumerate(middles))
        header.append(cell_of_segments([line.segments[nearest]]) if away <= reach else Cell())
    return header


def _titled(rows: list[list[Cell]], edges: list[float]) -> tuple[list[list[Cell]], list[float]]:
    """Join a column that is a header alone with the one beside it that lacks one: its values are set to the right."""
    column = 0
    while column + 1 < len(rows[0]):
        for named, valued in ((column, column + 1), (column + 1, column)):
            header = rows[0]
            alone = header[named].text and not header[valued].text and not any(row[named].text for row in rows[1:])
            if alone and len(rows) > 1:
                rows = [
                    [*row[:column], row[column] if row[column].text else row[column + 1], *row[column + 2 :]]
                    for row in rows
                ]
                edges = [*edges[: column + 1], *edges[column + 2 :]]
                break
        else:
            column += 1
    return rows, edges


def _table(rows: Sequence[Sequence[Sequence[Segment]]], candidate: _Candidate, page: int) -> Table:
    lines = candidate.lines
    box = Box(
        min(line.left for line in lines),
        min(line.top for line in lines),
        max(line.right for line in lines),
        max(line.bottom for line in lines),
    )
    cells = [
        [cell_of_segments(sorted(cell, key=lambda s: (s.baseline, s.left))) for cell in row] for row in rows
    ]
    if _is_spanning([[cell.text for cell in row] for row in cells[:3]], lines[0]):
        cells[0] = _spanning_header(lines[0], candidate)
    cells, edges = _titled(cells, [*(band.left for band in candidate.bands), candidate.bands[-1].right])
    bands = tuple((band.left, band.right) for band in candidate.bands)
    return Table(page, box, cells, tuple(edges), bands if len(bands) == len(edges) - 1 else ())
