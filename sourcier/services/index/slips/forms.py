"""What a word with a slip of typing may have been: the words one slip away, and how far two words are apart.

All words are folded: without accents, in lower case. So a wrong accent is no slip at all.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

SLIPS_MAX = 2
"""Slips of one word that are seen."""
DOUBLED, SWAPPED = 0.6, 0.8
"""A letter doubled or not, a silent ending; two letters in each other's place: the slips that people make most."""
LEFT_OUT = ADDED = 1.0
OTHER = 1.1
AT_THE_BEGINNING = 0.5
"""On top: people rarely miss the first letter."""
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
SILENT = "es"
"""Letters that words end in, or do not, and that nobody hears."""


def one_slip(word: str) -> dict[str, float]:
    """Return the words that are one slip away, with what the slip costs (Damerau, 1964; the approach is Norvig's)."""
    found: dict[str, float] = {}
    last = len(word) - 1

    def add(form: str, cost: float, place: int) -> None:
        cost += AT_THE_BEGINNING if place == 0 else 0.0
        if form != word and cost < found.get(form, cost + 1):
            found[form] = cost

    for place, letter in enumerate(word):
        before, after = word[:place], word[place + 1 :]
        twice = (place > 0 and before[-1] == letter) or (place == last and letter in SILENT)
        add(before + after, DOUBLED if twice else ADDED, place)
        if after:
            add(before + after[0] + letter + after[1:], SWAPPED, place)
        for other in _LETTERS:
            add(before + other + after, OTHER, place)
    for place in range(len(word) + 1):
        before, after = word[:place], word[place:]
        for other in _LETTERS:
            twice = other == before[-1:] or (not after and other in SILENT)
            add(before + other + after, DOUBLED if twice else LEFT_OUT, place)
    return found


def distance(one: str, other: str) -> int:
    """Return the slips between two words, neighbours swapped counted as one; `SLIPS_MAX` + 1 for more than that."""
    if abs(len(one) - len(other)) > SLIPS_MAX:
        return SLIPS_MAX + 1
    return min(_edits(one, other, replaced=1, edited=1), SLIPS_MAX + 1)


def replaces_two(one: str, other: str) -> bool:
    """Return whether words two slips apart differ in two letters that stand in the place of other ones, no less."""
    return len(one) == len(other) and distance(one, other) == 2 and _edits(one, other, replaced=3, edited=2) > 3 + 2


def _edits(one: str, other: str, *, replaced: int, edited: int) -> int:
    """Return what the cheapest edits cost: letters `replaced`, or left out, added and swapped (Damerau, 1964)."""
    earlier: list[int] = []
    row = [edited * column for column in range(len(other) + 1)]
    for place, letter in enumerate(one, start=1):
        here = [edited * place]
        for column, against in enumerate(other, start=1):
            least = min(row[column] + edited, here[-1] + edited, row[column - 1] + replaced * (letter != against))
            if place > 1 and column > 1 and letter == other[column - 2] and one[place - 2] == against:
                least = min(least, earlier[column - 2] + edited)
            here.append(least)
        earlier, row = row, here
    return row[-1]


def near_stems(word: str, stems: Sequence[str]) -> dict[str, int]:
    """Return the stems that the word may have, if up to `SLIPS_MAX` slips are in it, with how many: an upper bound.

    A common ending is taken from the word; neighbours swapped where it begins count as two slips, so a stem may be
    `SLIPS_MAX` + 1 away. One table of distances for all stems at once: 10,000 take about 20 ms.
    """
    if not stems:
        return {}
    width = max(map(len, stems))
    letters = np.array(stems, dtype=f"U{width}").view(np.uint32).reshape(len(stems), width)
    lengths = np.fromiter(map(len, stems), dtype=np.int64, count=len(stems))
    codes = [ord(letter) for letter in word]
    endings = np.array([_from_ending(word[place:]) for place in range(len(word) + 1)], dtype=np.int8)
    least = np.full(len(stems), SLIPS_MAX + 2, dtype=np.int8)
    earlier: npt.NDArray[np.int8] | None = None
    row = np.repeat(np.arange(len(word) + 1, dtype=np.int8)[:, None], len(stems), axis=1)
    for place in range(width):
        here = np.empty_like(row)
        here[0] = place + 1
        for column, code in enumerate(codes, start=1):
            other = letters[:, place] != code
            best = np.minimum(np.minimum(row[column], here[column - 1]) + 1, row[column - 1] + other)
            if earlier is not None and column > 1:
                swapped = (letters[:, place] == codes[column - 2]) & (letters[:, place - 1] == code)
                best = np.where(swapped, np.minimum(best, earlier[column - 2] + 1), best)
            here[column] = best
        ended = lengths == place + 1
        if ended.any():
            least[ended] = np.minimum(least[ended], (here[:, ended] + endings[:, None]).min(axis=0))
        earlier, row = row, here
    return {stems[place]: int(least[place]) for place in np.flatnonzero(least <= SLIPS_MAX + 1).tolist()}


def _from_ending(rest: str) -> int:
    if len(rest) > _ENDING_CHARACTERS_MAX + SLIPS_MAX:
        return SLIPS_MAX + 1
    return min(distance(rest, ending) for ending in _ENDINGS)


# What the stemmers of French and English take from words, in the commoner forms.
_WRITTEN_ENDINGS = """
    e s es er ers ee ees ez ent ant ante ants antes ement ements ment ments ation ations ateur ateurs atrice age ages
    eur eurs euse euses if ifs ive ives ivement ite ites able ables ible ibles isme ismes iste istes ance ances ence
    ences ique iques iquement eux al ale aux ales el elle els elles ellement ie ies ir i is it ait aient era erait ion
    ions issement issements ing ed ly ness
"""
_ENDINGS = ("", *_WRITTEN_ENDINGS.split())
_ENDING_CHARACTERS_MAX = max(map(len, _ENDINGS))
