"""Rows of cells as a Markdown table: one row a line, so that a table can later be cut between rows."""

from __future__ import annotations

import re
from collections.abc import Sequence

from sourcier.services.chassis.cleaning import clean_line
from sourcier.services.ingest.documents import BlockKind

_RULE = re.compile(r"\|(?:---\|)+")


def render_table(rows: Sequence[Sequence[str]], *, header_rows: int = 1) -> tuple[BlockKind, str]:
    """Return the block's kind and text: a Markdown table, or plain lines where there is only one column.

    The first `header_rows` rows stand above the rule.
    """
    cleaned = [[clean_line(cell) for cell in row] for row in rows]
    header_rows = max(sum(map(any, cleaned[:header_rows])), 1)
    cleaned = [row for row in cleaned if any(row)]
    width = max(map(len, cleaned), default=0)
    kept = [column for column in range(width) if any(column < len(row) and row[column] for row in cleaned)]
    table = [[row[column] if column < len(row) else "" for column in kept] for row in cleaned]
    if len(kept) <= 1:
        return BlockKind.PARAGRAPH, "\n".join(cell for row in table for cell in row)
    rule = "|" + "---|" * len(kept)
    lines = [*map(_line, table[:header_rows]), rule, *map(_line, table[header_rows:])]
    return BlockKind.TABLE, "\n".join(lines)


def header_lines(lines: Sequence[str]) -> int:
    """Return how many of a table's first lines name its columns, the rule included: what each part of it repeats."""
    return next((count for count, line in enumerate(lines, 1) if _RULE.fullmatch(line)), min(len(lines), 1))


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
