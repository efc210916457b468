"""CSV and its kin: one table.

Read with the standard library: a reader that keeps an object for each cell, about 1 KB, does not survive a long export
of a database.
"""

from __future__ import annotations

import csv

from sourcier.services.chassis.errors import DocumentMalformed, DocumentTooLarge
from sourcier.services.ingest.documents import ParsedDocument
from sourcier.services.ingest.parsing.builder import DocumentBuilder
from sourcier.services.ingest.parsing.source import Source
from sourcier.services.ingest.parsing.text.delimited_rows import read_rows, table_document
from sourcier.services.ingest.parsing.text.encodings import decoded_text


def parse_csv(source: Source) -> ParsedDocument:
    """Read a delimited text file as a table."""
    decoded = decoded_text(source.read())
    text = decoded.text.replace("\x00", "")
    builder = DocumentBuilder(source.limits)
    decoded.warn(builder.warnings)
    builder.stand_in_lines(text)
    try:
        rows = _bounded_rows(text, source.limits.table_cells)
    except csv.Error as error:
        raise DocumentMalformed(f"“{source.filename}” cannot be read as CSV: {error}.") from error
    return table_document(rows, builder, filename=source.filename, title=source.title)


def _bounded_rows(text: str, cells_max: int) -> list[list[str]]:
    rows, cells = [], 0
    for row in read_rows(text):
        cells += len(row)
        if cells > cells_max:
            raise DocumentTooLarge(f"The table has more than {cells_max:,} cells.")
        rows.append(row)
    return rows
