"""The life of a process, with real processes and real signals: what it says, and the code it ends with."""

from __future__ import annotations

import asyncio
import signal
import socket
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import grpc
import grpc.aio
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from sourcier.embed.v1 import embed_pb2, embed_pb2_grpc
from tests.integration.chassis.fix_process import Process, started


@asynccontextmanager
async def running(mode: str = "", **environment: str) -> AsyncIterator[Process]:
    """Run the probe."""
    settings = {"SOURCIER_PROBE_GRACE_SECONDS": "10"} | environment
    async with started("tests.integration.chassis.probe_process", mode, **settings) as process:
        yield process


@asynccontextmanager
async def channel_to(probe: Process) -> AsyncIterator[grpc.aio.Channel]:
    """Open a channel once the probe is ready."""
    ready = await probe.heard("ready")
    async with grpc.aio.insecure_channel(f"127.0.0.1:{ready['port']}") as channel:
        yield channel


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_signal_stops_it_in_order(number: signal.Signals) -> None:
    async with running() as probe:
        await probe.heard("ready")
        probe.send(number)
        assert await probe.code() == 0
    assert probe.messages[-4:] == [f"signal {number.value}, stopping", "worker finished", "neighbour closed",
                                   "probe stopped"]


async def test_a_signal_while_it_starts_ends_it_well() -> None:
    async with running("starting") as probe:
        await probe.heard("starting")
        probe.send(signal.SIGTERM)
        assert await probe.code() == 0


async def test_calls_in_hand_finish_and_health_turns() -> None:
    async with running() as probe, channel_to(probe) as channel:
        embed: Any = embed_pb2_grpc.EmbedServiceStub(channel)
        health: Any = health_pb2_grpc.HealthStub(channel)
        watch = health.Watch(health_pb2.HealthCheckRequest())
        assert (await watch.read()).status == health_pb2.HealthCheckResponse.SERVING
        call = embed.Embed(embed_pb2.EmbedRequest(texts=["1"]), timeout=20)
        await probe.heard("called")
        probe.send(signal.SIGTERM)
        assert (await watch.read()).status == health_pb2.HealthCheckResponse.NOT_SERVING
        watch.cancel()
        assert (await call).space_id == "answered"
        assert await probe.code() == 0


async def test_calls_do_not_outlast_the_grace() -> None:
    async with running(SOURCIER_PROBE_GRACE_SECONDS="0.2") as probe, channel_to(probe) as channel:
        embed: Any = embed_pb2_grpc.EmbedServiceStub(channel)
        call = asyncio.ensure_future(embed.Embed(embed_pb2.EmbedRequest(texts=["60"]), timeout=50))
        await probe.heard("called")
        probe.send(signal.SIGTERM)
        with pytest.raises(grpc.aio.AioRpcError):
            await call
        assert await probe.code() == 0


async def test_a_second_signal_ends_it_at_once() -> None:
    async with running() as probe, channel_to(probe) as channel:
        embed: Any = embed_pb2_grpc.EmbedServiceStub(channel)
        call = asyncio.ensure_future(embed.Embed(embed_pb2.EmbedRequest(texts=["60"]), timeout=50))
        await probe.heard("called")
        probe.send(signal.SIGTERM)
        await probe.heard("signal 15, stopping")
        probe.send(signal.SIGTERM)
        assert await probe.code() == 128 + signal.SIGTERM
        with pytest.raises(grpc.aio.AioRpcError):
            await call


@pytest.mark.parametrize("worker", ["worker-hangs", "worker-in-thread"])
async def test_a_worker_that_hangs_does_not_outlast_the_grace(worker: str) -> None:
    async with running(worker, SOURCIER_PROBE_GRACE_SECONDS="0.3") as probe:
        await probe.heard("ready")
        started = time.monotonic()
        probe.send(signal.SIGTERM)
        assert await probe.code() == 0
    assert time.monotonic() - started < 10
    assert "neighbour closed" in probe.messages


async def test_a_worker_that_dies_takes_the_process_with_it() -> None:
    async with running("worker-dies") as probe:
        assert await probe.code() == 1
    assert "neighbour closed" in probe.messages
    assert "a bug in the worker" in probe.lines[-1]["exception"]


async def test_a_worker_that_ends_unasked_takes_the_process_with_it() -> None:
    async with running("worker-ends") as probe:
        assert await probe.code() == 1
    assert "the task probe task ended although nobody asked it to" in probe.lines[-1]["exception"]


async def test_a_neighbour_that_is_missing_is_one_line() -> None:
    async with running("unavailable") as probe:
        assert await probe.code() == 1
    assert [(line["message"], line["reason"]) for line in probe.lines] == [
        ("probe cannot run: the neighbour cannot be reached; start it", "UNAVAILABLE")
    ]


async def test_a_thread_left_behind_does_not_keep_it_alive() -> None:
    async with running("thread") as probe:
        await probe.heard("ready")
        probe.send(signal.SIGTERM)
        assert await probe.code() == 0


async def test_settings_that_are_wrong_end_it_with_two() -> None:
    async with running(SOURCIER_LOG_LEVEL="loud") as probe:
        assert await probe.code() == 2
    assert len(probe.messages) == 1
    assert probe.messages[0].startswith("error: SOURCIER_LOG_LEVEL=loud: ")


async def test_an_address_that_metrics_cannot_be_served_on_is_one_line() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        for address, why in (
            (f"127.0.0.1:{port}", "Address already in use; choose another"), ("nowhere.invalid:9101", ""),
        ):
            async with running(SOURCIER_PROBE_METRICS_LISTEN=address) as probe:
                assert await probe.code() == 1
            [line] = probe.lines
            assert line["message"].startswith(f"probe cannot run: cannot serve metrics on {address}: {why}")
            assert "SOURCIER_<SERVICE>_METRICS_LISTEN" in line["message"]
            assert line["reason"] == "RESOURCE_EXHAUSTED"


async def test_a_taken_port_is_one_line() -> None:
    async with running() as first:
        port = (await first.heard("ready"))["port"]
        async with running(SOURCIER_PROBE_LISTEN=f"127.0.0.1:{port}") as second:
            assert await second.code() == 1
    assert second.messages[-1].startswith(f"probe cannot run: cannot listen on 127.0.0.1:{port}")
