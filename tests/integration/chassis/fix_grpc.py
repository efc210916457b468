"""A server of the chassis whose handlers each test writes itself, over contracts that exist: one of each shape."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import grpc
import grpc.aio
from grpc_health.v1 import health_pb2, health_pb2_grpc

from sourcier.embed.v1 import embed_pb2, embed_pb2_grpc
from sourcier.generate.v1 import generate_pb2_grpc
from sourcier.ingest.v1 import ingest_pb2, ingest_pb2_grpc
from sourcier.services.chassis.grpc.channels import NOBODY, Deadline, Identity, open_channel
from sourcier.services.chassis.grpc.limits import ServingLimits
from sourcier.services.chassis.grpc.serving import Server
from sourcier.services.chassis.grpc.tokens import InternalTokens
from sourcier.services.chassis.tls.serving import TlsFiles

EMBED = "sourcier.embed.v1.EmbedService"
GENERATE = "sourcier.generate.v1.GenerateService"

Unary = Callable[[Any, Any], Awaitable[Any]]
Streaming = Callable[[Any, Any], AsyncIterator[Any]]


class _Embed(embed_pb2_grpc.EmbedServiceServicer):
    def __init__(self, behaviour: Unary) -> None:
        self._behaviour = behaviour

    async def Embed(self, request: Any, context: Any) -> Any:
        return await self._behaviour(request, context) or embed_pb2.EmbedResponse(space_id="answered")


class _Generate(generate_pb2_grpc.GenerateServiceServicer):
    def __init__(self, behaviour: Streaming) -> None:
        self._behaviour = behaviour

    def Generate(self, request: Any, context: Any) -> AsyncIterator[Any]:
        return self._behaviour(request, context)


class _Ingest(ingest_pb2_grpc.IngestServiceServicer):
    def __init__(self, behaviour: Unary) -> None:
        self._behaviour = behaviour

    async def Submit(self, request_iterator: Any, context: Any) -> Any:
        return await self._behaviour(request_iterator, context) or ingest_pb2.SubmitResponse()


@dataclass(frozen=True)
class Served:
    """A running server and the stubs of it."""

    server: Server
    target: str
    channel: grpc.aio.Channel
    embed: Any
    generate: Any
    ingest: Any

    async def health(self, service: str = "") -> int:
        """Return the health of a service."""
        stub: Any = health_pb2_grpc.HealthStub(self.channel)
        response = await stub.Check(health_pb2.HealthCheckRequest(service=service), timeout=5)
        return int(response.status)


@asynccontextmanager
async def serving(
    *, unary: Unary | None = None, streaming: Streaming | None = None, submit: Unary | None = None,
    grace_seconds: float = 2.0, concurrent_calls_max: int = 64, listen: str = "127.0.0.1:0",
    limits: ServingLimits | None = None, tokens: InternalTokens | None = None,
    tls: TlsFiles | None = None, peers: frozenset[str] = frozenset(), identity: Identity = NOBODY,
    health_listen: str = "",
) -> AsyncIterator[Served]:
    """Serve the behaviours on a free port."""
    async with Server(
        listen=listen, grace_seconds=grace_seconds, concurrent_calls_max=concurrent_calls_max, limits=limits,
        tokens=tokens, tls=tls, peers=peers, health_listen=health_listen,
    ) as server:
        if unary is not None:
            server.add(embed_pb2_grpc.add_EmbedServiceServicer_to_server, _Embed(unary), EMBED)
        if streaming is not None:
            server.add(generate_pb2_grpc.add_GenerateServiceServicer_to_server, _Generate(streaming), GENERATE)
        if submit is not None:
            server.add(ingest_pb2_grpc.add_IngestServiceServicer_to_server, _Ingest(submit),
                       "sourcier.ingest.v1.IngestService")
        await server.start()
        target = f"127.0.0.1:{server.port}"
        channel = open_channel(target, idempotent=((EMBED, "Embed"),), identity=identity)
        try:
            yield Served(
                server, target, channel, embed_pb2_grpc.EmbedServiceStub(channel),
                generate_pb2_grpc.GenerateServiceStub(channel), ingest_pb2_grpc.IngestServiceStub(channel),
            )
        finally:
            await channel.close()


def within(seconds: float = 10.0, *, tenant: str = "default") -> dict[str, Any]:
    """Return the arguments of `channels.call` that most tests share."""
    return {"peer": "probe", "tenant": tenant, "deadline": Deadline.after(seconds), "cap_seconds": seconds}
