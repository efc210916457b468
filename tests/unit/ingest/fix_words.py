"""A model's tokenizer, reduced to words of at most eight letters: exact to reason about, and instant."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from sourcier.services.ingest.documents import Block, BlockKind, ParsedDocument

_TOKENS = re.compile(r"\S{1,8}")


@dataclass(frozen=True, slots=True)
class WordCounter:
    """Counts runs of up to eight characters between spaces."""

    passage_limit: int = 500

    def count(self, text: str) -> int:
        return len(_TOKENS.findall(text))

    def starts(self, text: str) -> Sequence[int]:
        return [match.start() for match in _TOKENS.finditer(text)]


def document_of(*pages: str, title: str = "Guide", titled: bool = True) -> ParsedDocument:
    """A document of paragraphs (set apart by blank lines) and `# ` headings; several texts are pages from 1."""
    text, blocks, path = "", [], tuple[str, ...]()
    for number, page in enumerate(pages, 1):
        for paragraph in page.split("\n\n"):
            if not paragraph.strip():
                continue
            separator = "\n\n" if text else ""
            kind, content = BlockKind.PARAGRAPH, paragraph
            if paragraph.startswith("# "):
                kind, content = BlockKind.HEADING, paragraph[2:]
                path = (content,)
            elif paragraph.startswith("|"):
                kind = BlockKind.TABLE
            start = len(text) + len(separator)
            text += separator + content
            blocks.append(Block(kind, start, len(text), number if len(pages) > 1 else 0, 0, path))
    return ParsedDocument(title, text, tuple(blocks), len(pages) if len(pages) > 1 else 0, "text", titled=titled)
