"""Who re-ranks: the gateway by late interaction, or the rerank service, where that has a model."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from sourcier.rerank.v1 import rerank_pb2, rerank_pb2_grpc
from sourcier.services.chassis.errors import DeadlineExceeded, FailedPrecondition, InvalidArgument, Unavailable
from sourcier.services.chassis.grpc.channels import Deadline, open_channel
from sourcier.services.chassis.grpc.serving import Server
from sourcier.services.gateway.peers import reranking
from sourcier.services.gateway.peers.embedding import QueryEmbedding
from sourcier.services.gateway.peers.reranking import RerankCandidate, Reranking
from sourcier.services.rerank.executor import RankExecutor
from sourcier.services.rerank.late_interaction import LateInteractionRanker
from sourcier.services.rerank.ranker import Candidate, Question
from sourcier.services.rerank.server import RerankServer

DIMENSION, TOKENS = 64, 5
DRAW = np.random.default_rng(7)
VECTORS = DRAW.normal(size=(TOKENS, DIMENSION)).astype(np.float32)
VECTORS /= np.linalg.norm(VECTORS, axis=1, keepdims=True)
WEIGHTS = (3.0, 0.5, 1.0, 2.0, 4.0)
EMBEDDING = QueryEmbedding("space", np.zeros(DIMENSION, np.float32), VECTORS.astype("<f4").tobytes(), WEIGHTS)
CANDIDATES = [
    RerankCandidate(f"chunk {number}", "a text", DRAW.bytes(DIMENSION // 8 * (3 + number))) for number in range(6)
]


class Served(RerankServer):
    """The real service, which counts what it is asked, and may say that another model ranks."""

    asked = 0
    model = ""

    async def Rerank(self, request: rerank_pb2.RerankRequest, context: Any) -> rerank_pb2.RerankResponse:
        """Rank as the service does; a model says the number of the chunk."""
        self.asked += 1
        if not self.model:
            return await super().Rerank(request, context)
        return rerank_pb2.RerankResponse(ranker=self.model, ranked=[
            rerank_pb2.RankedCandidate(chunk_id=entry.chunk_id, score=float(entry.chunk_id.split()[1]))
            for entry in request.candidates
        ])


@dataclass
class Ranked:
    """The service, and the gateway's side of it."""

    reranking: Reranking
    servicer: Served
    opened: AsyncExitStack = field(repr=False)

    async def rerank(self) -> dict[str, float]:
        """Rank the candidates."""
        return await self.reranking.rerank("q", EMBEDDING, CANDIDATES, tenant="default", deadline=Deadline.after(5))

    async def late_interaction(self) -> dict[str, float]:
        """Score the candidates by late interaction."""
        return await self.reranking.late_interaction(
            "q", EMBEDDING, CANDIDATES, tenant="default", deadline=Deadline.after(5)
        )

    async def stop_service(self) -> None:
        """End the rerank service."""
        await self.opened.aclose()


@asynccontextmanager
async def ranked(*, here: bool = True) -> AsyncIterator[Ranked]:
    async with AsyncExitStack() as opened:
        executor = await opened.enter_async_context(
            RankExecutor(LateInteractionRanker(), threads=1, waiting_max=4, seconds_max=10)
        )
        server = await opened.enter_async_context(
            Server(listen="127.0.0.1:0", grace_seconds=0.2, concurrent_calls_max=8)
        )
        servicer = Served(executor, candidates_max=100)
        server.add(rerank_pb2_grpc.add_RerankServiceServicer_to_server, servicer,
                   rerank_pb2.DESCRIPTOR.services_by_name["RerankService"].full_name)
        await server.start()
        channel = open_channel(f"127.0.0.1:{server.port}")
        found = Reranking(rerank_pb2_grpc.RerankServiceStub(channel), here=here, seconds_max=10)
        try:
            yield Ranked(found, servicer, opened)
        finally:
            found.close()
            await channel.close()


