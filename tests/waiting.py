"""Waiting for what comes about by itself, looked for often. What takes longer than the default says so at its place."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable


async def until(condition: Callable[[], object], *, seconds: float = 10.0) -> None:
    """Wait until a condition over the state of this process holds; raise TimeoutError after so many seconds."""
    async with asyncio.timeout(seconds):
        while not condition():
            await asyncio.sleep(0.01)


async def eventually(condition: Callable[[], Awaitable[bool]], *, seconds: float = 30.0) -> None:
    """Wait until a condition over the state of servers holds; raise TimeoutError after so many seconds."""
    async with asyncio.timeout(seconds):
        while not await condition():
            await asyncio.sleep(0.02)
