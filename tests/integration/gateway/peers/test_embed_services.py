"""Several embed services behind the gateway: each space finds its own, whichever comes, goes or changes."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from sourcier.embed.v1 import embed_pb2, embed_pb2_grpc
from sourcier.services.chassis.errors import DeadlineExceeded, SpaceMismatch, Unavailable
from sourcier.services.chassis.grpc.channels import Deadline
from sourcier.services.chassis.grpc.serving import Server
from sourcier.services.gateway.peers import embedding
from sourcier.services.gateway.peers.embedding import EmbedServices
from tests.integration.gateway.fix_gateway import closed_port


@dataclass
class Embedder(embed_pb2_grpc.EmbedServiceServicer):
    """Serves a space, which the test may change, and counts."""

    space_id: str
    port: int = 0
    described: int = 0
    embedded: int = 0
    away: bool = False
    busy: asyncio.Event | None = None
    """It names its space once this is set."""

    async def Describe(self, request: Any, context: Any) -> Any:
        """Name the space."""
        self.described += 1
        if self.busy is not None:
            await self.busy.wait()
        return embed_pb2.DescribeResponse(space_id=self.space_id, model="test", dimension=4)

    async def Embed(self, request: Any, context: Any) -> Any:
        """Embed as the real service does: another space than its own is refused."""
        if self.away:
            raise Unavailable("away")
        if request.space_id != self.space_id:
            raise SpaceMismatch(f"not {request.space_id}")
        self.embedded += 1
        vector = np.eye(4, dtype=np.float32)[0].tobytes()
        return embed_pb2.EmbedResponse(space_id=self.space_id, embeddings=[embed_pb2.Embedding(vector=vector)])


@asynccontextmanager
async def embedders(*space_ids: str) -> AsyncIterator[list[Embedder]]:
    """Serve one embedder for each space."""
    async with AsyncExitStack() as stack:
        served = []
        for space_id in space_ids:
            server = await stack.enter_async_context(
                Server(listen="127.0.0.1:0", grace_seconds=0.5, concurrent_calls_max=16)
            )
            embedder = Embedder(space_id)
            server.add(embed_pb2_grpc.add_EmbedServiceServicer_to_server, embedder, "sourcier.embed.v1.EmbedService")
            await server.start()
            embedder.port = server.port
            served.append(embedder)
        yield served


@asynccontextmanager
async def services(*urls: str) -> AsyncIterator[EmbedServices]:
    """Open the gateway's side."""
    opened = EmbedServices(urls, seconds_max=5)
    try:
        yield opened
    finally:
        await opened.close()


async def embed(opened: EmbedServices, space_id: str) -> str:
    embedded = await opened.embed_query("mot", space_id=space_id, tenant="acme", deadline=Deadline.after(20))
    return embedded.space_id


def address(embedder: Embedder) -> str:
    return f"127.0.0.1:{embedder.port}"


async def test_a_space_finds_its_service_and_is_asked_for_once() -> None:
    async with embedders("a", "b") as (first, second), services(*map(address, (first, second))) as opened:
        for space_id in ("a", "b", "b", "a"):
            assert await embed(opened, space_id) == space_id
        assert (first.embedded, second.embedded) == (2, 2)
        assert (first.described, second.described) == (1, 1)
        served = await opened.served(tenant="acme", deadline=Deadline.after(20))
        assert [space.space_id for space in served] == ["a", "b"]


async def test_a_space_that_nobody_serves_is_a_clear_error() -> None:
    async with embedders("a") as (only,), services(address(only)) as opened:
        with pytest.raises(SpaceMismatch, match=r"space b, and the embed services serve a; .*SOURCIER_EMBED_URL"):
            await embed(opened, "b")


async def test_a_service_that_is_away_may_be_the_one() -> None:
    async with embedders("a") as (only,), services(address(only), closed_port()) as opened:
        with pytest.raises(Unavailable, match="the embed service cannot be reached"):
            await embed(opened, "b")
        assert await embed(opened, "a") == "a"


async def test_a_service_that_comes_later_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedding, "LOOK_AGAIN_SECONDS", 0.0)
    async with embedders("a") as (only,), services(address(only)) as opened:
        assert await embed(opened, "a") == "a"
        only.space_id = "b"  # restarted with another model
        assert await embed(opened, "b") == "b"
        with pytest.raises(SpaceMismatch):
            await embed(opened, "a")


async def test_a_caller_without_time_fails_alone_when_services_are_slow_to_name_their_spaces() -> None:
    async with embedders("a") as (only,), services(address(only)) as opened:
        only.busy = asyncio.Event()
        begun = time.monotonic()
        hurried = asyncio.create_task(
            opened.embed_query("mot", space_id="a", tenant="acme", deadline=Deadline.after(0.3))
        )
        while not only.described:
            await asyncio.sleep(0.001)
        patient = asyncio.create_task(
            opened.embed_query("mot", space_id="a", tenant="globex", deadline=Deadline.after(20))
        )
        with pytest.raises(DeadlineExceeded):
            await hurried
        assert time.monotonic() - begun < embedding.DESCRIBE_SECONDS_MAX - 0.5, "its own deadline holds"
        only.busy.set()
        assert (await patient).space_id == "a"


async def test_another_service_of_the_space_takes_over() -> None:
    async with embedders("a", "a") as (first, second), services(*map(address, (first, second))) as opened:
        assert await embed(opened, "a") == "a"
        first.away = True
        first.space_id = "b"
        assert await embed(opened, "a") == "a"
        assert second.embedded == 1
