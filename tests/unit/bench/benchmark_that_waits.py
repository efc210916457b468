"""A benchmark that has something to stop when it is interrupted, for the harness to run."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

from bench.measuring import Table


async def run(*, quick: bool) -> list[Table]:
    """Wait for longer than any test, and say when what was started is stopped."""
    folder = Path(os.environ["SOURCIER_TEST_FOLDER"])
    (folder / "started").touch()
    try:
        await asyncio.sleep(600)
    finally:
        await asyncio.sleep(0.1)
        (folder / "stopped").touch()
    return []
