"""How often streams write: at once while the process is at ease, gathered into fewer messages when there are too many.

A message costs the same whatever it holds, 50 to 200 µs of CPU on either side, so that a few thousand a second fill a
core, and tokens then wait in queues that nobody bounds. A stream that pauses between messages finds what came meanwhile
as one delta, for engines put together what was not fetched.

How many are too many goes by the processor. A gateway takes about 1.6 times as long for a message as this process, so
that its one core is nearly full when this one has half of a core to do.
"""

from __future__ import annotations

import time
from collections.abc import Callable

WINDOW_SECONDS = 0.1
"""The time over which messages are counted."""
EASE = 0.9
"""The share of the most messages a second below which streams write at once again."""
PAUSE_SECONDS_MAX = 0.1
BUSY, GATHERED = 0.6, 0.5
"""The processor time a second from which on this process gathers, and what it may take then: less, to catch up."""
SLOWEST = 0.25
"""The share of the most messages a second that is allowed however slow the processor, or busy this process."""
KEPT = 0.8
"""What a window counts for one window later, in what is known of messages."""


class Gathering:
    """Counts the messages of all streams of a process, and tells each how long to pause."""

    def __init__(
        self, *, messages_per_second_max: int, clock: Callable[[], float],
        cpu_clock: Callable[[], float] = time.process_time,
    ) -> None:
        """Take the most messages a second on any processor, and clocks of time and of processor time in seconds."""
        self._messages_per_second_max = messages_per_second_max
        self._clock = clock
        self._cpu_clock = cpu_clock
        self._since, self._used = clock(), cpu_clock()
        self._sent = self._characters = 0
        self._cost = _Mean()
        """Seconds of processor time that a message takes."""
        self._alone = _Mean()
        """Characters of a message that nothing was gathered into."""
        self._gathers = False
        self._begun_above = self._most = float(messages_per_second_max)

    def sent(self, *, streams: int, characters: int) -> float:
        """Count a message of so much text; return for how many seconds its stream, one of so many, should not fetch."""
        self._sent += 1
        self._characters += characters
        now = self._clock()
        if now - self._since >= WINDOW_SECONDS:
            self._look(now)
        return min(streams / self._most, PAUSE_SECONDS_MAX) if self._gathers else 0.0

    def _look(self, now: float) -> None:
        """Decide by the window that ends whether there are too many messages, and how many there may be."""
        seconds, used = now - self._since, self._cpu_clock()
        rate = self._sent / seconds
        if rate >= SLOWEST * self._messages_per_second_max:
            # A process that sends little spends its time on other things.
            self._cost.add(used - self._used, self._sent)
        if self._gathers:
            # Gathered, streams send just the most that is allowed: how many they would send is known by their text.
            self._gathers = self._characters / self._alone.value / seconds > EASE * self._begun_above
        else:
            self._alone.add(self._characters, self._sent)
            self._begun_above = self._allowed(BUSY)
            self._gathers = rate > self._begun_above
        self._most = self._allowed(GATHERED)
        self._since, self._used, self._sent, self._characters = now, used, 0, 0

    def _allowed(self, cores: float) -> float:
        """Return how many messages a second may be sent in so much processor time a second."""
        most = self._messages_per_second_max
        return max(SLOWEST * most, min(most, cores / self._cost.value)) if self._cost.value else float(most)


class _Mean:
    """What a message has or takes, the last windows counting most."""

    def __init__(self) -> None:
        self._sum = self._messages = 0.0

    def add(self, amount: float, messages: int) -> None:
        self._sum = KEPT * self._sum + amount
        self._messages = KEPT * self._messages + messages

    @property
    def value(self) -> float:
        return self._sum / self._messages if self._messages else 0.0
