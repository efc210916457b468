"""Finds lines of a document in the text file they were read from, whatever marks, quotes and bars were taken away."""

from __future__ import annotations

import re
from bisect import bisect_right

_SIGNS = re.compile(r"[\W_]+")
_WINDOW = 20_000
"""How far ahead of the line before a line is looked for, in letters and figures."""
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

    def find(self, text: str) -> tuple[int, int] | None:
        """Return the first and the last line, from 1, that a text stands in; None where it is not found."""
        wanted = _folded(text)
        if not wanted:
            return None
        start = self._text.find(wanted, self._at, self._at + _WINDOW + len(wanted))
        if start < 0 and len(wanted) > 2 * _ENDS:
            return self._find_ends(wanted)
        return None if start < 0 else self._found(start, start + len(wanted))

    def _find_ends(self, wanted: str) -> tuple[int, int] | None:
        start = self._text.find(wanted[:_ENDS], self._at, self._at + _WINDOW)
        if start < 0:
            return None
        end = self._text.find(wanted[-_ENDS:], start, start + 3 * len(wanted))
        return None if end < 0 else self._found(start, end + _ENDS)

    def _found(self, start: int, end: int) -> tuple[int, int]:
        self._at = end
        return bisect_right(self._starts, start), bisect_right(self._starts, end - 1)


def _folded(line: str) -> str:
    return _SIGNS.sub("", line).casefold()
