"""Who re-ranks: the gateway itself, by the codes that it holds, or the rerank service, where that has a model for it.

Late interaction is a millisecond of arithmetic on 200 KB that the search has just read; to another process and back
takes three (ADR 19).
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

import numpy as np
from prometheus_client import Counter

from sourcier.rerank.v1 import rerank_pb2, rerank_pb2_grpc
from sourcier.services.chassis.errors import FailedPrecondition, ServiceError
from sourcier.services.chassis.grpc import channels
from sourcier.services.chassis.grpc.channels import Deadline
from sourcier.services.chassis.tokens.late_interaction import LATE_INTERACTION, LateInteraction
from sourcier.services.gateway.peers.embedding import QueryEmbedding

logger = logging.getLogger(__name__)

ASK_AGAIN_SECONDS = 60.0
"""So often a question is ranked by the service, which says what ranks there: it may have been given another model."""
ASK_AGAIN_SECONDS_MAX = 1.0
"""How long that question waits for a service that is away or hangs."""
INLINE_BYTES_MAX = 384 * 1024
"""Codes of so many bytes (twenty passages have 270 KB) are ranked in the event loop, in less than 2 ms: a thread beside
it takes 0.6 ms more, for it is woken, and has to ask for the interpreter's lock at each product."""
THREADS = 2
"""Larger rankings at once; what waits for them is bounded by the calls and answers that a gateway has in hand."""

rerankings_total = Counter("sourcier_rerankings_total", "Lists of candidates that were re-ranked.", ["by"])


@dataclass(frozen=True)
class RerankCandidate:
    """A passage to score."""

    chunk_id: str
    text: str
    token_codes: bytes


class Reranking:
    """Scores candidates; to be closed."""

    def __init__(self, stub: rerank_pb2_grpc.RerankServiceStub, *, here: bool, seconds_max: float) -> None:
        """`here` lets the gateway rank by late interaction itself; without it the service is always asked."""
        self._stub = stub
        self._here = here
        self._seconds_max = seconds_max
        self._interaction = LateInteraction()
        self._threads = ThreadPoolExecutor(max_workers=THREADS, thread_name_prefix="late interaction")
        self._asked_at = 0.0
        self.ranker = ""
        """What ranks, as the rerank service names it; empty before it was asked."""

    def close(self) -> None:
        """End the threads; what is still to be ranked is not."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def rerank(
        self, text: str, query: QueryEmbedding, candidates: Sequence[RerankCandidate], *, tenant: str,
        deadline: Deadline,
    ) -> dict[str, float]:
        """Return the score of each chunk id, by what the rerank service ranks with."""
        if not self._here or self.ranker != LATE_INTERACTION:
            return await self._asked(text, query, candidates, tenant=tenant, deadline=deadline)
        if time.monotonic() - self._asked_at > ASK_AGAIN_SECONDS:
            try:
                return await self._asked(
                    text, query, candidates, tenant=tenant, deadline=deadline, seconds_max=ASK_AGAIN_SECONDS_MAX
                )
            except ServiceError as error:
                # Nothing is worse for it: the ranking is the same here.
                logger.info("the rerank service did not say what ranks there; late interaction goes on here: %s", error)
        return await self._ranked(query, candidates, deadline=deadline)

    async def late_interaction(
        self, text: str, query: QueryEmbedding, candidates: Sequence[RerankCandidate], *, tenant: str,
        deadline: Deadline,
    ) -> dict[str, float]:
        """Score by late interaction, whatever re-ranks; raise FailedPrecondition where the service, which is asked
        always, has another ranker, whose scores differ."""
        if self._here:
            return await self._ranked(query, candidates, deadline=deadline)
        scores = await self._asked(text, query, candidates, tenant=tenant, deadline=deadline)
        if self.ranker != LATE_INTERACTION:
            raise FailedPrecondition(
                f"the rerank service scores with {self.ranker}, which does not compare wordings; leave "
                "SOURCIER_RERANK_MODEL empty to have sentences compared by late interaction, or "
                "SOURCIER_GATEWAY_RANKING to have the gateway do it"
            )
        return scores

    async def _ranked(
        self, query: QueryEmbedding, candidates: Sequence[RerankCandidate], *, deadline: Deadline
    ) -> dict[str, float]:
        deadline.remaining()
        weights = np.asarray(query.token_weights, dtype=np.float32)
        vectors = np.frombuffer(query.token_vectors, dtype="<f4").reshape(len(weights), -1) if len(weights) else (
            np.empty((0, 8), dtype=np.float32))
        score = partial(self._interaction.score, vectors, weights, candidates)
        if sum(len(entry.token_codes) for entry in candidates) <= INLINE_BYTES_MAX:
            scores = score()
        else:
            scores = await asyncio.get_running_loop().run_in_executor(self._threads, score)
        rerankings_total.labels("gateway").inc()
        return dict(zip((entry.chunk_id for entry in candidates), scores.tolist(), strict=True))

    async def _asked(
        self, text: str, query: QueryEmbedding, candidates: Sequence[RerankCandidate], *, tenant: str,
        deadline: Deadline, seconds_max: float | None = None,
    ) -> dict[str, float]:
        """Have the service rank, which also says what it ranks with."""
        self._asked_at = time.monotonic()
        request = rerank_pb2.RerankRequest(
            query=text, query_vectors=query.token_vectors, query_weights=query.token_weights, space_id=query.space_id
        )
        for entry in candidates:
            # Written in place: messages that are put into a list are copied, with 200 KB of codes.
            request.candidates.add(chunk_id=entry.chunk_id, text=entry.text, token_codes=entry.token_codes)
        response: rerank_pb2.RerankResponse = await channels.call(
            self._stub.Rerank, request, peer="rerank", tenant=tenant, deadline=deadline,
            cap_seconds=self._seconds_max if seconds_max is None else min(seconds_max, self._seconds_max),
        )
        self.ranker = response.ranker
        rerankings_total.labels("service").inc()
        return {ranked.chunk_id: ranked.score for ranked in response.ranked}
