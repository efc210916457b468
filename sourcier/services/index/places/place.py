"""Places of text in its file: on pages, in cells, on slides, in paragraphs, in lines, in a recording."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


class Rectangle(NamedTuple):
    """A rectangle on a page as it is shown, in points from the upper left corner of its visible part."""

    left: float
    top: float
    width: float
    height: float


@dataclass(frozen=True, slots=True)
class PagePlace:
    """A part of a page; without rectangles only the page is known."""

    number: int
    """From 1."""
    label: str = ""
    """The page's label where it is another than its number."""
    width: float = 0.0
    height: float = 0.0
    rectangles: tuple[Rectangle, ...] = ()
    picture: int = 0
    """The number of the picture in the document, from 1, that the text was read from; 0 for text. So in all places."""


@dataclass(frozen=True, slots=True)
class CellsPlace:
    """A range of cells as the program shows it: `B4:D7`; empty where only the sheet is known."""

    sheet: str
    range: str
    picture: int = 0


@dataclass(frozen=True, slots=True)
class SlidePlace:
    """A slide, from 1."""

    number: int
    picture: int = 0


@dataclass(frozen=True, slots=True)
class ParagraphsPlace:
    """Paragraphs `first` to `last`, from 1; a row of a table is one."""

    first: int
    last: int
    picture: int = 0


@dataclass(frozen=True, slots=True)
class LinesPlace:
    """Lines `first` to `last` of a file, from 1."""

    first: int
    last: int
    picture: int = 0


@dataclass(frozen=True, slots=True)
class TimePlace:
    """A part of a recording, in milliseconds from its start."""

    start_milliseconds: int
    end_milliseconds: int


@dataclass(frozen=True, slots=True)
class FilePlace:
    """A picture of a file whose place in it is not known."""

    picture: int


Place = FilePlace | PagePlace | CellsPlace | SlidePlace | ParagraphsPlace | LinesPlace | TimePlace


def column_name(column: int) -> str:
    """Return a column's letters: 1 is A, 27 is AA."""
    name = ""
    while column > 0:
        column, letter = divmod(column - 1, 26)
        name = chr(ord("A") + letter) + name
    return name


def cell_range(top: int, left: int, bottom: int, right: int) -> str:
    """Return a range of cells, rows and columns from 1, as the program shows it."""
    first, last = f"{column_name(left)}{top}", f"{column_name(right)}{bottom}"
    return first if first == last else f"{first}:{last}"
