"""Pieces that wait for the last of them are read as they came, from memory and disk, and leave nothing behind."""

from __future__ import annotations

import asyncio
import errno
import os
import tempfile
from pathlib import Path
from typing import Any

import pytest

from sourcier.services.chassis.errors import ResourceExhausted, TooLarge
from sourcier.services.ingest.intake import spool
from sourcier.services.ingest.intake.spool import Spool

pytestmark = pytest.mark.unit

PIECES = [b"", b"a" * 10, b"b" * 90, b"", b"c" * 70_000, b"d"]


async def read(kept: Spool) -> list[bytes]:
    return [piece async for piece in kept.pieces()]


def open_files(folder: Path) -> list[str]:
    """Return what this process has open there, under a name or without one; what others leave open is none of it."""
    return [
        target for number in os.listdir("/proc/self/fd")
        if (target := _target(number)).startswith(str(folder))
    ]


def _target(number: str) -> str:
    try:
        return os.readlink(f"/proc/self/fd/{number}")
    except FileNotFoundError:  # closed since the list was made
        return ""


@pytest.mark.parametrize("memory_bytes_max", [0, 10, 100, spool.MEMORY_BYTES_MAX])
async def test_pieces_are_read_as_they_came(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, memory_bytes_max: int
) -> None:
    monkeypatch.setattr(spool, "MEMORY_BYTES_MAX", memory_bytes_max)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    async with Spool(name="a.md", bytes_max=100_000) as kept:
        for piece in PIECES:
            await kept.put(piece)
        assert await read(kept) == PIECES
        assert await read(kept) == PIECES, "a second time"
        assert os.listdir(tmp_path) == [], "a process that is killed would leave it"
        assert bool(open_files(tmp_path)) is (memory_bytes_max < sum(map(len, PIECES)))
    assert open_files(tmp_path) == []


async def test_what_is_over_the_limit_is_refused() -> None:
    async with Spool(name="a.md", bytes_max=10) as kept:
        await kept.put(b"0123456789")
        with pytest.raises(TooLarge, match=r"a\.md is over 10 bytes"):
            await kept.put(b"0")


async def test_a_full_disk_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    class Full:
        def write(self, piece: Any) -> int:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        def close(self) -> None:
            pass

    monkeypatch.setattr(spool, "MEMORY_BYTES_MAX", 0)
    monkeypatch.setattr(tempfile, "TemporaryFile", lambda **options: Full())
    async with Spool(name="a.md", bytes_max=10) as kept:
        with pytest.raises(ResourceExhausted, match="No space left on device"):
            await kept.put(b"0")


async def test_a_write_that_is_cancelled_leaves_no_file_open(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(spool, "MEMORY_BYTES_MAX", 0)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    async with Spool(name="a.md", bytes_max=10) as kept:
        with kept._lock:  # its thread waits here
            writing = asyncio.create_task(kept.put(b"0"))
            await asyncio.sleep(0)
            writing.cancel()
            with pytest.raises(asyncio.CancelledError):
                await writing
    assert open_files(tmp_path) == []
