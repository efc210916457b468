"""Who has the model: generations that somebody waits for begin at once, those that nobody waits for when it is free.

What nobody waits for gives way even once it has begun, a few times; a chunk that is enriched a minute later is as good,
and a question that is answered at half the speed is not. It is never shut out: after a while it goes on beside others,
one at a time.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

from prometheus_client import Counter, Histogram

from sourcier.services.chassis.errors import DeadlineExceeded, ResourceExhausted
from sourcier.services.chassis.telemetry import DURATION_BUCKETS

QUIET_SECONDS = 1.0
"""An answer is several generations with a search between them: only after such a pause is the model free."""

bulk_turns_total = Counter(
    "sourcier_bulk_generations_total",
    "Generations that nobody waits for, by what became of them: begun, given way, begun beside others.", ["what"],
)
bulk_wait_seconds = Histogram(
    "sourcier_bulk_wait_seconds", "Time that generations nobody waits for waited for the model to be free.",
    buckets=DURATION_BUCKETS,
)


class Turns:
    """Keeps count of who is at the model; everything on one event loop."""

    def __init__(self, *, waiting_max: int, wait_seconds_max: float, quiet_seconds: float = QUIET_SECONDS) -> None:
        """Take how many may wait for their turn, and how long each does before it begins beside others."""
        self._waiting_max = waiting_max
        self._wait_seconds_max = wait_seconds_max
        self._quiet_seconds = quiet_seconds
        self._people = 0
        self._free_since = -quiet_seconds
        self._waiting = 0
        self._at_work = 0
        self._yielding: set[asyncio.Timeout] = set()
        self._changed = asyncio.Event()

    @contextmanager
    def taken(self) -> Iterator[None]:
        """Have the model for a generation that somebody waits for: what nobody waits for gives way."""
        now = asyncio.get_running_loop().time()
        self._people += 1
        for scope in tuple(self._yielding):
            scope.reschedule(now)
        self._yielding.clear()
        try:
            yield
        finally:
            self._people -= 1
            self._free_since = asyncio.get_running_loop().time()
            self._changed.set()

    @asynccontextmanager
    async def turn(self, *, gives_way: bool, deadline: float) -> AsyncIterator[asyncio.Timeout]:
        """Wait until the model is free, or for as long as one has to; the scope ends when the model is taken back.

        Raises ResourceExhausted where too many wait already, and DeadlineExceeded at the deadline, in seconds of the
        event loop's clock.
        """
        await self._wait(deadline)
        scope = asyncio.timeout(None)
        self._at_work += 1
        beside = self._people > 0
        bulk_turns_total.labels("beside" if beside else "begun").inc()
        try:
            # The scope is entered by who runs the generation.
            if gives_way and not beside:
                self._yielding.add(scope)
            yield scope
        finally:
            self._yielding.discard(scope)
            self._at_work -= 1
            self._changed.set()

    async def _wait(self, deadline: float) -> None:
        loop = asyncio.get_running_loop()
        if self._waiting >= self._waiting_max:
            raise ResourceExhausted(
                f"{self._waiting} generations that nobody waits for wait for the model already; send fewer at once, or "
                "try again later"
            )
        began_at = loop.time()
        self._waiting += 1
        try:
            while (seconds := self._seconds_left(began_at, loop.time())) > 0:
                if loop.time() >= deadline:
                    raise DeadlineExceeded(
                        "the model was busy with what people wait for until the caller's deadline; allow more time"
                    )
                self._changed.clear()
                try:
                    async with asyncio.timeout_at(min(loop.time() + seconds, deadline)):
                        await self._changed.wait()
                except TimeoutError:
                    continue
        finally:
            self._waiting -= 1
            bulk_wait_seconds.observe(loop.time() - began_at)

    def _seconds_left(self, began_at: float, now: float) -> float:
        """Return after which time to look again; 0 or less for who may begin."""
        quiet = self._free_since + self._quiet_seconds - now
        if not self._people:
            return quiet
        left = began_at + self._wait_seconds_max - now
        # Beside people's questions there is one at a time; who is next looks again when that one ends.
        return self._wait_seconds_max if left <= 0 and self._at_work else left
