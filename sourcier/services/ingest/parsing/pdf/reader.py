"""PDF through PDFium, page by page: headings by size, paragraphs by position, running headers and footers left out.

PDFium is not thread-safe and its errors can corrupt what comes after: a process reads one document and ends.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

import pypdfium2
import pypdfium2.raw as pdfium

from sourcier.services.chassis.errors import DocumentEncrypted, DocumentMalformed, DocumentTooLarge
from sourcier.services.ingest.documents import BlockKind, ParsedDocument
from sourcier.services.ingest.parsing.builder import DocumentBuilder
from sourcier.services.ingest.parsing.formats import Format
from sourcier.services.ingest.parsing.pdf.layout import Layout, Paragraph, paragraphs
from sourcier.services.ingest.parsing.pdf.lines import Line, read_lines
from sourcier.services.ingest.parsing.rejoining import join_hyphenation
from sourcier.services.ingest.parsing.source import Source
from sourcier.services.ingest.parsing.titles import usable_title
from sourcier.services.ingest.reading_warnings import WarningCode

_WORDS = re.compile(r"\w+(?:-\w+)*")
_EDGE_LINES = 2
"""How many lines at the top and at the bottom of a page can be running headers or footers."""
_REPEATED_PAGES_MIN = 3
_DIGITS = re.compile(r"\d+")


def parse_pdf(source: Source) -> ParsedDocument:
    """Read a PDF with a text layer; pages are counted from 1."""
    document = _open(source)
    try:
        page_count = len(document)
        if page_count > source.limits.pages:
            raise DocumentTooLarge(f"The document has {page_count:,} pages; at most {source.limits.pages:,} are read.")
        builder = DocumentBuilder(source.limits)
        pages = _read_pages(document, builder)
        title = usable_title(document.get_metadata_value("Title"))
    finally:
        document.close()
    _append(pages, builder)
    pages_said = f"{page_count} page" + ("s" if page_count != 1 else "")
    return builder.build(
        format=Format.PDF,
        filename=source.filename,
        page_count=page_count,
        titles=(source.title, title),
        empty_reason=(
            f"“{source.filename}” has {pages_said} but no text layer: it is a scan or holds only pictures. "
            "Text recognition (OCR) is not available here: run the file through OCR first."
        ),
    )


def _open(source: Source) -> pypdfium2.PdfDocument:
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


def _read_pages(document: pypdfium2.PdfDocument, builder: DocumentBuilder) -> list[list[Line]]:
    pages: list[list[Line]] = []
    damaged: list[str] = []
    for index in range(len(document)):
        try:
            page = document[index]
            pages.append(read_lines(page, index + 1))
            page.close()
        except pypdfium2.PdfiumError:
            pages.append([])
            damaged.append(str(index + 1))
    if damaged:
        builder.warnings.add(WarningCode.PAGES_UNREADABLE, count=len(damaged), places=damaged)
    return pages


def _append(pages: Sequence[Sequence[Line]], builder: DocumentBuilder) -> None:
    layout = Layout.of(line for page in pages for line in page)
    repeated = _running_lines(pages, layout)
    kept = [[line for line in page if _signature(line, layout) not in repeated] for page in pages]
    vocabulary = _vocabulary(kept)
    for page in kept:
        for paragraph in paragraphs(page, layout):
            _append_paragraph(paragraph, vocabulary, builder)


def _append_paragraph(paragraph: Paragraph, vocabulary: frozenset[str], builder: DocumentBuilder) -> None:
    text = join_hyphenation(paragraph.text, vocabulary)
    kind = BlockKind.HEADING if paragraph.level else BlockKind.LIST_ITEM if paragraph.listed else BlockKind.PARAGRAPH
    builder.add(kind, text, page=paragraph.page, level=paragraph.level or int(paragraph.listed))


def _running_lines(pages: Sequence[Sequence[Line]], layout: Layout) -> frozenset[tuple[str, int]]:
    """Return the lines that stand at the edge of most pages, page numbers apart."""
    counts: Counter[tuple[str, int]] = Counter()
    for page in pages:
        by_height = sorted(page, key=lambda line: line.bottom)
        edges = (*by_height[:_EDGE_LINES], *by_height[-_EDGE_LINES:])
        counts.update({_signature(line, layout) for line in edges})
    needed = max(_REPEATED_PAGES_MIN, sum(1 for page in pages if page) // 2 + 1)
    return frozenset(signature for signature, count in counts.items() if count >= needed)


def _signature(line: Line, layout: Layout) -> tuple[str, int]:
    # Headings that differ in their number only ("Article 3") are no page numbers. Place is part of it: a word that tops
    # every page may also be said in a sentence.
    text = line.text if layout.level(line) else _DIGITS.sub("#", line.text)
    return text, round(line.bottom / 4)


def _vocabulary(pages: Iterable[Iterable[Line]]) -> frozenset[str]:
    return frozenset(
        word.lower() for page in pages for line in page for word in _WORDS.findall(line.text) if len(word) > 3
    )
