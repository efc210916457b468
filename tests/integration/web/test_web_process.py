"""The web service as a process of its own: what it says, how much memory it takes, how it stops."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import grpc.aio
import httpx
import psutil
from grpc_health.v1 import health_pb2, health_pb2_grpc

ROOT = Path(__file__).parents[3]
MEMORY_MB_MAX = 120


async def said(process: asyncio.subprocess.Process, part: str) -> dict[str, Any]:
    """Return the next line of the log with these words in it."""
    assert process.stderr is not None
    while line := await process.stderr.readline():
        entry: dict[str, Any] = json.loads(line)
        if part in entry["message"]:
            return entry
    raise AssertionError(f"{part!r} was never said")


async def test_it_serves_without_a_gateway_and_stops_when_it_is_told() -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "sourcier.services.web", cwd=ROOT, stderr=asyncio.subprocess.PIPE,
        env={"PATH": os.environ["PATH"], "SOURCIER_GATEWAY_URL": "127.0.0.1:1"},
    )
    try:
        async with asyncio.timeout(90):
            page = await said(process, "the page is served")
            ready = await said(process, "ready")
            async with (
                httpx.AsyncClient(base_url=f"http://127.0.0.1:{page['http_port']}", trust_env=False) as http,
                grpc.aio.insecure_channel(f"127.0.0.1:{ready['port']}") as channel,
            ):
                assert (await http.get("/")).status_code == 200
                assert (await http.get("/health")).status_code == 503
                assert (await http.post("/mcp", json={})).status_code in {400, 406, 415}
                stub: Any = health_pb2_grpc.HealthStub(channel)
                told = await stub.Check(health_pb2.HealthCheckRequest(), timeout=30)
                assert told.status == health_pb2.HealthCheckResponse.SERVING
            assert psutil.Process(process.pid).memory_info().rss < MEMORY_MB_MAX * 2**20
            process.send_signal(signal.SIGTERM)
            assert await process.wait() == 0
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
