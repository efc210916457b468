"""Whether the sentence of a passage that gives a value gives it of what a sentence of an answer says it of.

`agreement` tells where another figure is the right one. Here what speaks against a value is its own sentence: it shares
nothing with the answer but the value, ranks or names something else, gives it as what was before, per another time, or
as what somebody asks for. One sentence of the passage against which nothing speaks is enough.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from itertools import pairwise

from sourcier.services.gateway.clauses import days, lexicon
from sourcier.services.gateway.clauses.cutting import Clause, clauses_of
from sourcier.services.gateway.clauses.frame import Status, frame_of
from sourcier.services.gateway.clauses.tokens import Token, tokens_of
from sourcier.services.gateway.figures.quantities import Quantity, quantities_in
from sourcier.services.gateway.figures.readings import MONEY_WORDS, NEUTRAL, TIME_WORDS, covers
from sourcier.services.gateway.figures.rows import (
    DAYS,
    LIGHT,
    complements,
    gives,
    is_foreign,
    is_ordinal,
    is_value,
    unit_behind,
    values_of,
)
from sourcier.services.gateway.figures.units import NONE, Unit
from sourcier.services.gateway.figures.words import forms_of, told

SUBJECT_WORDS_MIN = 2
WORDS_MAX = 16
"""Of a sentence: a longer one says more than one thing, and what of it its value is of is not told by words alone."""

_SUPPOSED = frozenset({Status.HYPOTHESIS, Status.CLAIMED, Status.REJECTED})
_FORMER = re.compile(
    r"\b(?:initialement|auparavant|précédemment|anciennement|d'abord|originally|initially|formerly|previously)\s"
    r"[^\d\n]{0,40}$|\b(?:au lieu d[eu]|contre|instead of|rather than|up from|down from|compared with)\s"
    r"[^\d\n]{0,12}$",
    re.IGNORECASE,
)
_FORMER_BEHIND = re.compile(
    r"\s?(?:€|%|euros?)?\s?(?:l'|en |pour l'|the |in the )?(?:exercice|année|an|mois|saison|year|month)\s"
    r"(?:précédent|dernier|passé|before)|\s?(?:€|%|euros?)?\s?(?:auparavant|précédemment|previously|last year|"
    r"the year before)",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"\d+(?:[ \u00a0\u202f]\d{3})*(?:[.,]\d+)?")
_CLOCK = r"\d{1,2}(?:\s?h(?:\s?\d\d)?|[:.]\d\d)?(?:\s?[ap]m)?"
_SPAN = re.compile(rf"(?P<first>{_CLOCK})\s?(?:à|–|-|to|until)\s?(?P<last>{_CLOCK})")
_OPENING = lexicon.words("ouvre ouvrent commence commencent debute debutent opens open starts start begins begin")
_CLOSING = lexicon.words("ferme ferment finit finissent termine terminent closes close ends finishes")
_WAS = lexicon.words(
    "etait etaient initialement auparavant precedemment anciennement avant ancien ancienne passe passee was were "
    "formerly previously initially originally contre instead"
)
_ARTICLES = lexicon.words("un une one second seconde premier premiere")
_RATES: Mapping[str, str] = {
    word: rate for rate, words in {
        "day": "jour jours journalier journaliere quotidien quotidienne day daily jours",
        "week": "semaine hebdomadaire week weekly", "month": "mois mensuel mensuelle mensuels month monthly",
        "quarter": "trimestre trimestriel trimestrielle quarter quarterly",
        "year": "an annee annuel annuelle annuels year yearly annual annually annum",
        "hour": "heure horaire hour hourly", "night": "nuit nuitee night",
    }.items() for word in words.split()
}
_PER = frozenset({"par", "per", "a", "an", "chaque", "each", "every"})
_ADJECTIVES = frozenset(
    word for word in _RATES
    if word.endswith(("el", "elle", "els", "ly", "ier", "iere", "ien", "ienne", "aire", "annual"))
)
RATE_TOKENS_MAX = 2
"""Between a figure and its « par jour »: « 13 € brut par mois »."""


@dataclass(frozen=True)
class Unanchored:
    """Where a value stands, in a sentence that gives it of something else."""

    start: int
    end: int
    lead: tuple[int, int] | None
    is_of_it: bool
    """Whether that sentence speaks of what the answer does, and only gives the value otherwise."""


@dataclass(frozen=True)
class _Said:
    """One value of a sentence, and what the sentence says beside it."""

    typed: str
    value: tuple[Token, ...]
    place: int
    tokens: tuple[Token, ...]
    words: tuple[Token, ...]
    """What tells of what it is, without light words."""
    rates: frozenset[str]
    unit: str
    is_measured: bool
    """Whether a unit stands behind it."""


class Anchors:
    """The sentences of one passage that give values, read once for all sentences of an answer."""

    def __init__(self, text: str, context: str, language: str, *, today: date) -> None:
        """Take a passage's text, its title and headings, and its language."""
        self._text = text
        self._context = tokens_of(context)
        self._language = language
        self._today = today

    def prepare(self) -> None:
        """Read the sentences now. Blocks for milliseconds."""
        _ = self._clauses

    def objection(self, sentence: str) -> Unanchored | None:
        """Return where a value of a sentence stands that is said of something else there; None where nothing tells."""
        tokens = tokens_of(sentence)
        if not self._clauses or sum(token.tells for token in tokens) > WORDS_MAX or is_foreign(sentence, self._text):
            return None
        if frame_of(tokens, today=self._today).status not in (Status.FACT, Status.PAST):
            return None
        for said in self._values(sentence, tokens):
            if (found := self._against(said)) is not None:
                return found
        return None

    def _values(self, sentence: str, tokens: tuple[Token, ...]) -> Iterator[_Said]:
        places = list(values_of(tokens))
        measured = [each for each in quantities_in(sentence, language=self._language, clocks=True)
                    if each.unit is not NONE]
        for place, length in places:
            if all(token.text in DAYS for token in tokens[place : place + length]):
                continue
            words = tuple(
                token for at, token in enumerate(tokens)
                if token.tells and not is_value(token) and token.text not in LIGHT | NEUTRAL | MONEY_WORDS | TIME_WORDS
                and not is_ordinal(token)
            )
            yield _Said(
                sentence, tokens[place : place + length], place, tokens, words,
                _rates(tokens) if len(places) == 1 else frozenset(), unit_behind(tokens, place + length),
                any(told(tokens[place], forms_of(tokens_of(sentence[each.start : each.end]))) for each in measured),
            )

    @cached_property
    def _clauses(self) -> list[_Given]:
        return [
            _Given(clause, self._text, self._language, self._today) for clause in clauses_of(self._text)
            if not self._text[clause.start : clause.end].lstrip().startswith("|")
        ]

    @cached_property
    def _in_tables(self) -> list[tuple[Token, ...]]:
        return [tokens_of(line) for line in self._text.split("\n") if line.lstrip().startswith("|")]

    def _against(self, said: _Said) -> Unanchored | None:
        giving = [given for given in self._clauses if gives(given.tokens, said.value, said.unit)]
        if not giving:
            return self._of_another_number(said)
        if any(gives(row, said.value, said.unit) for row in self._in_tables):
            return None
        first: Unanchored | None = None
        for given in giving:
            is_of_it = _gives_it_otherwise(said, given)
            if not is_of_it and not self._gives_another(said, given):
                return None
            first = first or Unanchored(given.clause.start, given.clause.end, given.clause.lead, is_of_it)
        return first

    def _of_another_number(self, said: _Said) -> Unanchored | None:
        """Return the only sentence that counts the same, by another number: « two working hours » over « four working
        hours ». Numbers in digits that a passage lacks are told before."""
        [number, *more] = said.value
        noun = said.tokens[said.place + 1] if said.place + 1 < len(said.tokens) else None
        if more or not number.text.isalpha() or noun is None or not noun.tells or number.text in _ARTICLES:
            return None
        forms = forms_of((noun,))
        counting = [
            given for given in self._clauses if any(
                is_value(one) and not other.forms.isdisjoint(forms)
                for one, other in pairwise(given.tokens)
            )
        ]
        if len(counting) != 1 or not any(told(token, counting[0].forms) for token in said.words if token is not noun):
            return None
        clause = counting[0].clause
        return Unanchored(clause.start, clause.end, clause.lead, is_of_it=True)

    def _gives_another(self, said: _Said, given: _Given) -> bool:
        if _is_measured(said, given) or _counts_another(said, given) or _ranks_otherwise(said.tokens, given.tokens):
            return True
        if all(told(token, given.forms) for token in said.words):
            return False
        return self._is_of_another(said, given)

    def _is_of_another(self, said: _Said, given: _Given) -> bool:
        words = said.words
        if not words:
            return False
        near = given.forms | self._before(given)
        around = near | forms_of(self._context)
        left = [token for token in words if not told(token, around)]
        subject = _subject_of_value(said)
        if not subject:
            return False
        is_said_elsewhere = bool(left) and all(self._is_elsewhere(token, given) for token in left)
        if left and not any(told(token, near) for token in words) and (
            len(given.own) >= SUBJECT_WORDS_MIN or (given.own and is_said_elsewhere)
        ):
            # Nothing but the value is said in both.
            return not any(covers(token, frozenset(), unit) for token in words for unit in given.units)
        known = forms_of(said.tokens)
        if not any(not told(token, known) for token in given.own):
            return False
        heads = [token for token in subject if token in words and told(token, around)]
        others = [token for token in subject if token in left]
        if heads and any(self._is_elsewhere(token, given) for token in others):
            return True
        return any(
            told(token, given.forms) and other in left and _goes_on_otherwise(token, given.tokens, known)
            for token, other in (*complements(subject), *((b, a) for a, b in complements(subject)))
        )

    def _before(self, given: _Given) -> frozenset[str]:
        """Return the forms of the sentence before one: « La franchise … Elle est de 150 € »."""
        place = self._clauses.index(given)
        return self._clauses[place - 1].forms if place and given.is_elliptic else frozenset()

    def _is_elsewhere(self, token: Token, given: _Given) -> bool:
        return any(told(token, other.forms) for other in self._clauses if other is not given)


