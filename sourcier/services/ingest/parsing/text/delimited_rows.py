"""A delimited text as one table, the first row its header: what the parsing process and the service share."""

from __future__ import annotations

import csv
import io
import itertools
from collections.abc import Iterator

from sourcier.services.ingest.documents import ParsedDocument
from sourcier.services.ingest.parsing.builder import DocumentBuilder
from sourcier.services.ingest.parsing.tables import render_table

CSV = "csv"
"""The format's name."""
CSV_SUFFIXES = frozenset({"csv", "tsv", "tab"})
_DELIMITERS = ",;\t|"
_SAMPLE_LINES = 50


def read_rows(text: str) -> Iterator[list[str]]:
    """Yield the rows of a text; raise csv.Error where it has none."""
    # The library has one limit on a field for the whole process. It is raised to what this text may need and never
    # lowered: other readers of the process, pip's and importlib's among them, have longer fields.
    csv.field_size_limit(max(csv.field_size_limit(), len(text)))
    return csv.reader(io.StringIO(text, newline=""), delimiter=_delimiter(text))


def table_document(
    rows: list[list[str]], builder: DocumentBuilder, *, filename: str, title: str = ""
) -> ParsedDocument:
    """Return rows as a document."""
    builder.add(*render_table(rows))
    return builder.build(format=CSV, filename=filename, titles=(title,))


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
