"""A chunk, and what it is before it is numbered and measured."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Chunk:
    """One passage of a document, ready to be embedded."""

    index: int
    """Place in the document, from 0."""
    text: str
    start_character: int
    end_character: int
    """Where the passage stands in the document's text; a repeated table header is in `text`, not in the span."""
    token_count: int
    """Tokens of `text`, without prefix and special tokens."""
    page: int
    """From 1; 0 where the format has no pages."""
    heading_path: tuple[str, ...]
    embedding_text: str
    """What the model reads: title, headings and passage, within its limit."""
    embedding_token_count: int
    """Tokens of `embedding_text` at most."""
    language: str
    """ISO 639-1, empty when unknown."""
    place_map: bytes = b""
    """Where its text stands in the file, encoded; empty where that is not known."""


@dataclass(frozen=True, slots=True)
class Passage:
    """A span that a method cut; `header` is repeated above its text."""

    start: int
    end: int
    page: int
    heading_path: tuple[str, ...]
    header: str = ""
    apart: bool = False
    """Whether it stands around the document's content, and is never one with it."""