@dataclass(frozen=True)
class _Parts:
    """« Le timbre coûte 86 € pour un majeur, 42 € à 16 ans »: what is said of one value, of all, of the others."""

    own: frozenset[str]
    head: frozenset[str]
    others: frozenset[str]


class _Given:
    """One sentence that may give a value."""

    def __init__(self, clause: Clause, text: str, language: str, today: date) -> None:
        self.clause = clause
        self.tokens = clause.tokens
        self._language = language
        self._today = today
        self._typed = text[clause.start : clause.end]

    @cached_property
    def forms(self) -> frozenset[str]:
        return forms_of((*self.tokens, *self.clause.subject))

    @cached_property
    def own(self) -> tuple[Token, ...]:
        """What it says beside its values."""
        return tuple(
            token for token in self.tokens if token.tells and not is_value(token)
            and token.text not in LIGHT | NEUTRAL | MONEY_WORDS | TIME_WORDS and token.text.isalpha()
        )

    @cached_property
    def is_elliptic(self) -> bool:
        return bool(self.clause.subject) or self.tokens[0].text in ("il", "elle", "ils", "elles", "it", "they")

    @cached_property
    def _quantities(self) -> Sequence[Quantity]:
        return quantities_in(self._typed, language=self._language, clocks=True)

    @property
    def units(self) -> list[Unit]:
        return [each.unit for each in self._quantities]

    def quantities_of(self, token: Token) -> list[Quantity]:
        """Return the quantities whose number a token is."""
        return [each for each in self._quantities
                if told(token, forms_of(tokens_of(self._typed[each.start : each.end])))]

    @cached_property
    def is_supposed(self) -> bool:
        return frame_of(self.tokens, today=self._today).status in _SUPPOSED

    def parts_of(self, said: _Said) -> _Parts | None:
        """Return what stands beside each of several values of one unit; None where that cannot be told."""
        if said.unit in ("", "h", "min"):
            return None
        places = [place for place, token in enumerate(self.tokens) if place + 1 < len(self.tokens)
                  and unit_behind(self.tokens, place + 1) == said.unit and is_value(token)]
        if len(places) < 2:
            return None
        ends = [*places[1:], len(self.tokens)]
        parts = [self.tokens[start + 2 : end] for start, end in zip(places, ends, strict=True)]
        if any(token.text in _SO for token in self.tokens):
            return None
        if not any(token.tells for token in parts[-1]):
            if said.unit != "€":
                return None
            # « adulte 4 €, enfant 2 € »
            parts = [self.tokens[start:end] for start, end in zip([0, *places[:-1]], places, strict=True)]
        own = [part for place, part in zip(places, parts, strict=True)
               if gives(self.tokens[place : place + 1], said.value[:1], "")]
        if len(own) != 1:
            return None
        others = [token for part in parts if part is not own[0] for token in part]
        return _Parts(forms_of(own[0]), forms_of(self.tokens[: places[0]]), forms_of(others))

    def is_former(self, value: Sequence[Token]) -> bool:
        """Return whether it gives a value as what was before another one."""
        places = [match.span() for match in _NUMBER.finditer(self._typed)
                  if told(value[0], forms_of(tokens_of(match.group())))]
        return bool(places) and all(
            _FORMER.search(self._typed[max(0, start - 60) : start]) is not None
            or _FORMER_BEHIND.match(self._typed[end : end + 40]) is not None for start, end in places
        )

    def has_other_days(self, said: _Said) -> bool:
        """Return whether it gives a value of other days than are named: « lundi : 20 h » for « mercredi »."""
        named = days.named(said.typed)
        own, _ = days.held(self._typed)
        return bool(named and own) and named.isdisjoint(own)

    def is_other_end(self, said: _Said) -> bool:
        """Return whether a value is where a span ends that is told to begin, or the other way: « ferme à 7 h 30 »."""
        texts = {token.text for token in said.tokens}
        begins, ends = bool(texts & _OPENING), bool(texts & _CLOSING)
        if begins is ends:
            return False
        spans = [(tokens_of(match["first"]), tokens_of(match["last"])) for match in _SPAN.finditer(self._typed)]
        firsts, lasts = (any(gives(span[side], said.value, said.unit) for span in spans) for side in (0, 1))
        return (lasts and not firsts) if begins else (firsts and not lasts)

    def has_other_rate(self, said: _Said) -> bool:
        """Return whether a figure is given per another time than it is said of: « 253 € par an » for « par jour »."""
        if not said.rates:
            return False
        found: list[frozenset[str]] = []
        for place, token in enumerate(self.tokens):
            if not token.tells or not told(token, forms_of(said.value[:1])):
                continue
            behind = self.tokens[place + 1 : place + 2 + RATE_TOKENS_MAX + 2]
            found.append(_rates_behind(behind))
        return bool(found) and all(rates and not rates & said.rates for rates in found)


