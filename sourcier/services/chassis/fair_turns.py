"""Turns go round by tenant: what waits is served by how much each tenant has had of late, not by who came first.

Start-time fair queueing (Goyal, Vin and Cheng, 1996): a tenant's next piece of work starts, in virtual time, where the
tenant's last one ended, or now if that is past. The earliest start is served. Deficit round robin needs no heap, and is
as fair over a second; but a tenant that comes anew waits for a whole round there, and here for one piece of work.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Generic, TypeVar

from sourcier.services.chassis.errors import DeadlineExceeded, ResourceExhausted

T = TypeVar("T")


class FairQueue(Generic[T]):
    """What waits, by tenant, each with its cost; everything on one event loop."""

    def __init__(self) -> None:
        """Begin empty."""
        self._waiting: dict[str, deque[tuple[T, float]]] = {}
        self._ends: dict[str, float] = {}
        """Where a tenant's last piece of work ended; those that are past are forgotten."""
        self._now = 0.0

    def __len__(self) -> int:
        return sum(map(len, self._waiting.values()))

    def waiting(self, tenant: str) -> int:
        """Return how many pieces of a tenant's work wait."""
        return len(self._waiting.get(tenant, ()))

    def put(self, work: T, *, tenant: str, cost: float) -> None:
        """Add a piece of work behind the tenant's others."""
        self._waiting.setdefault(tenant, deque()).append((work, cost))

    def charge(self, *, tenant: str, cost: float) -> None:
        """Count work that did not wait, or beside what was taken."""
        self._ends[tenant] = max(self._ends.get(tenant, 0.0), self._now) + cost

    def next_tenant(self) -> str | None:
        """Return whose turn it is; of those that have had as much, who waits longest."""
        return min(self._waiting, key=lambda tenant: max(self._ends.get(tenant, 0.0), self._now), default=None)

    def take(self) -> T | None:
        """Take out what is next; None where nothing waits."""
        tenant = self.next_tenant()
        if tenant is None:
            return None
        work, cost = self._waiting[tenant].popleft()
        self._forget_empty(tenant)
        self._now = max(self._ends.get(tenant, 0.0), self._now)
        self.charge(tenant=tenant, cost=cost)
        # Of tenants that wait for nothing and owe nothing there is nothing to know.
        self._ends = {each: end for each, end in self._ends.items() if end > self._now}
        return work

    def remove(self, work: T, *, tenant: str) -> None:
        """Take out what nobody waits for any more; nothing where it was taken before."""
        queue = self._waiting.get(tenant, deque())
        kept = deque(each for each in queue if each[0] is not work)
        if tenant in self._waiting:
            self._waiting[tenant] = kept
            self._forget_empty(tenant)

    def give_up_for(self, tenant: str) -> T | None:
        """Take out the newest work of the tenant that waits most, so that one more of `tenant` may wait.

        None where nobody has more waiting than `tenant` would have then.
        """
        most = max(self._waiting, key=self.waiting, default=None)
        if most is None or self.waiting(most) <= self.waiting(tenant) + 1:
            return None
        work, _ = self._waiting[most].pop()
        self._forget_empty(most)
        return work

    def _forget_empty(self, tenant: str) -> None:
        if not self._waiting[tenant]:
            del self._waiting[tenant]


class FairPlaces:
    """A bounded number of places, and of callers that wait for one.

    Where as many wait as may, one more is let in for the newest of the tenant that waits most, unless its own tenant
    does: whoever asks little is never refused for the sake of who asks much.
    """

    def __init__(self, *, places: int, waiting_max: int, full: str) -> None:
        """Take how many work and wait at once, and how to say that all is full; `{in_hand}` in it is both."""
        self.free = places
        self._places = places
        self._waiting_max = waiting_max
        self._full = full
        self._queue = FairQueue[asyncio.Future[None]]()

    @property
    def in_hand(self) -> int:
        """Return how many work or wait."""
        return self._places - self.free + self.waiting

    @property
    def waiting(self) -> int:
        """Return how many wait for a place."""
        return len(self._queue)

    async def take(self, *, tenant: str, cost: float, deadline: float, late: str = "") -> None:
        """Take a place, to be given back; wait for it until the deadline, in seconds of the event loop's clock.

        Raises ResourceExhausted at once, or when the place to wait is needed for another tenant, and DeadlineExceeded.
        """
        if self.free and not self._queue:
            self.free -= 1
            self._queue.charge(tenant=tenant, cost=cost)
            return
        self._make_room(tenant)
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._queue.put(turn, tenant=tenant, cost=cost)
        try:
            async with asyncio.timeout_at(deadline):
                await turn
        except BaseException as error:
            self._queue.remove(turn, tenant=tenant)
            if turn.done() and not turn.cancelled() and turn.exception() is None:
                self.give_back()  # its turn came while it left
            if isinstance(error, TimeoutError):
                raise DeadlineExceeded(late or "no place was free until the caller's deadline") from error
            raise

    def give_back(self) -> None:
        """Give a place to who is next, or back."""
        while (turn := self._queue.take()) is not None:
            if not turn.done():
                turn.set_result(None)
                return
        self.free += 1

    def _make_room(self, tenant: str) -> None:
        if len(self._queue) < self._waiting_max:
            return
        given_up = self._queue.give_up_for(tenant)
        if given_up is None:
            raise self._exhausted()
        if not given_up.done():
            given_up.set_exception(self._exhausted())

    def _exhausted(self) -> ResourceExhausted:
        return ResourceExhausted(self._full.format(in_hand=self.in_hand))
