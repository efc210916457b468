"""Answers a question whose answer is known, word for word, without the language model (A9, Q6).

What people validated comes first; then what was made of the chunks, bound to them: a chunk that changes takes it along.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

import numpy as np
from prometheus_client import Counter

from sourcier.services.chassis import telemetry
from sourcier.services.chassis.errors import DeadlineExceeded, ServiceError
from sourcier.services.chassis.grpc.channels import Deadline
from sourcier.services.chassis.postgres.database import Database
from sourcier.services.gateway.agents import AskedAgent
from sourcier.services.gateway.events import Degradation, DirectAnswer
from sourcier.services.gateway.evidence.links import without_foreign_links
from sourcier.services.gateway.peers.services import Peers
from sourcier.services.gateway.prompting.marking import one_line
from sourcier.services.gateway.retrieval.query import Query
from sourcier.services.gateway.stopwatch import Stopwatch
from sourcier.services.gateway.validated.distinctions import same_distinctions
from sourcier.services.index.curation.response_vectors import Nearest, NearResponse, nearest_responses
from sourcier.services.index.language.figures import stated
from sourcier.services.index.search.units import NearPair, nearest_pairs

logger = logging.getLogger(__name__)

DIRECT_MODEL = "direct_qr_match"
"""What `Finished.model` says when no model was called."""
STAGE = "direct"
LOOKED_AT_MAX = 10
"""Closest questions that are looked at: the first one that fits may not be the closest."""

direct_answers_total = Counter(
    "sourcier_direct_answers_total", "Questions put to an agent's validated answers, by outcome.", ["outcome"]
)


@dataclass(frozen=True)
class DirectLookup:
    """What the look-up came to."""

    answer: DirectAnswer | None = None
    degradations: tuple[Degradation, ...] = ()
    close: tuple[NearResponse, ...] = ()
    """Validated answers to questions that are close to this one, for the language model to read; closest first."""


@dataclass(frozen=True)
class FaqSources:
    """Which validated answers the language model reads beside the documents (Q5)."""

    similarity_min: float = 0.92
    """Cosine of the two questions' vectors."""
    count_max: int = 2

    def apply_to(self, query: Query) -> bool:
        """Return whether a question gets any: one that asks for certain documents or kinds of passages does not."""
        return self.count_max > 0 and not query.is_narrow

    def of(self, nearest: Sequence[NearResponse], query: Query) -> tuple[NearResponse, ...]:
        """Return those that are close enough, closest first."""
        if not self.apply_to(query):
            return ()
        return tuple(
            each for each in nearest if each.similarity >= self.similarity_min and each.answer.strip()
        )[: self.count_max]


class _Near(Protocol):
    """A question that was answered before."""

    @property
    def question(self) -> str:
        """The question."""

    @property
    def answer(self) -> str:
        """Its answer."""

    @property
    def similarity(self) -> float:
        """Cosine with the question that is asked."""


Near = TypeVar("Near", bound=_Near)


@dataclass(frozen=True)
class _Looked:
    nearest: Nearest
    response: NearResponse | None = None
    pair: NearPair | None = None


class DirectAnswers:
    """Looks for the answer to a question that is known, before anything else is searched."""

    def __init__(
        self, database: Database, peers: Peers, *, similarity_min: float, search_seconds_max: float,
        sources: FaqSources = FaqSources(),
    ) -> None:
        """Take the cosine similarity that two questions need, 0 to 1, and the longest time for PostgreSQL."""
        self._sources = sources
        self._database = database
        self._peers = peers
        self._similarity_min = similarity_min
        self._search_seconds_max = search_seconds_max

    async def look_up(
        self, query: Query, agent: AskedAgent, *, stopwatch: Stopwatch, deadline: Deadline
    ) -> DirectLookup:
        """Return the agent's answer to this very question, where a person validated one or a chunk gave one.

        Without such an answer, or where it is not wanted, validated answers to close questions are returned as sources.
        A look-up that fails is a degradation, not an error: the question can still be answered from the documents.
        """
        try:
            with stopwatch.measure(STAGE):
                looked = await self._look(query, agent, deadline=deadline)
        except ServiceError as error:
            telemetry.degradations_total.labels(STAGE, error.reason).inc()
            direct_answers_total.labels("failed").inc()
            logger.warning("the look-up of validated answers failed: %s", error)
            return DirectLookup(None, (
                Degradation(STAGE, f"{error.message}; validated answers were not looked at"),
            ))
        degradations = tuple(self._missing(looked.nearest, agent))
        close = self._sources.of(looked.nearest.responses, query)
        answer = None
        if looked.response is not None:
            answer = direct_answer(looked.response)
        elif looked.pair is not None:
            made = generated_answer(looked.pair)
            answer = made if made.answer.strip() else None
        if query.direct:
            direct_answers_total.labels("none" if answer is None else "answered").inc()
        return DirectLookup(answer, degradations, () if answer is not None else close)

    def wanted(self, query: Query) -> bool:
        """Return whether a question is looked up at all: for its answer, or for sources."""
        return query.agent is not None and (query.direct or self._sources.apply_to(query))

    async def _look(self, query: Query, agent: AskedAgent, *, deadline: Deadline) -> _Looked:
        """Look at what people validated, and where that holds no answer at what was made of the documents (Q6)."""
        similarity_min = agent.settings.direct_similarity
        similarity_min = self._similarity_min if similarity_min is None else similarity_min
        embedding = await self._peers.embed_query(
            query.question, space_id=agent.space_id, tenant=query.tenant, deadline=deadline
        )
        try:
            async with (
                asyncio.timeout(deadline.remaining(self._search_seconds_max)),
                self._database.transaction(tenant=query.tenant, read_only=True) as connection,
            ):
                vector = embedding.vector.astype(np.float16).tobytes()
                nearest = await nearest_responses(
                    connection, tenant=query.tenant, agent_id=agent.agent_id, space_id=agent.space_id, vector=vector,
                    limit=LOOKED_AT_MAX,
                )
                if not query.direct:
                    return _Looked(nearest)
                chosen = None if query.is_narrow else choose(
                    query.question, nearest.responses, similarity_min=similarity_min
                )
                if chosen is not None or not _answered_by_pairs(query, agent):
                    return _Looked(nearest, chosen)
                pairs = await nearest_pairs(
                    connection, tenant=query.tenant, collection=agent.collection, space_id=agent.space_id,
                    vector=vector, filters=query.filters, limit=LOOKED_AT_MAX,
                )
                return _Looked(nearest, pair=choose_pair(query.question, pairs, similarity_min=similarity_min))
        except TimeoutError as error:
            raise DeadlineExceeded("the look-up of validated answers did not end in time") from error

    def _missing(self, nearest: Nearest, agent: AskedAgent) -> list[Degradation]:
        if not nearest.missing:
            return []
        reason = (
            f"{nearest.missing} validated answers of the agent {agent.name!r} have no vector in the collection's space "
            "yet; they were not looked at"
        )
        telemetry.degradations_total.labels(STAGE, "VECTORS_MISSING").inc()
        logger.warning(reason)
        return [Degradation(STAGE, reason)]


