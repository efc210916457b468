"""From a question to ranked passages: embed, search, re-rank, each timed, each with its fallback in sight."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum
from typing import TypeVar

import numpy as np

from services.chassis import telemetry
from services.chassis.channels import Deadline
from services.chassis.errors import DeadlineExceeded, ServiceError, SpaceMismatch
from services.chassis.postgres import Database
from services.gateway.agents import AskedAgent
from services.gateway.embedding import QueryEmbedding
from services.gateway.events import Degradation, RankedPassage
from services.gateway.peers import Peers, RerankCandidate
from services.index import search
from services.index.filters import Filters
from services.index.search import QuestionVector, SearchRequest, SearchResult

logger = logging.getLogger(__name__)

T = TypeVar("T")

LEXICAL_WEIGHT = 0.07
"""What the best full-text score adds to a re-ranking score. Late interaction forgets exact words that are rare, which
BM25 counts; docs/QUALITY.md has the gain. Beside a cross-encoder's logits it settles ties and no more."""


SWITCHES_MET_MAX = 3
"""How often a question is embedded anew because its collection was switched to another space meanwhile."""


class Mode(Enum):
    """How passages are ranked."""

    DENSE = "dense"
    LEXICAL = "lexical"
    FUSED = "fused"
    RERANKED = "reranked"


@dataclass(frozen=True)
class Query:
    """A question and where to look for its answer."""

    tenant: str
    question: str
    collection: str
    filters: Filters
    mode: Mode
    limit: int
    """Passages to return."""
    candidates: int
    """Passages to find before re-ranking."""
    exact: bool = False
    agent: AskedAgent | None = None
    """The agent that is asked; None for the documents alone."""
    direct: bool = False
    """Whether the agent's validated answers come first."""
    kinds: tuple[str, ...] = ()
    """By what passages are found; empty for their own text, and what the agent's indexing method asks for."""


@dataclass(frozen=True)
class Found:
    """What a search came to."""

    passages: tuple[RankedPassage, ...]
    candidates: int
    degradations: tuple[Degradation, ...] = ()
    durations: dict[str, float] = field(default_factory=dict)
    """Seconds by stage."""


class Stopwatch:
    """Seconds by stage."""

    def __init__(self) -> None:
        self.durations: dict[str, float] = {}

    @contextmanager
    def measure(self, stage: str) -> Iterator[None]:
        """Add the time of the block to a stage."""
        started = time.perf_counter()
        try:
            yield
        finally:
            self.durations[stage] = self.durations.get(stage, 0.0) + time.perf_counter() - started


class Retriever:
    """Finds passages; the language model is not its business."""

    def __init__(
        self, database: Database, peers: Peers, *, result_threshold: float, search_seconds_max: float
    ) -> None:
        self._database = database
        self._peers = peers
        self._result_threshold = result_threshold
        self._search_seconds_max = search_seconds_max

    async def find(self, query: Query, *, deadline: Deadline) -> Found:
        """Return the passages, best first, for a caller that wants no steps in between."""
        stopwatch = Stopwatch()
        embedding, results = await self.retrieve(query, stopwatch=stopwatch, deadline=deadline)
        if query.mode is not Mode.RERANKED or embedding is None:
            return Found(
                tuple(RankedPassage(result) for result in results[: query.limit]), len(results),
                durations=stopwatch.durations,
            )
        passages, degradation = await self.rank(query, embedding, results, stopwatch=stopwatch, deadline=deadline)
        degradations = (degradation,) if degradation is not None else ()
        return Found(passages[: query.limit], len(results), degradations, stopwatch.durations)

    async def retrieve(
        self, query: Query, *, stopwatch: Stopwatch, deadline: Deadline
    ) -> tuple[QueryEmbedding | None, list[SearchResult]]:
        """Embed the question and search; lexical search alone needs no vector."""
        reranked = query.mode is Mode.RERANKED
        request = SearchRequest(
            tenant=query.tenant, collections=[query.collection], filters=query.filters, exact=query.exact,
            limit=max(query.candidates, query.limit) if reranked else query.limit, with_codes=reranked,
            method=query.agent.settings.indexing_method if query.agent is not None else "", kinds=query.kinds,
        )
        embedding, results = await self._embed_and_search(query, request, stopwatch=stopwatch, deadline=deadline)
        return embedding, [
            result for result in results
            if result.similarity is None or result.similarity >= self._result_threshold
        ]

    async def _embed_and_search(
        self, query: Query, request: SearchRequest, *, stopwatch: Stopwatch, deadline: Deadline
    ) -> tuple[QueryEmbedding | None, list[SearchResult]]:
        """Embed the question into the collection's space and search there, whichever space that is by then."""
        met = 0
        while True:
            embedding = None
            if query.mode is not Mode.LEXICAL:
                with stopwatch.measure("search"):
                    space_id = await self._within(search.space_of(self._database, request), deadline)
                with stopwatch.measure("embed"):
                    embedding = await self._peers.embed_query(
                        query.question, space_id=space_id, tenant=query.tenant, deadline=deadline
                    )
            try:
                with stopwatch.measure("search"):
                    return embedding, await self._within(self._search(query, request, embedding), deadline)
            except SpaceMismatch:
                met += 1
                if met == SWITCHES_MET_MAX:
                    raise
                logger.info("the collection's space changed between embedding and search, once more")

    async def _within(self, work: Awaitable[T], deadline: Deadline) -> T:
        try:
            async with asyncio.timeout(deadline.remaining(self._search_seconds_max)):
                return await work
        except TimeoutError as error:
            raise DeadlineExceeded("the search did not end in time") from error

    async def _search(
        self, query: Query, request: SearchRequest, embedding: QueryEmbedding | None
    ) -> list[SearchResult]:
        if embedding is None:
            return await search.lexical(self._database, request, question=query.question)
        vector = QuestionVector(embedding.space_id, embedding.vector.astype(np.float16).tobytes())
        if query.mode is Mode.DENSE:
            return await search.dense(self._database, request, vector=vector)
        return await search.fused(self._database, request, question=query.question, vector=vector)

    async def rank(
        self, query: Query, embedding: QueryEmbedding, results: list[SearchResult], *, stopwatch: Stopwatch,
        deadline: Deadline,
    ) -> tuple[tuple[RankedPassage, ...], Degradation | None]:
        """Re-rank the candidates; when that fails, keep the search's order and say so (R3)."""
        if not results:
            return (), None
        candidates = [
            RerankCandidate(result.passage.chunk_id, result.passage.text, result.passage.token_codes)
            for result in results
        ]
        try:
            with stopwatch.measure("rerank"):
                scores = await self._peers.rerank(
                    query.question, embedding, candidates, tenant=query.tenant, deadline=deadline
                )
        except ServiceError as error:
            telemetry.degradations_total.labels("rerank", error.reason).inc()
            logger.warning("re-ranking failed, the search's order stands: %s", error)
            degradation = Degradation("rerank", f"{error.message}; the order is the search's")
            return tuple(RankedPassage(result) for result in results), degradation
        return ordered(results, scores), None


def ordered(results: Sequence[SearchResult], scores: Mapping[str, float]) -> tuple[RankedPassage, ...]:
    """Return the candidates by the re-ranker's score and a share of their BM25, relative to the best candidate's."""
    best = max((result.lexical_score or 0.0 for result in results), default=0.0)
    share = LEXICAL_WEIGHT / best if best > 0 else 0.0
    ranked = (
        RankedPassage(result, scores[result.passage.chunk_id], share * (result.lexical_score or 0.0))
        for result in results
    )
    return tuple(sorted(ranked, key=lambda entry: -entry.score))
