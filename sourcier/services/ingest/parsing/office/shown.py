"""What an Office document shows, in reading order, before it becomes blocks: texts, and tables with their headers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TypeAlias

from sourcier.services.chassis.cleaning import clean_line
from sourcier.services.ingest.documents import BlockKind
from sourcier.services.ingest.parsing.builder import DocumentBuilder
from sourcier.services.ingest.parsing.tables import join_header, render_table


@dataclass(frozen=True, slots=True)
class ShownText:
    """A paragraph, heading, list item or caption."""

    kind: BlockKind
    text: str
    level: int = 0


@dataclass(frozen=True, slots=True)
class ShownTable:
    """A grid of cells; the first `header_rows` name the columns. Tables inside cells follow it, led by their row."""

    rows: list[list[str]]
    header_rows: int = 1
    caption: str = ""
    nested: list[tuple[str, ShownTable]] = field(default_factory=list)


Shown: TypeAlias = ShownText | ShownTable


def append(shown: Iterable[Shown], builder: DocumentBuilder, *, page: int = 0) -> None:
    """Append what is shown to a document."""
    for item in shown:
        if isinstance(item, ShownText):
            builder.add(item.kind, item.text, page=page, level=item.level)
        else:
            append_table(item, builder, page=page)


def append_table(table: ShownTable, builder: DocumentBuilder, *, page: int = 0) -> None:
    """Append a table, its header lines joined into one, so that each part of it can carry them all."""
    if table.caption:
        builder.add(BlockKind.CAPTION, table.caption, page=page)
    texts = {cell for row in table.rows for cell in row if cell}
    if texts - {lead for lead, _ in table.nested}:
        builder.add(*render_table(join_header(table.rows, table.header_rows)), page=page)
    for lead, inner in table.nested:
        builder.add(BlockKind.CAPTION, lead, page=page)
        append_table(inner, builder, page=page)


def flat_text(shown: Iterable[Shown]) -> str:
    """Return what is shown as one line, as a cell or a note holds it."""
    texts: list[str] = []
    for item in shown:
        if isinstance(item, ShownText):
            texts.append(clean_line(item.text))
        else:
            texts.extend(" | ".join(cell for cell in map(clean_line, row) if cell) for row in item.rows)
    return " ".join(text for text in texts if text)
