"""One sentence of a passage that may give a value, and how it gives it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date
from functools import cached_property

from sourcier.services.gateway.anchoring.changing import (
    changes_in,
    is_told_of_before,
    is_told_of_later,
    is_told_of_now,
    is_yet_to_come,
    step_before,
)
from sourcier.services.gateway.anchoring.parts import is_of_other_part, parts_of
from sourcier.services.gateway.anchoring.said import Said, comparable_values, is_at, is_label
from sourcier.services.gateway.clauses import days, lexicon
from sourcier.services.gateway.clauses.cutting import Clause
from sourcier.services.gateway.clauses.frame import Frame, Status, frame_of
from sourcier.services.gateway.clauses.sides import side
from sourcier.services.gateway.clauses.tokens import Token, tokens_of
from sourcier.services.gateway.figures.bounds import side_of
from sourcier.services.gateway.figures.quantities import Quantity, quantities_in
from sourcier.services.gateway.figures.rates import is_per_head, names_a_group, names_heads, rates_behind, rates_in
from sourcier.services.gateway.figures.rows import gives, tells_of, unit_behind, values_of
from sourcier.services.gateway.figures.units import Unit
from sourcier.services.gateway.figures.words import forms_of, told
from sourcier.services.index.times.dates import MONTHS

SUBJECT_WORDS_MIN = 2

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

WAS = lexicon.words(
    "etait etaient initialement auparavant precedemment anciennement avant ancien ancienne passe passee was were "
    "formerly previously initially originally contre instead"
)

_DEFERRED = lexicon.words(
    "ajourne ajournee ajournes ajournees rejete rejetee rejetes rejetees refuse refusee refuses refusees "
    "retire retiree abandonne abandonnee abandonnes abandonnees deferred adjourned rejected refused withdrawn abandoned"
)
"""Words for what came to nothing."""

_DONE = lexicon.words(
    "obtenu obtenue obtient obtiennent recu recoit recoivent touche attribue attribuee accorde accordee accordes vote "
    "votee verse versee alloue allouee a ont got received receives granted awarded"
)

_TAKING_OVER = lexicon.words(
    "il elle ils elles it they son sa ses leur leurs votre vos its their your his her ce cet cette ces this these that "
    "celui celle ceux celles"
)
"""First words of a sentence that goes on about what the one before it names."""


class Given:
    """One sentence that may give a value."""

    def __init__(self, clause: Clause, text: str, language: str, today: date) -> None:
        self.clause = clause
        self.tokens = clause.tokens
        self._language = language
        self._today = today
        self._typed = text[clause.start : clause.end]
        self.sides_beside: frozenset[int] = frozenset()
        """The sides of a threshold that the clauses beside it speak of: « ; en dessous, elle est facturée »."""

    @cached_property
    def forms(self) -> frozenset[str]:
        return forms_of((*self.tokens, *self.clause.subject))

    @cached_property
    def own(self) -> tuple[Token, ...]:
        """What it says beside its values."""
        return tuple(
            token for token in self.tokens if tells_of(token) and token.text.isalpha()
        )

    @cached_property
    def is_elliptic(self) -> bool:
        return bool(self.clause.subject) or self.tokens[0].text in _TAKING_OVER

    @cached_property
    def _quantities(self) -> Sequence[Quantity]:
        return quantities_in(self._typed, language=self._language, clocks=True)

    def gives_an_amount(self, said: Said) -> bool:
        """Return whether it has a value as more than a part of a date or the number of an article."""
        size = len(said.value)
        if any(token.text in MONTHS for token in said.value):
            return True
        return any(
            is_at(self.tokens, place, said) and not is_label(self.tokens, place)
            and not any(token.text in MONTHS for token in self.tokens[place + size : place + size + 1])
            for place in range(len(self.tokens) - size + 1)
        )

    def counted_by(self, said: Said) -> Token | None:
        """Return the word behind a value that it has."""
        size = len(said.value)
        return next((self.tokens[place + size] for place in range(len(self.tokens) - size)
                     if is_at(self.tokens, place, said) and not is_label(self.tokens, place)), None)

    @property
    def units(self) -> list[Unit]:
        return [each.unit for each in self._quantities]

    def quantities_of(self, token: Token) -> list[Quantity]:
        """Return the quantities whose number a token is."""
        return [each for each in self._quantities
                if told(token, forms_of(tokens_of(self._typed[each.start : each.end])))]

    @cached_property
    def frame(self) -> Frame:
        return frame_of(self.tokens, today=self._today)

    def is_deferred(self, said: Said) -> bool:
        """Return whether nothing came of what it gives a value of: « la demande (900 €) est ajournée »."""
        return any(token.text in _DEFERRED for token in self.tokens) and not any(
            token.text in _DEFERRED for token in said.tokens
        ) and any(token.text in _DONE for token in said.tokens)

    @property
    def is_supposed(self) -> bool:
        return self.frame.status in _SUPPOSED

    def is_of_other_part(self, said: Said) -> bool:
        """Return whether its clause gives a value of something else than a sentence, and gives that another one."""
        own = comparable_values(said.tokens, said.unit, said.place, len(said.value))
        spoken = said.without_value
        if len(own) > 1:
            # The sentence gives several values itself: only what it says of this one counts.
            parts = parts_of(said.tokens, own)
            if not parts:
                return False
            part = parts[own.index((said.place, len(said.value)))]
            spoken = (*part.head, *part.own)
        at = next((place for place, _ in values_of(self.tokens)
                   if is_at(self.tokens, place, said) and not is_label(self.tokens, place)), None)
        if at is None:
            return False
        found = comparable_values(self.tokens, said.unit, at, len(said.value))
        return is_of_other_part(
            spoken, parts_of(self.tokens, found),
            lambda number: gives(self.tokens[found[number][0] : found[number][0] + found[number][1]], said.value, ""),
        )

    def is_former(self, value: Sequence[Token]) -> bool:
        """Return whether it gives a value as what was before another one."""
        places = [match.span() for match in _NUMBER.finditer(self._typed)
                  if told(value[0], forms_of(tokens_of(match.group())))]
        return bool(places) and all(
            _FORMER.search(self._typed[max(0, start - 60) : start]) is not None
            or _FORMER_BEHIND.match(self._typed[end : end + 40]) is not None for start, end in places
        )

    def has_other_days(self, said: Said) -> bool:
        """Return whether it gives a value of other days than are named: « lundi : 20 h » for « mercredi »."""
        named = days.named(said.typed)
        own, _ = days.held(self._typed)
        return bool(named and own) and named.isdisjoint(own)

    def is_other_end(self, said: Said) -> bool:
        """Return whether a value is where a span ends that is told to begin, or the other way: « ferme à 7 h 30 »."""
        texts = {token.text for token in said.tokens}
        begins, ends = bool(texts & _OPENING), bool(texts & _CLOSING)
        if begins is ends:
            return False
        spans = [(tokens_of(match["first"]), tokens_of(match["last"])) for match in _SPAN.finditer(self._typed)]
        firsts, lasts = (any(gives(span[side], said.value, said.unit) for span in spans) for side in (0, 1))
        return (lasts and not firsts) if begins else (firsts and not lasts)

    def has_other_rate(self, said: Said) -> bool:
        """Return whether a figure is given per another time than it is said of: « 253 € par an » for « par jour »."""
        if not said.rates:
            return False
        found: list[frozenset[str]] = []
        places = list(values_of(self.tokens))
        for place, length in places:
            if not gives(self.tokens[place : place + length], said.value[:1], ""):
                continue
            rates = rates_behind(self.tokens[place + length :])
            alone = not rates and not any(
                other != place and unit_behind(self.tokens, other + size) == said.unit for other, size in places
            )
            found.append(rates_in(self.tokens) if alone else rates)
        return bool(found) and all(rates and not rates & said.rates for rates in found)

    def is_of_a_group(self, said: Said) -> bool:
        """Return whether a value is a group's that is said to be each one's: « 9,80 € par personne » for the family."""
        behind = said.tokens[said.place + len(said.value) :]
        return is_per_head(behind) and names_a_group(self.tokens) and not names_heads(self.tokens)

    def has_other_bound(self, said: Said) -> bool:
        """Return whether a value bounds from the other side: « jusqu'à 20 km » for « au-delà de 20 km »."""
        wanted = side_of(said.tokens, said.place, len(said.value))
        if not wanted or wanted in self.sides_beside or (
            sum(told(token, self.forms) for token in said.words) < SUBJECT_WORDS_MIN
        ):
            return False
        size = len(said.value)
        sides = [side_of(self.tokens, place, size) for place in range(len(self.tokens) - size + 1)
                 if is_at(self.tokens, place, said)]
        return bool(sides) and all(side == -wanted for side in sides) and side(said.frame, self.frame) >= 0

    def changes_otherwise(self, said: Said) -> bool:
        """Return whether a value is what something was before, or becomes later, and is said to be the other."""
        if next(changes_in(said.typed), None) is not None:
            return False
        for change in changes_in(self._typed):
            old, new = (gives(tokens_of(each), said.value[:1], "") for each in (change.old, change.new))
            if old is new:
                continue
            is_to_come = self.frame.status in (Status.PLANNED, Status.UNSURE) or is_yet_to_come(self._typed)
            if old:
                return not is_told_of_before(said.typed) and (is_told_of_later(said.typed) or (
                    not is_to_come and not any(token.text in WAS for token in said.tokens)
                ))
            return is_to_come and is_told_of_now(said.typed)
        return False

    def steps_otherwise(self, said: Said) -> bool:
        """Return whether something changes by a value that is said to be what it changes to, or the other way."""
        wanted = _steps(said.typed, said.value)
        given = _steps(self._typed, said.value)
        return len(wanted) == 1 and len(given) == 1 and "" not in wanted | given and wanted != given


def _steps(text: str, value: Sequence[Token]) -> set[str]:
    """Return whether something changes by a value or to it, for each place where a text has it."""
    return {step_before(text[: match.start()]) for match in _NUMBER.finditer(text)
            if gives(tokens_of(match.group()), value[:1], "")}
