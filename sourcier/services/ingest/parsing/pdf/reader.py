"""PDF through PDFium: its characters and drawings page by page, and above them a layout of ours (`assembly`).

PDFium is not thread-safe and its errors can corrupt what comes after: a process reads one document and ends.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pypdfium2
import pypdfium2.raw as pdfium

from sourcier.services.chassis.cleaning import clean_line
from sourcier.services.chassis.errors import DocumentEncrypted, DocumentMalformed
from sourcier.services.ingest.documents import ParsedDocument
from sourcier.services.ingest.parsing.builder import DocumentBuilder
from sourcier.services.ingest.parsing.formats import Format
from sourcier.services.ingest.parsing.pdf.assembly import append_pages
from sourcier.services.ingest.parsing.pdf.content.characters import read_page
from sourcier.services.ingest.parsing.pdf.content.elements import Page
from sourcier.services.ingest.parsing.pdf.pictures import numbered, with_results
from sourcier.services.ingest.parsing.pictures.results import PictureResults
from sourcier.services.ingest.parsing.scans.pages import (
    add_recognised_pages,
    nothing_found,
    pages_to_recognise,
)
from sourcier.services.ingest.parsing.source import Source
from sourcier.services.ingest.parsing.titles import usable_title
from sourcier.services.ingest.reading_warnings import WarningCode

LABEL_CHARACTERS_MAX = 40


def parse_pdf(source: Source) -> ParsedDocument:
    """Read a PDF with a text layer; pages are counted from 1."""
    document = open_pdf(source)
    try:
        page_count = len(document)
        source.check_pages(page_count)
        builder = DocumentBuilder(source.limits)
        damaged: list[int] = []
        pages = list(read_pages(document, damaged=damaged))
        builder.warnings.add(WarningCode.PAGES_UNREADABLE, count=len(damaged), places=list(map(str, damaged)))
        pictures = list(numbered(pages, source.limits, warnings=builder.warnings))
        scanned = pages_to_recognise(pages, pictures) if source.ocr else ()
        title = usable_title(document.get_metadata_value("Title"))
    finally:
        document.close()
    add_recognised_pages(source.recognised, pages, builder)
    _warn(pages, builder)
    if source.limits.comments == "none":
        _leave_out_remarks(pages, builder)
    results = PictureResults(source.recognised) if source.recognised else None
    read = with_results(pictures, results, warnings=builder.warnings)
    append_pages(pages, builder, pictures=read)
    pages_said = f"{page_count} page" + ("s" if page_count != 1 else "")
    return builder.build(
        format=Format.PDF,
        filename=source.filename,
        page_count=page_count,
        titles=(source.title, title),
        empty_reason=(
            nothing_found(pages, f"“{source.filename}”, which has {pages_said} without text layer")
            if source.recognised else
            f"“{source.filename}” has {pages_said} but no text layer: it is a scan or holds only pictures. "
            "Text recognition (OCR) is switched off here: run the file through OCR first."
        ),
        scanned=scanned,
    )


def open_pdf(source: Source) -> pypdfium2.PdfDocument:
    """Open a file; raise a DocumentRejected that says why it cannot be."""
    try:
        return pypdfium2.PdfDocument(source.path)
    except pypdfium2.PdfiumError as error:
        if error.err_code == pdfium.FPDF_ERR_PASSWORD:
            raise DocumentEncrypted(
                f"“{source.filename}” is protected by a password: save it without one and send it again."
            ) from error
        if error.err_code == pdfium.FPDF_ERR_SECURITY:
            raise DocumentEncrypted(f"“{source.filename}” uses an encryption that cannot be read.") from error
        raise DocumentMalformed(f"“{source.filename}” cannot be opened as PDF: it is damaged or cut short.") from error


def read_pages(document: pypdfium2.PdfDocument, *, damaged: list[int]) -> Iterator[Page]:
    """Yield the pages that can be read, and put the numbers of the others among the `damaged` ones."""
    form = form_of(document)
    for index in range(len(document)):
        try:
            page = document[index]
            read = read_page(page, index + 1, form=form)
            read.label = _label(document, index)
            page.close()
        except pypdfium2.PdfiumError:
            damaged.append(index + 1)
            continue
        yield read


def _label(document: pypdfium2.PdfDocument, index: int) -> str:
    """Return what the file calls a page, where that is another name than its number."""
    label = clean_line(document.get_page_label(index))[:LABEL_CHARACTERS_MAX]
    return "" if label == str(index + 1) else label


def form_of(document: pypdfium2.PdfDocument) -> Any:
    """Return what PDFium needs to tell a form's values, None where the document has no form."""
    try:
        document.init_forms()
    except pypdfium2.PdfiumError:
        return None
    return document.formenv.raw if document.formenv else None


def _leave_out_remarks(pages: list[Page], builder: DocumentBuilder) -> None:
    """Leave out what people wrote about the pages, and tell how much that was."""
    places = [str(page.number) for page in pages if page.remarks]
    count = sum(len(page.remarks) for page in pages)
    builder.warnings.add(WarningCode.NOT_READ, count=count, places=places, detail="comments")
    for page in pages:
        page.remarks.clear()


def _warn(pages: list[Page], builder: DocumentBuilder) -> None:
    """Tell what the pages hold and the document will not."""
    silent = [page for page in pages if not (page.words or page.asides or page.remarks or page.unread)]
    for code, concerned, count in (
        (WarningCode.PAGES_WITHOUT_TEXT, silent, len(silent)),
        (WarningCode.HIDDEN_TEXT, [page for page in pages if page.hidden], sum(page.hidden for page in pages)),
        (WarningCode.UNMAPPED_CHARACTERS, [p for p in pages if p.unmapped], sum(page.unmapped for page in pages)),
    ):
        builder.warnings.add(code, count=count, places=[str(page.number) for page in concerned])
