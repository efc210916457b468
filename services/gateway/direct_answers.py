"""Answers a question that a person has answered before, word for word, without the language model (A9, Q6)."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass

import numpy as np
from prometheus_client import Counter

from services.chassis import telemetry
from services.chassis.channels import Deadline
from services.chassis.errors import DeadlineExceeded, ServiceError
from services.chassis.postgres import Database
from services.gateway.agents import AskedAgent
from services.gateway.distinctions import same_distinctions
from services.gateway.events import Degradation, DirectAnswer
from services.gateway.peers import Peers
from services.gateway.retrieval import Query, Stopwatch
from services.index.response_vectors import Nearest, NearResponse, nearest_responses

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


class DirectAnswers:
    """Looks for the validated answer to a question, before anything else is searched."""

    def __init__(
        self, database: Database, peers: Peers, *, similarity_min: float, search_seconds_max: float
    ) -> None:
        """Take the cosine similarity that two questions need, 0 to 1, and the longest time for PostgreSQL."""
        self._database = database
        self._peers = peers
        self._similarity_min = similarity_min
        self._search_seconds_max = search_seconds_max

    async def look_up(
        self, query: Query, agent: AskedAgent, *, stopwatch: Stopwatch, deadline: Deadline
    ) -> DirectLookup:
        """Return the agent's answer to this very question, where a person validated one.

        A look-up that fails is a degradation, not an error: the question can still be answered from the documents.
        """
        try:
            with stopwatch.measure(STAGE):
                nearest = await self._nearest(query, agent, deadline=deadline)
        except ServiceError as error:
            telemetry.degradations_total.labels(STAGE, error.reason).inc()
            direct_answers_total.labels("failed").inc()
            logger.warning("the look-up of validated answers failed: %s", error)
            return DirectLookup(None, (
                Degradation(STAGE, f"{error.message}; validated answers were not looked at"),
            ))
        degradations = tuple(self._missing(nearest, agent))
        similarity_min = agent.settings.direct_similarity
        chosen = choose(
            query.question, nearest.responses,
            similarity_min=self._similarity_min if similarity_min is None else similarity_min,
        )
        direct_answers_total.labels("none" if chosen is None else "answered").inc()
        return DirectLookup(None if chosen is None else direct_answer(chosen), degradations)

    async def _nearest(self, query: Query, agent: AskedAgent, *, deadline: Deadline) -> Nearest:
        embedding = await self._peers.embed_query(
            query.question, space_id=agent.space_id, tenant=query.tenant, deadline=deadline
        )
        try:
            async with (
                asyncio.timeout(deadline.remaining(self._search_seconds_max)),
                self._database.transaction(tenant=query.tenant, read_only=True) as connection,
            ):
                return await nearest_responses(
                    connection, tenant=query.tenant, agent_id=agent.agent_id, space_id=agent.space_id,
                    vector=embedding.vector.astype(np.float16).tobytes(), limit=LOOKED_AT_MAX,
                )
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


def choose(question: str, nearest: tuple[NearResponse, ...], *, similarity_min: float) -> NearResponse | None:
    """Return the first response, in rank order, that answers this very question: close, of the same numbers and names.

    One without an answer is passed over.
    """
    for response in nearest:
        if response.similarity < similarity_min:
            return None
        if response.answer.strip() and same_distinctions(question, response.question):
            return response
    return None


def direct_answer(response: NearResponse) -> DirectAnswer:
    """Return what is said: the answer as it was validated, and where it comes from."""
    return DirectAnswer(
        text=f"{response.answer}\n\n*Source: {response.source}*", answer=response.answer, question=response.question,
        similarity=response.similarity, source=response.source, heading_path=tuple(response.heading_path),
        category=response.category, response_id=response.response_id, validated_by=response.validated_by,
        validated_at=response.validated_at,
    )
