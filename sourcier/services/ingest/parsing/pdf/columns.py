"""Reading order: columns of prose are found by the white between them and read one after the other.

A white stripe through several lines parts two columns where both sides read as prose, or where their lines do not
stand at the same heights. Otherwise it parts the columns of a table, or a label from its value, which are read across.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import NamedTuple

from sourcier.services.ingest.parsing.pdf.lines import Line, lines_of_segments

_LINES_MIN = 3
_GUTTER_EM = 0.9
"""Least width of the white between columns, in sizes of the font."""
_DEPTH_MAX = 12
_ACTIVE_MAX = 24
_TRIED_MAX = 16
_FULL_SHARE = 0.62
_PROSE_WORDS = 3.4
_BLOCK_LINES_MAX = 8
_LARGE = 1.15
"""A heading is so many times as large as text."""
_SHORT = 0.6
_PARTED = 1.7
"""Lines further apart, in usual distances, belong to different parts of the page."""
_BELOW = 4.0
"""As far below its column, in usual distances, a block may stand that ends the page."""
_NEAR = 0.9
"""Baselines nearer than so many sizes of type are not those of two lines of one column."""
_BULLET = re.compile(r"[•◦▪‣●○■□☐☒➢➤✓–—-]\s*\w")


class _Gutter(NamedTuple):
    """A white stripe between `left` and `right` through the lines `first` to `end`, the end not included."""

    left: float
    right: float
    first: int
    end: int


@dataclass(frozen=True, slots=True)
class Region:
    """Lines that are read from top to bottom, one whole line after the other."""

    lines: tuple[Line, ...]


def regions_of(lines: Sequence[Line], *, body_size: float, depth: int = 0) -> list[Region]:
    """Return the parts of a page, or of a column, in reading order; text larger than `body_size` may be a heading."""
    if not lines:
        return []
    found = None if depth >= _DEPTH_MAX or len(lines) < _LINES_MIN else _best_gutter(lines, body_size)
    if found is None:
        return [Region(tuple(lines))]
    at = (found.left + found.right) / 2
    found = found._replace(end=_section_end(lines, found, at, body_size))
    middle = lines[found.first : found.end]
    left = _side(middle, at, left=True)
    right = _side(middle, at, left=False)
    return [
        *regions_of(lines[: found.first], body_size=body_size, depth=depth + 1),
        *regions_of(left, body_size=body_size, depth=depth + 1),
        *regions_of(right, body_size=body_size, depth=depth + 1),
        *regions_of(lines[found.end :], body_size=body_size, depth=depth + 1),
    ]


def _section_end(lines: Sequence[Line], gutter: _Gutter, at: float, body_size: float) -> int:
    """Return where the columns end: at a heading over all of them, which is short enough to cross no white.

    Nothing stands beside it, the columns above end at about one height, and those below begin at one.
    """
    for index in range(gutter.first + 2, gutter.end - 2):
        line, above, below = lines[index], lines[index - 1], lines[index + 1]
        if line.size < _LARGE * body_size or line.right > at:
            continue
        beside_above = next((each for each in lines[gutter.first : index][::-1] if each.right > at), None)
        beside_below = next((each for each in lines[index + 1 : gutter.end] if each.right > at), None)
        if beside_above is None or beside_below is None or below.left > at:
            continue
        if any(each.size >= _LARGE * body_size for row in (below, beside_below) for each in row.segments):
            continue  # each column has a heading of its own
        white = beside_below.baseline - beside_above.baseline
        if (
            white >= 1.2 * line.size + 1.6 * body_size
            and abs(beside_below.baseline - below.baseline) <= 0.3 * body_size
            and abs(beside_above.baseline - above.baseline) <= 2.0 * body_size
        ):
            return index
    return gutter.end


def _side(lines: Iterable[Line], at: float, *, left: bool) -> list[Line]:
    """Return one side of a gutter; its lines are grouped anew, for the other side may have pulled them together."""
    return lines_of_segments(s for line in lines for s in line.segments if (s.left + s.right < 2 * at) == left)


def _best_gutter(lines: Sequence[Line], body_size: float) -> _Gutter | None:
    weighted: list[tuple[float, _Gutter]] = []
    # The longest first, and few of them: on a page of scattered pieces there is one beside each.
    longest = sorted(_gutters(lines), key=lambda gutter: gutter.first - gutter.end)[:_TRIED_MAX]
    for gutter in {_trimmed(gutter, lines) for gutter in longest}:
        if gutter is not None:
            height = lines[gutter.end - 1].bottom - lines[gutter.first].top
            # The longest stripe; of equal ones the widest.
            weighted.append((height * (1 + min(gutter.right - gutter.left, 40.0) / 200), gutter))
    weighted.sort(reverse=True)
    return next((gutter for _, gutter in weighted if _parts_columns(gutter, lines, body_size)), None)


def _gutters(lines: Sequence[Line]) -> Iterator[_Gutter]:
    """Yield stripes that no line crosses, as long as they go."""
    left, right = min(line.left for line in lines), max(line.right for line in lines)
    usual = median(line.size for line in lines)
    active: list[_Gutter] = []
    for index, line in enumerate(lines):
        # A heading in larger type stands in the same columns as its text.
        least = _GUTTER_EM * min(line.size, usual)
        white = [gap for gap in _white(line, left, right) if gap[1] - gap[0] >= least]
        kept: dict[tuple[int, int], _Gutter] = {}
        for gutter in active:
            narrowed = [
                (max(gap[0], gutter.left), min(gap[1], gutter.right))
                for gap in white
                if min(gap[1], gutter.right) - max(gap[0], gutter.left) >= least
            ]
            if not narrowed or all(width[1] - width[0] < 0.5 * (gutter.right - gutter.left) for width in narrowed):
                yield gutter._replace(end=index)
            for start, end in narrowed:
                key = round(start), round(end)
                if key not in kept or kept[key].first > gutter.first:
                    kept[key] = _Gutter(start, end, gutter.first, index + 1)
        for start, end in white:
            # Where lines of two columns never share a height, the white beside a short line is a beginning, too.
            if (start > left and end < right) or line.right - line.left < _SHORT * (right - left):
                kept.setdefault((round(start), round(end)), _Gutter(start, end, index, index + 1))
        active = sorted(kept.values(), key=lambda gutter: (gutter.first, gutter.left - gutter.right))[:_ACTIVE_MAX]
    yield from active


def _white(line: Line, left: float, right: float) -> Iterator[tuple[float, float]]:
    at = left - 1000.0
    for segment in line.segments:
        if segment.left > at:
            yield at, segment.left
        at = max(at, segment.right)
    yield at, right + 1000.0


def _trimmed(gutter: _Gutter, lines: Sequence[Line]) -> _Gutter | None:
    """Leave out lines at both ends that have text on one side only and stand apart."""
    at = (gutter.left + gutter.right) / 2
    both = [index for index in range(gutter.first, gutter.end) if _beside(lines, index, gutter, at)]
    if len(both) < 2:
        return _staggered(gutter, lines, at)
    first, end = both[0], both[-1] + 1
    distances = _distances(lines[first:end], at)
    usual = max(median(distances or [0.0]), 1.15 * median(line.size for line in lines[first:end]))
    # What is left of the longer column goes on after a heading or a paragraph as the columns do elsewhere.
    parted = max(_PARTED * usual, 1.1 * max(distances, default=0.0))
    while first and (above := _belongs_above(lines, first, gutter, usual)):
        first -= above
    while end < gutter.end and lines[end].baseline - lines[end - 1].baseline <= parted:
        end += 1
    if gutter.end == len(lines) and _goes_on_below(lines[first:end], lines[end:], at, usual):
        end = gutter.end
    end = _without_heading_below(gutter, lines, both[-1] + 1, end, usual)
    return gutter._replace(first=first, end=end) if end - first >= _LINES_MIN else None


def _belongs_above(lines: Sequence[Line], first: int, gutter: _Gutter, usual: float) -> int:
    """Return how many lines right above the columns are their first ones.

    A third column may begin below the first line of the other two, where no white of its own has begun.
    """
    line = lines[first - 1]
    away = lines[first].baseline - line.baseline
    if away > _PARTED * usual or (first <= gutter.first and _crosses(line, gutter)):
        return 0
    if away <= 1.25 * usual or line.right <= gutter.left:
        return 1
    # Beginnings of two columns that share no heights: one line of the left, a heading of the right.
    beside = first > 1 and lines[first - 2].right <= gutter.left and line.left >= gutter.right
    return 2 if beside and line.baseline - lines[first - 2].baseline <= 1.25 * usual else 0


def _crosses(line: Line, gutter: _Gutter) -> bool:
    return any(segment.left < gutter.right and gutter.left < segment.right for segment in line.segments)


def _goes_on_below(columns: Sequence[Line], rest: Sequence[Line], at: float, usual: float) -> bool:
    """Tell whether what is left of a page, all on one side, is of the column above it: lines broken at its width."""
    left = all(line.right < at for line in rest)
    if len(rest) < 2 or not (left or all(line.left > at for line in rest)):
        return False
    side = _side(columns, at, left=left)
    reach = max(line.right for line in side) - min(line.left for line in side)
    size = median(line.size for line in side)
    return (
        rest[0].baseline - columns[-1].baseline <= _BELOW * usual
        and max(line.right - line.left for line in rest) >= _FULL_SHARE * reach
        and any(abs(line.size - size) <= 0.1 * size for line in rest)
    )


def _without_heading_below(gutter: _Gutter, lines: Sequence[Line], least: int, end: int, usual: float) -> int:
    """Leave out a heading of what stands below both columns: it is nearer to that than to the column above it."""
    if end < gutter.end or end >= len(lines):
        return end
    start = end - 1
    while start > least and lines[start].baseline - lines[start - 1].baseline <= _PARTED * usual:
        start -= 1
    if start < max(least, 1):
        return end
    above = lines[start].top - lines[start - 1].bottom
    return start if lines[end].top - lines[end - 1].bottom < above else end


def _beside(lines: Sequence[Line], index: int, gutter: _Gutter, at: float) -> bool:
    """Tell whether a line has text on both sides, or one of the other side at its height: columns need not share
    their baselines."""
    line = lines[index]
    if line.left < at < line.right:
        return True
    for way in (range(index - 1, gutter.first - 1, -1), range(index + 1, gutter.end)):
        for other in map(lines.__getitem__, way):
            if abs(other.baseline - line.baseline) >= _NEAR * max(other.size, line.size):
                break
            if (other.left < at) != (line.left < at):
                return True
    return False


def _staggered(gutter: _Gutter, lines: Sequence[Line], at: float) -> _Gutter | None:
    """Columns whose lines never share a height show no line on both sides: they alternate."""
    sides = [lines[index].right < at for index in range(gutter.first, gutter.end)]
    changes = sum(one != other for one, other in pairwise(sides))
    return gutter if changes >= _LINES_MIN else None


def _distances(lines: Sequence[Line], at: float) -> list[float]:
    """Return how far apart lines are on either side: those of two columns need not share heights."""
    return [
        below - above
        for baselines in ([line.baseline for line in lines if line.left < at],
                          [line.baseline for line in lines if line.right > at])
        for above, below in pairwise(baselines)
    ]


def _parts_columns(gutter: _Gutter, lines: Sequence[Line], body_size: float) -> bool:
    at = (gutter.left + gutter.right) / 2
    middle = lines[gutter.first : gutter.end]
    left, right = _side(middle, at, left=True), _side(middle, at, left=False)
    if len(left) < _LINES_MIN - 1 or len(right) < _LINES_MIN - 1 or len(left) + len(right) < 2 * _LINES_MIN - 1:
        return False
    drawn = any(not line.written for line in left), any(not line.written for line in right)
    if any(drawn):
        left, right = [line for line in left if line.written], [line for line in right if line.written]
    if _is_list(left) and _is_list(right):
        return True
    prose = _is_prose(left), _is_prose(right)
    if all(prose):
        return True
    if any(drawn):
        # A drawn table beside text stands in a column; beside single words these belong to it.
        return (prose[0] and drawn[1]) or (prose[1] and drawn[0])
    if _begins_large(left, right, body_size):
        return True
    if _written_apart(left, right):
        return True
    return _share_heights(left, right) < 0.35 and (any(prose) or _is_long(left) or _is_long(right))


def _written_apart(left: Sequence[Line], right: Sequence[Line]) -> bool:
    """Tell whether two small blocks side by side, such as addresses, were written one after the other.

    Labels with their values, and rows of cells, are written line by line mostly; the last line of an address, or of
    what a letter says of itself, has a number, that of labels has none.
    """
    if max(len(left), len(right)) > _BLOCK_LINES_MAX or any(len(line.segments) > 1 for line in (*left, *right)):
        return False
    if any(line.text.endswith((":", "...", "…")) for line in left) or not re.search("[0-9]", left[-1].text):
        return False
    named = sum(any(map(str.isalpha, line.text)) for line in right)
    firsts = [[word.first for line in side for word in line.words] for side in (left, right)]
    return 2 * named > len(right) and min(firsts[0]) >= 0 and max(firsts[0]) < min(firsts[1])


def _begins_large(left: Sequence[Line], right: Sequence[Line], body_size: float) -> bool:
    """Tell whether both sides begin with a heading, or one side is a heading and the other one text.

    Cells of a row are of one size. A heading alone is a column that has just begun where it stands at its top.
    """
    least = _LARGE * body_size
    sides = (left, right)
    large = [[line.size >= least for line in side] for side in sides]
    top = abs(left[0].baseline - right[0].baseline) <= 2 * max(left[0].size, right[0].size)
    if not top or (all(large[0]) and all(large[1])):
        return False
    if large[0][0] and large[1][0]:
        return True
    return any(
        all(sizes) and _is_prose(other) and side[-1].baseline - side[0].baseline <= len(side) * 1.4 * side[0].size
        for sizes, side, other in zip(large, sides, sides[::-1], strict=True)
    )


def _is_long(lines: Sequence[Line]) -> bool:
    return len(lines) >= 4 and sum(len(line.text.split()) for line in lines) >= _PROSE_WORDS * len(lines) * 0.75


def _is_prose(lines: Sequence[Line]) -> bool:
    """Tell whether most lines reach the margin, and hold several words."""
    body = [segment for line in lines for segment in line.segments]
    if len(body) < 2:
        return False
    left, right = min(s.left for s in body), max(s.right for s in body)
    full = sum((line.right - left) >= _FULL_SHARE * (right - left) for line in lines)
    words = sum(len(segment.words) for segment in body) / len(lines)
    if full < 0.5 * len(lines) or words < _PROSE_WORDS or not _runs_on(lines):
        return False
    letters = sum(character.isalpha() for segment in body for character in segment.text)
    digits = sum(character.isdigit() for segment in body for character in segment.text)
    return letters > 3 * digits


def _runs_on(lines: Sequence[Line]) -> bool:
    """Tell whether sentences go on from line to line, which cells of a table do not."""
    pairs = list(pairwise(lines))
    going_on = sum(
        below.text[:1].islower() or not above.text.endswith((".", "!", "?", ":", ";")) for above, below in pairs
    )
    lower = sum(below.text[:1].islower() for _, below in pairs)
    return going_on >= 0.4 * len(pairs) and lower >= 0.2 * len(pairs)


def _is_list(lines: Sequence[Line]) -> bool:
    return sum(_BULLET.match(line.text) is not None for line in lines) >= max(2, 0.4 * len(lines))


def _share_heights(left: Sequence[Line], right: Sequence[Line]) -> float:
    """Return which share of the shorter side's lines have one of the other side at their height."""
    heights = sorted(line.baseline for line in right)
    tolerance = 0.15 * median(line.size for line in (*left, *right))
    shared = 0
    place = 0
    for line in sorted(left, key=lambda line: line.baseline):
        while place < len(heights) and heights[place] < line.baseline - tolerance:
            place += 1
        shared += place < len(heights) and abs(heights[place] - line.baseline) <= tolerance
    return shared / max(min(len(left), len(right)), 1)