_GIVING = lexicon.words(
    "est sont etait etaient sera seront coute coutent coutait dure durent vaut valent eleve elevent is are was were "
    "costs cost lasts last"
)
_FIXED = lexicon.words("fixe fixee fixes fixees limite limitee porte portee egal egale environ set limited")
BEFORE_VALUE_MAX, BEHIND_VALUE_MAX = 4, 4
"""Tokens between « est » and its value, and behind that: « est de 150 € », « est le 30 novembre 2026 »."""


def _subject_of_value(said: _Said) -> tuple[Token, ...]:
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


def _gives_it_otherwise(said: _Said, given: _Given) -> bool:
    """Return whether a value is only asked for or supposed, was before, or is given per another time."""
    if given.is_supposed or given.has_other_rate(said):
        return True
    if given.is_former(said.value) and not any(token.text in _WAS for token in said.tokens):
        return True
    if given.has_other_days(said) or given.is_other_end(said):
        return True
    parts = given.parts_of(said)
    if parts is None:
        return False
    # « pour les moins de 26 ans »: a number may tell which one is meant.
    words = (*said.words, *(token for token in said.tokens if is_value(token) and token not in said.value))
    if any(told(token, parts.own - parts.others) for token in words):
        return False
    return any(told(token, parts.others - parts.own - parts.head) for token in words)


