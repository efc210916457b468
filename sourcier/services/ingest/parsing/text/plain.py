"""Plain text of any encoding."""

from __future__ import annotations

from sourcier.services.ingest.documents import ParsedDocument
from sourcier.services.ingest.parsing.builder import DocumentBuilder
from sourcier.services.ingest.parsing.source import Source
from sourcier.services.ingest.parsing.text.encodings import decode
from sourcier.services.ingest.parsing.text.light import text_document


def parse_text(source: Source) -> ParsedDocument:
    """Read a text file of any encoding: paragraphs are what blank lines set apart."""
    text, encoding = decode(source.read())
    builder = DocumentBuilder(source.limits)
    if "\N{REPLACEMENT CHARACTER}" in text:
        builder.warnings.append(f"Some bytes are not valid {encoding}; they are shown as “\N{REPLACEMENT CHARACTER}”.")
    return text_document(text, builder, filename=source.filename, title=source.title)
