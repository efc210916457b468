"""A service in a process of its own, which a test ends at any step and begins again."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import pytest

from tests.forking import Forker, Run

ROOT = Path(__file__).parents[3]
Life = Callable[..., AbstractAsyncContextManager[Run]]


@pytest.fixture(scope="session")
def lives() -> Iterator[Forker]:
    """Return what forks services, whose modules it has imported."""
    forker = Forker("tests.integration.ingest.fix_pipeline")
    yield forker
    forker.close()


@pytest.fixture
def life(lives: Forker) -> Life:
    """Return what runs a module of `tests.integration.ingest` in a process, killed at the end if it still lives."""

    @asynccontextmanager
    async def begun(program: str, given: Mapping[str, object], *, faults: str = "") -> AsyncIterator[Run]:
        run = await lives.begin(
            f"tests.integration.ingest.{program}", json.dumps(given), cwd=ROOT,
            environment=os.environ | {"SOURCIER_FAILPOINTS": faults, "PYTHONPATH": str(ROOT)},
        )
        try:
            yield run
        finally:
            if run.returncode is None:
                run.kill()
            await run.wait()

    return begun
