"""Page-bound chunks (SPEC I7): a chunk never crosses a page, so that a citation is document, page and chunk."""

from __future__ import annotations

import itertools
from bisect import bisect_right
from collections.abc import Iterator

from sourcier.services.ingest.chunking.chunks import Passage
from sourcier.services.ingest.chunking.configuration import PAGE_WINDOW_CHARACTERS, ChunkingConfiguration
from sourcier.services.ingest.documents import BlockKind, ParsedDocument

STRONG_PUNCTUATION = ".?!\n"


def cut_pages(document: ParsedDocument, configuration: ChunkingConfiguration) -> Iterator[Passage]:
    """Yield the passages of each page; a document without pages is one page."""
    sections = itertools.groupby(document.blocks, key=lambda block: (block.page, block.kind is BlockKind.ASIDE))
    for (page, _), group in sections:
        blocks = list(group)
        ends = [block.end for block in blocks]
        for start, end in cut_span(document.text, blocks[0].start, blocks[-1].end, configuration):
            yield Passage(start, end, page, blocks[bisect_right(ends, start)].heading_path)


def cut_span(text: str, start: int, end: int, configuration: ChunkingConfiguration) -> Iterator[tuple[int, int]]:
    """Yield the spans of one page's text, each starting `overlap` characters before the last one's end."""
    while True:
        cut = _cut_after(text, start, end, configuration.target)
        yield start, cut
        if cut >= end:
            return
        start = cut - configuration.overlap


def _cut_after(text: str, start: int, end: int, target: int) -> int:
    """Return the cut nearest to the target after strong punctuation, or the target itself; the end where it is near."""
    aim = start + target
    if end <= aim + PAGE_WINDOW_CHARACTERS:
        return end
    for distance in range(PAGE_WINDOW_CHARACTERS + 1):
        for cut in (aim + distance, aim - distance):
            if text[cut - 1] in STRONG_PUNCTUATION:
                return cut
    return aim
