"""A page of a PDF as a picture, with rectangles marked on it, or a text that is looked for."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any

import pypdfium2

from sourcier.services.chassis.errors import DocumentMalformed, DocumentPageAbsent
from sourcier.services.index.places.place import Rectangle
from sourcier.services.ingest.parsing.pdf.content.characters import read_page
from sourcier.services.ingest.parsing.pdf.content.elements import Page
from sourcier.services.ingest.parsing.pdf.lines import lines_of
from sourcier.services.ingest.parsing.pdf.picture import Pixels, mark, png, three_channels
from sourcier.services.ingest.parsing.pdf.reader import form_of, open_pdf
from sourcier.services.ingest.parsing.placing.words import PageFrame, PlacedWord, rectangles_on
from sourcier.services.ingest.parsing.source import Source

POINTS_PER_INCH = 72.0
PIXELS_MAX = 25_000_000
SIDE_MAX = 20_000
_MARGIN = 1.0
"""In points, around what is marked."""
_MATCHED_SHARE = 0.5
"""Of a text's words: where fewer are found in its order, nothing is marked."""
_RUN_MIN = 3
_TOKENS_MAX = 4_000


@dataclass(frozen=True, slots=True)
class Drawing:
    """What to draw: a page from 1, dots an inch, rectangles to mark, or else a text to look for."""

    page: int
    dpi: float
    rectangles: Sequence[Rectangle] = ()
    text: str = ""


@dataclass(frozen=True, slots=True)
class DrawnPage:
    """A picture as PNG, and what it shows."""

    png: bytes
    page: int
    page_count: int
    width: int
    height: int
    dpi: float
    page_width: float
    page_height: float
    marked: int
    matched: bool
    """Whether what is marked was found by its text."""


def draw_page(source: Source, drawing: Drawing) -> DrawnPage:
    """Draw a page; raise a DocumentRejected that says why it cannot be drawn."""
    document = open_pdf(source)
    page_count = len(document)
    if not 1 <= drawing.page <= page_count:
        pages = f"{page_count:,} page" + ("s" if page_count != 1 else "")
        raise DocumentPageAbsent(f"“{source.filename}” has {pages}, and no page {drawing.page:,}.", field="page")
    form = form_of(document)
    try:
        page = document[drawing.page - 1]
    except pypdfium2.PdfiumError as error:
        raise DocumentMalformed(f"Page {drawing.page} of “{source.filename}” is damaged.") from error
    width, height = page.get_width(), page.get_height()
    scale = scale_of(width, height, drawing.dpi)
    rectangles, matched = tuple(drawing.rectangles), False
    if not rectangles and drawing.text:
        rectangles = text_rectangles(read_page(page, drawing.page, form=form), drawing.text)
        matched = bool(rectangles)
    pixels = rendered(page, scale)
    for rectangle in rectangles:
        mark(pixels, _box(rectangle, scale))
    return DrawnPage(
        png=png(pixels), page=drawing.page, page_count=page_count, width=pixels.shape[1], height=pixels.shape[0],
        dpi=scale * POINTS_PER_INCH, page_width=width, page_height=height, marked=len(rectangles), matched=matched,
    )


def scale_of(width: float, height: float, dpi: float) -> float:
    """Return pixels for each point: fewer than asked for where the picture would be too large."""
    scale = dpi / POINTS_PER_INCH
    width, height = max(width, 1.0), max(height, 1.0)
    return min(scale, math.sqrt(PIXELS_MAX / (width * height)), SIDE_MAX / max(width, height))


def rendered(page: pypdfium2.PdfPage, scale: float) -> Pixels:
    bitmap: Any = page.render(scale=scale, may_draw_forms=True, prefer_bgrx=False, rev_byteorder=True)
    return three_channels(bitmap.to_numpy())


def _box(rectangle: Rectangle, scale: float) -> tuple[int, int, int, int]:
    left, top = rectangle.left - _MARGIN, rectangle.top - _MARGIN
    right, bottom = rectangle.left + rectangle.width + _MARGIN, rectangle.top + rectangle.height + _MARGIN
    return math.floor(left * scale), math.floor(top * scale), math.ceil(right * scale), math.ceil(bottom * scale)


def text_rectangles(page: Page, text: str) -> tuple[Rectangle, ...]:
    """Return where a text stands on a page, its words compared without case and signs; nothing below half of them."""
    words = [word for line in lines_of(page.words) for word in line.words]
    said = [_folded(word.text) for word in words][:_TOKENS_MAX]
    wanted = [token for token in map(_folded, text.split()) if token][:_TOKENS_MAX]
    if not wanted:
        return ()
    runs = SequenceMatcher(None, wanted, said, autojunk=False).get_matching_blocks()
    runs = [run for run in runs if run.size >= min(_RUN_MIN, len(wanted))]
    if sum(run.size for run in runs) < _MATCHED_SHARE * len(wanted):
        return ()
    found = [words[index] for run in runs for index in range(run.b, run.b + run.size)]
    placed = [PlacedWord(w.text, page.number, w.left, w.top, w.right, w.bottom) for w in found]
    return rectangles_on(PageFrame(page.number, page.width, page.height, page.turned), placed)


def _folded(word: str) -> str:
    return "".join(filter(str.isalnum, word)).casefold()
