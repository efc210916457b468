"""What an Office document shows, in reading order, before it becomes blocks: texts, and tables with their headers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TypeAlias

from sourcier.services.chassis.cleaning import clean_line
from sourcier.services.ingest.documents import BlockKind
from sourcier.services.ingest.parsing.builder import DocumentBuilder
from sourcier.services.ingest.parsing.placing.collector import Standing
from sourcier.services.ingest.parsing.tables import join_header, render_table

HEADER_LEAD, FOOTER_LEAD = "En-tête :", "Pied de page :"
"""What stands before the texts that run over all pages."""


@dataclass(frozen=True, slots=True)
class ShownText:
    """A paragraph, heading, list item or caption."""

    kind: BlockKind
    text: str
    level: int = 0
    standing: Standing | None = None
    """Where it stands, where that is known: each of its lines, or all of it."""


@dataclass(frozen=True, slots=True)
class ShownTable:
    """A grid of cells; the first `header_rows` name the columns. Tables inside cells follow it, led by their row."""

    rows: list[list[str]]
    header_rows: int = 1
    caption: str = ""
    nested: list[tuple[str, ShownTable]] = field(default_factory=list)
    standing: Standing | None = None
    """Where each row stands, where that is known."""


Shown: TypeAlias = ShownText | ShownTable


def append(shown: Iterable[Shown], builder: DocumentBuilder, *, page: int = 0) -> None:
    """Append what is shown to a document."""
    for item in shown:
        if isinstance(item, ShownText):
            builder.add(item.kind, item.text, page=page, level=item.level, standing=item.standing)
        else:
            append_table(item, builder, page=page)


def append_table(table: ShownTable, builder: DocumentBuilder, *, page: int = 0) -> None:
    """Append a table, its header lines joined into one, so that each part of it can carry them all."""
    if table.caption:
        builder.add(BlockKind.CAPTION, table.caption, page=page)
    texts = {cell for row in table.rows for cell in row if cell}
    if texts - {lead for lead, _ in table.nested}:
        rows = join_header(table.rows, table.header_rows)
        builder.add(*render_table(rows), page=page, standing=_of_rows(table, rows))
    for lead, inner in table.nested:
        builder.add(BlockKind.CAPTION, lead, page=page)
        append_table(inner, builder, page=page)


def _of_rows(table: ShownTable, rows: list[list[str]]) -> Standing | None:
    """Return where the lines of a rendered table stand: its header's rows are one, and empty rows are left out."""
    if table.standing is None:
        return None
    edges = list(table.standing.edges)
    header = len(edges) - len(rows) + 1
    if header > 1:
        named = edges[:header]
        edges[:header] = [(named[0][0], named[0][1], named[-1][2], named[-1][3])]
    kept = [place for place, row in zip(edges, rows, strict=False) if any(map(clean_line, row))]
    return Standing(table.standing.frame, kept) if kept else None


def flat_text(shown: Iterable[Shown]) -> str:
    """Return what is shown as one line, as a cell or a note holds it."""
    texts: list[str] = []
    for item in shown:
        if isinstance(item, ShownText):
            texts.append(clean_line(item.text))
        else:
            texts.extend(" | ".join(cell for cell in map(clean_line, row) if cell) for row in item.rows)
    return " ".join(text for text in texts if text)
