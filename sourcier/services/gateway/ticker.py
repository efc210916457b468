"""Moments that come round for all alike: what many write in turn goes out in groups, not one by one."""

from __future__ import annotations

import asyncio
import math


class Beats:
    """The multiples of a time, on the event loop's clock; whoever waits for the same one is woken together."""

    def __init__(self, *, seconds: float) -> None:
        """Let so many seconds lie between two beats."""
        self._seconds = seconds
        self._waiting: dict[int, list[asyncio.Future[None]]] = {}

    def after(self, seconds: float) -> asyncio.Future[None]:
        """Return what is done at the first beat that is at least so far away; who will not wait may set it sooner."""
        loop = asyncio.get_running_loop()
        number = math.ceil((loop.time() + seconds) / self._seconds)
        if number not in self._waiting:
            self._waiting[number] = []
            loop.call_at(number * self._seconds, self._strike, number)
        waiter: asyncio.Future[None] = loop.create_future()
        self._waiting[number].append(waiter)
        return waiter

    def _strike(self, number: int) -> None:
        for waiter in self._waiting.pop(number):
            if not waiter.done():
                waiter.set_result(None)
