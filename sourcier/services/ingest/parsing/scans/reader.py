"""Picture files: pages without a text layer, whose text OCR reads."""

from __future__ import annotations

from sourcier.services.ingest.documents import ParsedDocument
from sourcier.services.ingest.parsing.builder import DocumentBuilder
from sourcier.services.ingest.parsing.formats import Format
from sourcier.services.ingest.parsing.pdf.assembly import append_pages
from sourcier.services.ingest.parsing.pdf.content.elements import Page
from sourcier.services.ingest.parsing.scans.pages import add_recognised_pages, nothing_found
from sourcier.services.ingest.parsing.scans.pictures import count_pages
from sourcier.services.ingest.parsing.source import Source


def parse_picture(source: Source) -> ParsedDocument:
    """Read a picture file with what OCR read of it; without that, only its pages are counted."""
    count = count_pages(source.path, filename=source.filename, pages_max=source.limits.pages)
    builder = DocumentBuilder(source.limits)
    pages = [Page(number) for number in range(1, count + 1)]
    scanned = tuple(page.number for page in pages) if source.ocr else ()
    add_recognised_pages(source.recognised, pages, builder)
    append_pages(pages, builder)
    return builder.build(
        format=Format.PICTURE,
        filename=source.filename,
        page_count=count,
        titles=(source.title,),
        empty_reason=(
            nothing_found(pages, f"the picture “{source.filename}”")
            if source.recognised else
            f"“{source.filename}” is a picture. Text recognition (OCR) is switched off here: run the file through OCR "
            "first."
        ),
        scanned=scanned,
    )
