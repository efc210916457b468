"""Struck-out text: a line through the middle of words, as long as they are."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence

from sourcier.services.ingest.parsing.pdf.content.elements import Page, Rule, Word

_RULES_MAX = 1_500
"""A page with more of them is a drawing."""
_HIGH, _LOW = 0.52, 0.12
"""How far above the baseline the line runs, in sizes of the font: an underline runs below it."""
_COVERED = 0.8
_BEYOND = 0.4
"""A line that goes further beyond the words, in sizes of the font, belongs to a table or a form."""
SIGN = "~~"


def mark_struck(page: Page, words: Sequence[Word]) -> list[Word]:
    """Return the words, those that a line strikes out between `~~`; the page's rules lose that line."""
    if not (page.struck or (words and 0 < len(page.horizontal) <= _RULES_MAX)):
        return list(words)
    places = sorted(range(len(words)), key=lambda place: words[place].baseline)
    baselines = [words[place].baseline for place in places]
    largest = max((word.size for word in words), default=0.0)
    marked = list(words)

    def strikes(rule: Rule) -> bool:
        """Mark the words that a line strikes out, and tell whether there are any."""
        low = bisect_left(baselines, rule.at)
        near = places[low : bisect_right(baselines, rule.at + _HIGH * largest)]
        struck = sorted((place for place in near if _strikes(rule, words[place])), key=lambda place: words[place].left)
        if not struck or not _ends_with(rule, words[struck[0]], words[struck[-1]]):
            return False
        _mark(marked, struck)
        return True

    page.horizontal = [rule for rule in page.horizontal if not strikes(rule)]
    for rule in page.struck:
        strikes(rule)
    return marked


def _strikes(rule: Rule, word: Word) -> bool:
    above = word.baseline - rule.at
    covered = min(rule.end, word.right) - max(rule.start, word.left)
    return _LOW * word.size <= above <= _HIGH * word.size and covered >= _COVERED * (word.right - word.left) > 0


def _ends_with(rule: Rule, first: Word, last: Word) -> bool:
    return rule.start >= first.left - _BEYOND * first.size and rule.end <= last.right + _BEYOND * last.size


def _mark(words: list[Word], struck: Sequence[int]) -> None:
    first, last = struck[0], struck[-1]
    # Two lines over the same words strike them out once.
    if not words[first].text.startswith(SIGN):
        words[first] = words[first]._replace(text=SIGN + words[first].text)
        words[last] = words[last]._replace(text=words[last].text + SIGN)
