"""Passages, and fake peers with the methods of the real ones: what they answer is the test's to say."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import numpy as np

from sourcier.services.chassis.errors import ServiceError
from sourcier.services.chassis.grpc.channels import Deadline
from sourcier.services.gateway.answering.options import AnswerOptions
from sourcier.services.gateway.chat import Prompt
from sourcier.services.gateway.events import Degradation, RankedPassage, Usage
from sourcier.services.gateway.evidence.checking import Thresholds
from sourcier.services.gateway.evidence.citing import Strictness
from sourcier.services.gateway.history import language_of
from sourcier.services.gateway.peers.embedding import QueryEmbedding
from sourcier.services.gateway.peers.reranking import RerankCandidate
from sourcier.services.gateway.peers.services import Generation, SamplingOptions
from sourcier.services.gateway.retrieval.narrowing import Closeness
from sourcier.services.gateway.retrieval.query import Candidates, Mode, Query
from sourcier.services.gateway.retrieval.question_vector import ComingEmbedding
from sourcier.services.gateway.retrieval.retriever import Retriever
from sourcier.services.gateway.stopwatch import Stopwatch
from sourcier.services.index.documents.titles import DocumentTitle
from sourcier.services.index.search.filters import Filters
from sourcier.services.index.search.passages import Passage
from sourcier.services.index.search.search import SearchResult
from sourcier.services.index.times.document import DocumentTimes
from sourcier.services.index.times.reading import times_of
from sourcier.services.index.times.relations import Said

THRESHOLDS = Thresholds(score=0.5, vectors=0.4, share=0.7)
TELEWORK = "Chaque salarié dispose de deux jours de télétravail par semaine."
FINISH = Generation(False, Usage(50, 10, 5), "fake-model")
EMBEDDING = QueryEmbedding("space", np.zeros(8, np.float32), b"", ())


def passage(number: int, text: str = "", **fields: object) -> Passage:
    """Return a passage told apart by its number."""
    return Passage(**({  # type: ignore[arg-type]
        "chunk_id": f"chunk-{number}", "document_id": f"document-{number}", "version_id": f"version-{number}",
        "collection": "default", "title": f"Guide {number}", "source": f"guide-{number}.pdf",
        "filename": f"guide-{number}.pdf", "chunk_index": number, "kind": "text", "method": "hybrid", "language": "fr",
        "page": number, "start_character": 0, "end_character": len(text), "token_count": 10, "heading_path": (),
        "text": text or f"Texte du passage {number}.", "category": "", "metadata": {}, "token_codes": b"codes",
    } | fields))


def result(number: int, *, score: float = 0.03, similarity: float | None = 0.9, text: str = "") -> SearchResult:
    """Return a search result."""
    return SearchResult(passage=passage(number, text), score=score, similarity=similarity)


def query(question: str = "Combien de jours de télétravail par semaine ?", **fields: object) -> Query:
    """Return a question."""
    return Query(**({  # type: ignore[arg-type]
        "tenant": "acme", "question": question, "collection": "default", "filters": Filters(), "mode": Mode.RERANKED,
        "limit": 3, "candidates": 20, "language": language_of(question),
    } | fields))


def options(**fields: object) -> AnswerOptions:
    """Return how answers are made, unless a test says otherwise."""
    return AnswerOptions(**({  # type: ignore[arg-type]
        "sampling": SamplingOptions(100, 0.0, None), "closeness": Closeness(0.3, 0.8),
        "answerability_threshold": 0.0, "cross_encoder_threshold": None,
        "quote_threshold": 0.9, "support": THRESHOLDS, "strictness": Strictness.WITHHOLD, "refusal_text": "",
    } | fields))


@dataclass
class FakePeers:
    """Answers as it is told."""

    deltas: Sequence[str] = ("Deux jours ", "par semaine [1].")
    support: Mapping[str, Mapping[int, float]] = field(default_factory=dict)
    """By sentence, late interaction with the passage of each marker; 0.5 where the test does not say."""
    finish: Generation | None = FINISH
    embed_error: ServiceError | None = None
    rerank_error: ServiceError | None = None
    generate_error: ServiceError | None = None
    hang_after_deltas: bool = False
    prompts: list[Prompt] = field(default_factory=list)
    scored: list[str] = field(default_factory=list)
    tried: int = 0
    produced: int = 0
    closed: asyncio.Event = field(default_factory=asyncio.Event)

    async def embed_query(self, text: str, *, space_id: str, tenant: str, deadline: Deadline) -> QueryEmbedding:
        """Return an embedding, or raise."""
        if self.embed_error is not None:
            raise self.embed_error
        return EMBEDDING

    async def late_interaction(
        self, text: str, query: QueryEmbedding, candidates: Sequence[RerankCandidate], *, tenant: str,
        deadline: Deadline,
    ) -> dict[str, float]:
        """Return the support of a sentence."""
        self.tried += 1
        if self.rerank_error is not None:
            raise self.rerank_error
        self.scored.append(text)
        given = self.support.get(text, {})
        return {entry.chunk_id: given.get(int(entry.chunk_id), 0.5) for entry in candidates}

    @asynccontextmanager
    async def generate(
        self, prompt: Prompt, options: SamplingOptions, *, tenant: str, generation_id: str, deadline: Deadline,
        by_sentence: bool = False,
    ) -> AsyncIterator[AsyncIterator[str | Generation]]:
        """Stream the deltas; `closed` is set when the reader left."""
        self.prompts.append(prompt)
        try:
            yield self._parts()
        finally:
            self.closed.set()

    async def _parts(self) -> AsyncIterator[str | Generation]:
        for delta in self.deltas:
            self.produced += 1
            yield delta
        if self.hang_after_deltas:
            await asyncio.Event().wait()
        if self.generate_error is not None:
            raise self.generate_error
        if self.finish is not None:
            yield self.finish


@dataclass
class FakeRetriever(Retriever):
    """Finds what it is told."""

    results: Sequence[SearchResult] = (result(1, text=TELEWORK), result(2, text=TELEWORK))
    scores: Mapping[str, float] = field(default_factory=dict)
    by_late_interaction: bool = True
    degradation: Degradation | None = None
    error: ServiceError | None = None

    def __post_init__(self) -> None:
        """Let everybody search at once."""
        self._places = None

    def embedding_of(self, query: Query, *, deadline: Deadline) -> ComingEmbedding:
        """Return one that nobody begins."""
        return ComingEmbedding(FakePeers(), query.question, tenant=query.tenant, deadline=deadline)

    async def retrieve(
        self, query: Query, coming: ComingEmbedding, *, stopwatch: Stopwatch, deadline: Deadline
    ) -> Candidates:
        """Return the results."""
        if self.error is not None:
            raise self.error
        return Candidates(list(self.results), EMBEDDING, ())

    async def pictures(
        self, chunks: Sequence[Passage], *, tenant: str, deadline: Deadline
    ) -> dict[str, tuple[Passage, ...]]:
        """Return no picture."""
        return {}

    async def titles(self, query: Query, *, deadline: Deadline) -> list[DocumentTitle]:
        """Return no document."""
        return []

    async def times(
        self, document_ids: Sequence[str], *, tenant: str, deadline: Deadline
    ) -> tuple[dict[str, DocumentTimes], Said]:
        """Return what the last passages of these documents tell."""
        passages = {entry.passage.document_id: entry.passage for entry in self.results}
        return {
            document_id: times_of(
                title=passages[document_id].title, name=passages[document_id].filename,
                head=passages[document_id].text, metadata=passages[document_id].metadata,
            )
            for document_id in document_ids
        }, Said()

    async def rank(
        self, query: Query, embedding: QueryEmbedding, results: list[SearchResult], *, stopwatch: Stopwatch,
        deadline: Deadline,
    ) -> tuple[tuple[RankedPassage, ...], Degradation | None]:
        """Return the results with their scores, 0.6 where none is given, or as they are where re-ranking failed."""
        if self.degradation is not None:
            return tuple(RankedPassage(entry) for entry in results), self.degradation
        return tuple(
            RankedPassage(
                entry, self.scores.get(entry.passage.chunk_id, 0.6), by_late_interaction=self.by_late_interaction
            )
            for entry in results
        ), None
