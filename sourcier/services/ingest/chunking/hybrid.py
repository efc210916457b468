"""Structure-aware chunks (SPEC I6): what stands together stays together where it fits.

A section that fits is one chunk. A larger one is packed block by block up to the target; a block over the maximum is
cut at its paragraphs, lines, sentences; a table between its rows, its header repeated; a list between its items, what
introduces it repeated. Small neighbours of one parent merge. A chunk never crosses a page, so that what it cites is on
the page it names. Without headings a document is one section, and this packs paragraphs.
"""

from __future__ import annotations

import itertools
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from sourcier.services.ingest.chunking.breaks import best_break, sentence_start, skip_space
from sourcier.services.ingest.chunking.chunks import Passage
from sourcier.services.ingest.chunking.configuration import ChunkingConfiguration
from sourcier.services.ingest.chunking.lead_ins import lead_ins
from sourcier.services.ingest.chunking.rulers import Ruler
from sourcier.services.ingest.chunking.table_rows import cut_table
from sourcier.services.ingest.documents import Block, BlockKind, ParsedDocument


@dataclass(frozen=True, slots=True)
class _Piece:
    """What packing does not cut: a block, a run of list items, a part of a large block."""

    start: int
    end: int
    header: str = ""
    header_length: int = 0
    closed: bool = False
    """Whether nothing may be joined to it: a part of a table has a header of its own."""


def cut_hybrid(document: ParsedDocument, configuration: ChunkingConfiguration, ruler: Ruler) -> Iterator[Passage]:
    """Yield the passages in order."""
    cutter = _HybridCutter(document, configuration, ruler)
    sections = itertools.groupby(document.blocks, key=_section)
    passages: list[Passage] = []
    for _, blocks in sections:
        passages.extend(cutter.cut_section(list(blocks)))
    yield from cutter.overlap(cutter.merge(passages))


def _section(block: Block) -> tuple[int, tuple[str, ...], int]:
    return block.page, block.heading_path, _apart(block)


def _apart(block: Block) -> int:
    """Return what only blocks have in common that may be one passage: asides, and each picture with itself."""
    if block.kind is BlockKind.PICTURE:
        return 2 + block.start
    return int(block.kind is BlockKind.ASIDE)


