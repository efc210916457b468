"""Line-packing chunks (SPEC I8): trimmed lines joined by a space up to the target, counted in characters, not bytes."""

from __future__ import annotations

from collections.abc import Iterator

from sourcier.services.ingest.chunking.breaks import best_break, skip_space, trim
from sourcier.services.ingest.chunking.chunks import Passage
from sourcier.services.ingest.chunking.configuration import ChunkingConfiguration
from sourcier.services.ingest.documents import ParsedDocument

CHUNK_CHARACTERS_MIN = 21
"""A chunk of 20 characters or fewer is dropped."""


def join_lines(text: str) -> str:
    """Return the lines trimmed, blank ones skipped, joined by a space: the text of a span."""
    return " ".join(line for line in map(str.strip, text.split("\n")) if line)


def cut_lines(document: ParsedDocument, configuration: ChunkingConfiguration) -> Iterator[Passage]:
    """Yield the passages; each repeats up to `overlap` characters of the one before it."""
    blocks = iter(document.blocks)
    block = next(blocks, None)
    for start, end in _pack(document.text, configuration):
        if len(join_lines(document.text[start:end])) < CHUNK_CHARACTERS_MIN:
            continue
        while block is not None and block.end <= start:
            block = next(blocks, block if block.end > start else None)
        yield Passage(start, end, block.page if block else 0, block.heading_path if block else ())


def _pack(text: str, configuration: ChunkingConfiguration) -> Iterator[tuple[int, int]]:
    """Yield spans whose joined lines have at most `target` characters."""
    chunk_start, chunk_end, length = 0, 0, 0
    for start, end in _line_parts(text, configuration.target):
        if length and length + 1 + end - start > configuration.target:
            yield chunk_start, chunk_end
            room = min(configuration.overlap, configuration.target - (end - start) - 1)
            chunk_start = _overlap_start(text, chunk_start, chunk_end, room) if room > 0 else start
            length = len(join_lines(text[chunk_start:chunk_end])) if chunk_start < chunk_end else 0
        if not length:
            chunk_start, length = start, end - start
        else:
            length += 1 + end - start
        chunk_end = end
    if length:
        yield chunk_start, chunk_end


def _line_parts(text: str, target: int) -> Iterator[tuple[int, int]]:
    """Yield the span of each line, trimmed; one over the target in parts, cut between words where it has any."""
    start = 0
    for line in text.split("\n"):
        part, end = trim(text, start, start + len(line))
        while end - part > target:
            cut = best_break(text, part + target // 2, part + target)
            yield trim(text, part, cut)
            part = skip_space(text, cut, end)
        if part < end:
            yield part, end
        start += len(line) + 1


def _overlap_start(text: str, start: int, end: int, room: int) -> int:
    """Return where the last `room` characters of a span start, moved on to the next word."""
    low = max(end - room, start)
    if low == start or text[low - 1].isspace():
        return skip_space(text, low, end)
    while low < end and not text[low].isspace():
        low += 1
    # A text without spaces has no word to move to: then the characters as they are.
    return skip_space(text, low, end) if low < end else max(end - room, start)
