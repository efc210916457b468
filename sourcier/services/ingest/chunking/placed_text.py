"""Which parts of a document the text of a chunk is put together of, and so where it stands in the file."""

from __future__ import annotations

from collections.abc import Iterator

from sourcier.services.index.places.encoding import encode_bounded
from sourcier.services.ingest.chunking.chunks import Passage
from sourcier.services.ingest.documents import ParsedDocument

_HEADER_WITHIN_CHARACTERS = 200_000
"""How far above a chunk the header that it repeats is looked for: the last one is the one that is repeated."""


def place_map(document: ParsedDocument, passage: Passage, *, joined: bool) -> bytes:
    """Return the places of a chunk's text as they are stored; `joined` where its lines were put on one."""
    if not document.places:
        return b""
    segments = _joined_lines(document.text, passage) if joined else _segments(document.text, passage)
    return encode_bounded(document.places.part(segments))


def _segments(text: str, passage: Passage) -> Iterator[tuple[int, int, int]]:
    """Yield where each part begins in the chunk's text, and from where to where it stands in the document's."""
    at = 0
    if passage.header:
        for line in passage.header.split("\n"):
            start = text.rfind(line, max(passage.start - _HEADER_WITHIN_CHARACTERS, 0), passage.start) if line else -1
            if start >= 0:
                yield at, start, start + len(line)
            at += len(line) + 1
    yield at, passage.start, passage.end


def _joined_lines(text: str, passage: Passage) -> Iterator[tuple[int, int, int]]:
    """Yield the lines of a passage, trimmed and parted by one space each, as `join_lines` puts them together."""
    at, start = 0, passage.start
    for line in text[passage.start : passage.end].split("\n"):
        trimmed = line.strip()
        if trimmed:
            first = start + line.index(trimmed[0])
            yield at, first, first + len(trimmed)
            at += len(trimmed) + 1
        start += len(line) + 1