_SCALES = lexicon.words(
    "mille million millions milliard milliards thousand billion billions hundred cent cents fois times"
)


def _rates(tokens: Sequence[Token]) -> frozenset[str]:
    """Return per what times a sentence speaks: « par jour », « annuel »."""
    found = {_RATES[token.text] for place, token in enumerate(tokens) if token.text in _RATES and (
        token.text in _ADJECTIVES or (place and tokens[place - 1].text in _PER)
    )}
    return frozenset(found)


def _rates_behind(tokens: Sequence[Token]) -> frozenset[str]:
    for place, token in enumerate(tokens):
        if place and is_value(token):
            break
        if token.text in ("par", "per") and place + 1 < len(tokens) and tokens[place + 1].text in _RATES:
            return frozenset({_RATES[tokens[place + 1].text]})
    return frozenset()


_SO = lexicon.words("soit donc dont thus ie")
"""What makes two values of one sentence the same: « 2,25 jours par mois, soit 27 jours par an »."""


def _is_measured(said: _Said, given: _Given) -> bool:
    """Return whether a number counts what its sentence measures: « 40 parcelles » for « 40 m² », « dix ouvriers »."""
    at = next((place for place in range(len(said.tokens)) if said.tokens[place : place + 1] == said.value[:1]), None)
    if at is None or len(said.value) != 1 or at + 1 >= len(said.tokens) or said.is_measured:
        return False
    counted = said.tokens[at + 1]
    if not counted.tells or not counted.text.isalpha() or is_value(counted):
        return False
    if counted.text in LIGHT | NEUTRAL | _SCALES:
        return False
    same = given.quantities_of(said.value[0])
    return bool(same) and all(
        each.unit is not NONE and not covers(counted, frozenset(), each.unit) for each in same
    )


