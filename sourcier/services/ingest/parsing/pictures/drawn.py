"""One of the pictures inside a document as PNG, as people see it: nobody gets a stranger's file as it came."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import IO

import numpy as np
import pypdfium2

from sourcier.services.chassis.errors import DocumentMalformed, DocumentPageAbsent, DocumentTooLarge
from sourcier.services.index.places.place_map import UNITS_PER_POINT
from sourcier.services.ingest.documents import EmbeddedPicture
from sourcier.services.ingest.parsing.pdf.content.characters import read_page
from sourcier.services.ingest.parsing.pdf.drawn_page import POINTS_PER_INCH, DrawnPage, rendered, scale_of
from sourcier.services.ingest.parsing.pdf.picture import png
from sourcier.services.ingest.parsing.pdf.pictures import PagePicture, numbered
from sourcier.services.ingest.parsing.pdf.reader import open_pdf, read_pages
from sourcier.services.ingest.parsing.pictures.embedded import UNREADABLE
from sourcier.services.ingest.parsing.placing.words import PageFrame, edges_on
from sourcier.services.ingest.parsing.scans.pictures import count_pages, draw
from sourcier.services.ingest.parsing.source import Source
from sourcier.services.ingest.reading_warnings import ReadingWarnings

_DPI = 200.0


def draw_embedded(source: Source, pictures: Sequence[EmbeddedPicture], number: int) -> DrawnPage:
    """Draw a picture that is a file in the document; raise a DocumentRejected where that cannot be."""
    found = next((picture for picture in pictures if picture.number == number), None)
    if found is None:
        raise _absent(source, number, len(pictures))
    return _drawn_file(source, io.BytesIO(found.content), number)


def draw_itself(source: Source, number: int) -> DrawnPage:
    """Draw a file that is a picture: its pages are its pictures."""
    count = count_pages(source.path, filename=source.filename, pages_max=source.limits.pages)
    if number > count:
        raise _absent(source, number, count)
    with source.path.open("rb") as file:
        return _drawn_file(source, file, number, page=number)


def draw_on_page(source: Source, number: int) -> DrawnPage:
    """Draw a picture of a PDF as its page shows it; a document is read up to that page alone."""
    document = open_pdf(source)
    count = 0
    for picture in numbered(read_pages(document, damaged=[]), source.limits, warnings=ReadingWarnings()):
        count += 1
        if picture.number == number:
            return _cut_out(document, picture)
    raise _absent(source, number, count)


def _cut_out(document: pypdfium2.PdfDocument, picture: PagePicture) -> DrawnPage:
    page = document[picture.page - 1]
    read = read_page(page, picture.page)
    left, top, right, bottom = picture.box
    frame = PageFrame(picture.page, read.width, read.height, read.turned)
    edges = edges_on(frame, left=left, top=top, right=right, bottom=bottom)
    width, height = page.get_width(), page.get_height()
    scale = scale_of(width, height, _DPI)
    left, top, right, bottom = (round(max(edge, 0) / UNITS_PER_POINT * scale) for edge in edges)
    pixels = np.ascontiguousarray(rendered(page, scale)[top:bottom, left:right])
    if not pixels.size:
        raise DocumentMalformed(f"The picture {picture.number} is not seen on page {picture.page}.")
    return DrawnPage(
        png=png(pixels), page=picture.page, page_count=len(document), width=pixels.shape[1], height=pixels.shape[0],
        dpi=scale * POINTS_PER_INCH, page_width=width, page_height=height, marked=0, matched=False,
    )


def _drawn_file(source: Source, file: IO[bytes], number: int, *, page: int = 1) -> DrawnPage:
    try:
        drawn = draw(file, page)
    except DocumentTooLarge:
        raise
    except UNREADABLE as error:
        raise DocumentMalformed(f"The picture {number} of “{source.filename}” is damaged.") from error
    pixels = np.ascontiguousarray(drawn.pixels[:, :, ::-1])
    return DrawnPage(
        png=png(pixels), page=0, page_count=0, width=pixels.shape[1], height=pixels.shape[0],
        dpi=pixels.shape[1] / max(drawn.width, 1.0) * POINTS_PER_INCH, page_width=drawn.width,
        page_height=drawn.height, marked=0, matched=False,
    )


def _absent(source: Source, number: int, count: int) -> DocumentPageAbsent:
    pictures = f"{count:,} picture" + ("s" if count != 1 else "")
    return DocumentPageAbsent(
        f"“{source.filename}” has {pictures} that {'are' if count != 1 else 'is'} read, and no picture {number:,}.",
        field="picture",
    )
