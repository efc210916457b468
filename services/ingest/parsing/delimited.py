"""CSV and its kin: one table, the first row its header.

Read with the standard library: docling's back end keeps an object for each cell, about 1 KB, which a long export of a
database does not survive.
"""

from __future__ import annotations

import csv
import io
import itertools

from services.chassis.errors import DocumentMalformed, DocumentTooLarge
from services.ingest.documents import ParsedDocument
from services.ingest.formats import Format
from services.ingest.parsing.builder import DocumentBuilder
from services.ingest.parsing.encodings import decode
from services.ingest.parsing.source import Source
from services.ingest.parsing.tables import render_table

_DELIMITERS = ",;\t|"
_SAMPLE_LINES = 50


def parse_csv(source: Source) -> ParsedDocument:
    """Read a delimited text file as a table."""
    text, _ = decode(source.read())
    text = text.replace("\x00", "")
    builder = DocumentBuilder(source.limits)
    try:
        rows = _read_rows(text, source.limits.table_cells)
    except csv.Error as error:
        raise DocumentMalformed(f"“{source.filename}” cannot be read as CSV: {error}.") from error
    builder.add(*render_table(rows))
    return builder.build(format=Format.CSV, filename=source.filename, titles=(source.title,))


def _read_rows(text: str, cells_max: int) -> list[list[str]]:
    csv.field_size_limit(max(len(text), 1))
    rows, cells = [], 0
    for row in csv.reader(io.StringIO(text, newline=""), delimiter=_delimiter(text)):
        cells += len(row)
        if cells > cells_max:
            raise DocumentTooLarge(f"The table has more than {cells_max:,} cells.")
        rows.append(row)
    return rows


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
