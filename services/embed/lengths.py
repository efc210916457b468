"""Which lengths of batches deserve a compiled model of their own: those that most of the tokens of late came in."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection

MEBIBYTE = 2**20
LENGTHS_MAX = 4
"""Chunks are cut to a target: half to three quarters of a load's tokens come in four lengths, counted in sixteens."""
LENGTH_STREAM_BYTES = 96 * MEBIBYTE
"""What a model of one length takes for each stream (E5-small)."""
MEMORY_SHARE = 16
"""Such models take this part of the memory at most, unless they are asked for."""
WORTH_TOKENS = 65_536
"""So many of one length take two cores three seconds, an eighth of which would have paid for compiling for it. Who buys
once the rent has cost as much as the price pays twice the least at most (Karlin et al., 1988)."""
WINDOW_TOKENS = 1_048_576
"""After so many, what was counted is halved: a load of other documents comes to its own lengths."""


def lengths_max(memory_bytes: int, *, streams: int) -> int:
    """Return how many lengths there may be models of on a machine, or in a container, of so much memory."""
    return min(LENGTHS_MAX, memory_bytes // MEMORY_SHARE // (streams * LENGTH_STREAM_BYTES))


class LengthCounter:
    """Counts tokens by the padded length of their batch."""

    def __init__(self, *, most: int) -> None:
        self.most = most
        self._tokens: Counter[int] = Counter()
        self._noted = 0

    def note(self, length: int, *, tokens: int) -> None:
        """Count a batch of so many tokens, padding included."""
        self._tokens[length] += tokens
        self._noted += tokens
        if self._noted >= WINDOW_TOKENS:
            self._noted = 0
            self._tokens = Counter({length: count // 2 for length, count in self._tokens.items() if count > 1})

    def worth(self, length: int, *, beside: Collection[int]) -> bool:
        """Return whether a model of this length should be compiled, in the place of the least used where there are
        as many as there may be: a length takes another's place that has had twice its tokens."""
        count = self._tokens[length]
        if length in beside or count < WORTH_TOKENS or self.most == 0:
            return False
        return len(beside) < self.most or count > 2 * self._tokens[self.least(beside)]

    def least(self, lengths: Collection[int]) -> int:
        """Return the length that has had the fewest tokens of late."""
        return min(lengths, key=lambda length: self._tokens[length])

    def forget(self, length: int) -> None:
        """Begin to count a length anew."""
        del self._tokens[length]
