"""Pages as pixels: those of a PDF as PDFium draws them, those of a picture file as they are."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Protocol

import pypdfium2

from sourcier.services.index.places.place_map import UNITS_PER_POINT
from sourcier.services.ingest.documents import EmbeddedPicture
from sourcier.services.ingest.parsing.dispatch import parse
from sourcier.services.ingest.parsing.formats import Format, recognise
from sourcier.services.ingest.parsing.limits import ParsingLimits
from sourcier.services.ingest.parsing.pdf.content.characters import read_page
from sourcier.services.ingest.parsing.pdf.content.elements import Box, Page
from sourcier.services.ingest.parsing.pdf.picture import three_channels
from sourcier.services.ingest.parsing.pdf.pictures import pictures_read
from sourcier.services.ingest.parsing.placing.words import PageFrame, edges_on
from sourcier.services.ingest.parsing.scans import pictures
from sourcier.services.ingest.parsing.scans.pictures import READ_PIXELS_MAX, DrawnPage, DrawnPart
from sourcier.services.ingest.parsing.source import Source

_RESOLUTION = 300.0
"""Dots per inch at which pages are drawn; notes in small print need them."""
_POINTS_PER_INCH = 72.0


class Drawing(Protocol):
    """Draws the pages of one document."""

    def __call__(self, number: int, /) -> DrawnPage:
        """Return a page, counted from 1."""
        ...


@contextmanager
def drawn_pages(source: Source) -> Iterator[Drawing]:
    """Yield what draws the pages of a file; of what has none it draws the pictures, by their numbers."""
    kind = recognise(source.path, filename=source.filename, content_type=source.content_type).format
    if kind is Format.PICTURE:
        yield lambda number: pictures.draw(source.path, number)
        return
    if kind is not Format.PDF:
        embedded = {picture.number: picture for picture in parse(replace(source, ocr=True)).pictures}
        yield lambda number: _embedded(embedded[number])
        return
    document = pypdfium2.PdfDocument(source.path)
    try:
        yield lambda number: _draw(document, number, source.limits)
    finally:
        document.close()


def _embedded(picture: EmbeddedPicture) -> DrawnPage:
    page = pictures.draw(io.BytesIO(picture.content), 1)
    return replace(page, parts=(DrawnPart(Box(0, 0, page.width, page.height), picture.fingerprint),))


def _parts(page: Page, limits: ParsingLimits) -> Iterator[DrawnPart]:
    """Yield the pictures of a page with their places on it as it is drawn."""
    frame = PageFrame(page.number, page.width, page.height, page.turned)
    for embedded in pictures_read(page, limits):
        left, top, right, bottom = embedded.box
        edges = edges_on(frame, left=left, top=top, right=right, bottom=bottom)
        yield DrawnPart(Box(*(edge / UNITS_PER_POINT for edge in edges)), embedded.fingerprint)


def _draw(document: pypdfium2.PdfDocument, number: int, limits: ParsingLimits) -> DrawnPage:
    page = document[number - 1]
    try:
        width, height = page.get_size()
        parts = tuple(_parts(read_page(page, number), limits))
        scale = _RESOLUTION / _POINTS_PER_INCH
        scale = min(scale, (READ_PIXELS_MAX / max(width * height, 1.0)) ** 0.5)
        bitmap = page.render(scale=scale, rev_byteorder=False, may_draw_forms=False)
        try:
            return DrawnPage(three_channels(bitmap.to_numpy()), width, height, parts)
        finally:
            bitmap.close()
    finally:
        page.close()
