"""Whether words spell out an acronym: its letters in the initials of the words, in order, small words skipped.

A few liberties cost points, as acronyms take them: a second letter of one word (`OPCO`), a word that has no letter
(`Urssaf`), a letter from the middle of a word (`TVA`), a figure that doubles a letter (`C2S`) or is a word.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from sourcier.services.index.acronyms.forms import LONG_WORDS_MAX, SMALL_WORDS, words_of

NOT_AT_ALL = 100.0
SMALL_WORD, SECOND_LETTER, MIDDLE_LETTER, SKIPPED_WORD = 0.05, 0.5, 1.0, 1.0
SKIPPING_LETTERS_MIN = 3
"""Shorter acronyms have a letter of each word."""
PREFIX_CHARACTERS_MIN = 5
"""Words that may give more than one letter."""
_NUMBERS = {
    "1": words_of("un une premier premiere one first"), "2": words_of("deux deuxieme second seconde two"),
    "3": words_of("trois troisieme tiers three third"), "4": words_of("quatre quatrieme four fourth"),
    "5": words_of("cinq cinquieme five fifth"),
}

_Known = dict[tuple[int, str, bool], float]
"""What words and letters that are left cost, by how many words there are, and whether one was skipped before."""


@dataclass(frozen=True, slots=True)
class Match:
    """Words that spell out an acronym."""

    first: int
    last: int
    """Places of the first and the last word."""
    cost: float
    """0 where each letter is a word's initial and each word that carries meaning has one."""


def before(words: Sequence[str], letters: str, *, freely: bool) -> Match | None:
    """Return what spells out an acronym at the end of words in lower case without accents; the nearest of the best."""
    return _before(tuple(words[-LONG_WORDS_MAX:]), letters, freely)


@lru_cache(maxsize=2_000)
def _before(words: tuple[str, ...], letters: str, freely: bool) -> Match | None:
    found: Match | None = None
    # All end with the same words: what those cost is looked at once.
    known: _Known = {}
    for first in range(len(words) - 2, -1, -1):
        if not _begins(words[first], letters):
            continue
        cost = _cost(words[first:], letters, freely, known)
        if cost < (NOT_AT_ALL if found is None else found.cost):
            found = Match(first - len(words), -1, cost)
    return found


def behind(words: Sequence[str], letters: str, *, freely: bool) -> Match | None:
    """Return what spells out an acronym at the beginning of words; the shortest of the best."""
    words = words[:LONG_WORDS_MAX]
    if not words or not _begins(words[0], letters):
        return None
    found: Match | None = None
    for last in range(1, len(words)):
        cost = _cost(tuple(words[: last + 1]), letters, freely, {})
        if cost < (NOT_AT_ALL if found is None else found.cost):
            found = Match(0, last, cost)
    return found


def initials(words: Sequence[str]) -> str:
    """Return the initials of the words that carry meaning."""
    return "".join(word[0] for word in words if word not in SMALL_WORDS)


def _begins(word: str, letters: str) -> bool:
    return word not in SMALL_WORDS and (word[0] == letters[0] or letters[0].isdigit())


def _cost(words: tuple[str, ...], letters: str, freely: bool, known: _Known) -> float:
    """Return what it costs that all words, and nothing else, spell out the letters."""
    if initials(words) == letters and words[-1] not in SMALL_WORDS:
        return 0.0
    if not freely and not any(word in SMALL_WORDS for word in words):
        return NOT_AT_ALL
    return _rest(words, letters, freely, known) if words[-1] not in SMALL_WORDS else NOT_AT_ALL


def _rest(words: tuple[str, ...], letters: str, freely: bool, known: _Known) -> float:
    """Return what the cheapest way costs, each place with the letters left there looked at once.

    `AAAAB` behind words that begin with `aaaab` has more ways than anybody can walk.
    """

    def cheapest(place: int, left: str, skipped: bool) -> float:
        if place == len(words):
            return NOT_AT_ALL if left else 0.0
        if len(left) > 3 * (len(words) - place):
            return NOT_AT_ALL
        key = (len(words) - place, left, skipped)
        if key not in known:
            known[key] = min(ways(place, left, skipped), default=NOT_AT_ALL)
        return known[key]

    def ways(place: int, left: str, skipped: bool) -> Iterator[float]:
        word = words[place]
        for taken, behind_it, cost in _taken(word, left, freely):
            if taken:
                yield cost + cheapest(place + 1, behind_it, skipped)
        if word in SMALL_WORDS:
            yield cheapest(place + 1, left, skipped)
        elif freely and not skipped and left and place and len(letters) >= SKIPPING_LETTERS_MIN:
            yield SKIPPED_WORD + cheapest(place + 1, left, True)

    return min(NOT_AT_ALL, cheapest(0, letters, False))


def _taken(word: str, letters: str, freely: bool) -> list[tuple[int, str, float]]:
    """Return how many letters a word may give, what is left of them, and what that costs."""
    if not letters:
        return []
    figure, small = letters[0], word in SMALL_WORDS
    if figure.isdigit():
        ways = [(1, letters[1:], 0.0)] if word.startswith(figure) or word in _NUMBERS.get(figure, frozenset()) else []
        if figure in "23" and letters[1:2].isalpha():
            # `C2S` is `CSS`.
            ways += _taken(word, letters[1] * int(figure) + letters[2:], freely)
        return ways
    if word[0] != figure:
        return []
    ways = [(1, letters[1:], SMALL_WORD if small else 0.0)]
    if not freely or len(word) < PREFIX_CHARACTERS_MIN or small:
        return ways
    for count in (2, 3):
        if len(letters) >= count and word.startswith(letters[:count]):
            ways.append((count, letters[count:], SECOND_LETTER))
    if len(letters) > 1 and letters[1] in word[1:]:
        ways.append((2, letters[2:], MIDDLE_LETTER))
    return ways
