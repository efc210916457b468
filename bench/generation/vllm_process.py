"""A vLLM of one's own beside the service: `peer_vllm.py` in vLLM's environment, spoken to by lines of JSON."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

from bench.environment import ROOT
from bench.line_process import LineProcess, line_process


class VllmProcess:
    """One engine, one prompt at a time."""

    def __init__(self, process: LineProcess) -> None:
        self._process = process

    async def generate(
        self, messages: Sequence[Mapping[str, str]], *, tokens_max: int, ignore_eos: bool = False
    ) -> dict[str, Any]:
        """Return what `peer_vllm.py` tells of a prompt."""
        return await self._process.ask(
            {"messages": list(messages), "tokens_max": tokens_max, "ignore_eos": ignore_eos}
        )


@asynccontextmanager
async def vllm(
    model: str, *, defaults: bool = False, arguments: Mapping[str, Any] | None = None,
    environment: Mapping[str, str] | None = None,
) -> AsyncIterator[VllmProcess]:
    """Run an engine with the service's settings, or with vLLM's defaults, and `arguments` over them."""
    asked = {"model": model, "defaults": defaults, "arguments": dict(arguments or {})}
    async with line_process(
        str(ROOT / ".venv" / "generate" / "bin" / "python"), "-m", "bench.peers.vllm", json.dumps(asked),
        environment={**os.environ, **(environment or {}), "PYTHONPATH": str(ROOT)},
        ended="vLLM ended; its log is above",
    ) as lines:
        assert await lines.answer() == {"ready": True}
        yield VllmProcess(lines)
