"""`EmbedService` over gRPC, on a model of a few words."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc.aio
import numpy as np
import pytest

from sourcier.embed.v1 import embed_pb2, embed_pb2_grpc
from sourcier.services.chassis.errors import InvalidArgument, ResourceExhausted, SpaceMismatch
from sourcier.services.chassis.grpc import channels
from sourcier.services.chassis.grpc.channels import Deadline, open_channel
from sourcier.services.chassis.grpc.serving import Server
from sourcier.services.embed.batcher import Batcher
from sourcier.services.embed.server import TEXTS_MAX, EmbedServer
from tests.unit.embed.fix_embedding import (
    DIMENSION,
    TOKEN_LIMIT,
    WEIGHTS,
    ArithmeticEngine,
    ids,
    text_of,
    write_encoder,
)

QUERY, PASSAGE = embed_pb2.TEXT_ROLE_QUERY, embed_pb2.TEXT_ROLE_PASSAGE


@dataclass(frozen=True)
class Service:
    """A running embed service."""

    stub: Any
    batcher: Batcher
    engine: ArithmeticEngine

    async def embed(
        self, *texts: str, role: int = QUERY, tenant: str = "acme", **fields: Any
    ) -> embed_pb2.EmbedResponse:
        """Embed texts as a peer would."""
        request = embed_pb2.EmbedRequest(texts=texts, role=role, **fields)  # type: ignore[arg-type]
        response: embed_pb2.EmbedResponse = await channels.call(
            self.stub.Embed, request, peer="embed", tenant=tenant, deadline=Deadline.after(20), cap_seconds=20
        )
        return response


@asynccontextmanager
async def embedding(folder: Path, *, cache_size: int = 10, queue_tokens_max: int = 1000) -> AsyncIterator[Service]:
    encoder, engine = write_encoder(folder)
    async with (
        Batcher(encoder, streams=1, queue_tokens_max=queue_tokens_max, batch_tokens_max=512, batch_seconds_max=60,
                stopping=asyncio.Event()) as batcher,
        Server(listen="127.0.0.1:0", grace_seconds=1, concurrent_calls_max=64) as server,
    ):
        server.add(embed_pb2_grpc.add_EmbedServiceServicer_to_server,
                   EmbedServer(batcher, cache_size=cache_size, cache_bytes_max=1 << 20),
                   "sourcier.embed.v1.EmbedService")
        await server.start()
        channel = open_channel(f"127.0.0.1:{server.port}")
        try:
            yield Service(embed_pb2_grpc.EmbedServiceStub(channel), batcher, engine)
        finally:
            engine.gate.set()
            await channel.close()


def vector(embedding: embed_pb2.Embedding) -> Any:
    return np.frombuffer(embedding.vector, "<f4")


async def test_texts_become_vectors_of_the_space(tmp_path: Path) -> None:
    async with embedding(tmp_path) as service:
        response = await service.embed("le chat", "le chien dort")
    assert response.space_id == service.batcher.encoder.model.space_id
    assert [entry.token_count for entry in response.embeddings] == [6, 7]
    for entry in response.embeddings:
        assert vector(entry).shape == (DIMENSION,)
        assert np.linalg.norm(vector(entry)) == pytest.approx(1, abs=1e-6)
        assert not entry.HasField("tokens")


async def test_token_vectors_come_where_asked_for(tmp_path: Path) -> None:
    async with embedding(tmp_path) as service:
        response = await service.embed("le chat mange", token_vectors=True)
    (entry,) = response.embeddings
    assert entry.tokens.count == 2
    assert list(entry.tokens.weights) == WEIGHTS[ids("chat", "mange")].tolist()
    rows = np.frombuffer(entry.tokens.vectors, "<f4").reshape(2, DIMENSION)
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-6)


async def test_questions_and_passages_have_their_prefixes(tmp_path: Path) -> None:
    async with embedding(tmp_path) as service:
        question, passage = [(await service.embed("le chat", role=role)).embeddings[0] for role in (QUERY, PASSAGE)]
    assert not np.allclose(vector(question), vector(passage))


async def test_a_question_asked_again_is_remembered(tmp_path: Path) -> None:
    async with embedding(tmp_path, cache_size=2) as service:
        first = await service.embed("le chat", "le chat", "le chien")
        batches = len(service.engine.shapes)
        again = await service.embed("le chien", "le chat")
        assert (first.cache_hits, again.cache_hits) == (0, 2)
        assert len(service.engine.shapes) == batches
        assert [entry.vector for entry in again.embeddings] == [
            first.embeddings[2].vector, first.embeddings[0].vector,
        ]
        # Passages are embedded once in their life: they would only push questions out.
        await service.embed("le chat", role=PASSAGE)
        assert len(service.engine.shapes) == batches + 1


async def test_questions_are_remembered_for_who_asked_them_alone(tmp_path: Path) -> None:
    async with embedding(tmp_path) as service:
        await service.embed("le chat")
        assert (await service.embed("le chat", tenant="globex")).cache_hits == 0
        assert (await service.embed("le chat", tenant="globex")).cache_hits == 1


async def test_what_nobody_waits_for_pushes_no_question_out(tmp_path: Path) -> None:
    bulk = embed_pb2.PRIORITY_BULK
    async with embedding(tmp_path, cache_size=1) as service:
        await service.embed("le chat")
        assert (await service.embed("le chien", priority=bulk)).cache_hits == 0
        assert (await service.embed("le chien", priority=bulk)).cache_hits == 0
        assert (await service.embed("le chat", priority=bulk)).cache_hits == 1


@pytest.mark.parametrize(("texts", "fields", "field"), [
    ([], {}, "texts"),
    (["mot"] * (TEXTS_MAX + 1), {}, "texts"),
    (["mot", "  \n"], {}, "texts"),
    (["mot"], {"role": 0}, "role"),
    (["mot"], {"priority": 7}, "priority"),
    ([text_of(TOKEN_LIMIT)], {}, "texts"),
])
async def test_what_cannot_be_embedded_is_refused_with_its_field(
    tmp_path: Path, texts: list[str], fields: dict[str, Any], field: str
) -> None:
    async with embedding(tmp_path) as service:
        with pytest.raises(InvalidArgument) as refused:
            await service.embed(*texts, **fields)
    assert refused.value.field == field


async def test_what_nobody_waits_for_is_embedded_last(tmp_path: Path) -> None:
    async with embedding(tmp_path) as service:
        service.engine.gate.clear()
        order: list[str] = []

        async def embed(text: str, priority: int) -> None:
            await service.embed(text, role=PASSAGE, priority=priority)
            order.append(text)

        async with asyncio.timeout(10), asyncio.TaskGroup() as group:
            group.create_task(embed("le", embed_pb2.PRIORITY_UNSPECIFIED))
            while not service.engine.shapes:
                await asyncio.sleep(0.01)
            group.create_task(embed("chat", embed_pb2.PRIORITY_BULK))
            while service.batcher._arrivals < 2:
                await asyncio.sleep(0.01)
            group.create_task(embed("chien", embed_pb2.PRIORITY_QUESTION))
            while service.batcher._arrivals < 3:
                await asyncio.sleep(0.01)
            service.engine.gate.set()
    assert order == ["le", "chien", "chat"]


async def test_another_space_is_refused(tmp_path: Path) -> None:
    async with embedding(tmp_path) as service:
        own = service.batcher.encoder.model.space_id
        assert (await service.embed("mot", space_id=own)).space_id == own
        with pytest.raises(SpaceMismatch, match=f"into the space {own}, not other-space") as refused:
            await service.embed("mot", space_id="other-space")
    assert refused.value.field == "space_id"


async def test_overload_is_said_at_once(tmp_path: Path) -> None:
    async with embedding(tmp_path, queue_tokens_max=10) as service:
        service.engine.gate.clear()
        held = asyncio.ensure_future(service.embed("chat"))
        async with asyncio.timeout(10):
            await asyncio.to_thread(service.engine.entered.acquire)
            waiting = asyncio.ensure_future(service.embed("le chien dort mot"))
            while service.batcher._waiting_tokens == 0:
                await asyncio.sleep(0.001)
            with pytest.raises(ResourceExhausted):
                await service.embed("le chien mange mot")
        service.engine.gate.set()
        await asyncio.gather(held, waiting)


async def test_a_client_that_leaves_frees_its_place(tmp_path: Path) -> None:
    async with embedding(tmp_path) as service:
        service.engine.gate.clear()
        held = asyncio.ensure_future(service.embed("chat"))
        async with asyncio.timeout(10):
            await asyncio.to_thread(service.engine.entered.acquire)
            call: grpc.aio.UnaryUnaryCall = service.stub.Embed(
                embed_pb2.EmbedRequest(texts=["le chien dort"], role=QUERY), timeout=10
            )
            waiting = asyncio.ensure_future(_ended(call))
            while service.batcher._waiting_tokens == 0:
                await asyncio.sleep(0.001)
            call.cancel()
            while service.batcher._waiting_tokens:
                await asyncio.sleep(0.001)
            await waiting
        service.engine.gate.set()
        await held
    assert len(service.engine.shapes) == 1


async def _ended(call: Any) -> None:
    try:
        await call
    except asyncio.CancelledError:
        return


async def test_the_service_describes_its_space_and_limits(tmp_path: Path) -> None:
    async with embedding(tmp_path) as service:
        described = await service.stub.Describe(embed_pb2.DescribeRequest(), timeout=10)
        embedded = await service.embed("mot")
    assert described.space_id == embedded.space_id
    assert (described.model, described.dimension, described.token_limit) == ("test-model", DIMENSION, TOKEN_LIMIT)
    assert (described.query_prefix, described.passage_prefix) == ("query: ", "passage: ")
    assert (described.engine, described.texts_max) == ("arithmetic", TEXTS_MAX)
