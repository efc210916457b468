"""Turns go round by tenant: what waits is served by how much each tenant has had of late, not by who came first.

Start-time fair queueing (Goyal, Vin and Cheng, 1996): a tenant's next piece of work starts, in virtual time, where the
tenant's last one ended, or now if that is past. The earliest start is served. Deficit round robin needs no heap, and is
as fair over a second; but a tenant that comes anew waits for a whole round there, and here for one piece of work.
"""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from typing import Generic, TypeVar

from sourcier.services.chassis.errors import DeadlineExceeded, ResourceExhausted

T = TypeVar("T")


class VirtualTime:
    """How much each tenant has had of late: where its next piece of work starts."""

    def __init__(self) -> None:
        """Begin with nobody having had anything."""
        self._now = 0.0
        self._ends: dict[str, float] = {}
        """Where a tenant's last piece of work ended; those that are past are forgotten."""

    def start_of(self, tenant: str) -> float:
        """Return where a tenant's next piece of work starts; who has the earliest start is next."""
        return max(self._ends.get(tenant, 0.0), self._now)

    def charge(self, tenant: str, *, cost: float) -> float:
        """Count a piece of work; return where it starts."""
        start = self.start_of(tenant)
        self._ends[tenant] = start + cost
        return start

    def refund(self, tenant: str, *, cost: float) -> None:
        """Take back what was counted for work that was not done."""
        if tenant in self._ends:
            self._ends[tenant] -= cost

    def serve(self, start: float) -> None:
        """Let time go on to the start of what is served now."""
        if start > self._now:
            self._now = start
            # Of tenants that wait for nothing and owe nothing there is nothing to know.
            self._ends = {each: end for each, end in self._ends.items() if end > self._now}


class FairQueue(Generic[T]):
    """What waits, by tenant, each with its cost; everything on one event loop."""

    def __init__(self) -> None:
        """Begin empty."""
        self._waiting: dict[str, deque[tuple[T, float]]] = {}
        self._time = VirtualTime()

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
        self._time.charge(tenant, cost=cost)

    def next_tenant(self) -> str | None:
        """Return whose turn it is; of those that have had as much, who waits longest."""
        return min(self._waiting, key=self._time.start_of, default=None)

    def take(self) -> T | None:
        """Take out what is next; None where nothing waits."""
        tenant = self.next_tenant()
        if tenant is None:
            return None
        work, cost = self._waiting[tenant].popleft()
        self._forget_empty(tenant)
        self._time.serve(self._time.charge(tenant, cost=cost))
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


class FairSlots:
    """Slots for work that tenants have waiting elsewhere; who wants one is known, how much each has waiting is not.

    A tenant alone takes `each_max`. A third as many are kept besides, and with several tenants each may hold three
    times what is free (the dynamic threshold of `grpc/places.py`): who comes anew finds a free one.
    """

    SHARE = 3

    def __init__(self, *, each_max: int) -> None:
        """Take how many slots a tenant alone may have."""
        self._each_max = each_max
        self._free = each_max + max(1, each_max // self.SHARE)
        self._held: Counter[str] = Counter()
        self._want: dict[str, None] = {}
        self._time = VirtualTime()
        self._changed = asyncio.Event()

    def may_want(self, tenant: str) -> None:
        """Note that a tenant may have work waiting."""
        self._want[tenant] = None
        self._changed.set()

    def wants_nothing(self, tenant: str) -> None:
        """Note that a tenant has no work waiting."""
        self._want.pop(tenant, None)

    def next_tenant(self) -> str | None:
        """Return whose work is fetched next; None where nobody who may have a slot wants one."""
        self._changed.clear()
        return min(filter(self._may_take, self._want), key=self._time.start_of, default=None)

    def take(self, tenant: str, *, cost: float) -> None:
        """Take a slot for a piece of work, whose cost is known by now."""
        self._free -= 1
        self._held[tenant] += 1
        self._time.serve(self._time.charge(tenant, cost=cost))

    def refund(self, tenant: str, *, cost: float) -> None:
        """Take back what was counted for work that was not done."""
        self._time.refund(tenant, cost=cost)

    def give_back(self, tenant: str) -> None:
        """Give a slot back."""
        self._free += 1
        self._held[tenant] -= 1
        if not self._held[tenant]:
            del self._held[tenant]
        self._changed.set()

    async def changed(self, stopping: asyncio.Event, *, seconds: float) -> None:
        """Wait until somebody may want a slot, one is given back, or the process stops; so long at most."""
        waits = [asyncio.ensure_future(event.wait()) for event in (self._changed, stopping)]
        try:
            await asyncio.wait(waits, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()

    async def all_given_back(self) -> None:
        """Wait until nothing is in hand."""
        while self._held:
            self._changed.clear()
            await self._changed.wait()

    def _may_take(self, tenant: str) -> bool:
        held = self._held[tenant]
        return self._free > 0 and held < self._each_max and (not held or held < self.SHARE * self._free)


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
