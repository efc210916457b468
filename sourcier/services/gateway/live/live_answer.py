"""One answer in the making: its events, who reads them, and how it ends. It belongs to the process, not to a call."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import suppress

from sourcier.gateway.v1 import answer_pb2
from sourcier.services.chassis.access import current_access
from sourcier.services.chassis.errors import InvalidArgument, ServiceError
from sourcier.services.gateway.contract.answers import EventStream
from sourcier.services.gateway.events import Event, Finished, Outcome


class LiveAnswer:
    """The events so far, numbered 1, 2, 3 …; bounded by the answer's deadline and token limit."""

    def __init__(self, *, tenant: str, answer_id: str) -> None:
        """Begin without an event, as an answer of who asks."""
        self.tenant = tenant
        self.owner = owner_of_call()
        self.answer_id = answer_id
        self.events: list[answer_pb2.AskEvent] = []
        self.ended = False
        """Whether the last event is the terminal one."""
        self.error: ServiceError | None = None
        """The status that readers get after the terminal event."""
        self.turned = asyncio.Event()
        """Set when there is nothing more to make: the answer ended, or is to be stopped."""
        self.readers = 0
        self.unread_since = time.monotonic()
        """Since when nobody reads, here or elsewhere, as far as is known; means nothing while there are readers."""
        self.read_elsewhere = False
        """Whether another gateway was reading when it was last asked."""
        self.uncopied_reason = ""
        """Why other gateways cannot have the rest; empty where they can."""
        self._started_at = time.perf_counter()
        self._stream = EventStream(answer_id)
        self._waiting: list[asyncio.Future[None]] = []
        """Those who have read all there is; woken by the next event."""
        self._outcome = Outcome.ANSWERED
        self._stopped_by: ServiceError | None = None

    def append(self, event: Event) -> None:
        """Add what happened; nothing follows the end."""
        if self.ended:
            return
        self._add(self._stream.event(event), terminal=isinstance(event, Finished))

    def fail(self, error: ServiceError) -> None:
        """End the answer with an error."""
        if self.ended:
            return
        self.error = error
        self._add(self._stream.failed(reason=error.reason, message=error.message), terminal=True)

    def stop(self, outcome: Outcome) -> bool:
        """Ask for the end before the answer is whole; return whether there was still something to stop."""
        if self.turned.is_set():
            return False
        self._outcome = outcome
        self.turned.set()
        return True

    def stop_with(self, error: ServiceError) -> bool:
        """Ask for the end with an error; return whether there was still something to stop."""
        if self.turned.is_set():
            return False
        self._stopped_by = error
        self.turned.set()
        return True

    def close(self) -> None:
        """Add the terminal event of an answer that was stopped."""
        if self._stopped_by is not None:
            self.fail(self._stopped_by)
        else:
            self.append(Finished(self._outcome, {"total": time.perf_counter() - self._started_at}))

    def _add(self, event: answer_pb2.AskEvent, *, terminal: bool) -> None:
        self.events.append(event)
        if terminal:
            self.ended = True
            self.turned.set()
        for waiter in self._waiting:
            if not waiter.done():
                waiter.set_result(None)
        self._waiting.clear()

    async def wait_beyond(self, position: int) -> None:
        """Wait until there are more events than so many."""
        while len(self.events) <= position:
            waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append(waiter)
            await waiter

    async def wait_turned(self, *, seconds: float) -> None:
        """Wait until there is nothing more to make, or so long."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self.turned.wait()

    async def read(self, *, after_sequence: int) -> AsyncGenerator[answer_pb2.AskEvent, None]:
        """Yield the events after one, those to come included, up to the terminal one.

        Raise InvalidArgument when the answer ended before the event named.
        """
        self.readers += 1
        position = after_sequence
        try:
            while not (self.ended and position >= len(self.events)):
                if position >= len(self.events):
                    # For any event, not for the one named: the answer may end before it.
                    await self.wait_beyond(len(self.events))
                    continue
                yield self.events[position]
                position += 1
            check_read(after_sequence, last_sequence=len(self.events))
        finally:
            self.readers -= 1
            self.unread_since = time.monotonic()


def owner_of_call() -> str:
    """Return whose an answer of the call being served is; empty where no account is asked for."""
    access = current_access()
    return "" if access is None else access.name


def check_read(after_sequence: int, *, last_sequence: int) -> None:
    """Refuse to go on after an event that an ended answer never had."""
    if after_sequence > last_sequence:
        raise InvalidArgument(
            f"after_sequence is {after_sequence}, and the answer ended with event {last_sequence}; "
            "send the sequence of the last event that was read", field="after_sequence",
        )
