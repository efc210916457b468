"""Finds the words of a block in its text, and keeps where each stands: the text is made of them, a little changed.

Parsers join lines, rejoin broken words, write raised figures as what they are and set tables with bars. So each word is
looked for right after the one before it; one that was changed beyond that has no place of its own, and its line has.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from sourcier.services.chassis.cleaning import clean_line
from sourcier.services.index.places.place import Rectangle
from sourcier.services.index.places.place_map import (
    UNITS_PER_POINT,
    Edges,
    Frame,
    Kind,
    Stretch,
    rectangles_of,
)

_BETWEEN = re.compile(r"[\s|\\~*-]{0,400}")
"""What tables and emphasis set between words."""
_HYPHENS = ("-", "\u2010", "\x02")
_LOOK_AHEAD = 80
_LOOK_FAR = 2_000
_LOST_WORDS = 3
"""After so many words that were not found the text is looked through further ahead."""
_GAP = 1.2
"""In heights of the line: a wider gap between words begins another piece."""


_SAME_LINE = 0.35
_POINTS_MAX = 1e6
_UNITS_MAX = 10**9
_LOOKED_FOR_CHARACTERS_MIN = 3


class PlacedWord(NamedTuple):
    """A word as a reader found it; edges in points on the page as its text is upright."""

    text: str
    page: int
    left: float
    top: float
    right: float
    bottom: float


_Found = tuple[int, int, PlacedWord]
"""Where a word begins and ends in its block."""


@dataclass(frozen=True, slots=True)
class PageFrame:
    """A page as a viewer shows it, and how what is read there is turned: by quarter turns clockwise from upright."""

    number: int
    width: float
    height: float
    """As its text is upright."""
    turns: int = 0
    label: str = ""

    def frame(self) -> Frame:
        """Return the page as it is shown."""
        width, height = _units(self.width), _units(self.height)
        if self.turns % 2:
            width, height = height, width
        kind = Kind.TURNED_PAGE if self.turns % 2 else Kind.PAGE
        return Frame(kind, self.number, self.label, max(width, 0), max(height, 0))


def stretches_of(
    text: str, offset: int, words: Sequence[PlacedWord], pages: Mapping[int, PageFrame],
    number_of: Callable[[PageFrame], int],
) -> Iterator[Stretch]:
    """Yield where the words of a block stand, line by line; its text begins at `offset` of the document's.

    `number_of` gives a page's frame its number in the document.
    """
    for line in _lines(_aligned(text, words)):
        page = pages.get(line[0][2][1])
        if page is not None:
            yield from _stretches(line, offset, page, number_of(page))


def rectangles_on(page: PageFrame, words: Sequence[PlacedWord]) -> tuple[Rectangle, ...]:
    """Return the rectangles of words that follow one another on a page, as it is shown."""
    found = ((index, index + 1, word) for index, word in enumerate(words))
    stretches = (stretch for line in _lines(found) for stretch in _stretches(line, 0, page, 0))
    return rectangles_of(stretches, turned=page.frame().kind is Kind.TURNED_PAGE)


def _aligned(text: str, words: Iterable[PlacedWord]) -> list[_Found]:
    """Return the words that the text has, in its order."""
    at, lost = 0, 0
    found: list[_Found] = []
    starts = text.startswith
    for word in words:
        token = word[0]
        # Nearly all words follow the one before them, behind a space.
        if starts(token, at + 1) and (at or not starts(token)):
            start, end = at + 1, at + 1 + len(token)
        elif starts(token, at):
            start, end = at, at + len(token)
        else:
            start, end = _searched(text, token, at, far=lost >= _LOST_WORDS)
            if start < 0:
                lost += 1
                continue
        lost = 0
        at = end
        found.append((start, end, word))
    return found


def _searched(text: str, token: str, at: int, *, far: bool) -> tuple[int, int]:
    """Return where a word stands that does not follow the one before it, or was changed; −1 where it does not."""
    between = _BETWEEN.match(text, at)
    nearby = between.end() if between else at
    cleaned = clean_line(token)
    forms = [token, cleaned.replace("|", "\\|") if "|" in cleaned else cleaned]
    if token.endswith(_HYPHENS) and len(token) > 1:
        forms.append(token[:-1])
    for form in dict.fromkeys(filter(None, forms)):
        start = text.find(form, at, nearby + len(form))
        if start >= 0:
            return start, start + len(form)
    reach = _LOOK_FAR if far else _LOOK_AHEAD
    if len(cleaned) >= _LOOKED_FOR_CHARACTERS_MIN:
        start = text.find(cleaned, at, at + reach)
        if start >= 0:
            return start, start + len(cleaned)
    return -1, -1


def _lines(found: Iterable[_Found]) -> Iterator[list[_Found]]:
    """Yield words of one line together, up to a wide gap."""
    line: list[_Found] = []
    last_page, last_left, last_right, last_bottom, height = 0, 0.0, 0.0, 0.0, 0.0
    for item in found:
        _, page, left, top, right, bottom = item[2]
        if line and (
            page != last_page
            or left - last_right > _GAP * height
            or last_left - right > _GAP * height
            or abs(bottom - last_bottom) > _SAME_LINE * height
        ):
            yield line
            line = []
        line.append(item)
        last_page, last_left, last_right, last_bottom, height = page, left, right, bottom, bottom - top
    if line:
        yield line


def _stretches(line: Sequence[_Found], offset: int, page: PageFrame, frame: int) -> Iterator[Stretch]:
    if page.turns:
        # Edges tell of lines from left to right: of others each word is a stretch.
        for start, end, word in line:
            edges = edges_on(page, left=word[2], top=word[3], right=word[4], bottom=word[5])
            yield Stretch(start + offset, end + offset, frame, *edges)
        return
    words: list[Edges] = []
    a, c, top, bottom = _UNITS_MAX, -_UNITS_MAX, line[0][2][3], line[0][2][5]
    for start, end, (_, _, left, upper, right, lower) in line:
        # As `_units`, without a call: the reader bounds what lies left and right.
        first, last = int(left * UNITS_PER_POINT + 0.5), int(right * UNITS_PER_POINT + 0.5)
        last = last if last > first else first
        words.append(Edges(start + offset, end + offset, first, last))
        a, c = (first if first < a else a), (last if last > c else c)
        top, bottom = (upper if upper < top else top), (lower if lower > bottom else bottom)
    yield Stretch(
        words[0].start, words[-1].end, frame, a, _units(top), c, _units(bottom), tuple(words) if len(words) > 1 else ()
    )


def edges_on(page: PageFrame, *, left: float, top: float, right: float, bottom: float) -> tuple[int, int, int, int]:
    """Return edges on the page as it is shown, in the units of places; those given are as its text is upright."""
    width, height = page.width, page.height
    match page.turns:
        case 1:
            left, top, right, bottom = height - bottom, left, height - top, right
        case 2:
            left, top, right, bottom = width - right, height - bottom, width - left, height - top
        case 3:
            left, top, right, bottom = top, width - right, bottom, width - left
    return _units(left), _units(top), _units(right), _units(bottom)


def _units(points: float) -> int:
    # What no page can hold is put at its edge; not a number is none either.
    return round((points if -_POINTS_MAX < points < _POINTS_MAX else _POINTS_MAX) * UNITS_PER_POINT)
