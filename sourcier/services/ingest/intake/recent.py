"""The originals accepted a moment ago, kept so that the parse stage of the same process need not fetch them.

Only small ones, each until it is taken, the oldest given up where there are too many: whoever finds none fetches it.
"""

from __future__ import annotations

from collections import OrderedDict

BYTES_MAX = 16 * 1024 * 1024


class RecentOriginals:
    """Bodies by their key in the object store."""

    def __init__(self, *, bytes_max: int = BYTES_MAX) -> None:
        self._bytes_max = bytes_max
        self._bytes = 0
        self._bodies: OrderedDict[str, bytes] = OrderedDict()

    def keep(self, key: str, body: bytes) -> None:
        """Keep a body that was stored under a key, which is never another's."""
        self._bodies[key] = body
        self._bytes += len(body)
        while self._bytes > self._bytes_max:
            _, oldest = self._bodies.popitem(last=False)
            self._bytes -= len(oldest)

    def take(self, key: str) -> bytes | None:
        """Return a body and forget it; None where it is not here, or was taken before."""
        body = self._bodies.pop(key, None)
        if body is not None:
            self._bytes -= len(body)
        return body
