"""One document in, one parsed document out: the format's parser is chosen here.

Importing this module imports every parser, about two seconds: only the parsing process does it, once.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from sourcier.services.chassis.errors import DocumentUnsupported
from sourcier.services.index.places.place import Rectangle
from sourcier.services.ingest.documents import ParsedDocument
from sourcier.services.ingest.parsing.books.reader import parse_book
from sourcier.services.ingest.parsing.containers.archive import parse_archive
from sourcier.services.ingest.parsing.formats import LABELS, Format, recognise
from sourcier.services.ingest.parsing.mail.message import parse_message
from sourcier.services.ingest.parsing.mail.outlook import parse_outlook
from sourcier.services.ingest.parsing.markup.reader import parse_html, parse_markdown
from sourcier.services.ingest.parsing.opendocument.reader import (
    parse_opendocument_sheets,
    parse_opendocument_slides,
    parse_opendocument_text,
)
from sourcier.services.ingest.parsing.pdf.drawn_page import Drawing, DrawnPage, draw_page
from sourcier.services.ingest.parsing.pdf.reader import parse_pdf
from sourcier.services.ingest.parsing.pictures.drawn import draw_embedded, draw_itself, draw_on_page
from sourcier.services.ingest.parsing.rich_text.reader import parse_rich_text
from sourcier.services.ingest.parsing.scans.reader import parse_picture
from sourcier.services.ingest.parsing.sheets.reader import parse_workbook
from sourcier.services.ingest.parsing.slides.reader import parse_slides
from sourcier.services.ingest.parsing.sound.reader import parse_sound
from sourcier.services.ingest.parsing.source import Source
from sourcier.services.ingest.parsing.text.delimited import parse_csv
from sourcier.services.ingest.parsing.text.plain import parse_text
from sourcier.services.ingest.parsing.word.reader import parse_word

PARSERS: dict[Format, Callable[[Source], ParsedDocument]] = {
    Format.PDF: parse_pdf,
    Format.DOCX: parse_word,
    Format.PPTX: parse_slides,
    Format.XLSX: parse_workbook,
    Format.ODT: parse_opendocument_text,
    Format.ODS: parse_opendocument_sheets,
    Format.ODP: parse_opendocument_slides,
    Format.HTML: parse_html,
    Format.MARKDOWN: parse_markdown,
    Format.TEXT: parse_text,
    Format.CSV: parse_csv,
    Format.PICTURE: parse_picture,
    Format.SOUND: parse_sound,
    Format.RTF: parse_rich_text,
    Format.EPUB: parse_book,
    Format.EML: parse_message,
    Format.MSG: parse_outlook,
    Format.ZIP: parse_archive,
}


_WARMING = {
    "warm.html": "<html><body><h1>a</h1><p>b <b>c</b></p><ul><li>d</li></ul><table><tr><td>e</td></tr></table>",
    "warm.md": "# a\n\nb *c*\n\n- d\n\n| e | f |\n|---|---|\n| g | h |\n",
    "warm.txt": "a",
}


def warm() -> None:
    """Read a few lines of the slow starters, so that what they build at first use is shared by all children."""
    with tempfile.TemporaryDirectory() as directory:
        for filename, content in _WARMING.items():
            path = Path(directory, filename)
            path.write_text(content)
            parse(Source(path, filename))


def draw(source: Source, drawing: dict[str, Any]) -> tuple[bytes, dict[str, Any]]:
    """Return a page or a picture as PNG and what it shows; raise a DocumentRejected where that cannot be."""
    recognition = recognise(source.path, filename=source.filename, content_type=source.content_type)
    if drawing.get("picture"):
        return _told(_draw_picture(source, recognition.format, drawing["picture"]))
    if recognition.format is not Format.PDF:
        raise DocumentUnsupported(
            f"“{source.filename}” is of the format {LABELS[recognition.format]}, which has no pages to draw; read its "
            "text instead (`sourcier documents show --text`)."
        )
    rectangles = tuple(Rectangle(*edges) for edges in drawing["rectangles"])
    return _told(draw_page(source, Drawing(drawing["page"], drawing["dpi"], rectangles, drawing["text"])))


def _draw_picture(source: Source, kind: Format, number: int) -> DrawnPage:
    if kind is Format.PDF:
        return draw_on_page(source, number)
    if kind is Format.PICTURE:
        return draw_itself(source, number)
    return draw_embedded(source, PARSERS[kind](replace(source, ocr=True)).pictures, number)


def _told(drawn: DrawnPage) -> tuple[bytes, dict[str, Any]]:
    told = asdict(drawn)
    return told.pop("png"), told


def parse(source: Source) -> ParsedDocument:
    """Read the document; raise a DocumentRejected that says why it cannot be read."""
    recognition = recognise(source.path, filename=source.filename, content_type=source.content_type)
    document = PARSERS[recognition.format](source)
    return replace(document, warnings=(*recognition.warnings, *document.warnings))
