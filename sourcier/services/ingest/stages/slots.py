"""Who may run: a bounded number at a time, and a few more that take long."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


def long_places(slots: int) -> int:
    """Return how many may take long beside so many slots: half as many, and one at least."""
    return max(1, slots // 2)


class Places:
    """Slots for whoever comes, and places for those that turn out to take long."""

    def __init__(self, slots: int, *, long: int | None = None) -> None:
        """`long` is how many places there are for long ones; without it, `long_places`."""
        self._slots = asyncio.Semaphore(slots)
        self._long = asyncio.Semaphore(long_places(slots) if long is None else long)

    @asynccontextmanager
    async def take(self) -> AsyncIterator[Place]:
        """Wait for a slot, and hold a place for the length of the block."""
        await self._slots.acquire()
        place = Place(self._slots, self._long)
        try:
            yield place
        finally:
            place.release()


class Place:
    """One held place."""

    def __init__(self, slots: asyncio.Semaphore, long: asyncio.Semaphore) -> None:
        self._slots = slots
        self._long = long
        self._held = slots

    async def leave_slot(self) -> None:
        """Move to a place for long ones and let the next have the slot; stay where none is free."""
        if self._held is self._slots and not self._long.locked():
            await self._long.acquire()
            self._slots.release()
            self._held = self._long

    def release(self) -> None:
        """Give the place back."""
        self._held.release()
