"""The sources of an answer in the forms that chat clients show: a closing list, annotations, or events."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any
from urllib.parse import quote

from sourcier.gateway.v1 import answer_pb2
from sourcier.moments import page_or_moment
from sourcier.services.chassis.cleaning import clean_line

HEADING = "\n\n---\n**Sources**\n"
"""What the list begins with: an answer that comes back as history is cut there."""
TITLE_CHARACTERS_MAX = 200
TEXT_CHARACTERS_MAX = 8_000
_MARKUP = re.compile(r"([\\`*_{}\[\]()#+!|<>~$])")
_LINK = re.compile(r"https?://[^\s<>()\"']{1,2000}")


class Sources:
    """What an answer rests on, gathered while it is read."""

    def __init__(self, base_url: str) -> None:
        """Keep where the page is, to which sources without an address of their own are linked."""
        self._base_url = base_url
        self._passages: dict[int, answer_pb2.Passage] = {}
        self.citations: list[answer_pb2.Citation] = []

    def take(self, event: answer_pb2.AskEvent) -> None:
        """Take in what an event says of sources."""
        match event.WhichOneof("event"):
            case "reranked":
                self._passages = dict(enumerate(event.reranked.passages, start=1))
            case "citation":
                self.citations.append(event.citation)
            case "quoted":
                self.citations = [event.quoted.citation]
            case "refused":
                self.citations = []

    @property
    def cited(self) -> list[answer_pb2.Citation]:
        """One citation of each marker, in their order."""
        first = {each.marker: each for each in reversed(self.citations) if each.marker}
        return [first[marker] for marker in sorted(first)]

    def markdown(self) -> str:
        """Return the closing list; empty where nothing is cited."""
        if not self.cited:
            return ""
        return HEADING + "\n".join(self._line(each) for each in self.cited) + "\n"

    def annotations(self) -> list[dict[str, Any]]:
        """Return the citations as OpenAI's `url_citation`, by the sentence that each stands for."""
        return [
            {"type": "url_citation", "url_citation": {
                "start_index": each.sentence_start, "end_index": each.sentence_end, "url": self.link(each),
                "title": name(each),
            }} for each in self.citations if each.marker
        ]

    def events(self) -> list[dict[str, Any]]:
        """Return the sources as Open WebUI takes them."""
        return [
            {"type": "source", "data": {
                "source": {"id": each.chunk_id or each.faq_entry_id, "name": name(each), "url": self.link(each)},
                "document": [self.text(each)],
                "metadata": [{"source": name(each), "name": name(each), "page": each.page}],
            }} for each in self.cited
        ]

    def told(self) -> list[dict[str, Any]]:
        """Return the sources in full, for programs."""
        return [
            {"marker": each.marker, "title": each.title, "source": each.source, "page": each.page,
             "document_id": each.document_id, "version_id": each.version_id, "chunk_id": each.chunk_id,
             "faq_entry_id": each.faq_entry_id, "url": self.link(each), "text": self.text(each)}
            for each in self.cited
        ]

    def text(self, citation: answer_pb2.Citation) -> str:
        """Return the passage that a citation names."""
        passage = self._passages.get(citation.marker)
        return "" if passage is None else passage.text[:TEXT_CHARACTERS_MAX]

    def link(self, citation: answer_pb2.Citation) -> str:
        """Return where a person can read the source: its own address, or its place in the page."""
        if _LINK.fullmatch(citation.source):
            return citation.source
        return f"{self._base_url}/#/documents/{quote(citation.document_id, safe='')}"

    def _line(self, citation: answer_pb2.Citation) -> str:
        return f"- [{citation.marker}] [{plain(name(citation))}]({self.link(citation)})"


def name(citation: answer_pb2.Citation) -> str:
    """Return what a person calls the source."""
    # A source is named by who uploads it: characters that turn the direction of writing would turn the list's.
    title = (clean_line(citation.title or citation.source) or "FAQ")[:TITLE_CHARACTERS_MAX]
    where = page_or_moment(citation.page, citation.places)
    return f"{title}, {where}" if where else title


def plain(text: str) -> str:
    """Return a text that Markdown shows as it is: a document's title is nobody's to format."""
    return _MARKUP.sub(r"\\\1", text)


def without_sources(text: str) -> str:
    """Return an answer that a client sends back, without the list that was added to it."""
    return text.partition(HEADING)[0]


def withheld(events: Iterable[answer_pb2.Withheld]) -> list[dict[str, str]]:
    """Return the sentences that were not shown, and why."""
    return [{"sentence": each.sentence, "code": each.code, "reason": each.reason} for each in events]
