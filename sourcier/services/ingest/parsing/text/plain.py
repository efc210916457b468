"""Plain text of any encoding."""

from __future__ import annotations

from sourcier.services.ingest.documents import ParsedDocument
from sourcier.services.ingest.parsing.builder import DocumentBuilder
from sourcier.services.ingest.parsing.source import Source
from sourcier.services.ingest.parsing.text.encodings import decode
from sourcier.services.ingest.parsing.text.light import text_document
from sourcier.services.ingest.reading_warnings import WarningCode


def parse_text(source: Source) -> ParsedDocument:
    """Read a text file of any encoding: paragraphs are what blank lines set apart."""
    text, encoding = decode(source.read())
    builder = DocumentBuilder(source.limits)
    builder.warnings.add(
        WarningCode.INVALID_BYTES, count=text.count("\N{REPLACEMENT CHARACTER}"), detail=f"not valid {encoding}"
    )
    return text_document(text, builder, filename=source.filename, title=source.title)
