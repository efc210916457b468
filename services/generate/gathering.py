"""How often streams write: at once while the process is at ease, gathered into fewer messages when there are too many.

A message costs the same whatever it holds, some 50 µs of CPU on either side, so that a few thousand a second fill a
core, and tokens then wait in queues that nobody bounds. A stream that pauses between messages finds what came meanwhile
as one delta, for engines put together what was not fetched.
"""

from __future__ import annotations

from collections.abc import Callable

WINDOW_SECONDS = 0.1
"""The time over which messages are counted."""
EASE = 0.5
"""The share of the most messages a second below which streams write at once again."""
PAUSE_SECONDS_MAX = 0.1


class Gathering:
    """Counts the messages of all streams of a process, and tells each how long to pause."""

    def __init__(self, *, messages_per_second_max: int, clock: Callable[[], float]) -> None:
        """Take the clock in seconds."""
        self._messages_per_second_max = messages_per_second_max
        self._clock = clock
        self._sent = 0
        self._since = clock()
        self._gathers = False

    def sent(self, *, streams: int) -> float:
        """Count a message; return for how many seconds its stream, one of so many, should fetch nothing."""
        self._sent += 1
        now = self._clock()
        if now - self._since >= WINDOW_SECONDS:
            rate = self._sent / (now - self._since)
            # Gathered, streams send just the most that is allowed: only well below it there are fewer tokens.
            self._gathers = rate > self._messages_per_second_max * (EASE if self._gathers else 1.0)
            self._since, self._sent = now, 0
        return min(streams / self._messages_per_second_max, PAUSE_SECONDS_MAX) if self._gathers else 0.0
