"""The PostgreSQL that holds grown corpora, as the stack runs it, and which sizes it is asked for."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from bench.environment import asked_numbers
from bench.harness import FOLDER_VARIABLE
from bench.scale.corpus import DOCUMENT
from sourcier.services.stack.servers.postgres import PostgresServer, PostgresServerSettings


def asked_sizes(default: Sequence[int]) -> tuple[int, ...]:
    """Return the numbers of chunks that `SOURCIER_BENCH_SCALE_SIZES` names, else the default."""
    return tuple(map(int, asked_numbers("SOURCIER_BENCH_SCALE_SIZES", default, multiple_of=DOCUMENT)))


@asynccontextmanager
async def scale_server() -> AsyncIterator[tuple[PostgresServer, Path]]:
    """Yield PostgreSQL and the folder of its data, which is kept where a variable names one."""
    named = os.environ.get(FOLDER_VARIABLE, "")
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
