"""Waiting for what comes about by itself: looked for often, and given up after a minute, which decides no test."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

SECONDS_MAX = 60.0


async def until(condition: Callable[[], bool], *, seconds: float = SECONDS_MAX) -> None:
    """Wait until a condition over the state of this process holds."""
    async with asyncio.timeout(seconds):
        while not condition():
            await asyncio.sleep(0.01)


async def eventually(condition: Callable[[], Awaitable[bool]], *, seconds: float = SECONDS_MAX) -> None:
    """Wait until a condition over the state of servers holds."""
    async with asyncio.timeout(seconds):
        while not await condition():
            await asyncio.sleep(0.02)
