"""The gateway as a process of its own, started before the database is migrated: ready once it is, and not before."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import grpc
import grpc.aio
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from sourcier.services.chassis.postgres.migrating import migrate
from sourcier.services.index.migrations import FOLDER
from sourcier.services.stack.processes import ports

ROOT = Path(__file__).parents[3]


@asynccontextmanager
async def starting(database_url: str, port: int) -> AsyncIterator[asyncio.subprocess.Process]:
    peers = {f"SOURCIER_{name}_URL": "127.0.0.1:1" for name in ("INGEST", "EMBED", "RERANK", "GENERATE")}
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "sourcier.services.gateway", cwd=ROOT, stderr=asyncio.subprocess.PIPE,
        env={**peers, "PATH": os.environ["PATH"], "SOURCIER_POSTGRES_URL": database_url,
             "SOURCIER_GATEWAY_LISTEN": f"127.0.0.1:{port}"},
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def said(process: asyncio.subprocess.Process, part: str) -> dict[str, Any]:
    """Return the next line of the log with these words in it."""
    assert process.stderr is not None
    async with asyncio.timeout(60):
        while line := await process.stderr.readline():
            entry: dict[str, Any] = json.loads(line)
            if part in entry["message"]:
                return entry
    raise AssertionError(f"{part!r} was never said")


async def health(port: int) -> int:
    # A shared pool would remember that it was refused.
    options = (("grpc.use_local_subchannel_pool", 1),)
    async with grpc.aio.insecure_channel(f"127.0.0.1:{port}", options=options) as channel:
        stub: Any = health_pb2_grpc.HealthStub(channel)
        return int((await stub.Check(health_pb2.HealthCheckRequest(), timeout=10)).status)


async def test_it_is_ready_by_itself_once_the_database_is_migrated(empty_database_url: str) -> None:
    port = ports.free_ports(1)[0]
    async with starting(empty_database_url, port) as process:
        assert "has migration 0 of" in (await said(process, "waiting for an ingest service"))["message"]
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await health(port)
        assert refused.value.code() is grpc.StatusCode.UNAVAILABLE
        await migrate(empty_database_url, FOLDER)
        await said(process, "ready")
        assert await health(port) == health_pb2.HealthCheckResponse.SERVING


async def test_it_stops_at_once_while_it_waits(empty_database_url: str) -> None:
    async with starting(empty_database_url, ports.free_ports(1)[0]) as process:
        await said(process, "waiting for an ingest service")
        process.terminate()
        async with asyncio.timeout(10):
            assert await process.wait() == 0
