"""From a parsed document to its chunks, whatever the method: each within the model's limit, in order, measured."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from services.chassis.errors import DocumentEmpty
from services.ingest.chunking.breaks import best_break, trim
from services.ingest.chunking.chunks import Chunk, Passage
from services.ingest.chunking.configuration import HYBRID, LINES, TOKENS, ChunkingConfiguration
from services.ingest.chunking.hybrid import cut_hybrid
from services.ingest.chunking.lines import CHUNK_CHARACTERS_MIN, cut_lines, join_lines
from services.ingest.chunking.page import cut_pages
from services.ingest.chunking.rulers import CharacterRuler, TokenRuler
from services.ingest.documents import ParsedDocument
from services.ingest.tokens import Tokens

_HEADING_LINES = 6
"""Lines at the start of a passage in which a heading of its path may stand already."""


def cut(
    document: ParsedDocument,
    configuration: ChunkingConfiguration,
    tokens: Tokens,
    *,
    detect_language: Callable[[str], str] | None = None,
) -> list[Chunk]:
    """Return the document's chunks; the same document and configuration give the same chunks.

    Raise InvalidArgument for a configuration that the model cannot take, DocumentEmpty where no chunk is left.
    """
    configuration.validate(tokens.passage_limit)
    fitting = _Fitting(document, configuration, tokens)
    passages = [part for passage in _passages(document, configuration, tokens) for part in fitting.fit(passage)]
    if not passages:
        raise DocumentEmpty(
            f"“{document.title}” leaves no passage: its text is shorter than the {CHUNK_CHARACTERS_MIN} characters "
            "that a chunk needs."
        )
    return [
        _chunk(index, passage, text=fitting.render(passage), document=document, tokens=tokens, detect=detect_language)
        for index, passage in enumerate(passages)
    ]


def _passages(document: ParsedDocument, configuration: ChunkingConfiguration, tokens: Tokens) -> Iterator[Passage]:
    if configuration.method == LINES:
        return cut_lines(document, configuration)
    if configuration.method == HYBRID:
        in_tokens = configuration.unit == TOKENS
        ruler = TokenRuler(document, tokens) if in_tokens else CharacterRuler(document.text)
        return cut_hybrid(document, configuration, ruler)
    return cut_pages(document, configuration)


class _Fitting:
    """Splits what is over a limit: 1,500 characters of Chinese or of base64 are more tokens than a model reads."""

    def __init__(self, document: ParsedDocument, configuration: ChunkingConfiguration, tokens: Tokens) -> None:
        self._text = document.text
        self._joined = configuration.method == LINES
        self._tokens = tokens
        in_tokens = configuration.unit == TOKENS
        self._tokens_max = min(configuration.maximum, tokens.passage_limit) if in_tokens else tokens.passage_limit
        self._characters_max = None if in_tokens else configuration.maximum

    def render(self, passage: Passage) -> str:
        """Return the passage's text."""
        text = self._text[passage.start : passage.end]
        if self._joined:
            return join_lines(text)
        return f"{passage.header}\n{text}" if passage.header else text

    def fit(self, passage: Passage) -> Iterator[Passage]:
        """Yield the passage trimmed, or its halves, cut where a text may be, until each fits."""
        start, end = trim(self._text, passage.start, passage.end)
        passage = replace(passage, start=start, end=end)
        if start >= end:
            return
        if self._fits(self.render(passage)) or end - start == 1:
            yield passage
        elif passage.header and not self._fits(passage.header + passage.header):
            yield from self.fit(replace(passage, header=""))
        else:
            middle = best_break(self._text, start + (end - start) // 4, start + (end - start + 1) // 2)
            yield from self.fit(replace(passage, end=middle))
            yield from self.fit(replace(passage, start=middle))

    def _fits(self, text: str) -> bool:
        if self._characters_max is not None and len(text) > self._characters_max:
            return False
        return self._tokens.count(text) <= self._tokens_max


def _chunk(
    index: int,
    passage: Passage,
    *,
    text: str,
    document: ParsedDocument,
    tokens: Tokens,
    detect: Callable[[str], str] | None,
) -> Chunk:
    return Chunk(
        index=index,
        text=text,
        start_character=passage.start,
        end_character=passage.end,
        token_count=tokens.count(text),
        page=passage.page,
        heading_path=passage.heading_path,
        embedding_text=_embedding_text(document.title, passage.heading_path, text, tokens),
        language=detect(text) if detect else "",
    )


def _embedding_text(title: str, path: tuple[str, ...], text: str, tokens: Tokens) -> str:
    """Return title, headings and passage; with less of the first two where the model's limit asks for it."""
    said = set(text.split("\n", _HEADING_LINES)[:_HEADING_LINES])
    headings = tuple(heading for heading in path if heading not in said and heading != title)
    title = "" if title in said else title
    # The title tells most, then the nearest heading.
    for context in ((title, *headings), (title, *headings[-1:]), (title,)):
        lines = [line for line in (context[0], " > ".join(context[1:])) if line]
        candidate = "\n".join([*lines, text])
        if tokens.count(candidate) <= tokens.passage_limit:
            return candidate
    return text
