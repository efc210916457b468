"""What was read of a document, put together again from its chunks: each character once, repeated headers left out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from psycopg.rows import class_row

from sourcier.services.chassis.postgres.database import Connection
from sourcier.services.index.documents.documents import get_document

CHUNKS_MAX = 500
"""Read in one go."""


@dataclass(frozen=True, slots=True)
class TextChunk:
    """A chunk with where it stands in the document's text."""

    chunk_index: int
    text: str
    start_character: int
    end_character: int
    page: int
    heading_path: Sequence[str]


@dataclass(frozen=True, slots=True)
class TextPiece:
    """Some text that continues the piece before it, and its page."""

    text: str
    page: int


async def read_chunks(
    connection: Connection, *, tenant: str, document_id: str, after: int = -1
) -> list[TextChunk]:
    """Return the chunks behind the one numbered `after`, at most 500; raise `NotFound` without the document."""
    await get_document(connection, tenant=tenant, document_id=document_id)
    values = {"tenant": tenant, "document_id": document_id, "after": after, "limit": CHUNKS_MAX}
    async with connection.cursor(row_factory=class_row(TextChunk)) as cursor:
        await cursor.execute(SELECT, values)
        return await cursor.fetchall()


class TextJoiner:
    """Puts chunks together in order; what a chunk repeats of the one before it is left out."""

    def __init__(self) -> None:
        """Begin at the start of the text."""
        self._end = 0
        self._headings: tuple[str, ...] = ()

    def pieces(self, chunks: Iterable[TextChunk]) -> Iterator[TextPiece]:
        """Yield what the chunks add."""
        for chunk in chunks:
            length = chunk.end_character - chunk.start_character
            # A method that joins lines has a text that is shorter than its span.
            text = chunk.text[-length:] if 0 < length <= len(chunk.text) else chunk.text
            repeated = max(self._end - chunk.start_character, 0)
            separator = _separator(chunk.start_character - self._end) if self._end else ""
            added = text[repeated:]
            self._end = max(self._end, chunk.end_character)
            if added.strip():
                yield TextPiece(separator + self._with_headings(added, chunk), chunk.page)

    def _with_headings(self, text: str, chunk: TextChunk) -> str:
        """Return the text with the lines that are headings of its path marked, each where it begins."""
        levels = {heading: level for level, heading in enumerate(chunk.heading_path, 1)}
        path = tuple(chunk.heading_path)
        if path == self._headings:
            return text
        self._headings = path
        lines = text.split("\n")
        for number, line in enumerate(lines):
            level = levels.pop(line, 0)
            if level:
                lines[number] = f"{'#' * min(level, 6)} {line}"
        return "\n".join(lines)


def _separator(gap: int) -> str:
    """Return what stood between two blocks: a line break within lists, whose items are indented; else a blank line."""
    if gap <= 0:
        return ""
    return "\n" + " " * (gap - 1) if gap % 2 and gap < 16 else "\n\n"


SELECT = """
select chunk_index, text, start_character, end_character, page, heading_path
from chunks
where tenant = %(tenant)s and document_id = %(document_id)s and chunk_index > %(after)s
order by chunk_index
limit %(limit)s
"""
