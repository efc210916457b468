"""Measure spans of a text, in characters or in a model's tokens."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from functools import lru_cache
from typing import Protocol

from sourcier.services.ingest.documents import ParsedDocument
from sourcier.services.ingest.tokens import Tokens


class Ruler(Protocol):
    """Lengths over one text."""

    def length(self, start: int, end: int) -> int:
        """Return the length of a span."""

    def advance(self, start: int, length: int) -> int:
        """Return the end of the longest span from `start` of at most `length`."""

    def retreat(self, end: int, length: int) -> int:
        """Return the start of the longest span up to `end` of at most `length`."""

    def length_of(self, text: str) -> int:
        """Return the length of a text that stands elsewhere."""


class CharacterRuler:
    """Counts characters (code points), never bytes."""

    def __init__(self, text: str) -> None:
        self._total = len(text)

    def length(self, start: int, end: int) -> int:
        """Return the length of a span."""
        return max(end - start, 0)

    def advance(self, start: int, length: int) -> int:
        """Return the end of the longest span from `start` of at most `length`."""
        return min(start + length, self._total)

    def retreat(self, end: int, length: int) -> int:
        """Return the start of the longest span up to `end` of at most `length`."""
        return max(end - length, 0)

    def length_of(self, text: str) -> int:
        """Return the length of a text that stands elsewhere."""
        return len(text)


class TokenRuler:
    """Counts tokens by where each starts, so that a document is tokenised once, not once for each candidate cut."""

    def __init__(self, document: ParsedDocument, tokens: Tokens) -> None:
        self._total = len(document.text)
        self._count = lru_cache(maxsize=256)(tokens.count)
        self._starts: Sequence[int] = [
            block.start + start for block in document.blocks for start in tokens.starts(document.block_text(block))
        ]

    def length(self, start: int, end: int) -> int:
        """Return the number of tokens that start in a span."""
        return max(bisect_left(self._starts, end) - bisect_left(self._starts, start), 0)

    def advance(self, start: int, length: int) -> int:
        """Return the end of the longest span from `start` of at most `length`."""
        beyond = bisect_left(self._starts, start) + length
        return self._starts[beyond] if beyond < len(self._starts) else self._total

    def retreat(self, end: int, length: int) -> int:
        """Return the start of the longest span up to `end` of at most `length`."""
        first = bisect_left(self._starts, end) - length
        return self._starts[first] if first > 0 else 0

    def length_of(self, text: str) -> int:
        """Return the length of a text that stands elsewhere, and of the line break after it."""
        return self._count(text) + 1
