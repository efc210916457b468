"""Which lengths of batches the model should be compiled for: those that most of the tokens of late came in."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection

MEBIBYTE = 2**20
LENGTHS_MAX = 12
"""Of texts with a long tail two thirds of the tokens come in so many lengths, counted in sixteens; of a load's chunks,
which are cut to a target, nearly all."""
LENGTH_STREAM_BYTES = 36 * MEBIBYTE
"""What a length more takes for each stream (E5-small): 31 MB, and some for what is made beside it."""
MEMORY_SHARE = 16
"""Lengths take this part of the memory at most, unless they are asked for."""
WORTH_TOKENS = 65_536
"""Of so many a length saves a third of what compiling for it costs beside a load: a tenth of two cores for three
seconds. That is enough, for a load that has lasted goes on for as long again, and others come soon after it."""
WINDOW_TOKENS = 524_288
"""After so many, what was counted is halved: a load of other documents comes to its own lengths within a minute."""


def lengths_max(memory_bytes: int, *, streams: int) -> int:
    """Return for how many lengths a model may be compiled on a machine, or in a container, of so much memory."""
    return min(LENGTHS_MAX, memory_bytes // MEMORY_SHARE // (streams * LENGTH_STREAM_BYTES))


class LengthCounter:
    """Counts tokens by the padded length of their batch, and how long the load is."""

    def __init__(self, *, most: int) -> None:
        self.most = most
        self._tokens: Counter[int] = Counter()
        self._noted = 0
        self._load_tokens = 0

    def note(self, length: int, *, tokens: int) -> None:
        """Count a batch of so many tokens, padding included."""
        self._tokens[length] += tokens
        self._load_tokens += tokens
        self._noted += tokens
        if self._noted >= WINDOW_TOKENS:
            self._noted = 0
            self._halve()

    def worth(self, *, beside: Collection[int]) -> tuple[int, ...]:
        """Return the lengths to compile for in place of those, ascending; none where it would not be worth it.

        What a load gains is its lengths' part of late, of as many tokens as it has had. All lengths are compiled for
        anew, so what they have had and the others had not must be worth all of them.
        """
        counted = self._tokens.total()
        if not counted:
            return ()
        longer = self._load_tokens / counted
        chosen = [length for length, count in self._tokens.most_common(self.most) if count * longer >= WORTH_TOKENS]
        gained = (self._total(chosen) - self._total(beside)) * longer
        return tuple(sorted(chosen)) if chosen and gained >= WORTH_TOKENS * len(chosen) else ()

    def fade(self) -> None:
        """Halve everything: called every few minutes, it keeps what trickles in from adding up to a load."""
        self._load_tokens //= 2
        self._halve()

    def forget(self) -> None:
        """Begin to count anew."""
        self._tokens.clear()
        self._noted = self._load_tokens = 0

    def _halve(self) -> None:
        self._tokens = Counter({length: count // 2 for length, count in self._tokens.items() if count > 1})

    def _total(self, lengths: Collection[int]) -> int:
        return sum(self._tokens[length] for length in lengths)
