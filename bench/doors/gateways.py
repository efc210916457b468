"""Gateways beside a stack's own, on its data: the same program, with accounts and without."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import grpc
import grpc.aio
import psutil

from bench.environment import ROOT
from sourcier.gateway.v1 import access_pb2, access_pb2_grpc, answer_pb2_grpc
from sourcier.services.stack.processes.ports import free_ports

READY_SECONDS = 60.0
Metadata = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Door:
    """A gateway, and as whom it is asked."""

    access: Any
    answers: Any
    metadata: Metadata
    process: psutil.Process
    address: str


@asynccontextmanager
async def beside(addresses: Mapping[str, str], *, metadata: Metadata = (), **variables: str) -> AsyncIterator[Door]:
    """Run one more gateway; yield it once it answers."""
    [port] = free_ports(1)
    kept = {name: value for name, value in os.environ.items() if not name.startswith("SOURCIER_")}
    told = {name: value for name, value in addresses.items() if name != "SOURCIER_GATEWAY_HTTP_LISTEN"}
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "sourcier.services.gateway", cwd=ROOT, stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL, env=kept | told | variables | {
            "PYTHONPATH": str(ROOT), "SOURCIER_GATEWAY_LISTEN": f"127.0.0.1:{port}",
            # Each question is embedded for each gateway.
            "SOURCIER_GATEWAY_AUDIT_READS": "false",
        },
    )
    channel = grpc.aio.insecure_channel(f"127.0.0.1:{port}")
    door = Door(access_pb2_grpc.AccessServiceStub(channel), answer_pb2_grpc.AnswerServiceStub(channel), metadata,
                psutil.Process(process.pid), f"127.0.0.1:{port}")
    try:
        await door.access.WhoAmI(
            access_pb2.WhoAmIRequest(), metadata=metadata, timeout=READY_SECONDS, wait_for_ready=True
        )
        yield door
    finally:
        await channel.close()
        process.send_signal(signal.SIGTERM)
        await process.wait()
