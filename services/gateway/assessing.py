"""Looks up what a question's words tell in its collection, and assesses whether the passages found can answer it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence

from prometheus_client import Histogram

from services.chassis import telemetry
from services.chassis.channels import Deadline
from services.chassis.errors import DeadlineExceeded, ServiceError
from services.chassis.postgres import Database
from services.gateway.answerability import answerability, signs_of
from services.gateway.events import Degradation, RankedPassage
from services.gateway.retrieval import Query
from services.index.question_terms import question_terms

logger = logging.getLogger(__name__)

assess_seconds = Histogram(
    "sourcier_assessment_seconds", "Time to assess whether the passages found can answer a question.",
    buckets=(0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 1),
)


class Assessor:
    """Assesses questions; no model is called."""

    def __init__(self, database: Database, *, seconds_max: float) -> None:
        """Take where the counts of words are, and the longest time for looking them up."""
        self._database = database
        self._seconds_max = seconds_max

    async def assess(
        self, query: Query, ranked: Sequence[RankedPassage], *, deadline: Deadline
    ) -> tuple[float | None, Degradation | None]:
        """Return how likely the passages hold the answer, 0 to 1, or None and why it could not be told."""
        with assess_seconds.time():
            try:
                async with asyncio.timeout(deadline.remaining(self._seconds_max)):
                    terms = await question_terms(
                        self._database, tenant=query.tenant, collections=[query.collection], question=query.question
                    )
            except TimeoutError:
                return None, _degraded(DeadlineExceeded("the counts of words could not be read in time"))
            except ServiceError as error:
                return None, _degraded(error)
            # Stems of a few thousand characters: milliseconds that other streams need not wait for.
            signs = await asyncio.to_thread(signs_of, query.question, ranked, terms, given=query.limit)
        return answerability(signs), None


def _degraded(error: ServiceError) -> Degradation:
    telemetry.degradations_total.labels("assess", error.reason).inc()
    logger.warning("whether a question can be answered was not assessed: %s", error)
    return Degradation("assess", f"{error.message}; the question is refused by its best score alone")
