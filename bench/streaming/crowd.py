"""Short calls of one tenant while thousands of another's say nothing or drip: the delay, and whether health answers."""

from __future__ import annotations

import asyncio
import multiprocessing
import random
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection
from multiprocessing.synchronize import Event
from typing import Any

import grpc
import grpc.aio
from grpc_health.v1 import health_pb2, health_pb2_grpc

from bench.environment import asked_numbers
from bench.measuring import Table, percentile
from sourcier.embed.v1 import embed_pb2, embed_pb2_grpc
from sourcier.ingest.v1 import ingest_pb2, ingest_pb2_grpc
from sourcier.services.chassis.grpc.limits import ServingLimits
from sourcier.services.chassis.grpc.serving import Server

ROUNDS, CALLS_A_ROUND = 3, 100
RATIO_MAX = 2.0
PLACES = 512
CHANNELS = 20
PAUSE_SECONDS = 15.0
"""After which a refused client comes again, give or take half of it: all at once would be another attack."""
DRIP_SECONDS = 2.0
SETTLE_SECONDS = 45.0
SHORT, LONG = "/sourcier.embed.v1.EmbedService/Embed", "/sourcier.ingest.v1.IngestService/Submit"
ALONE, CROWDED = "alone", "beside the crowd"
CONTEXT = multiprocessing.get_context("spawn")


async def run(*, quick: bool) -> list[Table]:
    """Measure the calls by turns, without the crowd and with it; `SOURCIER_BENCH_CROWD` names another size of it."""
    (clients,) = asked_numbers("SOURCIER_BENCH_CROWD", (200 if quick else 2_000,))
    calls = Table("crowd, a short call of another tenant", "ms", higher_is_better=False)
    p95 = Table("crowd, p95 of short calls, by rounds", "ms", higher_is_better=False)
    health = Table("crowd, health checks that failed", "checks", higher_is_better=False)
    with _served() as address:
        await _round(address, Table("warm", "ms"), Table("warm", "ms"), Table("warm", "checks"), ALONE)
        for _ in range(2 if quick else ROUNDS):
            await _round(address, calls, p95, health, ALONE)
            with _crowd(address, int(clients)):
                await asyncio.sleep(SETTLE_SECONDS)
                await _round(address, calls, p95, health, CROWDED)
    calls.notes[CROWDED] = f"{int(clients):,} clients, half silent, half dripping a byte every {DRIP_SECONDS:g} s"
    p95.ratio(CROWDED, ALONE, target=RATIO_MAX)
    health.limit(CROWDED, at_most=0)
    return [calls, p95, health]


async def _round(address: str, calls: Table, p95: Table, health: Table, name: str) -> None:
    found, failed = [], 0
    async with grpc.aio.insecure_channel(address) as channel:
        stub: Any = embed_pb2_grpc.EmbedServiceStub(channel)
        probe: Any = health_pb2_grpc.HealthStub(channel)
        for number in range(CALLS_A_ROUND):
            begun = time.perf_counter()
            await stub.Embed(embed_pb2.EmbedRequest(), timeout=30, metadata=(("sourcier-tenant", "beta"),))
            found.append(1_000 * (time.perf_counter() - begun))
            if number % 10 == 0:
                try:
                    answer = await probe.Check(health_pb2.HealthCheckRequest(), timeout=5)
                    failed += answer.status != health_pb2.HealthCheckResponse.SERVING
                except grpc.aio.AioRpcError:
                    failed += 1
    for value in found:
        calls.add(name, value)
    p95.add(name, percentile(found, 0.95))
    health.add(name, failed)


@contextmanager
def _served() -> Iterator[str]:
    here, there = CONTEXT.Pipe()
    process = CONTEXT.Process(target=_serve, args=(there,), daemon=True)
    process.start()
    try:
        yield here.recv()
    finally:
        process.kill()
        process.join()


@contextmanager
def _crowd(address: str, clients: int) -> Iterator[None]:
    here = CONTEXT.Event()
    process = CONTEXT.Process(target=_press, args=(address, clients, here), daemon=True)
    process.start()
    here.wait(120)
    try:
        yield
    finally:
        process.kill()
        process.join()


class _Embed(embed_pb2_grpc.EmbedServiceServicer):
    async def Embed(self, request: Any, context: Any) -> Any:  # noqa: N802
        return embed_pb2.EmbedResponse(space_id="answered")


class _Ingest(ingest_pb2_grpc.IngestServiceServicer):
    async def Submit(self, request_iterator: Any, context: Any) -> Any:  # noqa: N802
        async for _ in request_iterator:
            pass
        return ingest_pb2.SubmitResponse()


def _serve(telling: Connection) -> None:
    # One method of each is served.
    embed: Any = _Embed
    ingest: Any = _Ingest

    async def serve() -> None:
        # The times and shares that the gateway has.
        limits = ServingLimits(streams_max=PLACES, tenant_share_percent=50.0)
        async with Server(listen="127.0.0.1:0", grace_seconds=1, concurrent_calls_max=PLACES, limits=limits) as server:
            server.add(embed_pb2_grpc.add_EmbedServiceServicer_to_server, embed(), "sourcier.embed.v1.EmbedService")
            server.add(
                ingest_pb2_grpc.add_IngestServiceServicer_to_server, ingest(), "sourcier.ingest.v1.IngestService")
            await server.start()
            telling.send(f"127.0.0.1:{server.port}")
            await asyncio.Event().wait()

    asyncio.run(serve())


def _press(address: str, clients: int, here: Event) -> None:
    async def drip() -> AsyncIterator[Any]:
        while True:
            yield ingest_pb2.SubmitRequest(data=b"x")
            await asyncio.sleep(DRIP_SECONDS)

    async def hang(channel: grpc.aio.Channel, number: int) -> None:
        tenant = (("sourcier-tenant", "alpha"),)
        while True:
            with suppress(grpc.aio.AioRpcError):
                if number % 2:
                    stub: Any = ingest_pb2_grpc.IngestServiceStub(channel)
                    await stub.Submit(drip(), timeout=3_600, metadata=tenant)
                else:
                    silent: Any = channel.stream_stream(SHORT if number % 4 else LONG)(timeout=3_600, metadata=tenant)
                    await silent.code()
            await asyncio.sleep(PAUSE_SECONDS * random.uniform(0.5, 1.5))

    async def press() -> None:
        options = (("grpc.use_local_subchannel_pool", 1),)
        channels = [grpc.aio.insecure_channel(address, options=options) for _ in range(CHANNELS)]
        async with asyncio.TaskGroup() as group:
            for number in range(clients):
                group.create_task(hang(channels[number % CHANNELS], number))
            here.set()

    asyncio.run(press())
