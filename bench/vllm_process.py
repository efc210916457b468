"""A vLLM of one's own beside the service: `peer_vllm.py` in vLLM's environment, spoken to by lines of JSON."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

from bench.environment import ROOT

LINE_BYTES_MAX = 2**24


class VllmProcess:
    """One engine, one prompt at a time."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    async def generate(
        self, messages: Sequence[Mapping[str, str]], *, tokens_max: int, ignore_eos: bool = False
    ) -> dict[str, Any]:
        """Return what `peer_vllm.py` tells of a prompt."""
        assert self._process.stdin is not None
        line = {"messages": list(messages), "tokens_max": tokens_max, "ignore_eos": ignore_eos}
        self._process.stdin.write(json.dumps(line).encode() + b"\n")
        return await self.line()

    async def line(self) -> dict[str, Any]:
        """Return the next object that the process writes, passing over what vLLM itself says."""
        assert self._process.stdout is not None
        while line := await self._process.stdout.readline():
            if line.startswith(b"{"):
                found: dict[str, Any] = json.loads(line)
                return found
        raise SystemExit("vLLM ended; its log is above")


@asynccontextmanager
async def vllm(
    model: str, *, defaults: bool = False, arguments: Mapping[str, Any] | None = None,
    environment: Mapping[str, str] | None = None,
) -> AsyncIterator[VllmProcess]:
    """Run an engine with the service's settings, or with vLLM's defaults, and `arguments` over them."""
    asked = {"model": model, "defaults": defaults, "arguments": dict(arguments or {})}
    process = await asyncio.create_subprocess_exec(
        str(ROOT / ".venv" / "generate" / "bin" / "python"), str(ROOT / "bench" / "peer_vllm.py"), json.dumps(asked),
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, limit=LINE_BYTES_MAX,
        env={**os.environ, **(environment or {}), "PYTHONPATH": str(ROOT)}, cwd=ROOT,
    )
    engine = VllmProcess(process)
    try:
        assert await engine.line() == {"ready": True}
        yield engine
    finally:
        assert process.stdin is not None
        process.stdin.close()
        try:
            async with asyncio.timeout(30):
                await process.wait()
        except TimeoutError:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()
