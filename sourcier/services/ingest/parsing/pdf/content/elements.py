"""What stands on a page: words, rules, pictures; lengths in points from the upper left corner of the page as shown."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple


class Word(NamedTuple):
    """A run of characters without a space in it, of one font."""

    text: str
    left: float
    right: float
    baseline: float
    size: float
    bold: bool = False
    first: int = -1
    """Index of its first character on the page, -1 for what is no page content: words that a person filled in."""
    end: int = -1
    glued: bool = False
    """No space before it, whatever the gap says: it was part of a longer word."""
    foreign: bool = False
    """It comes from an annotation."""
    page: int = 0
    """The page it stands on where that is another than that of what it became part of."""

    @property
    def top(self) -> float:
        """Upper edge, by the size of its font: an x and an l are equally high."""
        return self.baseline - 0.75 * self.size

    @property
    def bottom(self) -> float:
        """Lower edge, below the descenders."""
        return self.baseline + 0.22 * self.size


class Box(NamedTuple):
    """A rectangle; `top` is above `bottom`, so it is the smaller."""

    left: float
    top: float
    right: float
    bottom: float

    @property
    def width(self) -> float:
        """Its extent from left to right."""
        return self.right - self.left

    @property
    def height(self) -> float:
        """Its extent from top to bottom."""
        return self.bottom - self.top

    def holds(self, x: float, y: float) -> bool:
        """Tell whether a point lies in it."""
        return self.left <= x <= self.right and self.top <= y <= self.bottom


class Rule(NamedTuple):
    """A straight line, horizontal or vertical: `start` and `end` lie on it, `at` is its other coordinate."""

    at: float
    start: float
    end: float


class Embedded(NamedTuple):
    """A picture on a page: its place, its size in pixels, and what tells it from others."""

    box: Box
    width: int
    height: int
    fingerprint: str


@dataclass(slots=True)
class Page:
    """A page as read: its words in the order of the content, and what is drawn."""

    number: int
    label: str = ""
    """What the file calls it, where that is another name than its number."""
    turned: int = 0
    """By how many quarter turns clockwise a viewer shows it turned, seen from where its text is upright."""
    width: float = 0.0
    height: float = 0.0
    words: list[Word] = field(default_factory=list)
    asides: list[str] = field(default_factory=list)
    """Text set at an angle: watermarks, remarks at the margin."""
    remarks: list[str] = field(default_factory=list)
    """What people noted on the page, in reading order."""
    horizontal: list[Rule] = field(default_factory=list)
    vertical: list[Rule] = field(default_factory=list)
    struck: list[Rule] = field(default_factory=list)
    """Lines by which a person struck text out, afterwards."""
    pictured: bool = False
    """A picture covers a good part of it."""
    drawn: bool = False
    """Something is drawn on it: it is no empty page."""
    embedded: list[Embedded] = field(default_factory=list)
    """Its pictures."""
    unread: str = ""
    """Why OCR could not read it."""
    hidden: int = 0
    """Words that nobody sees, left out."""
    unmapped: int = 0
    """Characters whose font does not say which letter they are."""
