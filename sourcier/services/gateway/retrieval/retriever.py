"""From a question to ranked passages: narrow, embed, search, re-rank, tidy; timed, with each fallback in sight."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import TypeVar

from prometheus_client import Gauge

from sourcier.services.chassis import telemetry
from sourcier.services.chassis.errors import DeadlineExceeded, ServiceError, SpaceMismatch
from sourcier.services.chassis.fair_turns import FairPlaces
from sourcier.services.chassis.grpc.channels import Deadline
from sourcier.services.chassis.postgres.database import Database
from sourcier.services.chassis.tokens.late_interaction import LATE_INTERACTION
from sourcier.services.chassis.tracing import gen_ai
from sourcier.services.gateway.events import Degradation, Narrowed, RankedPassage
from sourcier.services.gateway.peers.embedding import QueryEmbedding
from sourcier.services.gateway.peers.reranking import RerankCandidate
from sourcier.services.gateway.peers.services import Peers
from sourcier.services.gateway.retrieval.asked_times import AskedTimes, asked_times
from sourcier.services.gateway.retrieval.categories import named_categories
from sourcier.services.gateway.retrieval.narrowing import Closeness, left_out, narrowed, undetected
from sourcier.services.gateway.retrieval.near_duplicates import distinct
from sourcier.services.gateway.retrieval.neighbours import with_neighbours
from sourcier.services.gateway.retrieval.query import Candidates, Found, Mode, Query
from sourcier.services.gateway.retrieval.question_notes import also_searched, not_found
from sourcier.services.gateway.retrieval.question_vector import ComingEmbedding, embedded_text
from sourcier.services.gateway.retrieval.ranking_order import TITLE_WEIGHT, ordered
from sourcier.services.gateway.retrieval.validated_sources import kept_with, read_validated
from sourcier.services.gateway.stopwatch import Stopwatch
from sourcier.services.index.documents.holding_words import documents_holding
from sourcier.services.index.documents.texts import TextChunk, read_chunks
from sourcier.services.index.documents.titles import DocumentTitle, list_titles
from sourcier.services.index.language.analyser import analyse_subject
from sourcier.services.index.search import search
from sourcier.services.index.search.passages import Passage
from sourcier.services.index.search.search import SearchRequest, SearchResult
from sourcier.services.index.times.document import DocumentTimes
from sourcier.services.index.times.relations import Said, said_of
from sourcier.services.index.times.storing import known_times

logger = logging.getLogger(__name__)

T = TypeVar("T")

searches_waiting = Gauge("sourcier_searches_waiting", "Searches that wait for their tenant's turn.")

CANDIDATE_HEADS = 3
"""First places of dense and of full-text search that are re-ranked in any case (docs/measured/history/quality.md has
what it brings)."""

CANDIDATES_MAX = 100
"""Looked at in all, where so many say the same that fewer than asked for would be left."""

SWITCHES_MET_MAX = 3
"""How often a question is embedded anew because its collection was switched to another space meanwhile."""


class Retriever:
    """Finds passages; the language model is not its business."""

    def __init__(
        self, database: Database, peers: Peers, *, result_threshold: float, search_seconds_max: float,
        closeness: Closeness = Closeness(),  # noqa: B008 — frozen
        places: FairPlaces | None = None, title_weight: float = TITLE_WEIGHT,
    ) -> None:
        """Take how many search at once, in turns by tenant; None lets everybody."""
        self._places = places
        self._database = database
        self._peers = peers
        self._result_threshold = result_threshold
        self._search_seconds_max = search_seconds_max
        self._closeness = closeness
        self._title_weight = title_weight

    @property
    def has_room(self) -> bool:
        """Return whether a search would begin at once, and need not wait for its tenant's turn."""
        return self._places is None or bool(self._places.free and not self._places.waiting)

    def embedding_of(self, query: Query, *, deadline: Deadline) -> ComingEmbedding:
        """Return what a question is embedded by, before it is known for sure where it is searched for."""
        return ComingEmbedding(
            self._peers, query.question, tenant=query.tenant, deadline=deadline, expanding=partial(
                embedded_text, self._database, query.question, tenant=query.tenant, collections=query.collections,
                deadline=deadline,
            ),
        )

    async def find(
        self, query: Query, *, deadline: Deadline, stopwatch: Stopwatch | None = None,
        coming: ComingEmbedding | None = None,
    ) -> Found:
        """Return the passages, best first: each says something else, where that is asked for, with its neighbours.

        `coming` is the question's embedding where that was begun already.
        """
        searched, stopwatch = stopwatch is None, stopwatch or Stopwatch()
        async with AsyncExitStack() as opened:
            opened.enter_context(gen_ai.retrieval(collections=query.collections, question=query.question))
            await opened.enter_async_context(self._turn(query, stopwatch=stopwatch, deadline=deadline))
            if coming is None:
                coming = await opened.enter_async_context(self.embedding_of(query, deadline=deadline))
            categories, degradation = await self._categories(query, stopwatch=stopwatch, deadline=deadline)
            said: Narrowed | None = None
            widened = True
            if categories:
                within = replace(query, filters=replace(query.filters, categories=categories))
                found = await self._ranked(within, coming, stopwatch=stopwatch, deadline=deadline)
                widened = not self._closeness.reached(found.passages)
                said = narrowed(categories, widened=widened, language=query.language)
            if widened:
                found = await self._ranked(query, coming, stopwatch=stopwatch, deadline=deadline)
        if found.embedding is not None:
            stopwatch.add("embed", coming.seconds)
        passages, alone = await self._with_neighbours(query, found, stopwatch=stopwatch, deadline=deadline)
        passages, unillustrated = await self._with_pictures(query, passages, stopwatch=stopwatch, deadline=deadline)
        degradations = tuple(
            each for each in (degradation, *found.degradations, alone, unillustrated) if each is not None
        )
        if searched:  # else whoever answers counts them
            stopwatch.count()
        return replace(
            found, passages=passages, degradations=degradations, narrowed=said, durations=stopwatch.durations
        )

    @asynccontextmanager
    async def _turn(self, query: Query, *, stopwatch: Stopwatch, deadline: Deadline) -> AsyncIterator[None]:
        """Hold a place among the searches at work, once it is the tenant's turn."""
        if self._places is None:
            yield
            return
        with searches_waiting.track_inprogress(), stopwatch.measure("search"):
            await self._places.take(
                tenant=query.tenant, cost=1, late="so many search that this one's turn did not come in time",
                deadline=asyncio.get_running_loop().time() + deadline.remaining(self._search_seconds_max),
            )
        try:
            yield
        finally:
            self._places.give_back()

    async def times(
        self, document_ids: Sequence[str], *, tenant: str, deadline: Deadline
    ) -> tuple[dict[str, DocumentTimes], Said]:
        """Return when documents hold, and what people say of which replaces which; raise `ServiceError`."""
        async def read() -> tuple[dict[str, DocumentTimes], Said]:
            async with self._database.transaction(tenant=tenant, read_only=True) as connection:
                known = await known_times(connection, tenant=tenant, document_ids=document_ids)
                return known, await said_of(connection, tenant=tenant, document_ids=document_ids)

        return await self._within(read(), deadline)

    async def _known_times(self, document_ids: Sequence[str], *, tenant: str) -> dict[str, DocumentTimes]:
        async with self._database.transaction(tenant=tenant, read_only=True) as connection:
            return await known_times(connection, tenant=tenant, document_ids=document_ids)

    async def beside(
        self, passages: Sequence[RankedPassage], query: Query, *, deadline: Deadline
    ) -> dict[str, tuple[Passage, ...]]:
        """Return the chunks before and after each passage, by its chunk id; raise `ServiceError`."""
        chunks = [
            chunk for ranked in passages for chunk in (ranked.passage, *ranked.neighbours) if chunk.document_id
        ]
        request = SearchRequest(tenant=query.tenant, collections=query.collections, limit=1)
        return await self._within(search.neighbours(self._database, request, found=chunks, count=1), deadline)

    async def pictures(
        self, chunks: Sequence[Passage], *, tenant: str, deadline: Deadline
    ) -> dict[str, tuple[Passage, ...]]:
        """Return what was read of the pictures beside each chunk, by its id; raise `ServiceError`."""
        return await self._within(search.pictures(self._database, tenant=tenant, found=chunks), deadline)

    async def titles(self, query: Query, *, deadline: Deadline) -> list[DocumentTitle]:
        """Return the documents of the query's collection; raise `ServiceError` where they cannot be read."""
        async def listed() -> list[DocumentTitle]:
            async with self._database.transaction(tenant=query.tenant, read_only=True) as connection:
                return await list_titles(connection, tenant=query.tenant, collection=query.collection)

        return await self._within(listed(), deadline)

    async def documents_about(self, query: Query, subject: str, *, deadline: Deadline) -> frozenset[str]:
        """Return the documents of which a passage holds all words of a subject; raise `ServiceError`."""
        async def listed() -> list[str]:
            async with self._database.transaction(tenant=query.tenant, read_only=True) as connection:
                return await documents_holding(
                    connection, tenant=query.tenant, collection=query.collection, words=analyse_subject(subject)
                )

        return frozenset(await self._within(listed(), deadline))

    async def chunks(self, query: Query, document_id: str, *, deadline: Deadline) -> list[TextChunk]:
        """Return the first chunks of a document, in its order; raise `ServiceError`."""
        async def listed() -> list[TextChunk]:
            async with self._database.transaction(tenant=query.tenant, read_only=True) as connection:
                return await read_chunks(connection, tenant=query.tenant, document_id=document_id)

        return await self._within(listed(), deadline)

    async def _categories(
        self, query: Query, *, stopwatch: Stopwatch, deadline: Deadline
    ) -> tuple[tuple[str, ...], Degradation | None]:
        """Return the categories that a question names; a filter that was given is not narrowed further."""
        if not query.detect_categories or query.filters.categories:
            return (), None
        request = SearchRequest(tenant=query.tenant, collections=query.collections, limit=1)
        try:
            with stopwatch.measure("search"):
                known = await self._within(search.categories(self._database, request), deadline)
        except ServiceError as error:
            return (), undetected(error.reason, error.message)
        return await asyncio.to_thread(named_categories, query.question, known), None

    async def _ranked(
        self, query: Query, coming: ComingEmbedding, *, stopwatch: Stopwatch, deadline: Deadline
    ) -> Found:
        """Search and re-rank; look at more candidates once where too many of them say the same."""
        found = await self._candidates(query, coming, stopwatch=stopwatch, deadline=deadline)
        chunks, validated = found.split
        if not query.suppress_duplicates:
            return replace(
                found, passages=kept_with(validated, chunks[: query.limit], found.passages), looked_at=found.passages
            )
        kept = await distinct(chunks, limit=query.limit)
        looked_at = _depth(query)
        if len(kept) < min(query.limit, found.candidates) and looked_at <= found.candidates < CANDIDATES_MAX:
            deeper = replace(query, candidates=CANDIDATES_MAX)
            found = await self._candidates(deeper, coming, stopwatch=stopwatch, deadline=deadline)
            chunks, validated = found.split
            kept = await distinct(chunks, limit=query.limit)
        return replace(found, passages=kept_with(validated, kept, found.passages), looked_at=found.passages)

    async def _candidates(
        self, query: Query, coming: ComingEmbedding, *, stopwatch: Stopwatch, deadline: Deadline
    ) -> Found:
        retrieved = await self.retrieve(query, coming, stopwatch=stopwatch, deadline=deadline)
        embedding, results, found = retrieved.embedding, retrieved.results, len(retrieved.results)
        degradations = retrieved.degradations
        if query.validated and embedding is not None:
            with stopwatch.measure("embed"):
                validated, unread = await read_validated(
                    self._peers.embed, query.validated, embedding, tenant=query.tenant, deadline=deadline,
                    collection=query.collection, with_similarity=query.mode is not Mode.LEXICAL,
                )
            results = [*results, *validated]
            degradations = degradations if unread is None else (*degradations, unread)
        passages = tuple(RankedPassage(result) for result in results)
        if query.mode is not Mode.RERANKED or embedding is None:
            return Found(passages, found, degradations, embedding=embedding)
        passages, degradation = await self.rank(query, embedding, results, stopwatch=stopwatch, deadline=deadline)
        if degradation is not None:
            degradations = (*degradations, degradation)
        return Found(
            passages, found, degradations, embedding=embedding,
            not_reranked=degradation.reason if degradation is not None and degradation.stage == "rerank" else "",
        )

    async def _with_neighbours(
        self, query: Query, found: Found, *, stopwatch: Stopwatch, deadline: Deadline
    ) -> tuple[tuple[RankedPassage, ...], Degradation | None]:
        """Return the passages with the chunks around them; without, visibly, where those cannot be read."""
        chunks, _ = found.split
        if not query.neighbours or not chunks:
            return found.passages, None
        request = SearchRequest(
            tenant=query.tenant, collections=query.collections, limit=1, with_codes=query.mode is Mode.RERANKED
        )
        reading = self._within(search.neighbours(
            self._database, request, found=[ranked.passage for ranked in chunks], count=query.neighbours
        ), deadline)
        around, lacking = await self._added("neighbours", reading, "the passages stand alone", stopwatch=stopwatch)
        if around is None:
            return found.passages, lacking
        return with_neighbours(found.passages, around, tokens_max=query.neighbour_tokens), None

    async def _added(
        self, stage: str, reading: Awaitable[T], without: str, *, stopwatch: Stopwatch
    ) -> tuple[T | None, Degradation | None]:
        """Return what is added to passages that were found; `without` says what they are where it cannot be read."""
        try:
            with stopwatch.measure("search"):
                return await reading, None
        except ServiceError as error:
            telemetry.degradations_total.labels(stage, error.reason).inc()
            logger.warning("%s could not be read, %s: %s", stage, without, error)
            return None, Degradation(stage, f"{error.message}; {without}")

    async def _with_pictures(
        self, query: Query, passages: tuple[RankedPassage, ...], *, stopwatch: Stopwatch, deadline: Deadline
    ) -> tuple[tuple[RankedPassage, ...], Degradation | None]:
        """Return the passages with the pictures beside them; without, visibly, where those cannot be read."""
        chunks = [ranked.passage for ranked in passages if ranked.passage.document_id]
        if not chunks:
            return passages, None
        beside, lacking = await self._added(
            "pictures", self.pictures(chunks, tenant=query.tenant, deadline=deadline),
            "the passages come without their pictures", stopwatch=stopwatch,
        )
        if not beside:
            return passages, lacking
        return tuple(
            replace(ranked, pictures=beside.get(ranked.passage.chunk_id, ())) for ranked in passages
        ), None

    async def retrieve(
        self, query: Query, coming: ComingEmbedding, *, stopwatch: Stopwatch, deadline: Deadline
    ) -> Candidates:
        """Embed the question and search; lexical search alone needs no vector."""
        reranked = query.mode is Mode.RERANKED
        request = SearchRequest(
            tenant=query.tenant, collections=query.collections, filters=query.filters, exact=query.exact,
            limit=_depth(query), with_codes=reranked, heads=CANDIDATE_HEADS if reranked else 0,
            method=query.unit_method, kinds=query.kinds, believed=query.believed,
        )
        threshold = self._result_threshold if query.result_threshold is None else query.result_threshold
        embedding, found = await self._embed_and_search(query, request, coming, stopwatch=stopwatch, deadline=deadline)
        # Told of the search, whatever the threshold leaves of it: nothing close enough may be what it missed.
        degradations = (
            left_out(found), not_found(found, language=query.language), also_searched(found, language=query.language)
        )
        return Candidates(
            [result for result in found if result.similarity is None or result.similarity >= threshold], embedding,
            tuple(each for each in degradations if each is not None),
        )

    async def _embed_and_search(
        self, query: Query, request: SearchRequest, coming: ComingEmbedding, *, stopwatch: Stopwatch,
        deadline: Deadline,
    ) -> tuple[QueryEmbedding | None, list[SearchResult]]:
        """Embed the question into the collection's space and search there, whichever space that is by then."""
        met = 0
        space_id = query.space_id
        while True:
            embedded = query.mode is not Mode.LEXICAL or query.embedded
            if embedded:
                if not space_id:
                    with stopwatch.measure("search"):
                        space_id = await self._within(search.space_of(self._database, request), deadline)
                await coming.begin(space_id)
            try:
                results = await self._search(query, request, coming, stopwatch=stopwatch, deadline=deadline)
                return await coming.embedding() if embedded else None, results
            except SpaceMismatch:
                met += 1
                if met == SWITCHES_MET_MAX or coming.failed:
                    raise
                space_id = ""
                logger.info("the collection's space changed between embedding and search, once more")

    async def _within(self, work: Awaitable[T], deadline: Deadline) -> T:
        try:
            async with asyncio.timeout(deadline.remaining(self._search_seconds_max)):
                return await work
        except TimeoutError as error:
            raise DeadlineExceeded("the search did not end in time") from error

    async def _search(
        self, query: Query, request: SearchRequest, coming: ComingEmbedding, *, stopwatch: Stopwatch,
        deadline: Deadline,
    ) -> list[SearchResult]:
        if query.mode is Mode.LEXICAL:
            with stopwatch.measure("search"):
                return await self._within(search.lexical(self._database, request, question=query.question), deadline)
        # A crowd's searches take their connections when they can use them.
        if query.mode is not Mode.DENSE and self._database.has_room:
            work = search.fused_while(self._database, request, question=query.question, coming=coming.soon)
            with stopwatch.measure("search"):
                results = await self._within(work, deadline)
            stopwatch.add("search", -coming.taken_wait())
            if results is not None:
                return results
        vector = await coming.vector()
        by_vector = search.dense(self._database, request, vector=vector) if query.mode is Mode.DENSE else (
            search.fused(self._database, request, question=query.question, vector=vector))
        with stopwatch.measure("search"):
            return await self._within(by_vector, deadline)

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
        asked = asked_times(query.question, today=datetime.now(UTC).date())
        times, undated = await self._time_shares(query, asked, results, stopwatch=stopwatch, deadline=deadline)
        return ordered(
            results, scores, question=query.question, by_late_interaction=self._peers.ranker == LATE_INTERACTION,
            title_weight=self._title_weight, times=times, subject="" if asked is None else asked.subject,
        ), undated

    async def _time_shares(
        self, query: Query, asked: AskedTimes | None, results: Sequence[SearchResult], *, stopwatch: Stopwatch,
        deadline: Deadline,
    ) -> tuple[Sequence[float], Degradation | None]:
        """Return what each candidate gains by its document's date; nothing, visibly, where dates cannot be read."""
        if asked is None:
            return (), None
        passages = [result.passage for result in results]
        documents = list(dict.fromkeys(each.document_id for each in passages if each.document_id))
        known, lacking = await self._added(
            "times", self._within(self._known_times(documents, tenant=query.tenant), deadline),
            "no document is preferred for its date", stopwatch=stopwatch,
        )
        if known is None:
            return (), lacking
        times = [known.get(each.document_id) for each in passages]
        return asked.shares(
            [each.title for each in passages], [None if each is None else each.period for each in times]
        ), None


def _depth(query: Query) -> int:
    """Return how many passages are searched for: more than are returned where some may be left out after that."""
    deeper = query.mode is Mode.RERANKED or query.suppress_duplicates
    return max(query.candidates, query.limit) if deeper else query.limit
