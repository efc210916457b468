"""Rows of cells as a Markdown table: one row a line, so that a table can later be cut between rows."""

from __future__ import annotations

from collections.abc import Sequence

from sourcier.services.chassis.cleaning import clean_line
from sourcier.services.ingest.documents import BlockKind

HEADER_LINES = 2
"""The header row and the rule below it: what each part of a table that was cut repeats."""


def render_table(rows: Sequence[Sequence[str]]) -> tuple[BlockKind, str]:
    """Return the block's kind and text: a Markdown table, or plain lines where there is only one column."""
    cleaned = [[clean_line(cell) for cell in row] for row in rows]
    cleaned = [row for row in cleaned if any(row)]
    width = max(map(len, cleaned), default=0)
    kept = [column for column in range(width) if any(column < len(row) and row[column] for row in cleaned)]
    table = [[row[column] if column < len(row) else "" for column in kept] for row in cleaned]
    if len(kept) <= 1:
        return BlockKind.PARAGRAPH, "\n".join(cell for row in table for cell in row)
    lines = [_line(table[0]), "|" + "---|" * len(kept), *map(_line, table[1:])]
    return BlockKind.TABLE, "\n".join(lines)


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
