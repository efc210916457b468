"""Whether verdicts of the language model are cheap enough to ask for, as this process has found them to be."""

from __future__ import annotations

import logging
import statistics
import time
from collections import deque
from collections.abc import Callable

from prometheus_client import Gauge

logger = logging.getLogger(__name__)

WINDOW = 15
"""Verdicts that the median is taken over."""
FIRST = 3
"""Verdicts that are asked for before the median decides."""
RETRY_SECONDS = 300.0
"""How often one more is asked for where they were too dear: a machine that was busy may be idle again."""

median_seconds = Gauge("sourcier_judge_median_seconds", "Median time of the last verdicts on sentences.")
judging = Gauge("sourcier_judge_cheap", "1 while verdicts cost little enough for SOURCIER_GATEWAY_JUDGE=auto, else 0.")


class Pace:
    """Watches what verdicts cost."""

    def __init__(self, *, seconds_max: float, clock: Callable[[], float] = time.monotonic) -> None:
        """Allow verdicts while their median is at most `seconds_max`."""
        self._seconds_max = seconds_max
        self._clock = clock
        self._seconds: deque[float] = deque(maxlen=WINDOW)
        self._asked_at = 0.0
        self._cheap = True
        judging.set(1)

    @property
    def median(self) -> float:
        """Seconds; 0 before the first verdict."""
        return statistics.median(self._seconds) if self._seconds else 0.0

    def allows(self) -> bool:
        """Return whether to ask for a verdict; once in a while also where they were too dear."""
        if self._cheap:
            return True
        if self._clock() - self._asked_at < RETRY_SECONDS:
            return False
        # Whoever else asks before this one is answered waits for the next time.
        self._asked_at = self._clock()
        return True

    def observe(self, seconds: float) -> None:
        """Take note of what a verdict cost; one that did not come costs what it was waited for."""
        self._asked_at = self._clock()
        if not self._cheap and seconds <= self._seconds_max:
            # What a busy machine took says nothing of an idle one: judged anew from here on.
            self._seconds.clear()
        self._seconds.append(seconds)
        median_seconds.set(self.median)
        if len(self._seconds) >= FIRST or not self._cheap:
            self._decide(self.median <= self._seconds_max)

    def close(self, reason: str) -> None:
        """Ask for none until it is time to try again: this engine cannot give verdicts, for the reason told."""
        self._asked_at = self._clock()
        if self._cheap:
            logger.info("the judge is off, tried again in %.0f s: %s", RETRY_SECONDS, reason)
        self._cheap = False
        judging.set(0)

    def _decide(self, cheap: bool) -> None:
        if cheap != self._cheap:
            logger.info(
                "the judge is %s: a verdict takes %.3f s at the median, the limit is %.3f s",
                "on" if cheap else f"off, tried again in {RETRY_SECONDS:.0f} s", self.median, self._seconds_max,
                extra={"median_seconds": round(self.median, 4), "judging": cheap},
            )
        self._cheap = cheap
        judging.set(cheap)
