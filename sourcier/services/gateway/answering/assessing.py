"""Assesses whether the passages found can answer a question: by what its words tell in its collection, and by how much
it is like texts about anything at all."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence

from prometheus_client import Histogram

from sourcier.services.chassis import telemetry
from sourcier.services.chassis.errors import DeadlineExceeded, ServiceError
from sourcier.services.chassis.grpc.channels import Deadline
from sourcier.services.chassis.postgres.database import Database
from sourcier.services.gateway.answering.answerability import answerability, signs_of
from sourcier.services.gateway.answering.baseline import Background, Backgrounds
from sourcier.services.gateway.events import Degradation, RankedPassage, best_late_interaction
from sourcier.services.gateway.peers.embedding import QueryEmbedding
from sourcier.services.gateway.retrieval.query import Query
from sourcier.services.index.search.question_terms import QuestionTerms, question_terms

logger = logging.getLogger(__name__)

assess_seconds = Histogram(
    "sourcier_assessment_seconds", "Time to assess whether the passages found can answer a question.",
    buckets=(0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 1),
)


class Assessor:
    """Assesses questions; no model is called."""

    def __init__(self, database: Database, backgrounds: Backgrounds, *, seconds_max: float) -> None:
        """Take where the counts of words and the background are, and the longest time for looking them up."""
        self._database = database
        self._backgrounds = backgrounds
        self._seconds_max = seconds_max

    async def assess(
        self, query: Query, embedding: QueryEmbedding, ranked: Sequence[RankedPassage], *, deadline: Deadline
    ) -> tuple[float | None, Degradation | None]:
        """Return how likely the passages hold the answer, 0 to 1, or None and why it could not be told."""
        with assess_seconds.time():
            try:
                async with asyncio.timeout(deadline.remaining(self._seconds_max)):
                    asked = await question_terms(
                        self._database, tenant=query.tenant, collections=query.collections, question=query.question
                    )
                    # A score of late interaction is held against the background's; nothing else is.
                    background = None if best_late_interaction(ranked) is None else await self._backgrounds.of(
                        embedding.space_id, tenant=query.tenant, deadline=deadline
                    )
            except TimeoutError:
                return None, _degraded(DeadlineExceeded("the counts of words and the background were not had in time"))
            except ServiceError as error:
                return None, _degraded(error)
            # Stems of a few thousand characters: milliseconds that other streams need not wait for.
            return await asyncio.to_thread(_likely, query, embedding, ranked, asked, background), None


def _likely(
    query: Query, embedding: QueryEmbedding, ranked: Sequence[RankedPassage], asked: QuestionTerms,
    background: Background | None,
) -> float:
    scores = [] if background is None else background.scores(embedding).tolist()
    return answerability(signs_of(
        query.question, ranked, asked.terms, scores, given=query.limit, passages=asked.passages
    ))


def _degraded(error: ServiceError) -> Degradation:
    telemetry.degradations_total.labels("assess", error.reason).inc()
    logger.warning("whether a question can be answered was not assessed: %s", error)
    return Degradation("assess", f"{error.message}; the question is refused by its best score alone")
