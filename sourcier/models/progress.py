"""Progress lines for a person: what is being done, how large it is, how long it took."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO


class Progress:
    """Writes one line per step, the seconds at its end."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream if stream is not None else sys.stdout

    def say(self, text: str) -> None:
        """Write a line."""
        self._stream.write(text + "\n")
        self._stream.flush()

    @contextmanager
    def step(self, text: str) -> Iterator[None]:
        """Write the step's name now and its seconds when it is done; the line ends where it fails."""
        self._stream.write(f"  {text} … ")
        self._stream.flush()
        started = time.monotonic()
        try:
            yield
        except BaseException:
            self.say("stopped")
            raise
        self.say(f"{time.monotonic() - started:.0f} s")

    def tick(self) -> None:
        """Write a dot: one part of a long step is done."""
        self._stream.write("· ")
        self._stream.flush()


def size(size_bytes: float) -> str:
    """Return a size as a person reads it, decimal units."""
    for unit in ("bytes", "kB", "MB"):
        if size_bytes < 1000:
            return f"{size_bytes:.0f} {unit}"
        size_bytes /= 1000
    return f"{size_bytes:.1f} GB"
