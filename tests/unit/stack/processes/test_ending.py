"""The end of a process is told, and noticed where nobody tells it."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from sourcier.services.stack.processes.ending import end_of

NEVER = 3600.0


@pytest.fixture
def process() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen((sys.executable, "-c", "input()"), stdin=subprocess.PIPE) as process:
        yield process
        process.kill()


def watched_processes() -> int:
    """Return how many processes this one is told the end of; what else other tests left open may close meanwhile."""
    return sum("pidfd" in os.readlink(entry) for entry in Path("/proc/self/fd").iterdir() if entry.is_symlink())


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="this system tells of no end")
async def test_an_end_is_told(process: subprocess.Popen[bytes]) -> None:
    before = watched_processes()
    waiting = asyncio.create_task(end_of(process.pid, look_seconds=NEVER))
    await asyncio.sleep(0.05)
    assert not waiting.done()
    process.kill()
    async with asyncio.timeout(10):
        await waiting
        # Nobody has waited for it yet: it has ended all the same.
        await end_of(process.pid, look_seconds=NEVER)
    assert watched_processes() == before


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="this system tells of no end")
async def test_who_waits_no_longer_leaves_nothing_behind(process: subprocess.Popen[bytes]) -> None:
    before = watched_processes()
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await end_of(process.pid, look_seconds=NEVER)
    assert watched_processes() == before


async def test_where_no_end_is_told_it_is_looked_for_in_a_moment(
    process: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(os, "pidfd_open", raising=False)
    async with asyncio.timeout(10):
        await end_of(process.pid, look_seconds=0.01)
    assert process.poll() is None
