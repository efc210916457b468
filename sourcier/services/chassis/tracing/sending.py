"""Ended spans on their way to the collector: a bounded queue, and one thread that empties it.

Whatever the collector does, the work that is traced goes on: what does not fit, or is not taken, is dropped and
counted. One line of the log says when it begins, and one when it ends.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Sequence
from typing import Any, Protocol

from prometheus_client import Counter

logger = logging.getLogger(__name__)

QUEUE_MAX, QUEUE_BYTES_MAX = 4096, 16 * 1024**2
"""Spans that wait, and their bytes about. One has about 1 KB, with contents up to 32 KB more."""
BATCH_MAX, BATCH_BYTES_MAX = 256, 1024**2
"""Of one request: a collector refuses a larger body whole."""
SPAN_BYTES = 1024
THREAD_NAME = "traces"
INTERVAL_SECONDS = 1.0
"""How long a span waits for others."""
CLOSE_SECONDS = 2.0
"""How long a process that ends goes on sending."""

spans_total = Counter(
    "sourcier_spans_total", "Spans that ended, by outcome: sent, failed (not taken by the collector) or dropped (the "
    "queue was full).", ["outcome"],
)


class Collector(Protocol):
    """Where spans go."""

    def post(self, spans: Sequence[Any]) -> str:
        """Send them, for a bounded time; return why they were not taken, empty where they were."""
        ...

    def close(self) -> None:
        """Give up what is being sent, and let go of connections."""
        ...


class Sender:
    """The queue and its thread."""

    def __init__(self, collector: Collector, *, url: str) -> None:
        """Begin to send; `url` names the collector in logs."""
        self._collector = collector
        self._url = url
        self._waiting: deque[tuple[Any, int]] = deque()
        self._bytes = 0
        self._lock = threading.Lock()
        self._changed = threading.Event()
        self._closing = threading.Event()
        self._failing = self._full = False
        self._thread = threading.Thread(target=self._run, name=THREAD_NAME, daemon=True)
        self._thread.start()

    def put(self, span: Any, *, size_bytes: int = SPAN_BYTES) -> None:
        """Take a span of about this size; never waits for the collector."""
        with self._lock:
            count, waiting_bytes = len(self._waiting), self._bytes + size_bytes
            fits = count < QUEUE_MAX and waiting_bytes <= QUEUE_BYTES_MAX
            if fits:
                self._waiting.append((span, size_bytes))
                self._bytes = waiting_bytes
        if not fits:
            spans_total.labels("dropped").inc()
            if not self._full:
                self._full = True
                logger.warning("spans are dropped: %d wait for the collector %s, which is too slow", count, self._url)
            return
        if count + 1 >= BATCH_MAX or waiting_bytes >= BATCH_BYTES_MAX:
            self._changed.set()

    def close(self, *, seconds: float = CLOSE_SECONDS) -> None:
        """Send what waits, for so long; what is left then is dropped."""
        self._closing.set()
        self._changed.set()
        self._thread.join(seconds)
        self._collector.close()

    def _run(self) -> None:
        while not self._closing.is_set():
            self._changed.wait(INTERVAL_SECONDS)
            self._changed.clear()
            self._send_all()
        self._send_all()

    def _send_all(self) -> None:
        while self._waiting:
            batch = self._batch()
            started = time.monotonic()
            try:
                refused = self._collector.post(batch)
            except Exception as error:  # outermost loop of the thread; a span that cannot be encoded must not end it
                refused = type(error).__name__
            spans_total.labels("failed" if refused else "sent").inc(len(batch))
            self._tell(refused, seconds=time.monotonic() - started)
            if refused and self._closing.is_set():
                return

    def _batch(self) -> list[Any]:
        """Take the next spans out, as many as go together; at least one."""
        batch: list[Any] = []
        taken_bytes = 0
        with self._lock:
            while self._waiting and len(batch) < BATCH_MAX:
                span, size_bytes = self._waiting[0]
                if batch and taken_bytes + size_bytes > BATCH_BYTES_MAX:
                    break
                self._waiting.popleft()
                batch.append(span)
                taken_bytes += size_bytes
            self._bytes -= taken_bytes
        return batch

    def _tell(self, refused: str, *, seconds: float) -> None:
        if refused and not self._failing:
            logger.warning("spans are lost: the collector %s does not take them (%s after %.1f s); answers do not "
                           "depend on it", self._url, refused, seconds)
        elif not refused and self._failing:
            logger.info("the collector %s takes spans again", self._url)
        self._failing = bool(refused)
        if not refused and len(self._waiting) < QUEUE_MAX // 2 and self._bytes < QUEUE_BYTES_MAX // 2:
            self._full = False