class _HybridCutter:
    def __init__(self, document: ParsedDocument, configuration: ChunkingConfiguration, ruler: Ruler) -> None:
        self._document = document
        self._text = document.text
        self._target = configuration.target
        self._maximum = configuration.maximum
        self._overlap = configuration.overlap
        self._length = ruler.length
        self._lead_ins = lead_ins(document)
        self._items = [block.start for block in document.blocks if block.kind is BlockKind.LIST_ITEM]
        self._ruler = ruler

    def cut_section(self, blocks: Sequence[Block]) -> list[Passage]:
        """Return the passages of blocks that share a page and a heading path."""
        page, path = blocks[0].page, blocks[0].heading_path
        apart = _apart(blocks[0])
        start, end = blocks[0].start, blocks[-1].end
        header, header_length = self._lead_in(start)
        if self._length(start, end) + header_length <= self._maximum:
            return [Passage(start, end, page, path, header, apart)]
        packed = self._pack(self._pieces(blocks))
        return [Passage(piece.start, piece.end, page, path, piece.header, apart) for piece in packed]

    def merge(self, passages: Iterable[Passage]) -> list[Passage]:
        """Join small neighbours: sections of one parent, and a heading without text with what follows it."""
        merged: list[Passage] = []
        for passage in passages:
            if merged and self._are_small_peers(merged[-1], passage):
                previous = merged.pop()
                passage = replace(
                    previous, end=passage.end, heading_path=_common(previous.heading_path, passage.heading_path)
                )
            merged.append(passage)
        return merged

    def overlap(self, passages: Sequence[Passage]) -> Iterator[Passage]:
        """Let each passage that continues a section repeat the last sentences of the one before it."""
        tables = [block.end for block in self._document.blocks if block.kind is BlockKind.TABLE]
        for previous, passage in itertools.pairwise([None, *passages]):
            assert passage is not None
            if previous is None or not self._continues(previous, passage):
                yield passage
                continue
            # Rows without their header mean nothing: a table is not repeated.
            above = bisect_right(tables, passage.start)
            after_tables = tables[above - 1] if above else 0
            low = max(self._ruler.retreat(passage.start, self._overlap), previous.start, after_tables)
            start = self._item_start(low, passage.start)
            if start is None:
                start = sentence_start(self._text, low, passage.start)
            fits = self._length(start, passage.end) <= self._maximum
            yield replace(passage, start=start) if fits else passage

    def _pieces(self, blocks: Sequence[Block]) -> Iterator[_Piece]:
        for listed, group in itertools.groupby(blocks, key=lambda block: block.kind is BlockKind.LIST_ITEM):
            run = list(group)
            header, header_length = self._lead_in(run[0].start)
            if listed and self._length(run[0].start, run[-1].end) + header_length <= self._target:
                yield _Piece(run[0].start, run[-1].end, header, header_length)
                continue
            captions = self._captions(run)
            for block in run:
                if block not in captions.values():
                    yield from self._block_pieces(block, captions.get(block.start))

    def _captions(self, run: Sequence[Block]) -> dict[int, Block]:
        """Return, by where a table starts, the caption above it that leaves room for rows."""
        return {
            table.start: caption for caption, table in itertools.pairwise(run)
            if caption.kind is BlockKind.CAPTION and table.kind is BlockKind.TABLE
            and self._length(caption.start, caption.end) <= self._target // 4
        }

    def _block_pieces(self, block: Block, caption: Block | None) -> Iterator[_Piece]:
        header, header_length = self._lead_in(block.start)
        start = caption.start if caption else block.start
        if self._length(start, block.end) + header_length <= self._maximum:
            yield _Piece(start, block.end, header, header_length)
        elif block.kind is BlockKind.TABLE:
            for part in cut_table(self._text, block, target=self._target, ruler=self._ruler, caption=caption):
                yield _Piece(part.start, part.end, part.header, closed=True)
        else:
            yield from self._text_pieces(start, block.end, header, header_length)

    def _text_pieces(self, start: int, end: int, header: str, header_length: int) -> Iterator[_Piece]:
        target = self._target - header_length
        while self._length(start, end) + header_length > self._maximum:
            high = min(max(self._ruler.advance(start, target), start + 1), end)
            cut = best_break(self._text, start + (high - start) // 2, high)
            yield _Piece(start, cut, header, header_length)
            start = skip_space(self._text, cut, end)
        yield _Piece(start, end, header, header_length)

    def _lead_in(self, start: int) -> tuple[str, int]:
        """Return what introduces the item that starts there, as far as it leaves room, and its length."""
        lines = list(self._lead_ins.get(start, ()))
        while lines and self._ruler.length_of("\n".join(lines)) > self._target // 2:
            # The outermost says most: a ban, a condition.
            lines.pop()
        header = "\n".join(lines)
        return header, self._ruler.length_of(header) if header else 0

    def _item_start(self, low: int, start: int) -> int | None:
        """Return the first item from `low` on where a passage begins with an item, else nothing."""
        place = bisect_left(self._items, start)
        if place == len(self._items) or self._items[place] != start:
            return None
        return self._items[bisect_left(self._items, low)]

    def _pack(self, pieces: Iterable[_Piece]) -> list[_Piece]:
        packed: list[_Piece] = []
        for piece in pieces:
            if packed and self._joins(packed[-1], piece):
                packed[-1] = replace(packed[-1], end=piece.end)
            else:
                packed.append(piece)
        if len(packed) > 1 and self._is_remainder(packed[-2], packed[-1]):
            last = packed.pop()
            packed[-1] = replace(packed[-1], end=last.end)
        return packed

    def _joins(self, previous: _Piece, piece: _Piece) -> bool:
        if previous.closed or piece.closed:
            return False
        together = self._length(previous.start, piece.end) + previous.header_length
        half_empty = self._length(previous.start, previous.end) < self._target // 2
        return together <= self._target or (half_empty and together <= self._maximum)

    def _is_remainder(self, previous: _Piece, last: _Piece) -> bool:
        small = self._length(last.start, last.end) < self._target // 4
        fits = self._length(previous.start, last.end) + previous.header_length <= self._maximum
        return small and fits and not previous.closed and not last.closed

    def _are_small_peers(self, previous: Passage, passage: Passage) -> bool:
        if previous.page != passage.page or previous.apart != passage.apart or previous.header or passage.header:
            return False
        together = self._length(previous.start, passage.end)
        if (
            self._is_bare_heading(previous)
            and passage.heading_path[: len(previous.heading_path)] == previous.heading_path
        ):
            return together <= self._maximum
        small = min(self._length(previous.start, previous.end), self._length(passage.start, passage.end))
        shared = len(_common(previous.heading_path, passage.heading_path))
        related = shared >= min(len(previous.heading_path), len(passage.heading_path)) - 1
        return related and small < self._target // 2 and together <= self._target

    def _is_bare_heading(self, passage: Passage) -> bool:
        return bool(passage.heading_path) and self._text[passage.start : passage.end] == passage.heading_path[-1]

    def _continues(self, previous: Passage, passage: Passage) -> bool:
        section_before = (previous.page, previous.heading_path, previous.apart)
        same_section = section_before == (passage.page, passage.heading_path, passage.apart)
        starts_section = bool(passage.heading_path) and self._text.startswith(passage.heading_path[-1], passage.start)
        return bool(self._overlap) and same_section and not starts_section and not passage.header


def _common(first: tuple[str, ...], second: tuple[str, ...]) -> tuple[str, ...]:
    shared = itertools.takewhile(lambda pair: pair[0] == pair[1], zip(first, second, strict=False))
    return tuple(heading for heading, _ in shared)
