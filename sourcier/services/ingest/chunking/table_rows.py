"""Cuts a table between its rows, its caption and all lines of its header repeated above each part."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sourcier.services.ingest.chunking.breaks import best_break, skip_space
from sourcier.services.ingest.chunking.rulers import Ruler
from sourcier.services.ingest.documents import Block
from sourcier.services.ingest.parsing.tables import header_lines

HEADER_LINES_MAX = 12


@dataclass(frozen=True, slots=True)
class TablePart:
    """Some rows; `header` is empty where the part begins with the header itself."""

    start: int
    end: int
    header: str = ""


def cut_table(
    text: str, block: Block, *, target: int, ruler: Ruler, caption: Block | None = None
) -> Iterator[TablePart]:
    """Yield parts of whole rows that measure up to `target`, header included; a row over that is cut in itself.

    The first part begins with the caption.
    """
    lines = _line_spans(text, block)
    above = header_lines([text[start:end] for start, end in lines[:HEADER_LINES_MAX]])
    header_end = lines[min(above, len(lines)) - 1][1]
    header, header_length = text[block.start : header_end], ruler.length(block.start, header_end)
    first = block.start
    if caption is not None:
        first = caption.start
        caption_length = ruler.length(caption.start, caption.end)
        if header_length + caption_length <= target // 2:
            header, header_length = f"{text[caption.start : caption.end]}\n{header}", header_length + caption_length
    if header_length > target // 2:
        # A header that leaves no room is not repeated.
        header, header_length = "", 0
    start, taken = first, 0
    for row_start, row_end in lines[above:]:
        room = target - (header_length if start != first else 0)
        if ruler.length(start, row_end) > room and taken > start:
            yield TablePart(start, taken, header if start != first else "")
            start = row_start
        taken = row_end
        if ruler.length(start, row_end) > target - header_length:
            yield from _cut_row(text, start, row_end, target=target, ruler=ruler)
            start = taken = skip_space(text, row_end, block.end)
    if taken < block.end or start < block.end:
        yield TablePart(start, block.end, header if start != first else "")


def _cut_row(text: str, start: int, end: int, *, target: int, ruler: Ruler) -> Iterator[TablePart]:
    while start < end and ruler.length(start, end) > target:
        high = min(max(ruler.advance(start, target), start + 1), end)
        cut = best_break(text, start + (high - start) // 2, high)
        yield TablePart(start, cut)
        start = skip_space(text, cut, end)
    if start < end:
        yield TablePart(start, end)


def _line_spans(text: str, block: Block) -> list[tuple[int, int]]:
    spans, start = [], block.start
    for line in text[block.start : block.end].split("\n"):
        spans.append((start, start + len(line)))
        start += len(line) + 1
    return spans
