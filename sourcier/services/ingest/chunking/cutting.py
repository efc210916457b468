"""From a parsed document to its chunks, whatever the method: each within the model's limit, in order, measured."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

from sourcier.services.chassis.errors import DocumentEmpty, DocumentTooCostly
from sourcier.services.ingest.chunking.breaks import best_break, trim
from sourcier.services.ingest.chunking.chunks import Chunk, Passage
from sourcier.services.ingest.chunking.configuration import HYBRID, LINES, TOKENS, ChunkingConfiguration
from sourcier.services.ingest.chunking.hybrid import cut_hybrid
from sourcier.services.ingest.chunking.lines import CHUNK_CHARACTERS_MIN, cut_lines, join_lines
from sourcier.services.ingest.chunking.page import cut_pages
from sourcier.services.ingest.chunking.placed_text import place_map
from sourcier.services.ingest.chunking.rulers import CharacterRuler, TokenRuler
from sourcier.services.ingest.documents import ParsedDocument
from sourcier.services.ingest.tokens import Tokens

_HEADING_LINES = 6
"""Lines at the start of a passage in which a heading of its path may stand already."""
TEXT_BYTES_MAX = 64 * 1024
"""In UTF-8, of a passage: a message carries several, each with what is embedded of it, and has 512 KiB at most."""


@dataclass(frozen=True, slots=True)
class CuttingLimits:
    """What a document may cost: each chunk is embedded, stored, indexed and searched."""

    chunks: int

    def too_costly(self, title: str) -> DocumentTooCostly:
        """Return the error for a document of more chunks."""
        return DocumentTooCostly(
            f"“{title}” makes more than {self.chunks:,} passages, the most that a document may; split it, or raise "
            "SOURCIER_INGEST_DOCUMENT_CHUNKS_MAX, then replay"
        )


def cut(
    document: ParsedDocument,
    configuration: ChunkingConfiguration,
    tokens: Tokens,
    *,
    detect_language: Callable[[str], str] | None = None,
    limits: CuttingLimits | None = None,
) -> list[Chunk]:
    """Return the document's chunks; the same document and configuration give the same chunks.

    Raise InvalidArgument for a configuration that the model cannot take, DocumentEmpty where no chunk is left, and
    DocumentTooCostly, before it is cut to its end, where the limits are passed.
    """
    configuration.validate(tokens.passage_limit)
    fitting = _Fitting(document, configuration, tokens)
    fitted: list[_Fitted] = []
    for passage in _passages(document, configuration, tokens):
        for part in fitting.fit(passage):
            fitted.append(part)
            if limits is not None and len(fitted) > limits.chunks:
                raise limits.too_costly(document.title)
    if not fitted:
        raise DocumentEmpty(
            f"“{document.title}” leaves no passage: its text is shorter than the {CHUNK_CHARACTERS_MIN} characters "
            "that a chunk needs."
        )
    contexts, chunks = Contexts(document.title, tokens), []
    for index, part in enumerate(fitted):
        embedding_text, embedding_token_count = contexts.embedding_text(
            part.text, heading_path=part.passage.heading_path, token_count=part.token_count
        )
        chunks.append(Chunk(
            index=index,
            text=part.text,
            start_character=part.passage.start,
            end_character=part.passage.end,
            token_count=part.token_count,
            page=part.passage.page,
            heading_path=part.passage.heading_path,
            embedding_text=embedding_text,
            embedding_token_count=embedding_token_count,
            language=detect_language(part.text) if detect_language else "",
            place_map=place_map(document, part.passage, joined=configuration.method == LINES),
        ))
    return chunks


def _passages(document: ParsedDocument, configuration: ChunkingConfiguration, tokens: Tokens) -> Iterator[Passage]:
    if configuration.method == LINES:
        return cut_lines(document, configuration)
    if configuration.method == HYBRID:
        in_tokens = configuration.unit == TOKENS
        ruler = TokenRuler(document, tokens) if in_tokens else CharacterRuler(document.text)
        return cut_hybrid(document, configuration, ruler)
    return cut_pages(document, configuration)


@dataclass(frozen=True, slots=True)
class _Fitted:
    """A passage within its limits, rendered and counted once: tokenising is most of the cost of cutting."""

    passage: Passage
    text: str
    token_count: int


class _Fitting:
    """Splits what is over a limit: 1,500 characters of Chinese or of base64 are more tokens than a model reads."""

    def __init__(self, document: ParsedDocument, configuration: ChunkingConfiguration, tokens: Tokens) -> None:
        self._text = document.text
        self._joined = configuration.method == LINES
        self._tokens = tokens
        in_tokens = configuration.unit == TOKENS
        self._tokens_max = min(configuration.maximum, tokens.passage_limit) if in_tokens else tokens.passage_limit
        self._characters_max = None if in_tokens else configuration.maximum

    def fit(self, passage: Passage) -> Iterator[_Fitted]:
        """Yield the passage trimmed, or its halves, cut where a text may be, until each fits."""
        start, end = trim(self._text, passage.start, passage.end)
        if start >= end:
            return
        passage = replace(passage, start=start, end=end)
        text = self._render(passage)
        token_count = self._tokens.count(text)
        if self._fits(text, token_count) or end - start == 1:
            yield _Fitted(passage, text, token_count)
        elif passage.header and self._tokens.count(passage.header) > self._tokens_max // 2:
            yield from self.fit(replace(passage, header=""))
        else:
            middle = best_break(self._text, start + (end - start) // 4, start + (end - start + 1) // 2)
            yield from self.fit(replace(passage, end=middle))
            yield from self.fit(replace(passage, start=middle))

    def _render(self, passage: Passage) -> str:
        text = self._text[passage.start : passage.end]
        if self._joined:
            return join_lines(text)
        return f"{passage.header}\n{text}" if passage.header else text

    def _fits(self, text: str, token_count: int) -> bool:
        if self._characters_max is not None and len(text) > self._characters_max:
            return False
        # Characters that a model does not know are one token, however many: they would not fit a message.
        if len(text) > TEXT_BYTES_MAX // 4 and len(text.encode()) > TEXT_BYTES_MAX:
            return False
        return token_count <= self._tokens_max


class Contexts:
    """Puts title and headings before passages, as much of them as the model's limit leaves room for."""

    def __init__(self, title: str, tokens: Tokens) -> None:
        """Take the title that all passages stand under."""
        self._title = title
        self._limit = tokens.passage_limit
        # One more for the line break, which some tokenizers count.
        self._count = lru_cache(maxsize=1024)(lambda context: tokens.count(context) + context.count("\n") + 1)

    def embedding_text(self, text: str, *, heading_path: tuple[str, ...], token_count: int) -> tuple[str, int]:
        """Return title, headings and a passage of `token_count` tokens, and the tokens of all three at most.

        Less of the first two where room lacks.
        """
        said = set(text.split("\n", _HEADING_LINES)[:_HEADING_LINES])
        headings = tuple(heading for heading in heading_path if heading not in said and heading != self._title)
        title = "" if self._title in said else self._title
        # The title tells most, then the nearest heading.
        for shown in (headings, headings[-1:], ()):
            context = "\n".join(line for line in (title, " > ".join(shown)) if line)
            if context and self._count(context) + token_count <= self._limit:
                return f"{context}\n{text}", self._count(context) + token_count
        return text, token_count
