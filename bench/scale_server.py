"""The PostgreSQL that holds grown corpora, as the stack runs it, and which sizes it is asked for."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from services.stack.servers.postgres import PostgresServer, PostgresServerSettings


def asked_sizes(default: Sequence[int]) -> tuple[int, ...]:
    """Return the numbers of chunks that `SOURCIER_BENCH_SCALE_SIZES` names, else the default."""
    asked = os.environ.get("SOURCIER_BENCH_SCALE_SIZES", "")
    return tuple(int(size) for size in asked.split(",")) if asked else tuple(default)


@asynccontextmanager
async def scale_server() -> AsyncIterator[tuple[PostgresServer, Path]]:
    """Yield PostgreSQL and the folder of its data, which is kept where `SOURCIER_BENCH_SCALE_DIR` names one."""
    named = os.environ.get("SOURCIER_BENCH_SCALE_DIR", "")
    folder = Path(named).absolute() if named else Path(tempfile.mkdtemp(prefix="sourcier-bench-"))
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o711)
    settings = PostgresServerSettings(folder=folder / "postgres", log=folder / "postgres.log")
    try:
        async with PostgresServer(settings) as server:
            yield server, folder
    finally:
        if not named:
            shutil.rmtree(folder, ignore_errors=True)
