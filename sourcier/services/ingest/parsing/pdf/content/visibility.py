"""Whether a reader of the page sees a text: by its colour and ground, its size, its place, and what covers it."""

from __future__ import annotations

from dataclasses import dataclass

import pypdfium2.raw as pdfium

from sourcier.services.ingest.parsing.pdf.content.drawing import Drawing, Painted
from sourcier.services.ingest.parsing.pdf.content.elements import Box
from sourcier.services.ingest.parsing.pdf.content.frame import Frame

_SIZE_MIN = 2.0
_SAME_COLOUR = 14
"""Text and ground whose red, green and blue all differ by no more look alike."""
_WHITE = (255, 255, 255)
_INVISIBLE = (pdfium.FPDF_TEXTRENDERMODE_INVISIBLE, pdfium.FPDF_TEXTRENDERMODE_CLIP)
_FILLED = (pdfium.FPDF_TEXTRENDERMODE_FILL, pdfium.FPDF_TEXTRENDERMODE_FILL_CLIP)
_SCAN_SHARE = 0.7
"""A picture of this share of the page is a scan: text drawn before it is its text layer, not something hidden."""


@dataclass(frozen=True, slots=True)
class Appearance:
    """How a text is drawn; `order` is its place among what is painted, -1 where that is not known."""

    colour: tuple[int, int, int] | None
    alpha: int
    mode: int
    size: float
    order: int


def is_seen(text: Appearance, box: Box | None, frame: Frame, drawing: Drawing) -> bool:
    """Tell whether a reader sees the text, or would in the scan whose text layer it is.

    Text at an angle has no box: its colour and size alone are looked at.
    """
    if text.size <= _SIZE_MIN:
        return False
    if box is None:
        return not (text.alpha == 0 or (text.colour is not None and _alike(text.colour, _WHITE)))
    x, y = (box.left + box.right) / 2, (box.top + box.bottom) / 2
    if not (-1 <= x <= frame.width + 1 and -1 <= y <= frame.height + 1):
        return False
    if text.mode in _INVISIBLE:
        return any(item.box.holds(x, y) for item in drawing.pictures)
    if text.alpha == 0 or _is_covered(text.order, box, frame, drawing):
        return False
    if text.colour is None or text.mode not in _FILLED:
        return True
    ground = _ground(text.order, x, y, drawing)
    return ground is None or not _alike(text.colour, ground)


def _is_covered(order: int, box: Box, frame: Frame, drawing: Drawing) -> bool:
    if order < 0:
        return False
    return any(
        item.order > order and item.opaque and _covers(item.box, box) and not _is_scan(item, frame)
        for item in drawing.painted
    )


def _is_scan(item: Painted, frame: Frame) -> bool:
    return item.picture and item.box.width * item.box.height >= _SCAN_SHARE * frame.width * frame.height


def _covers(cover: Box, box: Box) -> bool:
    middle = (box.top + box.bottom) / 2
    return (
        cover.left <= box.left + 1
        and box.right - 1 <= cover.right
        and cover.top <= middle <= cover.bottom
        and cover.height >= 0.6 * box.height
    )


def _ground(order: int, x: float, y: float, drawing: Drawing) -> tuple[int, int, int] | None:
    """Return the colour that lies below a point, None where it is a picture's."""
    ground: tuple[int, int, int] | None = _WHITE
    below = -1
    for item in drawing.painted:
        if below < item.order and (order < 0 or item.order < order) and item.box.holds(x, y):
            below, ground = item.order, item.colour
    return ground


def _alike(one: tuple[int, int, int], other: tuple[int, int, int]) -> bool:
    return all(abs(mine - theirs) <= _SAME_COLOUR for mine, theirs in zip(one, other, strict=True))
