"""Questions on several documents and on collections, answered in this process: no service, no model.

`eval/data/several.jsonl` has families of documents: riders, notes, notices. Each family is a collection. The gateway's
own `Answerer` answers; it searches by words alone, and the language model is not there, so what is measured is what
rules find and cite. Before is the same without parts: whether the passages that the model would have read hold what
each part wants, which is the most that it could have cited.
"""

from __future__ import annotations

import asyncio
import re
import uuid
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from eval.sets.halves import TODAY, rows_of
from eval.times.searching import words_index
from sourcier.services.chassis.errors import Unavailable
from sourcier.services.chassis.grpc.channels import Deadline
from sourcier.services.gateway.answering.answerer import Answerer
from sourcier.services.gateway.answering.options import AnswerOptions
from sourcier.services.gateway.events import (
    Citation,
    Decomposed,
    Event,
    PartAnswered,
    RankedPassage,
    Reranked,
    Token,
)
from sourcier.services.gateway.evidence.checking import Thresholds
from sourcier.services.gateway.evidence.citing import Strictness
from sourcier.services.gateway.history import language_of
from sourcier.services.gateway.peers.embedding import QueryEmbedding
from sourcier.services.gateway.peers.services import SamplingOptions
from sourcier.services.gateway.prompting.marking import Marking
from sourcier.services.gateway.retrieval.narrowing import Closeness
from sourcier.services.gateway.retrieval.query import Found, Mode, Query
from sourcier.services.gateway.retrieval.retriever import Retriever
from sourcier.services.index.documents.titles import DocumentTitle
from sourcier.services.index.language.analyser import analyse_passage, analyse_subject
from sourcier.services.index.language.recognition import detect
from sourcier.services.index.search.filters import Filters
from sourcier.services.index.search.passages import Passage
from sourcier.services.index.search.search import SearchResult
from sourcier.services.index.times.document import DocumentTimes
from sourcier.services.index.times.reading import times_of
from sourcier.services.index.times.relations import Said

QUESTIONS = Path(__file__).parents[1] / "data" / "several.jsonl"
PASSAGES = 5
EMBEDDING = QueryEmbedding("space", np.zeros(8, np.float32), b"", ())
OPTIONS = AnswerOptions(
    sampling=SamplingOptions(100, 0.0, None), closeness=Closeness(), answerability_threshold=0.0,
    cross_encoder_threshold=None, quote_threshold=2.0, support=Thresholds(score=0.5, vectors=0.4, share=0.7),
    strictness=Strictness.WITHHOLD, refusal_text="", today=TODAY,
)


class WithoutModel:
    """Peers of which the language model is not there."""

    ranker = ""

    @asynccontextmanager
    async def generate(self, *_: object, **__: object) -> AsyncIterator[AsyncIterator[str]]:
        """Raise, as where no engine runs."""
        raise Unavailable("no language model")
        yield


class Collection(Retriever):
    """One family's documents, searched by words."""

    def __init__(self, documents: Sequence[Mapping[str, Any]], *, whole: bool = False) -> None:
        """Cut documents at their blank lines, or take each whole as one passage, and index what is left."""
        self._documents = documents
        self._passages = [
            _passage(document, number, text)
            for document in documents
            for number, text in enumerate([document["text"]] if whole else document["text"].split("\n\n"))
        ]
        self._stems = [frozenset(analyse_passage(
            f"{each.title}\n{each.text}", language=detect(each.text)
        ).frequencies) for each in self._passages]
        self._index = words_index([(each.title, each.text) for each in self._passages])

    async def find(self, query: Query, **_: object) -> Found:
        """Return the passages that share most words with a question."""
        hits = self._index.search(query.question, limit=len(self._passages)).chunks.tolist()
        wanted = frozenset(query.filters.document_ids)
        if wanted:
            # Of a document that was named every passage is close by its vector.
            hits += [number for number in range(len(self._passages)) if number not in hits]
        found = [self._passages[number] for number in hits]
        kept = [each for each in found if not wanted or each.document_id in wanted][: query.limit]
        entries = tuple(
            RankedPassage(SearchResult(passage=each, score=0.03, similarity=0.9)) for each in kept
        )
        return Found(entries, len(entries), embedding=EMBEDDING, looked_at=entries)

    async def titles(self, *_: object, **__: object) -> list[DocumentTitle]:
        """Return the family's documents."""
        return [_title(document, place) for place, document in enumerate(self._documents)]

    async def documents_about(self, query: Query, subject: str, **_: object) -> frozenset[str]:
        """Return the documents of which a passage holds all words of a subject."""
        words = analyse_subject(subject)
        return frozenset(
            each.document_id for each, stems in zip(self._passages, self._stems, strict=True)
            if words and all(not stems.isdisjoint(forms) for forms in words)
        )

    async def times(self, document_ids: Sequence[str], **_: object) -> tuple[dict[str, DocumentTimes], Said]:
        """Return when documents hold, as read at their commit."""
        return {
            _id(each["name"]): times_of(title=each["title"], name=each["name"], head=each["text"])
            for each in self._documents if _id(each["name"]) in document_ids
        }, Said()

    async def beside(self, *_: object, **__: object) -> dict[str, tuple[Passage, ...]]:
        """Return no chunk beside any."""
        return {}


