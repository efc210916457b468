"""What a refused sender still sends: read and dropped, so that it sees the refusal and not a broken call."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

LINGER_SECONDS, LINGER_IDLE_SECONDS = 30.0, 0.5
"""How long what a refused sender still sends is read and dropped, in all and while nothing comes."""


async def drain(requests: AsyncIterator[Any]) -> None:
    """Read and drop what comes, for a while."""
    iterator = aiter(requests)
    with suppress(TimeoutError, StopAsyncIteration):
        async with asyncio.timeout(LINGER_SECONDS):
            while True:
                async with asyncio.timeout(LINGER_IDLE_SECONDS):
                    await _next(iterator)


async def _next(iterator: AsyncIterator[Any]) -> None:
    while True:
        try:
            await anext(iterator)
            return
        except RuntimeError:
            # A relay whose own call was refused still waits for the sender's next message: two cannot read at once.
            await asyncio.sleep(0.01)