def expected() -> dict[str, float]:
    scores = LateInteractionRanker().score(
        Question("q", VECTORS, np.array(WEIGHTS, np.float32)),
        [Candidate(entry.chunk_id, entry.text, entry.token_codes) for entry in CANDIDATES],
    )
    return dict(zip((entry.chunk_id for entry in CANDIDATES), scores.tolist(), strict=True))


@pytest.mark.parametrize("bytes_max", [reranking.INLINE_BYTES_MAX, 0])
async def test_the_service_is_asked_once_and_says_that_the_gateway_can_rank(
    bytes_max: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reranking, "INLINE_BYTES_MAX", bytes_max)
    async with ranked() as service:
        assert service.reranking.ranker == ""
        for _ in range(3):
            assert await service.rerank() == pytest.approx(expected(), abs=1e-6)
        assert (service.servicer.asked, service.reranking.ranker) == (1, "late-interaction")


async def test_a_gateway_that_knows_goes_on_without_the_service(monkeypatch: pytest.MonkeyPatch) -> None:
    async with ranked() as service:
        await service.rerank()
        await service.stop_service()
        assert await service.rerank() == pytest.approx(expected(), abs=1e-6)
        # Nor does it matter when it is time to ask again.
        monkeypatch.setattr(reranking, "ASK_AGAIN_SECONDS", 0.0)
        assert await service.rerank() == pytest.approx(expected(), abs=1e-6)


async def test_a_gateway_that_knows_nothing_says_that_the_service_is_away() -> None:
    async with ranked() as service:
        await service.stop_service()
        with pytest.raises(Unavailable, match="rerank service cannot be reached"):
            await service.rerank()


async def test_a_service_that_was_given_a_model_ranks_from_then_on(monkeypatch: pytest.MonkeyPatch) -> None:
    async with ranked() as service:
        await service.rerank()
        service.servicer.model = "cross-encoder"
        assert await service.rerank() == pytest.approx(expected(), abs=1e-6)
        monkeypatch.setattr(reranking, "ASK_AGAIN_SECONDS", 0.0)
        by_model = {entry.chunk_id: float(number) for number, entry in enumerate(CANDIDATES)}
        assert await service.rerank() == by_model
        monkeypatch.undo()
        assert await service.rerank() == by_model
        assert service.reranking.ranker == "cross-encoder"
        # Without it there is no second choice: another ranking would pass for this one.
        await service.stop_service()
        with pytest.raises(Unavailable):
            await service.rerank()


async def test_sentences_are_compared_by_late_interaction_whatever_ranks() -> None:
    async with ranked() as service:
        service.servicer.model = "cross-encoder"
        await service.rerank()
        assert await service.late_interaction() == pytest.approx(expected(), abs=1e-6)
        assert service.servicer.asked == 1


async def test_a_gateway_that_does_not_rank_always_asks() -> None:
    async with ranked(here=False) as service:
        for _ in range(2):
            assert await service.rerank() == pytest.approx(expected(), abs=1e-6)
        assert await service.late_interaction() == pytest.approx(expected(), abs=1e-6)
        assert service.servicer.asked == 3
        service.servicer.model = "cross-encoder"
        with pytest.raises(FailedPrecondition, match="scores with cross-encoder, which does not compare wordings"):
            await service.late_interaction()


async def test_what_cannot_be_ranked_is_refused_here_as_there() -> None:
    async with ranked() as service:
        await service.rerank()
        rank = service.reranking.rerank
        broken = [*CANDIDATES, RerankCandidate("chunk 9", "a text", b"123")]
        with pytest.raises(InvalidArgument, match="token codes of chunk 9 are 3 bytes, not rows of 8"):
            await rank("q", EMBEDDING, broken, tenant="default", deadline=Deadline.after(5))
        with pytest.raises(DeadlineExceeded):
            await rank("q", EMBEDDING, CANDIDATES, tenant="default", deadline=Deadline.after(0))
        empty = QueryEmbedding("space", np.zeros(DIMENSION, np.float32), b"", ())
        found = await rank("q", empty, CANDIDATES, tenant="default", deadline=Deadline.after(5))
        assert set(found.values()) == {-1.0}
