"""Processes that have imported what tests start again and again, and fork it: one of each for each worker."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.forking import Forker

LIBRARIES = (
    "asyncio", "click", "concurrent.futures.thread", "google.protobuf.json_format", "google.rpc.error_details_pb2",
    "grpc", "grpc.aio", "ssl", "urllib.request", "sourcier.gateway.v1",
)
"""Of the command; what is its own it imports as it uses it."""
COMMAND_SECONDS_MAX = 60.0


class ForkedCommand:
    """`sourcier`, whose libraries are there already; whoever needs another start of Python starts it himself."""

    def __init__(self, forker: Forker) -> None:
        """Keep what forks."""
        self._forker = forker

    async def run(
        self, *arguments: str, environment: Mapping[str, str], cwd: Path | None = None, stdin: str = ""
    ) -> subprocess.CompletedProcess[str]:
        """Run the command to its end."""
        async with asyncio.timeout(COMMAND_SECONDS_MAX):
            run = await self._forker.begin("sourcier.cli", *arguments, environment=environment, cwd=cwd, stdin=stdin)
            out, err = await run.communicate()
        return subprocess.CompletedProcess(arguments, await run.wait(), out, err)


@pytest.fixture(scope="session")
def command_forker() -> Iterator[ForkedCommand]:
    """Return what runs commands."""
    forker = Forker(*LIBRARIES, PYTHONWARNINGS="error", GRPC_VERBOSITY="ERROR")
    yield ForkedCommand(forker)
    forker.close()
