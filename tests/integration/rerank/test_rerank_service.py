"""`RerankService` over gRPC."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import numpy as np
import pytest
import pytest_asyncio

from sourcier.rerank.v1 import rerank_pb2, rerank_pb2_grpc
from sourcier.services.chassis.errors import InvalidArgument
from sourcier.services.chassis.grpc import channels
from sourcier.services.chassis.grpc.channels import Deadline, open_channel
from sourcier.services.chassis.grpc.serving import Server
from sourcier.services.rerank.executor import RankExecutor
from sourcier.services.rerank.late_interaction import LateInteractionRanker
from sourcier.services.rerank.server import RerankServer

DIMENSION, CANDIDATES_MAX = 64, 10
VECTORS = np.sign(np.random.default_rng(1).normal(size=(2, DIMENSION))).astype("<f4") / 8.0
SAME, OPPOSITE = (np.packbits(rows > 0, axis=1).tobytes() for rows in (VECTORS, -VECTORS))


@pytest_asyncio.fixture(loop_scope="session")
async def stub() -> AsyncIterator[Any]:
    """Yield a stub of a running service."""
    async with (
        RankExecutor(LateInteractionRanker(), threads=1, waiting_max=4, seconds_max=10) as executor,
        Server(listen="127.0.0.1:0", grace_seconds=1, concurrent_calls_max=8) as server,
    ):
        server.add(rerank_pb2_grpc.add_RerankServiceServicer_to_server,
                   RerankServer(executor, candidates_max=CANDIDATES_MAX), "sourcier.rerank.v1.RerankService")
        await server.start()
        channel = open_channel(f"127.0.0.1:{server.port}")
        yield rerank_pb2_grpc.RerankServiceStub(channel)
        await channel.close()


async def rerank(stub: Any, *codes: bytes, **fields: Any) -> rerank_pb2.RerankResponse:
    request = rerank_pb2.RerankRequest(**({
        "query": "q", "query_vectors": VECTORS.tobytes(), "query_weights": [1, 1], "space_id": "s",
        "candidates": [rerank_pb2.Candidate(chunk_id=f"c{n}", token_codes=entry) for n, entry in enumerate(codes)],
    } | fields))
    response: rerank_pb2.RerankResponse = await channels.call(
        stub.Rerank, request, peer="rerank", tenant="acme", deadline=Deadline.after(10), cap_seconds=10
    )
    return response


async def test_candidates_come_back_best_first_each_once(stub: Any) -> None:
    response = await rerank(stub, OPPOSITE, b"", SAME)
    assert response.ranker == "late-interaction"
    assert [entry.chunk_id for entry in response.ranked] == ["c2", "c0", "c1"]
    assert response.ranked[0].score == pytest.approx(1, abs=1e-6)


async def test_ties_keep_the_searchs_order(stub: Any) -> None:
    response = await rerank(stub, OPPOSITE, SAME, OPPOSITE, SAME, b"", b"")
    assert [entry.chunk_id for entry in response.ranked] == ["c1", "c3", "c0", "c2", "c4", "c5"]


async def test_a_question_without_informative_tokens_keeps_the_searchs_order(stub: Any) -> None:
    response = await rerank(stub, OPPOSITE, SAME, query_vectors=b"", query_weights=[])
    assert [entry.chunk_id for entry in response.ranked] == ["c0", "c1"]


@pytest.mark.parametrize(("codes", "fields", "field"), [
    ((), {}, "candidates"),
    ((SAME,) * (CANDIDATES_MAX + 1), {}, "candidates"),
    ((SAME[:-1],), {}, "candidates.token_codes"),
    ((SAME,), {"query_vectors": VECTORS.tobytes()[:-1]}, "query_vectors"),
    ((SAME,), {"query_weights": [1, 1, 1]}, "query_vectors"),
    ((SAME,), {"query_vectors": b"", "query_weights": [1]}, "query_vectors"),
    ((SAME,), {"query_weights": []}, "query_weights"),
    ((SAME,), {"query_vectors": VECTORS[:, :12].tobytes()}, "query_vectors"),
    ((SAME,), {"query_vectors": (VECTORS * np.nan).tobytes()}, "query_vectors"),
    ((SAME,), {"query_weights": [1, float("inf")]}, "query_weights"),
    ((SAME,), {"query_weights": [1, -1]}, "query_weights"),
])
async def test_what_cannot_be_ranked_is_refused_with_its_field(
    stub: Any, codes: tuple[bytes, ...], fields: dict[str, Any], field: str
) -> None:
    with pytest.raises(InvalidArgument) as refused:
        await rerank(stub, *codes, **fields)
    assert refused.value.field == field


async def test_the_service_describes_its_ranker(stub: Any) -> None:
    described = await stub.Describe(rerank_pb2.DescribeRequest(), timeout=10)
    assert (described.ranker, described.candidates_max) == ("late-interaction", CANDIDATES_MAX)
    assert (described.reads_text, described.reads_codes) == (False, True)
