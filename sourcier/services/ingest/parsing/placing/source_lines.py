"""Finds lines of a document in the text file they were read from, whatever marks, quotes and bars were taken away."""

from __future__ import annotations

import re
from bisect import bisect_right

_SIGNS = re.compile(r"[\W_]+")
_NEAR = 400
"""How far behind the line before a line usually begins, in letters and figures: behind a link's address, a comment."""
_FAR = 20_000
"""How far ahead it is looked for otherwise: a note stands at the end of the file, and is read beside its call."""
_FAR_CHARACTERS_MIN = 6
_ENDS = 24
"""So much of a line's beginning and of its end is looked for where all of it is not found: a link's address stands
between its words and the next ones."""


class SourceLines:
    """The letters and figures of a text file by line; lines are asked for in about their order."""

    def __init__(self, text: str) -> None:
        """Fold the text once."""
        folded = [_folded(line) for line in text.split("\n")]
        self._text = "".join(folded)
        self._starts: list[int] = []
        length = 0
        for line in folded:
            self._starts.append(length)
            length += len(line)
        self._at = 0
        self._ahead = -1
        """Behind what was found far ahead: the next line shows whether the text goes on there."""

    def find(self, text: str) -> tuple[int, int] | None:
        """Return the first and the last line, from 1, that a text stands in; None where it is not found."""
        wanted = _folded(text)
        if not wanted:
            return None
        for at in (self._at, self._ahead):
            found = self._within(wanted, at, _NEAR) if at >= 0 else None
            if found is not None:
                self._at, self._ahead = found[1], -1
                return self._lines(*found)
        found = self._within(wanted, self._at, _FAR) if len(wanted) >= _FAR_CHARACTERS_MIN else None
        if found is None:
            return None
        self._ahead = found[1]
        return self._lines(*found)

    def _within(self, wanted: str, at: int, reach: int) -> tuple[int, int] | None:
        start = self._text.find(wanted, at, at + reach + len(wanted))
        if start >= 0:
            return start, start + len(wanted)
        if len(wanted) <= 2 * _ENDS:
            return None
        start = self._text.find(wanted[:_ENDS], at, at + reach)
        end = self._text.find(wanted[-_ENDS:], start, start + 3 * len(wanted)) if start >= 0 else -1
        return None if end < 0 else (start, end + _ENDS)

    def _lines(self, start: int, end: int) -> tuple[int, int]:
        return bisect_right(self._starts, start), bisect_right(self._starts, end - 1)


def _folded(line: str) -> str:
    return _SIGNS.sub("", line).casefold()
