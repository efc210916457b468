"""A service in a process of its own, which a test ends at any step and begins again."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

ROOT = Path(__file__).parents[3]


@asynccontextmanager
async def life(
    program: str, given: Mapping[str, object], *, faults: str = ""
) -> AsyncIterator[asyncio.subprocess.Process]:
    """Run a module of `tests.integration.ingest` in a process, which is killed at the end if it still lives."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", f"tests.integration.ingest.{program}", json.dumps(given), cwd=ROOT,
        env=os.environ | {"SOURCIER_FAILPOINTS": faults, "PYTHONPATH": str(ROOT)},
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()
