"""Plain text and tables that need no parsing process: small, in UTF-8, in Western letters, named as text or CSV.

A process of its own costs more than the reading of such a file, and protects from nothing here: no parser of others
runs, and every step takes a time that is linear in the size. Whatever else could be meant by the bytes, or could take
long (other scripts, broken encodings, what begins like a page or a PDF), is left to the parsing process.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from pathlib import PurePath

from sourcier.services.chassis.cleaning import clean, is_plain
from sourcier.services.ingest.documents import BlockKind, ParsedDocument
from sourcier.services.ingest.parsing.builder import DocumentBuilder
from sourcier.services.ingest.parsing.limits import ParsingLimits
from sourcier.services.ingest.parsing.text.delimited_rows import CSV_SUFFIXES, read_rows, table_document

LIGHT_BYTES_MAX = 256 * 1024
"""Larger files are read in a process of their own; this takes some ten milliseconds of a thread."""
LIGHT_CELLS_MAX = 20_000
"""Rows times the widest one: what a table takes grows with both, and a file of any shape may come."""
TEXT_SUFFIXES = frozenset({"txt", "text", "log", "rst"})
TEXT = "text"
"""The format's name."""

_PARAGRAPHS = re.compile(r"\n\s*\n")
_TITLE_CHARACTERS_MAX = 120
_HEADER = re.compile(r"(De|From|À|To|Cc|Objet|Subject|Date|Envoyé|Sent)\s?:\s", re.I)
_SUBJECTS = frozenset({"objet", "subject"})
_HEADERS_MAX = 12
_ITEM = re.compile(r"([ \t]*+)(?:[-*•◦▪]|\d{1,3}[.)]|[a-z]\))[ \t]++\S")
# What `formats` looks into however a file is named: pages, XML, RTF, PostScript; a PDF's mark stands near the start.
_OTHERS = ("<", "{\\rtf", "%!PS")
_PDF, _PDF_WITHIN_CHARACTERS = "%PDF-", 1024


def may_be_light(filename: str, size_bytes: int) -> bool:
    """Tell from its name and size whether a file is worth a try."""
    return size_bytes <= LIGHT_BYTES_MAX and suffix_of(filename) in TEXT_SUFFIXES | CSV_SUFFIXES


def read_light(body: bytes, *, filename: str, limits: ParsingLimits) -> ParsedDocument | None:
    """Return the document, as the parsing process would; None for what belongs there. Blocks: call it in a thread.

    Raise DocumentEmpty for a file without text.
    """
    if not may_be_light(filename, len(body)):
        return None
    try:
        text = body.decode()
    except UnicodeDecodeError:
        return None
    text = text.replace("\r\n", "\n")
    if not is_plain(text) or text.lstrip().startswith(_OTHERS) or _PDF in text[:_PDF_WITHIN_CHARACTERS]:
        return None
    if suffix_of(filename) in CSV_SUFFIXES:
        return _light_table(text, DocumentBuilder(limits), filename=filename)
    return text_document(text, DocumentBuilder(limits), filename=filename)


def _light_table(text: str, builder: DocumentBuilder, *, filename: str) -> ParsedDocument | None:
    rows: list[list[str]] = []
    widest = 0
    try:
        for row in read_rows(text):
            rows.append(row)
            widest = max(widest, len(row))
            if widest * len(rows) > LIGHT_CELLS_MAX:
                return None
    except csv.Error:
        # The parsing process says what is wrong.
        return None
    builder.stand_in_lines(text)
    return table_document(rows, builder, filename=filename)


def text_document(text: str, builder: DocumentBuilder, *, filename: str, title: str = "") -> ParsedDocument:
    """Return a text as a document: paragraphs are what blank lines set apart, and items what begins with their sign."""
    builder.stand_in_lines(text)
    add_text(builder, text)
    return builder.build(format=TEXT, filename=filename, titles=(title, _title_line(text)))


def add_text(builder: DocumentBuilder, text: str) -> None:
    """Append a text's paragraphs and items to a document."""
    # Controls go first: they would end a line where the writer's text has none.
    cleaned = clean(text)
    listed = sum(1 for line in cleaned.split("\n") if _ITEM.match(line)) > 1
    for paragraph in _PARAGRAPHS.split(cleaned):
        if listed:
            _add_items(builder, paragraph)
        else:
            builder.add(BlockKind.PARAGRAPH, paragraph)


def _add_items(builder: DocumentBuilder, paragraph: str) -> None:
    """Add a paragraph, each item of it as a block of its own; indented lines below an item belong to it."""
    kind, level, lines = BlockKind.PARAGRAPH, 0, list[str]()
    for line in paragraph.split("\n"):
        item = _ITEM.match(line)
        if item or (kind is BlockKind.LIST_ITEM and not line.startswith((" ", "\t"))):
            builder.add(kind, "\n".join(lines), level=level)
            kind, lines = BlockKind.LIST_ITEM if item else BlockKind.PARAGRAPH, []
            level = 1 + len(item.group(1).expandtabs(4)) // 2 if item else 0
        lines.append(line)
    builder.add(kind, "\n".join(lines), level=level)


def _title_line(text: str) -> str:
    """Return the first line where it stands like a title: short, and not a sentence; of a letter its subject."""
    lines = clean(text[:4000]).strip().split("\n")
    first = lines[0].strip()
    if _HEADER.match(first):
        first = _subject(lines)
    return first if len(first) <= _TITLE_CHARACTERS_MAX and not first.endswith((".", ",", ";", ":")) else ""


def _subject(lines: Sequence[str]) -> str:
    """Return the subject among the lines that a mail saved as text begins with; who wrote it is nobody's title."""
    for line in lines[:_HEADERS_MAX]:
        header = _HEADER.match(line.strip())
        if header is None:
            break
        if header[1].lower() in _SUBJECTS:
            return line.strip()[header.end():].strip()
    return ""


def suffix_of(filename: str) -> str:
    """Return what follows the last dot of a file's name, in small letters."""
    return PurePath(filename).suffix.lower().lstrip(".")
