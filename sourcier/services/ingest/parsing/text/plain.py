"""Plain text of any encoding."""

from __future__ import annotations

from sourcier.services.ingest.documents import ParsedDocument
from sourcier.services.ingest.parsing.builder import DocumentBuilder
from sourcier.services.ingest.parsing.source import Source
from sourcier.services.ingest.parsing.text.calendar import calendar_text, is_calendar
from sourcier.services.ingest.parsing.text.encodings import decoded_text
from sourcier.services.ingest.parsing.text.light import text_document


def parse_text(source: Source) -> ParsedDocument:
    """Read a text file of any encoding: paragraphs are what blank lines set apart."""
    decoded = decoded_text(source.read())
    builder = DocumentBuilder(source.limits)
    decoded.warn(builder.warnings)
    text = (calendar_text(decoded.text) or decoded.text) if is_calendar(decoded.text) else decoded.text
    return text_document(text, builder, filename=source.filename, title=source.title)
