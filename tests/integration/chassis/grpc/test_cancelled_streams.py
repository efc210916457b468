"""Streams that are cancelled leave nothing behind, in no heap: neither at who calls nor at who serves (grpc #43360)."""

from __future__ import annotations

import asyncio
import ctypes
import gc
from collections.abc import AsyncIterator
from typing import Any

import grpc
import grpc.aio
import pytest

from sourcier.generate.v1 import generate_pb2
from sourcier.services.chassis.grpc import channels
from tests.integration.chassis.fix_grpc import GENERATE, serving, within

CALLS, AT_ONCE, ROUNDS = 600, 20, 4
LEFT_BYTES_MAX = 48
"""A call, at both ends; one operation that is never freed takes 96."""


class _Heap(ctypes.Structure):
    _fields_ = [(name, ctypes.c_size_t) for name in (
        "arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks", "fordblks", "keepcost"
    )]


def _heap_bytes() -> int:
    """Return what is allocated beneath Python."""
    library = ctypes.CDLL(None)
    if not hasattr(library, "mallinfo2"):
        pytest.skip("this C library does not tell its heap")
    library.mallinfo2.restype = _Heap
    gc.collect()
    heap = library.mallinfo2()
    return int(heap.uordblks) + int(heap.hblkhd)


async def _talk(request: Any, context: Any) -> AsyncIterator[Any]:
    yield generate_pb2.GenerateResponse(text="word")
    await asyncio.Event().wait()


async def _cancelled(method: Any) -> None:
    """Read until there is nothing more for now, and be cancelled."""
    waiting = asyncio.Event()

    async def read() -> None:
        async with channels.stream(method, generate_pb2.GenerateRequest(), **within(60)) as responses:
            async for _ in responses:
                waiting.set()

    task = asyncio.create_task(read())
    await waiting.wait()
    await asyncio.sleep(0.005)  # into the next reading
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_cancelled_stream_leaves_no_memory_behind() -> None:
    async with serving(streaming=_talk, concurrent_calls_max=1_000) as served:
        async def some() -> None:
            for _ in range(CALLS // AT_ONCE):
                await _cancelled(served.generate.Generate)

        grown: list[float] = []
        # Pools and caches that fill, at first, are no leak: that takes its part of every round.
        while len(grown) <= ROUNDS and (len(grown) < 2 or grown[-1] >= LEFT_BYTES_MAX):
            before = _heap_bytes()
            await asyncio.gather(*(some() for _ in range(AT_ONCE)))
            await asyncio.sleep(0.3)  # until the last calls have ended at the server
            grown.append((_heap_bytes() - before) / CALLS)
    assert grown[-1] < LEFT_BYTES_MAX, grown


async def test_a_stream_says_that_its_request_is_there_before_it_has_anything_to_tell() -> None:
    async with serving(streaming=_talk) as served:
        call = served.generate.Generate(generate_pb2.GenerateRequest(), timeout=20)
        assert len(await call.initial_metadata()) == 0
        assert not call.done()
        call.cancel()


async def test_a_stream_without_a_request_is_refused() -> None:
    async with serving(streaming=_talk) as served:
        call: Any = served.channel.stream_stream(f"/{GENERATE}/Generate")(timeout=20)
        await call.done_writing()
        assert await call.code() is grpc.StatusCode.INVALID_ARGUMENT
        assert "without a request" in await call.details()