def _id(name: str) -> str:
    """Return a document's id: filters take no other names."""
    return str(uuid.uuid5(uuid.NAMESPACE_URL, name))


def _title(document: Mapping[str, Any], place: int) -> DocumentTitle:
    times = times_of(title=document["title"], name=document["name"], head=document["text"])
    period = times.period
    return DocumentTitle(
        _id(document["name"]), document["title"], document["name"], {}, datetime(2026, 1, 1 + place, tzinfo=UTC),
        None if period is None else period.start, None if period is None else period.end, is_read=True,
    )


def _passage(document: Mapping[str, Any], number: int, text: str) -> Passage:
    name = document["name"]
    return Passage(
        chunk_id=f"{name}#{number}", document_id=_id(name), version_id="", collection="several",
        title=document["title"], source=name, filename=name, chunk_index=number, kind="text", method="hybrid",
        language="", page=0, start_character=0, end_character=len(text), token_count=0, heading_path=(), text=text,
        category="", metadata={},
    )


@dataclass(frozen=True)
class Shown:
    """What one question came to."""

    half: str
    family: str
    entry: Mapping[str, Any]
    text: str
    parts: tuple[tuple[str, frozenset[str]], ...]
    """Of each part its line, and the documents that it cites."""
    found: tuple[bool, ...]
    read: tuple[tuple[str, str], ...]
    """The passages of the search, each as its document and its text."""

    @property
    def is_of_parts(self) -> bool:
        """Whether several documents or things are asked about, not the collection itself."""
        return "parts" in self.entry

    def outcome(self, wanted: Mapping[str, str]) -> str:
        """Return `cited`, `wrong` or `missed` for one wanted part; of one that is not there `told` or `missed`."""
        if wanted.get("absent"):
            told = any(_holds(line, wanted["absent"]) and not found
                       for (line, _), found in zip(self.parts, self.found, strict=True))
            return "told" if told else "missed"
        lines = [line for line, cited in self.parts if _id(wanted["document"]) in cited]
        if any(_holds(line, wanted["value"]) for line in lines):
            return "cited"
        return "wrong" if lines else "missed"

    def could_be_read(self, wanted: Mapping[str, str]) -> bool:
        """Return whether the passages of one search hold what a part wants."""
        document = _id(wanted["document"])
        return any(each == document and _holds(text, wanted["value"]) for each, text in self.read)

    @property
    def is_exact(self) -> bool:
        """Whether a question about the collection has the number and the names that it should, and no others."""
        named = {each for each in self.entry["all"] if each in self.text}
        count = self.entry.get("count")
        return named == set(self.entry["names"]) and (
            count is None or re.search(rf"(?<!\d){count}(?!\d)", self.text.partition(":")[0]) is not None
        )


def _holds(text: str, value: str) -> bool:
    return any(" ".join(each.split()).casefold() in " ".join(text.split()).casefold() for each in value.split("|"))


def shown(*, half: str = "", in_parts: bool = True) -> list[Shown]:
    """Return what each question of the set, or of one half of it, comes to."""
    return asyncio.run(_all(half, in_parts=in_parts))


