"""Which words of a clause with several values are said of which: « 110 € à Paris et 90 € ailleurs ».

A clause is cut between its values of one unit. What stands before the first one is said of all, unless the others
have their words before them, too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from sourcier.services.gateway.clauses import lexicon
from sourcier.services.gateway.clauses.cutting import predicate_place
from sourcier.services.gateway.clauses.tokens import Token, has
from sourcier.services.gateway.figures.bounds import sides_named
from sourcier.services.gateway.figures.rows import LIGHT
from sourcier.services.gateway.figures.words import forms_of, told

_CUTS = lexicon.words("et ou and or of sur plus")
_HARD = lexicon.words(", ; ( dont soit contre out puis mais but against")
_ELSEWHERE = lexicon.words("ailleurs elsewhere")
_NOT_IN = lexicon.phrases("hors de|hors du|hors d'|outside|outside of|en dehors de|en dehors du|except in|not in")
_SAME = lexicon.words("soit donc thus ie")
"""What makes two values of one clause the same: « 2,25 jours par mois, soit 27 jours par an »."""


@dataclass(frozen=True)
class Part:
    """What is said of one value of a clause."""

    own: tuple[Token, ...]
    head: tuple[Token, ...]
    """What is said before the first value of all, or of the first one alone."""
    counted: tuple[Token, ...]
    """What stands right behind the value: its unit, or what is counted."""


def parts_of(tokens: Sequence[Token], values: Sequence[tuple[int, int]]) -> list[Part]:
    """Return what is said of each value, by where it stands and how many tokens it has; nothing where that is unclear.
    """
    if len(values) < 2 or any(token.text in _SAME for token in tokens):
        return []
    cuts = []
    for (place, length), (following, _) in pairwise(values):
        cut = _cut(tokens, place + length, following)
        if cut is None:
            return []
        cuts.append(cut)
    starts, ends = [0, *(cut + 1 for cut in cuts)], [*cuts, len(tokens)]
    before = [tokens[start:place] for start, (place, _) in zip(starts, values, strict=True)]
    behind = [tokens[place + length : end] for end, (place, length) in zip(ends, values, strict=True)]
    first = tuple(before[0])
    leads = any(token.tells for each in before[1:] for token in each) and not any(
        token.tells for token in behind[-1]
    ) and all(predicate_place(each) for each in before[1:])
    parts = []
    for number, (one, other) in enumerate(zip(before, behind, strict=True)):
        own = (*one, *other) if number or leads else tuple(other)
        parts.append(Part(own, () if leads else first, tuple(other[:1])))
    return parts


def _cut(tokens: Sequence[Token], start: int, end: int) -> int | None:
    """Return the one place between two values where what is said of them is cut; None where there is none, or several.
    """
    for signs in (_HARD, _CUTS):
        found = [at for at in range(start, end) if tokens[at].text in signs]
        if found:
            # « , dont » and « , et » are one.
            return found[0] if found[-1] - found[0] < len(found) else None
    return None


def is_of_other_part(
    said: Sequence[Token], parts: Sequence[Part], is_own: Callable[[int], bool]
) -> bool:
    """Return whether a sentence says of one value what its clause says of another; `said` is without the value.

    `is_own` tells whether the value of a part is the sentence's. A word that another part has and its own lacks speaks
    against it, where its own has none of the sentence's that the other lacks.
    """
    own = [number for number in range(len(parts)) if is_own(number)]
    if len(own) != 1:
        return False
    [number] = own
    part = parts[number]
    words = [token for token in said if token.tells]
    shared = forms_of((*part.own, *part.head))
    missing = [token for token in words if not told(token, shared)]
    # « Hors de Paris » is all but a place.
    sides, elsewhere = sides_named(said), has(said, _NOT_IN)
    own_forms = forms_of([token for token in part.own if token not in part.counted and token.text not in LIGHT])
    for other in (each for each in parts if each is not part):
        if elsewhere and _is_elsewhere(part.own) != _is_elsewhere(other.own):
            return _is_elsewhere(other.own)
        if len(sides) == 1:
            one, another = sides_named(part.own), sides_named(other.own)
            if sides <= another and not sides & one:
                return True
            if sides <= one and not sides & another:
                continue
        theirs, around = forms_of(other.own), forms_of((*other.own, *other.head))
        if any(told(token, theirs) for token in missing) and not any(
            told(token, own_forms) and not told(token, around) for token in words
        ):
            return True
    return False


def _is_elsewhere(tokens: Sequence[Token]) -> bool:
    return any(token.text in _ELSEWHERE for token in tokens)