def _answered_by_pairs(query: Query, agent: AskedAgent) -> bool:
    """Return whether pairs may answer: the agent's method makes some, and the question's kinds of passages have them.
    """
    return agent.settings.indexing_method == "qa_atomic" and (not query.kinds or "qa_pair" in query.kinds)


def choose(question: str, nearest: Sequence[Near], *, similarity_min: float) -> Near | None:
    """Return the first response, in rank order, that answers this very question: close, of the same numbers and names.

    One without an answer is passed over.
    """
    return next(iter(_fitting(question, nearest, similarity_min=similarity_min)), None)


def choose_pair(question: str, nearest: Sequence[NearPair], *, similarity_min: float) -> NearPair | None:
    """Return the first pair that answers this very question; none where others that do have other numbers.

    Nobody vouches for a pair: where two documents answer differently, the model is to see both.
    """
    fitting = _fitting(question, nearest, similarity_min=similarity_min)
    if any(_differ(fitting[0], other) for other in fitting[1:]):
        logger.info("pairs of several chunks answer the question differently; the documents are searched")
        return None
    return fitting[0] if fitting else None


def _differ(one: NearPair, other: NearPair) -> bool:
    """Return whether the pairs of two chunks state other figures, none of them merely more."""
    here, there = stated(one.answer), stated(other.answer)
    return one.chunk_id != other.chunk_id and not (
        here.numbers | here.codes <= there.numbers | there.codes or here.numbers | here.codes
        >= there.numbers | there.codes
    )


def _fitting(question: str, nearest: Sequence[Near], *, similarity_min: float) -> list[Near]:
    return [
        each for each in nearest
        if each.similarity >= similarity_min and each.answer.strip() and same_distinctions(question, each.question)
    ]


def direct_answer(response: NearResponse) -> DirectAnswer:
    """Return what is said: the answer as it was validated, and where it comes from."""
    return DirectAnswer(
        text=f"{response.answer}\n\n*Source: {response.source}*", answer=response.answer, question=response.question,
        similarity=response.similarity, source=response.source, heading_path=tuple(response.heading_path),
        category=response.category, response_id=response.response_id, validated_by=response.validated_by,
        validated_at=response.validated_at,
    )


def generated_answer(pair: NearPair) -> DirectAnswer:
    """Return what is said: the pair's answer, and the document that it was made of, as that is now.

    Without images and addresses, as answers of the model are: a document's words may hold somebody else's (A11). What a
    person wrote stays.
    """
    answer = pair.answer if pair.edited_by else without_foreign_links(pair.answer, frozenset())
    title = one_line(without_foreign_links(pair.title, frozenset())) or "Document"
    return DirectAnswer(
        text=f"{answer}\n\n*Source: {title}*", answer=answer, question=pair.question,
        similarity=pair.similarity, source=title, heading_path=tuple(pair.heading_path), category=pair.category,
        response_id="", validated_by=pair.edited_by, validated_at=pair.edited_at if pair.edited_by else None,
        document_id=pair.document_id, version_id=pair.version_id, chunk_id=pair.chunk_id, pair_id=pair.pair_id,
    )
