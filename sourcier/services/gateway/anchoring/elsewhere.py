"""Whether another sentence speaks of what a sentence of an answer does, more than the one that has its value."""

from __future__ import annotations

from collections.abc import Sequence

from sourcier.services.gateway.clauses.cutting import predicate_place
from sourcier.services.gateway.clauses.tokens import Token
from sourcier.services.gateway.figures.rows import UNSPECIFIC, gives, is_value, unit_behind, values_of
from sourcier.services.gateway.figures.words import told

MORE_MIN = 2
"""Words that the other sentence has more."""


def says_more(
    said: Sequence[Token], value: tuple[int, int], known: frozenset[str], other: Sequence[Token],
    other_forms: frozenset[str], unit: str,
) -> bool:
    """Return whether a sentence tells all that is told of a value where that stands, and more, and has another value.

    `known` are the forms of where the value stands. Words before the value tell what it is of; where none of them is
    known there, one that the other sentence starts from is enough if it has a value of the same unit.
    """
    place, length = value
    figures = list(values_of(other))
    if gives(other, said[place : place + length], unit):
        return False
    before = [token for token in said[:place] if token.tells and not is_value(token)]
    words = [token for at, token in enumerate(said)
             if token.tells and not is_value(token) and not place <= at < place + length]
    told_there = [token for token in words if told(token, known)]
    told_other = [token for token in words if told(token, other_forms)]
    heavy = [token for token in words if token.text not in UNSPECIFIC]
    if not told_there and len(heavy) >= MORE_MIN and all(told(token, other_forms) for token in words):
        return True
    if not figures:
        return False
    same_unit = any(unit_behind(other, at + size) == unit for at, size in figures)
    until = min(place, predicate_place(said))
    subject = [token for token in said[:until] if token in before and token.text not in UNSPECIFIC]
    if same_unit and subject and len(told_other) >= MORE_MIN and len(told_other) > len(told_there) and (
        not any(told(token, known) for token in subject) and all(told(token, other_forms) for token in subject)
    ):
        return True
    mine = [token for token in before if told(token, known)]
    theirs = [token for token in before if told(token, other_forms)]
    return len(theirs) >= len(mine) + MORE_MIN and all(token in theirs for token in before)
