"""Columns of a table that stand closer than a wide gap: figures set to the right, and beside them text set to the left.

One line alone does not tell such a gap from a wide space; several lines that are all white at the same place do.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from statistics import median

from sourcier.services.ingest.parsing.pdf.content.elements import Word
from sourcier.services.ingest.parsing.pdf.lines import Line, Segment

_LEAST_EM = 0.45
"""Least width of the white between two columns; a space takes 0.25 to 0.35."""
_LINES_MIN = 3
_CROSSING_SHARE = 0.12
"""Of the lines that have text on both sides: a title over two columns may cross the white between them."""
_APART_EM = 3.2
"""Lines further apart belong to different parts of the page."""
_STEP_MAX = 1.25
"""A single piece further from the row above it than rows are from one another, times this, is text below the table."""
_TRIED_MAX = 64
"""Places: a table has far fewer columns, and prose has many gaps."""

_BOXES = frozenset("☐☑☒□■")


def cut_at_stripes(lines: Sequence[Line]) -> list[Line]:
    """Return the lines, the segments of a table's rows cut at the white that they have in common."""
    cut = list(lines)
    for start, end in _runs(lines):
        stripes = _stripes(lines[start:end])
        if stripes:
            cut[start:end] = [_cut(line, stripes) for line in lines[start:end]]
    return cut


def _runs(lines: Sequence[Line]) -> Iterator[tuple[int, int]]:
    """Yield from where to where lines follow one another of which the first and the last have more than one segment."""
    start: int | None = None
    last = 0
    step = 0.0
    for index, line in enumerate(lines):
        if start is not None and _ends(line, lines[last - 1], lines[index - 1], step):
            if last - start >= _LINES_MIN:
                yield start, last
            start = None
        if len(line.segments) > 1:
            step = 0.0 if start is None else max(step, line.baseline - lines[index - 1].baseline)
            start, last = (index if start is None else start), index + 1
    if start is not None and last - start >= _LINES_MIN:
        yield start, last


def _ends(line: Line, row: Line, previous: Line, step: float) -> bool:
    """Tell whether a line is not of the last row's table: it stands apart, or is text that covers a gap of that row."""
    if line.top - previous.bottom > _APART_EM * line.size:
        return True
    if len(line.segments) == 1 and 0 < step * _STEP_MAX < line.baseline - previous.baseline:
        return True
    return len(line.segments) == 1 and any(
        line.left < before.right and after.left < line.right for before, after in pairwise(row.segments)
    )


def _stripes(lines: Sequence[Line]) -> list[tuple[float, float]]:
    """Return the white stripes that go through the lines, narrower than a wide gap in at least one of them."""
    least = _LEAST_EM * median(line.size for line in lines)
    spaces = [list(_spaces(line)) for line in lines]
    candidates = {(round(right, 1), round(left, 1)) for line in lines for right, left in _narrow(line, least)}
    found = []
    for right, left in sorted(candidates)[:_TRIED_MAX]:
        common = [
            white for each in spaces
            if (white := max(((max(right, start), min(left, end)) for start, end in each),
                             key=lambda white: white[1] - white[0], default=None))
        ]
        both = [white for white, line in zip(common, lines, strict=False) if line.left < left and line.right > right]
        open_ = [white for white in both if white[1] - white[0] >= least]
        if len(open_) >= _LINES_MIN and len(both) - len(open_) <= _CROSSING_SHARE * len(both):
            edges = max(white[0] for white in open_), min(white[1] for white in open_)
            if edges[1] - edges[0] >= least:
                found.append(edges)
    return found


def _spaces(line: Line) -> Iterator[tuple[float, float]]:
    """Yield the white of a line, that before its first word and behind its last one included."""
    right = -1000.0
    for word in sorted((word for segment in line.segments for word in segment.words), key=lambda word: word.left):
        if word.left > right:
            yield right, word.left
        right = max(right, word.right)
    yield right, right + 2000.0


def _narrow(line: Line, least: float) -> Iterator[tuple[float, float]]:
    for segment in line.segments:
        for previous, word in pairwise(segment.words):
            if word.left - previous.right >= least and not _is_box(previous) and not _is_box(word):
                yield previous.right, word.left


def _is_box(word: Word) -> bool:
    """Tell whether a word is a box to tick, which belongs to its label."""
    return word.text in _BOXES


def _cut(line: Line, stripes: Sequence[tuple[float, float]]) -> Line:
    segments = [part for segment in line.segments for part in _parts(segment, stripes)]
    return Line.of(segments) if len(segments) > len(line.segments) else line


def _parts(segment: Segment, stripes: Sequence[tuple[float, float]]) -> Iterator[Segment]:
    words: list[Word] = []
    for word in segment.words:
        gap = bool(words) and not _is_box(words[-1]) and not _is_box(word)
        if gap and any(words[-1].right <= start + 0.2 and end - 0.2 <= word.left for start, end in stripes):
            yield Segment.of(words)
            words = []
        words.append(word)
    yield Segment.of(words)
