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
        return Frame(Kind.PAGE, self.number, self.label, max(width, 0), max(height, 0))


def stretches_of(
    text: str, offset: int, words: Sequence[PlacedWord], pages: Mapping[int, PageFrame],
    number_of: Callable[[Frame], int],
) -> Iterator[Stretch]:
    """Yield where the words of a block stand, line by line; its text begins at `offset` of the document's.

    `number_of` gives a frame its number in the document.
    """
    for line in _lines(_aligned(text, words)):
        page = pages.get(line[0][2].page)
        if page is not None:
            yield from _stretches(line, offset, page, number_of(page.frame()))


def rectangles_on(page: PageFrame, words: Sequence[PlacedWord]) -> tuple[Rectangle, ...]:
    """Return the rectangles of words that follow one another on a page, as it is shown."""
    found = ((index, index + 1, word) for index, word in enumerate(words))
    return rectangles_of(stretch for line in _lines(found) for stretch in _stretches(line, 0, page, 0))


def _aligned(text: str, words: Iterable[PlacedWord]) -> Iterator[_Found]:
    """Yield the words that the text has, in its order."""
    at, lost = 0, 0
    for word in words:
        token = word[0]
        if text.startswith(token, at):
            start, end = at, at + len(token)
        elif text.startswith(token, at + 1):
            start, end = at + 1, at + 1 + len(token)
        else:
            start, end = _searched(text, token, at, far=lost >= _LOST_WORDS)
            if start < 0:
                lost += 1
                continue
        lost = 0
        at = end
        yield start, end, word


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
    for item in found:
        if line:
            word, last = item[2], line[-1][2]
            height = last.bottom - last.top
            gap = max(word.left - last.right, last.left - word.right)
            if word.page != last.page or abs(word.bottom - last.bottom) > _SAME_LINE * height or gap > _GAP * height:
                yield line
                line = []
        line.append(item)
    if line:
        yield line


def _stretches(line: Sequence[_Found], offset: int, page: PageFrame, frame: int) -> Iterator[Stretch]:
    if page.turns:
        # Edges tell of lines from left to right: of others each word is a stretch.
        for start, end, word in line:
            yield Stretch(start + offset, end + offset, frame, *_turned(word, page))
        return
    words = tuple(
        Edges(start + offset, end + offset, _units(word.left), max(_units(word.right), _units(word.left)))
        for start, end, word in line
    )
    yield Stretch(
        words[0].start, words[-1].end, frame,
        min(word.left for word in words), _units(min(found[2].top for found in line)),
        max(word.right for word in words), _units(max(found[2].bottom for found in line)),
        words if len(words) > 1 else (),
    )


def _turned(word: PlacedWord, page: PageFrame) -> tuple[int, int, int, int]:
    """Return a word's edges on the page as it is shown."""
    left, top, right, bottom = word.left, word.top, word.right, word.bottom
    width, height = page.width, page.height
    match page.turns:
        case 1:
            edges = height - bottom, left, height - top, right
        case 2:
            edges = width - right, height - bottom, width - left, height - top
        case _:
            edges = top, width - right, bottom, width - left
    return _units(edges[0]), _units(edges[1]), _units(edges[2]), _units(edges[3])


def _units(points: float) -> int:
    return round(points * UNITS_PER_POINT)
