"""A service as a process of its own: its log line by line, its end, and the code it ends with."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[3]
SECONDS_MAX = 60.0
"""How long it is waited for: timings decide nothing."""


class Process:
    """A running process and its log, line by line."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self.lines: list[dict[str, Any]] = []

    async def heard(self, message: str) -> dict[str, Any]:
        """Return the log's next line with this message."""
        async for line in self._read():
            if line["message"].startswith(message):
                return line
        raise AssertionError(f"{message!r} was never said; the log: {self.lines}")

    async def _read(self) -> AsyncIterator[dict[str, Any]]:
        assert self._process.stderr is not None
        async with asyncio.timeout(SECONDS_MAX):
            while line := await self._process.stderr.readline():
                text = line.decode()
                entry = json.loads(text) if text.startswith("{") else {"message": text.strip()}
                self.lines.append(entry)
                yield entry

    def send(self, number: signal.Signals) -> None:
        """Send a signal."""
        self._process.send_signal(number)

    async def code(self) -> int:
        """Return the exit code, once it has ended; its log is read to the end."""
        async for _ in self._read():
            pass
        async with asyncio.timeout(SECONDS_MAX):
            return await self._process.wait()

    @property
    def messages(self) -> list[str]:
        """What was said so far."""
        return [line["message"] for line in self.lines]


@asynccontextmanager
async def started(module: str, *arguments: str, **environment: str) -> AsyncIterator[Process]:
    """Run a module with nothing but this environment; it is killed in the end where it has not ended by itself."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", module, *arguments, cwd=ROOT, stderr=asyncio.subprocess.PIPE,
        env={"PATH": os.environ["PATH"]} | environment,
    )
    try:
        yield Process(process)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
