"""A peer in a process and an environment of its own, spoken to by lines of JSON."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from bench.environment import ROOT

LINE_BYTES_MAX = 2**26
"""The longest line that is read: the limit of the process's streams."""
STOP_SECONDS = 30.0


class LineProcess:
    """One process that answers each line that it is told with an object."""

    def __init__(self, process: asyncio.subprocess.Process, *, ended: str) -> None:
        """Take a process with pipes, and what to say where it ends instead of answering."""
        self._process = process
        self._ended = ended

    async def ask(self, entry: Mapping[str, Any]) -> dict[str, Any]:
        """Tell the process something and return its answer."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(entry).encode() + b"\n")
        return await self.answer()

    async def answer(self) -> dict[str, Any]:
        """Return the next object that the process writes, passing over what its libraries print."""
        assert self._process.stdout is not None
        while line := await self._process.stdout.readline():
            if line.startswith(b"{"):
                found: dict[str, Any] = json.loads(line)
                return found
        raise SystemExit(self._ended)

    async def stop(self) -> None:
        """End the process, in good time or by force."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            async with asyncio.timeout(STOP_SECONDS):
                await self._process.wait()
        except TimeoutError:
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()
            await self._process.wait()


@asynccontextmanager
async def line_process(
    *command: str, environment: Mapping[str, str], ended: str, quiet: bool = False
) -> AsyncIterator[LineProcess]:
    """Run a command for as long as the block; `ended` is said where it ends before, and `quiet` drops its errors."""
    process = await asyncio.create_subprocess_exec(
        *command, cwd=ROOT, env=dict(environment), limit=LINE_BYTES_MAX, stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL if quiet else None,
    )
    lines = LineProcess(process, ended=ended)
    try:
        yield lines
    finally:
        await lines.stop()
