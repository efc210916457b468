"""Plain text: paragraphs are what blank lines set apart, list items are what bullets begin."""

from __future__ import annotations

import re

from services.ingest.cleaning import clean
from services.ingest.documents import BlockKind, ParsedDocument
from services.ingest.formats import Format
from services.ingest.parsing.builder import DocumentBuilder
from services.ingest.parsing.encodings import decode
from services.ingest.parsing.source import Source

_PARAGRAPHS = re.compile(r"\n\s*\n")
_TITLE_CHARACTERS_MAX = 120


def parse_text(source: Source) -> ParsedDocument:
    """Read a text file of any encoding."""
    text, encoding = decode(source.read())
    builder = DocumentBuilder(source.limits)
    if "\N{REPLACEMENT CHARACTER}" in text:
        builder.warnings.append(f"Some bytes are not valid {encoding}; they are shown as “\N{REPLACEMENT CHARACTER}”.")
    # Controls go first: they would end a line where the writer's text has none.
    for paragraph in _PARAGRAPHS.split(clean(text)):
        builder.add(BlockKind.PARAGRAPH, paragraph)
    return builder.build(format=Format.TEXT, filename=source.filename, titles=(source.title, _title_line(text)))


def _title_line(text: str) -> str:
    """Return the first line where it stands like a title: short, and not a sentence."""
    first = clean(text[:4000]).strip().partition("\n")[0].strip()
    return first if len(first) <= _TITLE_CHARACTERS_MAX and not first.endswith((".", ",", ";", ":")) else ""
