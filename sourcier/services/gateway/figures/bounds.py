"""Which way a value bounds: « jusqu'à 20 km » is on the other side of 20 km than « au-delà de 20 km »."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sourcier.services.gateway.clauses import lexicon
from sourcier.services.gateway.clauses.tokens import Token, has, phrase_at

_SIDES: Mapping[int, lexicon.Phrases] = {
    -1: lexicon.phrases(
        "jusqu' a|jusqu' au|jusqu' aux|jusqu' en|moins de|moins d'|au plus|au maximum|dans la limite de|"
        "dans la limite d'|limite a|limitee a|limites a|limitees a|plafonne a|plafonnee a|plafonnes a|plafonnees a|"
        "n' excede pas|n' excedant pas|inferieur a|inferieure a|inferieurs a|inferieures a|avant|en dessous de|"
        "en dessous d'|up to|under|below|less than|fewer than|at most|before|until|capped at|ou moins|or less|or fewer"
    ),
    1: lexicon.phrases(
        "a partir de|a partir du|a compter de|a compter du|au dela de|au dela d'|au dela du|plus de|plus d'|au moins|"
        "au minimum|superieur a|superieure a|superieurs a|superieures a|apres|depassant|above|over|more than|at least|"
        "after|beyond|exceeding|ou plus|et plus|or more"
    ),
}
_TURNING = lexicon.words("pas not no aucun")
_ARTICLES = lexicon.words("le la les l' un des du de d' environ the of first any an")
_ALONE: Mapping[int, lexicon.Phrases] = {
    -1: lexicon.phrases("en dessous|en deca|below that|jusqu' a ce"),
    1: lexicon.phrases("au dela|thereafter|au dessus|beyond that|ensuite"),
}
"""What speaks of a side without a value behind it."""
BEFORE_TOKENS_MAX, BEHIND_TOKENS_MAX = 3, 3
_PHRASE_TOKENS_MAX = 4


def side_of(tokens: Sequence[Token], place: int, length: int) -> int:
    """Return -1 for a value that is an upper bound, 1 for a lower one, 0 for none; from what stands beside it."""
    before = place
    while before and place - before < BEFORE_TOKENS_MAX and (
        tokens[before - 1].text in _ARTICLES and not _ends(tokens, before)
    ):
        before -= 1
    if found := _ends(tokens, before):
        return found
    behind = tokens[place + length : place + length + BEHIND_TOKENS_MAX]
    for at in range(len(behind)):
        for sign, table in _SIDES.items():
            phrase = phrase_at(behind, table, at)
            if phrase is not None and (phrase[0] in ("ou", "et", "or") or phrase[:2] in (
                ("au", "plus"), ("au", "maximum"), ("au", "moins"), ("au", "minimum"), ("at", "most"), ("at", "least"),
            )):
                return sign
    return 0


def _ends(tokens: Sequence[Token], end: int) -> int:
    """Return the side of a phrase that ends before a place; 0 for none."""
    for start in range(max(0, end - _PHRASE_TOKENS_MAX), end):
        for sign, table in _SIDES.items():
            phrase = phrase_at(tokens[:end], table, start)
            if phrase is not None and start + len(phrase) == end:
                turned = start and tokens[start - 1].text in _TURNING
                return -sign if turned else sign
    return 0


def sides_named(tokens: Sequence[Token]) -> frozenset[int]:
    """Return the sides that a text speaks of, of whatever: « au-delà de 39 heures », « thereafter »."""
    return frozenset(
        sign for sign, table in _SIDES.items() if has(tokens, table) or has(tokens, _ALONE[sign])
    )