def _counts_another(said: _Said, given: _Given) -> bool:
    """Return whether a number counts something else there, and what is said has another: « 6 livres et 2 DVD »."""
    noun = said.tokens[said.place + 1] if said.place + 1 < len(said.tokens) else None
    if noun is None or len(said.value) != 1 or not noun.tells or not noun.text.isalpha() or is_value(noun):
        return False
    forms = forms_of((noun,))
    counted = [(one, other) for one, other in pairwise(given.tokens) if is_value(one) and not is_ordinal(one)]
    own = [other for one, other in counted if told(one, forms_of(said.value))]
    return bool(own) and not any(told(other, forms) for other in own) and any(
        told(other, forms) for _, other in counted
    )


def _ranks_otherwise(said: Sequence[Token], given: Sequence[Token]) -> bool:
    """Return whether both rank the same, differently: « le deuxième trimestre » for « le premier trimestre »."""
    ranked = {token.text: other for token, other in complements(said) if is_ordinal(token)}
    if not ranked:
        return False
    ranks = {token.text[:RANK_LETTERS] for token in given if is_ordinal(token)}
    nouns = forms_of([other for token, other in complements(given) if is_ordinal(token)])
    return any(told(noun, nouns) and rank[:RANK_LETTERS] not in ranks for rank, noun in ranked.items())


RANK_LETTERS = 4
"""« premier » and « première » begin alike."""


def _goes_on_otherwise(head: Token, given: Sequence[Token], known: frozenset[str]) -> bool:
    """Return whether a head has another complement in a passage's sentence: « congé annuel » for « de paternité »."""
    forms = forms_of((head,))
    return any(
        (told(token, forms) and not told(other, known) and other.text not in LIGHT | NEUTRAL)
        or (told(other, forms) and not told(token, known) and token.text not in LIGHT | NEUTRAL)
        for token, other in complements(given)
    )
