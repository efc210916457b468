"""From PDF's coordinates, origin at the lower left, to those of the page as it is read, origin at the upper left."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass

import pypdfium2
import pypdfium2.raw as pdfium

from sourcier.services.ingest.parsing.pdf.content.elements import Box

_COORDINATE_MAX = 1e6


@dataclass(frozen=True, slots=True)
class Frame:
    """The visible part of a page, and by how many quarter turns clockwise it is turned so that its text is upright."""

    left: float
    bottom: float
    right: float
    top: float
    turns: int = 0

    @property
    def width(self) -> float:
        """Width of the page as read."""
        return self.top - self.bottom if self.turns % 2 else self.right - self.left

    @property
    def height(self) -> float:
        """Height of the page as read."""
        return self.right - self.left if self.turns % 2 else self.top - self.bottom

    def point(self, x: float, y: float) -> tuple[float, float]:
        """Return a point as it is read; what no page can hold is put at its edge."""
        x, y = bounded(x), bounded(y)
        if self.turns == 0:
            return x - self.left, self.top - y
        if self.turns == 1:
            return y - self.bottom, x - self.left
        if self.turns == 2:
            return self.right - x, y - self.bottom
        return self.top - y, self.right - x

    def box(self, left: float, bottom: float, right: float, top: float) -> Box:
        """Return a rectangle as it is read."""
        (x0, y0), (x1, y1) = self.point(left, bottom), self.point(right, top)
        return Box(min(x0, x1), min(y0, y1), max(x0, x1), max(y0, y1))


def frame_of(page: pypdfium2.PdfPage, *, turns: int) -> Frame:
    """Return the page's frame for text that is upright after `turns` quarter turns clockwise."""
    box = pdfium.FS_RECTF()
    if not pdfium.FPDF_GetPageBoundingBox(page.raw, ctypes.byref(box)):
        return Frame(0.0, 0.0, page.get_width(), page.get_height(), turns)
    sides = sorted((bounded(box.left), bounded(box.right))), sorted((bounded(box.bottom), bounded(box.top)))
    return Frame(sides[0][0], sides[1][0], sides[0][1], sides[1][1], turns)


def bounded(value: float) -> float:
    """Return a coordinate that a page can hold."""
    return value if -_COORDINATE_MAX < value < _COORDINATE_MAX else _COORDINATE_MAX  # not a number is none either
