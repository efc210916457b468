"""Where a text may be cut: after a paragraph, a line, a sentence, a word, and only then anywhere."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

# Full stops within a sentence match too, so that a row of them is not looked through from each of its dots.
SENTENCE_END = re.compile(r"[.!?…]++[\"'»”’)\]]*+(?:(?=\s)|(?P<goes_on>))|[。！？]+")
_PARAGRAPH_END = re.compile(r"\n\n")
_LINE_END = re.compile(r"\n")
_WORD_END = re.compile(r"(?<=\S)(?=\s)")


def best_break(text: str, low: int, high: int) -> int:
    """Return the best place to cut in (low, high]: the last of the strongest kind of break found there."""
    for kind in (_PARAGRAPH_END, _LINE_END, SENTENCE_END, _WORD_END):
        # One character more than the window, because a break is recognised by what follows it.
        ends = [end for end in _ends(kind, text, low, min(high + 1, len(text))) if low < end <= high]
        if ends:
            return ends[-1]
    # Never between a letter and its accents.
    while high - 1 > low and high < len(text) and unicodedata.combining(text[high]):
        high -= 1
    return high


def sentence_start(text: str, low: int, high: int) -> int:
    """Return the first place in [low, high) where a sentence starts, else a word; `high` where there is neither."""
    if low == 0:
        return 0
    for kind in (SENTENCE_END, _LINE_END, _WORD_END):
        end = next(_ends(kind, text, low, high), None)
        if end is not None:
            start = skip_space(text, end, high)
            if start < high:
                return start
    return high


def _ends(kind: re.Pattern[str], text: str, low: int, high: int) -> Iterator[int]:
    return (match.end() for match in kind.finditer(text, low, high) if match.lastgroup != "goes_on")


def skip_space(text: str, start: int, end: int) -> int:
    """Return the first place in [start, end) that is no white space."""
    while start < end and text[start].isspace():
        start += 1
    return start


def trim(text: str, start: int, end: int) -> tuple[int, int]:
    """Return the span without white space at its ends."""
    start = skip_space(text, start, end)
    while end > start and text[end - 1].isspace():
        end -= 1
    return start, end
