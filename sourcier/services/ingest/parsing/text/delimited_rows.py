"""A delimited text as one table: what the parsing process and the service share."""

from __future__ import annotations

import csv
import io
import itertools
import re
from collections.abc import Iterator

from sourcier.services.ingest.documents import BlockKind, ParsedDocument
from sourcier.services.ingest.parsing.builder import DocumentBuilder
from sourcier.services.ingest.parsing.tables import render_table
from sourcier.services.ingest.parsing.text.table_headers import find_header

CSV = "csv"
"""The format's name."""
CSV_SUFFIXES = frozenset({"csv", "tsv", "tab"})
_DELIMITERS = ",;\t|"
_SAMPLE_LINES = 50
_SEPARATOR_LINE = re.compile(r"\A\ufeff?\"?sep=(.)\"?[^\S\n]*+(?:\n|\Z)", re.I)
"""What Excel writes above the rows to say how they are divided."""
_TITLE_CHARACTERS_MAX = 120


def read_rows(text: str) -> Iterator[list[str]]:
    """Yield the rows of a text; raise csv.Error where it has none."""
    # The library has one limit on a field for the whole process. It is raised to what this text may need and never
    # lowered: other readers of the process, pip's and importlib's among them, have longer fields.
    csv.field_size_limit(max(csv.field_size_limit(), len(text)))
    separator = _SEPARATOR_LINE.match(text.replace("\r\n", "\n", 1))
    if separator and separator.group(1) not in '"\r\n':
        text = text.partition("\n")[2]
    else:
        separator = None
    delimiter = separator.group(1) if separator else _delimiter(text)
    return csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)


def table_document(
    rows: list[list[str]], builder: DocumentBuilder, *, filename: str, title: str = ""
) -> ParsedDocument:
    """Return rows as a document: the lines above the header, then the table."""
    header = find_header(rows)
    above = [" : ".join(cell.strip() for cell in row if cell.strip()) for row in rows[: header.first]]
    above = [line for line in above if line]
    builder.add(BlockKind.PARAGRAPH, "\n".join(above))
    builder.add(*render_table([*header.rows, *rows[header.first + len(header.rows) :]], header_rows=len(header.rows)))
    named = above[0] if above and len(above[0]) <= _TITLE_CHARACTERS_MAX else ""
    return builder.build(format=CSV, filename=filename, titles=(title, named))


def _delimiter(text: str) -> str:
    """Return the delimiter that gives the most regular rows; `csv.Sniffer` is led astray by commas in prose."""
    lines = [line for line in itertools.islice(io.StringIO(text), _SAMPLE_LINES) if line.strip()]

    def regularity(delimiter: str) -> tuple[float, int]:
        widths = [len(row) for row in csv.reader(lines, delimiter=delimiter) if row]
        if not widths or max(widths) == 1:
            return 0.0, 0
        common = max(set(widths), key=widths.count)
        return widths.count(common) / len(widths) * (common > 1), common

    return max(_DELIMITERS, key=regularity)
