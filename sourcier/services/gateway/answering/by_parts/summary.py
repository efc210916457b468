"""A document in its sections: what each says first, word for word, from the index and without the language model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sourcier.services.gateway.answering.by_parts.naming import Named, named_by
from sourcier.services.gateway.answering.by_parts.quoting import first_saying
from sourcier.services.gateway.evidence.links import extract
from sourcier.services.gateway.prompting.marking import defused, one_line
from sourcier.services.index.documents.texts import CHUNKS_MAX, TextChunk
from sourcier.services.index.documents.titles import DocumentTitle
from sourcier.services.index.language.stop_words import fold_in_place
from sourcier.services.index.times.periods import dated

SECTIONS_MAX = 12
SENTENCE_CHARACTERS_MAX = 300
HEADING_CHARACTERS_MAX = 100
_THIS = frozenset({
    "ce document", "le document", "ce fichier", "ce texte", "this document", "the document", "this file",
})


def asked_about(subject: str, titles: Sequence[DocumentTitle], chosen: Sequence[str]) -> Named | None:
    """Return the document that is to be told of; None where none is named, or several are.

    « ce document » is the only one of the question's filter, else the collection's only one.
    """
    if fold_in_place(subject).strip(" ?.") in _THIS:
        these = [each for each in titles if not chosen or str(each.document_id) in chosen]
        return Named.of(these[0]) if len(these) == 1 else None
    found = named_by(subject, [Named.of(each) for each in titles])
    return found[0] if len(found) == 1 else None


@dataclass(frozen=True)
class _Section:
    heading: str
    page: int
    said: str


def told_in_sections(named: Named, chunks: Sequence[TextChunk], *, language: str) -> str | None:
    """Return what each section of a document says first; None of one that says nothing. Blocks for milliseconds."""
    sections = list(_sections(named, chunks))
    if not sections:
        return None
    texts = _FRENCH if language == "fr" else _ENGLISH
    head = texts["head"].format(
        name=dated(named.shown, named.period, language=language), count=len(chunks), s="s" if len(chunks) > 1 else "",
        more="+" if len(chunks) >= CHUNKS_MAX else "",
    )
    lines = []
    for each in sections[:SECTIONS_MAX]:
        heading = texts["heading"].format(heading=each.heading) if each.heading else ""
        page = texts["page"].format(page=each.page) if each.page else ""
        lines.append(f"- {heading}{texts['quotation'].format(each.said)}{page}")
    left = len(sections) - SECTIONS_MAX
    return "\n".join((head, *lines, *([texts["left"].format(count=left)] if left > 0 else [])))


def _sections(named: Named, chunks: Sequence[TextChunk]) -> Iterator[_Section]:
    """Give the first sentence that says something below each heading; without headings, of each chunk."""
    seen: set[str] = set()
    for chunk in chunks:
        heading = one_line(chunk.heading_path[-1]) if chunk.heading_path else ""
        if heading and heading in seen:
            continue
        found = first_saying(chunk.text, (named.title.title, *chunk.heading_path))
        if found is None:
            continue
        seen.add(heading)
        said = extract(found, chunk.text, characters_max=SENTENCE_CHARACTERS_MAX)
        yield _Section(defused(heading)[:HEADING_CHARACTERS_MAX], chunk.page, said)


_FRENCH = {
    "head": "« {name} » en extraits ({count}{more} passage{s} lu{s}), ce que chaque partie dit d'abord :",
    "heading": "{heading} : ", "page": " (p. {page})", "quotation": "« {} »", "left": "- … et {count} autres parties",
}
_ENGLISH = {
    "head": "“{name}” in extracts ({count}{more} passage{s} read), what each part says first:",
    "heading": "{heading}: ", "page": " (p. {page})", "quotation": "“{}”", "left": "- … and {count} more parts",
}
