"""How a value is said of something else than it is given of: counted, ranked, measured, completed otherwise."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from sourcier.services.gateway.anchoring.given import WAS, Given
from sourcier.services.gateway.anchoring.said import TIMES, Said
from sourcier.services.gateway.clauses import lexicon
from sourcier.services.gateway.clauses.tokens import Token
from sourcier.services.gateway.figures.rates import is_other_tax
from sourcier.services.gateway.figures.readings import covers
from sourcier.services.gateway.figures.rows import UNSPECIFIC, complements, is_ordinal, is_value
from sourcier.services.gateway.figures.units import NONE
from sourcier.services.gateway.figures.words import forms_of, told

_GIVING = lexicon.words(
    "est sont etait etaient sera seront coute coutent coutait dure durent vaut valent eleve elevent is are was were "
    "costs cost lasts last"
)
_FIXED = lexicon.words("fixe fixee fixes fixees limite limitee porte portee egal egale environ set limited")
_SCALES = lexicon.words("mille million millions milliard milliards thousand billion billions hundred cent cents")
_RANK_LETTERS = 4
"""« premier » and « première » begin alike."""
BEFORE_VALUE_MAX, BEHIND_VALUE_MAX = 4, 4
"""Tokens between « est » and its value, and behind that: « est de 150 € », « est le 30 novembre 2026 »."""


def subject_of_value(said: Said) -> tuple[Token, ...]:
    """Return what « X est de 150 € » says its value of; empty for a sentence of another form."""
    place = next((at for at, token in enumerate(said.tokens) if token.text in _GIVING), None)
    if not place or any(token.text == "," for token in said.tokens[:place]):
        return ()
    behind = said.tokens[place + 1 :]
    at = next((at for at in range(len(behind)) if behind[at : at + len(said.value)] == said.value), None)
    if at is not None and any(token.tells and token.text not in _FIXED for token in behind[:at]):
        return ()
    if at is None or at > BEFORE_VALUE_MAX or len(behind) - at - len(said.value) > BEHIND_VALUE_MAX:
        return ()
    return said.tokens[:place]


def gives_it_otherwise(said: Said, given: Given) -> bool:
    """Return whether a value is only asked for or supposed, was before, or is given per another time."""
    if given.is_deferred(said) or given.is_supposed or given.has_other_rate(said) or given.changes_otherwise(said):
        return True
    if given.is_former(said.value) and not any(token.text in WAS for token in said.tokens):
        return True
    return (
        given.has_other_days(said) or given.is_other_end(said) or given.has_other_bound(said)
        or given.steps_otherwise(said) or given.is_of_a_group(said)
        or is_other_tax(said.tokens, given.tokens, said.value[:1]) or given.is_of_other_part(said)
    )


def is_measured(said: Said, given: Given) -> bool:
    """Return whether a number counts what its sentence measures: « 40 parcelles » for « 40 m² », « dix ouvriers »."""
    at = next((place for place in range(len(said.tokens)) if said.tokens[place : place + 1] == said.value[:1]), None)
    if at is None or len(said.value) != 1 or at + 1 >= len(said.tokens) or said.is_measured:
        return False
    counted = said.tokens[at + 1]
    if not counted.tells or not counted.text.isalpha() or is_value(counted):
        return False
    if counted.text in UNSPECIFIC or counted.text in _SCALES:
        return False
    same = given.quantities_of(said.value[0])
    return bool(same) and all(
        each.unit is not NONE and not covers(counted, frozenset(), each.unit) for each in same
    )


def is_same_noun(one: Token, other: Token) -> bool:
    return one.text == other.text or told(one, forms_of((other,)))


def counts_another(said: Said, given: Given) -> bool:
    """Return whether a number counts something else there, and what is said has another: « 6 livres et 2 DVD »."""
    noun = said.tokens[said.place + 1] if said.place + 1 < len(said.tokens) else None
    if noun is None or len(said.value) != 1 or not noun.text.isalpha() or is_value(noun):
        return False
    if noun.text in TIMES:
        behind = [other.text for one, other in pairwise(given.tokens) if is_value(one)]
        own_behind = [other.text for one, other in pairwise(given.tokens) if told(one, forms_of(said.value))]
        return noun.text in behind and noun.text not in own_behind
    if not noun.tells:
        return False
    forms = forms_of((noun,))
    counted = [(one, other) for one, other in pairwise(given.tokens) if is_value(one) and not is_ordinal(one)]
    own = [other for one, other in counted if told(one, forms_of(said.value))]
    return bool(own) and not any(told(other, forms) for other in own) and any(
        told(other, forms) for _, other in counted
    )


def ranks_otherwise(said: Sequence[Token], given: Sequence[Token]) -> bool:
    """Return whether both rank the same, differently: « le deuxième trimestre » for « le premier trimestre »."""
    ranked = {token.text: other for token, other in complements(said) if is_ordinal(token)}
    if not ranked:
        return False
    ranks = {token.text[:_RANK_LETTERS] for token in given if is_ordinal(token)}
    nouns = forms_of([other for token, other in complements(given) if is_ordinal(token)])
    return any(told(noun, nouns) and rank[:_RANK_LETTERS] not in ranks for rank, noun in ranked.items())


def goes_on_otherwise(head: Token, given: Sequence[Token], known: frozenset[str]) -> bool:
    """Return whether a head has another complement in a passage's sentence: « congé annuel » for « de paternité »."""
    forms = forms_of((head,))
    return any(
        (told(token, forms) and not told(other, known) and other.text not in UNSPECIFIC)
        or (told(other, forms) and not told(token, known) and token.text not in UNSPECIFIC)
        for token, other in complements(given)
    )
