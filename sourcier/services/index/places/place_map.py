"""From any range of characters to its places: stretches of text, each with where it stands, and where its words do.

A stretch is a line on a page, a row of a sheet, a paragraph: what has one place. Of a line on a page each word keeps
its own edges, so that a sentence that begins in the middle of the line gets a rectangle of its own words.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import NamedTuple

from sourcier.services.index.places.place import (
    CellsPlace,
    FilePlace,
    LinesPlace,
    PagePlace,
    ParagraphsPlace,
    Place,
    Rectangle,
    SlidePlace,
    TimePlace,
    cell_range,
)

UNITS_PER_POINT = 10
"""Lengths on pages are kept in tenths of a point: a third of a pixel at 300 dots an inch is 0.08 points."""
RECTANGLES_MAX = 400
"""Of one place: a page of small print has 150 lines."""
_JOINED_GAP = 1.2
"""In heights of the line: pieces of one line with a wider gap between them are marked apart."""


class Kind(IntEnum):
    """What a frame counts in."""

    PAGE = 1
    CELLS = 2
    SLIDE = 3
    PARAGRAPHS = 4
    LINES = 5
    TIME = 6
    TURNED_PAGE = 7
    """A page whose lines run from top to bottom or from bottom to top, as it is shown."""
    FILE = 8
    """A file of which no finer place is known; told of pictures alone."""


class Frame(NamedTuple):
    """What several stretches stand in: a page, a sheet, a slide, a file."""

    kind: Kind
    number: int = 0
    """Of a page or a slide, from 1."""
    name: str = ""
    """A page's label, a sheet's name."""
    width: int = 0
    height: int = 0
    """Of a page, in tenths of a point."""
    picture: int = 0
    """The number of the picture that the text was read from, from 1; 0 for text."""


class Edges(NamedTuple):
    """A word of a line: characters `start` to `end`, between two edges in tenths of a point."""

    start: int
    end: int
    left: int
    right: int


class Stretch(NamedTuple):
    """Characters `start` to `end` that stand in one place of a frame.

    On a page `a` to `d` are the left, upper, right and lower edge of a rectangle in tenths of a point. In a sheet they
    are the first row and column and the last ones, from 1. All are 0 where only the page or the sheet is known.
    Paragraphs, lines and milliseconds have a first, `a`, and a last, `b`.
    """

    start: int
    end: int
    frame: int
    a: int = 0
    b: int = 0
    c: int = 0
    d: int = 0
    words: tuple[Edges, ...] = ()
    """Of a line on a page, in its order; empty where they are not known apart."""


@dataclass(frozen=True, slots=True)
class PlaceMap:
    """The places of a text: stretches in the text's order that do not overlap, and the frames that they stand in."""

    frames: tuple[Frame, ...] = ()
    stretches: tuple[Stretch, ...] = ()

    def __bool__(self) -> bool:
        """Whether any place is known."""
        return bool(self.stretches)

    def within(self, start: int, end: int, *, shift: int = 0) -> Iterator[Stretch]:
        """Yield the stretches of a range, cut to it, their characters moved by `shift`."""
        index = max(bisect_right(self.stretches, start, key=_start) - 1, 0)
        for stretch in self.stretches[index:]:
            if stretch.start >= end or start >= end:
                return
            if stretch.end > start:
                yield _cut(stretch, start, end, shift)

    def part(self, segments: Iterable[tuple[int, int, int]]) -> PlaceMap:
        """Return the map of a text that is put together of parts of this one.

        Each segment is where it begins in the new text, and from where to where it stands in this one.
        """
        used: dict[int, int] = {}
        taken: list[Stretch] = []
        for at, start, end in segments:
            for stretch in self.within(start, end, shift=at - start):
                frame = used.setdefault(stretch.frame, len(used))
                taken.append(stretch._replace(frame=frame))
        return PlaceMap(tuple(self.frames[frame] for frame in used), tuple(taken))

    def without_words(self) -> PlaceMap:
        """Return the map with whole lines alone."""
        return replace(self, stretches=tuple(stretch._replace(words=()) for stretch in self.stretches))

    def places(self, start: int, end: int) -> tuple[Place, ...]:
        """Return where a range of characters stands, in its order; each frame once."""
        by_frame: dict[int, list[Stretch]] = {}
        for stretch in self.within(start, end):
            by_frame.setdefault(stretch.frame, []).append(stretch)
        return tuple(_place(self.frames[frame], stretches) for frame, stretches in by_frame.items())


