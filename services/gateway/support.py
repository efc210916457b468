"""Which passage a sentence of an answer rests on: late interaction between the sentence and each passage.

It tells topic, not truth: a high score says that the passage uses the sentence's wording, never that it proves it.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence

from services.chassis import telemetry
from services.chassis.channels import Deadline
from services.chassis.errors import ServiceError
from services.gateway.peers import Peers, RerankCandidate
from services.index.passages import Passage

logger = logging.getLogger(__name__)

STATEMENT_WORDS_MIN = 3
_WORD = re.compile(r"\w+")


def is_statement(sentence: str) -> bool:
    """Return whether a sentence says something that could be cited: not a heading, not a lead-in, not a fragment."""
    return len(_WORD.findall(sentence)) >= STATEMENT_WORDS_MIN and not sentence.rstrip().endswith(":")


class SupportScorer:
    """Scores sentences against the passages given to the language model."""

    def __init__(self, peers: Peers, passages: Sequence[Passage], *, tenant: str, space_id: str) -> None:
        self._peers = peers
        self._tenant = tenant
        self._space_id = space_id
        self._candidates = [
            RerankCandidate(str(number), passage.text, passage.token_codes)
            for number, passage in enumerate(passages, start=1)
        ]
        self.failed = ""
        """Why a sentence could not be scored; empty while all could."""

    async def scores(self, sentence: str, *, deadline: Deadline) -> dict[int, float]:
        """Return the score of each passage by its marker; empty when scoring failed, which `failed` then says."""
        try:
            embedding = await self._peers.embed_query(
                sentence, space_id=self._space_id, tenant=self._tenant, deadline=deadline
            )
            scores = await self._peers.rerank(
                sentence, embedding, self._candidates, tenant=self._tenant, deadline=deadline
            )
        except ServiceError as error:
            telemetry.degradations_total.labels("citation", error.reason).inc()
            logger.warning("a sentence was not checked against its passages: %s", error)
            self.failed = error.message
            return {}
        return {int(number): score for number, score in scores.items()}
