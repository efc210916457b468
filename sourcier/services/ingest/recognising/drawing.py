"""Pages as pixels: those of a PDF as PDFium draws them, those of a picture file as they are."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

import pypdfium2

from sourcier.services.ingest.parsing.formats import Format
from sourcier.services.ingest.parsing.limits import ParsingLimits
from sourcier.services.ingest.parsing.pdf.content.characters import read_page
from sourcier.services.ingest.parsing.pdf.picture import three_channels
from sourcier.services.ingest.parsing.scans import pictures
from sourcier.services.ingest.parsing.scans.pages import pictures_of
from sourcier.services.ingest.parsing.scans.pictures import READ_PIXELS_MAX, DrawnPage

_RESOLUTION = 300.0
"""Dots per inch at which pages are drawn; notes in small print need them."""
_POINTS_PER_INCH = 72.0


class Drawing(Protocol):
    """Draws the pages of one document."""

    def __call__(self, number: int, /) -> DrawnPage:
        """Return a page, counted from 1."""
        ...


@contextmanager
def drawn_pages(path: Path, kind: Format, limits: ParsingLimits) -> Iterator[Drawing]:
    """Yield what draws the pages of a file."""
    if kind is Format.PICTURE:
        yield lambda number: pictures.draw(path, number)
        return
    document = pypdfium2.PdfDocument(path)
    try:
        yield lambda number: _draw(document, number, limits)
    finally:
        document.close()


def _draw(document: pypdfium2.PdfDocument, number: int, limits: ParsingLimits) -> DrawnPage:
    page = document[number - 1]
    try:
        width, height = page.get_size()
        parts = tuple(embedded.box for embedded in pictures_of(read_page(page, number), limits))
        scale = _RESOLUTION / _POINTS_PER_INCH
        scale = min(scale, (READ_PIXELS_MAX / max(width * height, 1.0)) ** 0.5)
        bitmap = page.render(scale=scale, rev_byteorder=False, may_draw_forms=False)
        try:
            return DrawnPage(three_channels(bitmap.to_numpy()), width, height, parts)
        finally:
            bitmap.close()
    finally:
        page.close()