def _start(stretch: Stretch) -> int:
    return stretch.start


def _cut(stretch: Stretch, start: int, end: int, shift: int) -> Stretch:
    if start <= stretch.start and stretch.end <= end:
        if not shift:
            return stretch
        words = tuple(Edges(w.start + shift, w.end + shift, w.left, w.right) for w in stretch.words)
        return stretch._replace(start=stretch.start + shift, end=stretch.end + shift, words=words)
    cut = stretch._replace(start=max(stretch.start, start) + shift, end=min(stretch.end, end) + shift, words=())
    if not stretch.words:
        return cut
    words = tuple(
        Edges(max(word.start, start) + shift, min(word.end, end) + shift, word.left, word.right)
        for word in stretch.words
        if word.start < end and word.end > start
    )
    if not words:
        # White space between two words: it stands where its line does, and covers nothing.
        return cut._replace(a=0, b=0, c=0, d=0)
    left, right = min(word.left for word in words), max(word.right for word in words)
    return cut._replace(a=left, c=right, words=words)


def _place(frame: Frame, stretches: Sequence[Stretch]) -> Place:
    match frame.kind:
        case Kind.PAGE | Kind.TURNED_PAGE:
            rectangles = rectangles_of(stretches, turned=frame.kind is Kind.TURNED_PAGE)
            return PagePlace(
                frame.number, frame.name, _points(frame.width), _points(frame.height), rectangles, frame.picture
            )
        case Kind.CELLS:
            return CellsPlace(frame.name, _cells([stretch for stretch in stretches if stretch.c]), frame.picture)
        case Kind.SLIDE:
            return SlidePlace(frame.number, frame.picture)
        case Kind.FILE:
            return FilePlace(frame.picture)
    first, last = min(stretch.a for stretch in stretches), max(stretch.b for stretch in stretches)
    if frame.kind is Kind.TIME:
        return TimePlace(first, last)
    if frame.kind is Kind.LINES:
        return LinesPlace(first, last, frame.picture)
    return ParagraphsPlace(first, last, frame.picture)


def _cells(stretches: Sequence[Stretch]) -> str:
    """Return the range that holds all cells; nothing where only the sheet is known."""
    if not stretches:
        return ""
    return cell_range(
        min(each.a for each in stretches), min(each.b for each in stretches),
        max(each.c for each in stretches), max(each.d for each in stretches),
    )


def rectangles_of(stretches: Iterable[Stretch], *, turned: bool = False) -> tuple[Rectangle, ...]:
    """Return the rectangles of lines on one page, pieces of one line joined, each once; `turned` lines run upright."""
    joined: list[tuple[int, int, int, int]] = []
    for stretch in stretches:
        box = stretch.a, stretch.b, stretch.c, stretch.d
        if stretch.c <= stretch.a or stretch.d <= stretch.b:
            continue
        if joined and _on_one_line(joined[-1], box, turned=turned):
            last = joined.pop()
            box = min(last[0], box[0]), min(last[1], box[1]), max(last[2], box[2]), max(last[3], box[3])
        joined.append(box)
    return tuple(
        Rectangle(_points(left), _points(top), _points(right - left), _points(bottom - top))
        for left, top, right, bottom in list(dict.fromkeys(joined))[:RECTANGLES_MAX]
    )


def _on_one_line(
    one: tuple[int, int, int, int], other: tuple[int, int, int, int], *, turned: bool
) -> bool:
    if turned:
        one, other = (one[1], one[0], one[3], one[2]), (other[1], other[0], other[3], other[2])
    height = min(one[3] - one[1], other[3] - other[1])
    overlap = min(one[3], other[3]) - max(one[1], other[1])
    gap = max(other[0] - one[2], one[0] - other[2])
    return overlap > 0.6 * height and gap <= _JOINED_GAP * height


def _points(units: int) -> float:
    return units / UNITS_PER_POINT