async def _all(half: str, *, in_parts: bool) -> list[Shown]:
    found = []
    for row in rows_of(QUESTIONS, half=half):
        collection = Collection(row["documents"])
        answerer = Answerer(
            collection, WithoutModel(), Marking(), in_parts=in_parts,  # type: ignore[arg-type]
        )
        for entry in row["questions"]:
            told = {"all": [each["title"] for each in row["documents"]]} | entry
            found.append(await _shown(answerer, row["half"], row["family"], told))
    return found


async def _shown(answerer: Answerer, half: str, family: str, entry: Mapping[str, Any]) -> Shown:
    query = Query(
        tenant="eval", question=entry["question"], collection="several", filters=Filters(), mode=Mode.RERANKED,
        limit=PASSAGES, candidates=20, language=language_of(entry["question"]),
    )
    events: list[Event] = []
    try:
        async with aclosing(answerer.answer(
            query, OPTIONS, answer_id="eval", deadline=Deadline.after(600)
        )) as answered:
            async for event in answered:
                events.append(event)
    except Unavailable:
        pass  # the language model, where it was to answer all of it
    return _gathered(half, family, entry, events)


def _gathered(half: str, family: str, entry: Mapping[str, Any], events: Sequence[Event]) -> Shown:
    text = "".join(event.text for event in events if isinstance(event, Token))
    citations = [event for event in events if isinstance(event, Citation)]
    parts = [event for event in events if isinstance(event, PartAnswered)]
    reranked = [event for event in events if isinstance(event, Reranked)]
    spans = [part.span for part in parts]
    found = tuple(part.found for part in parts)
    if not any(isinstance(event, Decomposed) for event in events):
        spans, found = [(0, len(text))], (bool(text),)
    return Shown(
        half, family, entry, text,
        tuple((text[start:end], frozenset(
            each.passage.document_id for each in citations if start <= each.sentence_span[0] < end
        )) for start, end in spans),
        found,
        tuple((each.passage.document_id, each.passage.text) for event in reranked[-1:] for each in event.passages),
    )


def table(after: Sequence[Shown], before: Sequence[Shown]) -> str:
    """Return what is found and cited by half and kind, as Markdown."""
    lines = ["| half | asks for | questions | wanted | in the passages, as one question | found and cited | wrong line "
             "| missed |", "|---|---|---|---|---|---|---|---|"]
    keys = sorted({(each.half, each.entry["kind"]) for each in after if each.is_of_parts})
    for key in keys:
        pairs = [(one, other) for one, other in zip(after, before, strict=True)
                 if (one.half, one.entry["kind"]) == key and one.is_of_parts]
        wanted = [(one, other, part) for one, other in pairs for part in one.entry["parts"]]
        outcomes = Counter(one.outcome(part) for one, _, part in wanted)
        read = sum(not part.get("absent") and other.could_be_read(part) for _, other, part in wanted)
        right = outcomes["cited"] + outcomes["told"]
        lines.append(f"| {key[0]} | {key[1]} | {len(pairs)} | {len(wanted)} | {read} | {right} | {outcomes['wrong']} | "
                     f"{outcomes['missed']} |")
    lines += ["", "| half | asks of the collection | questions | exact |", "|---|---|---|---|"]
    of_collection = [each for each in after if not each.is_of_parts]
    for half, kind in sorted({(each.half, each.entry["kind"]) for each in of_collection}):
        these = [each for each in of_collection if (each.half, each.entry["kind"]) == (half, kind)]
        lines.append(f"| {half} | {kind} | {len(these)} | {sum(each.is_exact for each in these)} |")
    return "\n".join(lines)


def errors(after: Sequence[Shown]) -> str:
    """Return each question that is not right, with what was shown."""
    found = []
    for each in after:
        wrong = [part for part in each.entry["parts"] if each.outcome(part) not in ("cited", "told")] \
            if each.is_of_parts else [] if each.is_exact else [{"names": each.entry["names"]}]
        if wrong:
            found.append(f"{each.half} {each.family}: {each.entry['question']}\n  {wrong}\n  {each.text!r}")
    return "\n".join(found)


