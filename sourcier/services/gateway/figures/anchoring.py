"""Whether the sentence of a passage that gives a value gives it of what a sentence of an answer says it of.

`agreement` tells where another figure is the right one. Here what speaks against a value is its own sentence: it shares
nothing with the answer but the value, ranks or names something else, gives it as what was before, per another time, or
as what somebody asks for. One sentence of the passage against which nothing speaks is enough.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from itertools import pairwise

from sourcier.services.gateway.clauses import days, lexicon
from sourcier.services.gateway.clauses.cutting import Clause, clauses_of
from sourcier.services.gateway.clauses.frame import Frame, Status, frame_of
from sourcier.services.gateway.clauses.sides import side
from sourcier.services.gateway.clauses.tokens import Token, tokens_of
from sourcier.services.gateway.figures.bounds import side_of, sides_named
from sourcier.services.gateway.figures.changing import (
    changes_in,
    is_told_of_before,
    is_told_of_later,
    is_told_of_now,
    is_yet_to_come,
    step_before,
)
from sourcier.services.gateway.figures.elsewhere import says_more
from sourcier.services.gateway.figures.parts import is_of_other_part, parts_of
from sourcier.services.gateway.figures.quantities import Quantity, quantities_in
from sourcier.services.gateway.figures.rates import (
    is_other_tax,
    is_per_head,
    names_a_group,
    names_heads,
    rates_behind,
    rates_in,
)
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
from sourcier.services.index.times.dates import MONTHS

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
_NUMBERED = lexicon.words(
    "article articles annexe annexes chapitre section titre page lot lots alinea paragraphe point tableau figure "
    "numero no version tome appendix annex chapter paragraph clause table place places salle batiment niveau tranche"
)
"""Words before a number that is a name and no value."""
_DEFERRED = lexicon.words(
    "ajourne ajournee ajournes ajournees rejete rejetee rejetes rejetees refuse refusee refuses refusees retire retiree "
    "abandonne abandonnee abandonnes abandonnees deferred adjourned rejected refused withdrawn abandoned"
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
_ARTICLES = lexicon.words("un une one second seconde premier premiere")

CELL_TOKENS_MORE = 1
"""Tokens that a cell may have beside a value without its unit."""


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
    frame: Frame

    @property
    def without_value(self) -> tuple[Token, ...]:
        """What it says beside the value."""
        return (*self.tokens[: self.place], *self.tokens[self.place + len(self.value) :])

    @property
    def counted(self) -> Token | None:
        """The word right behind it, where that tells what is counted."""
        behind = self.tokens[self.place + len(self.value) : self.place + len(self.value) + 1]
        return next((token for token in behind if token.text.isalpha() and (token.tells or token.text in _TIMES)), None)

    @property
    def counts(self) -> bool:
        """Whether a unit or what is counted stands behind it."""
        return bool(self.unit) or self.counted is not None


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

    def objection(self, sentence: str, others: Sequence[Anchors] = ()) -> Unanchored | None:
        """Return where a value of a sentence stands that is said of something else there; None where nothing tells.

        `others` are those of the other passages that were found.
        """
        tokens = tokens_of(sentence)
        if not self._clauses or sum(token.tells for token in tokens) > WORDS_MAX or is_foreign(sentence, self._text):
            return None
        frame = frame_of(tokens, today=self._today)
        is_fact = frame.status in (Status.FACT, Status.PAST)
        for said in self._values(sentence, tokens, frame):
            found = self._against(said, others) if is_fact else self._of_a_plan(said)
            if found is not None:
                return found
        return None

    def _of_a_plan(self, said: _Said) -> Unanchored | None:
        """Return where a value stands that is said to come, and is what was before or of another thing."""
        giving = [given for given in self._clauses if gives(given.tokens, said.value, said.unit)]
        if giving and all(
            given.changes_otherwise(said) or given.has_other_bound(said) or given.is_of_other_part(said)
            for given in giving
        ):
            return Unanchored(giving[0].clause.start, giving[0].clause.end, giving[0].clause.lead, is_of_it=True)
        return None

    def _values(self, sentence: str, tokens: tuple[Token, ...], frame: Frame) -> Iterator[_Said]:
        places = list(values_of(tokens))
        measured = [each for each in quantities_in(sentence, language=self._language, clocks=True)
                    if each.unit is not NONE]
        for place, length in places:
            if all(token.text in DAYS for token in tokens[place : place + length]) or _is_label(tokens, place):
                continue
            words = tuple(
                token for at, token in enumerate(tokens)
                if token.tells and not is_value(token) and token.text not in LIGHT | NEUTRAL | MONEY_WORDS | TIME_WORDS
                and not is_ordinal(token)
            )
            yield _Said(
                sentence, tokens[place : place + length], place, tokens, words,
                rates_in(tokens) if len(places) == 1 else frozenset(), unit_behind(tokens, place + length),
                any(told(tokens[place], forms_of(tokens_of(sentence[each.start : each.end]))) for each in measured),
                frame,
            )

    @cached_property
    def _clauses(self) -> list[_Given]:
        found = [
            _Given(clause, self._text, self._language, self._today) for clause in clauses_of(self._text)
            if not self._text[clause.start : clause.end].lstrip().startswith("|")
        ]
        for one, other in pairwise(found):
            one.sides_beside |= sides_named(other.tokens)
            other.sides_beside |= sides_named(one.tokens)
        return found

    @cached_property
    def _cells(self) -> list[tuple[Token, ...]]:
        return [tokens_of(cell) for line in self._text.split("\n") if line.lstrip().startswith("|")
                for cell in line.split("|")]

    def _is_in_a_table(self, said: _Said) -> bool:
        """Return whether a cell is that value, or has it with its unit."""
        return any(
            gives(cell, said.value, said.unit) and (
                len(cell) <= len(said.value) + CELL_TOKENS_MORE or not said.unit
                or any(_is_at(cell, place, said) and unit_behind(cell, place + len(said.value)) for place in range(len(cell)))
            ) for cell in self._cells
        )

    def _against(self, said: _Said, others: Sequence[Anchors]) -> Unanchored | None:
        holding = [given for given in self._clauses if gives(given.tokens, said.value, said.unit)]
        giving = [given for given in holding if given.gives_an_amount(said)]
        if self._is_in_a_table(said):
            return None
        if not giving:
            if holding and said.counts:
                # « trois jours » over « la circulaire du 3 mars ».
                return Unanchored(holding[0].clause.start, holding[0].clause.end, holding[0].clause.lead, is_of_it=False)
            return self._of_another_number(said)
        if self._counts_it_elsewhere(said, giving) or self._bounds_it_elsewhere(said, giving):
            return Unanchored(giving[0].clause.start, giving[0].clause.end, giving[0].clause.lead, is_of_it=False)
        if (better := self._said_elsewhere(said, giving, others)) is not None:
            return better
        first: Unanchored | None = None
        for given in giving:
            is_of_it = _gives_it_otherwise(said, given)
            if not is_of_it and not self._gives_another(said, given):
                return None
            first = first or Unanchored(given.clause.start, given.clause.end, given.clause.lead, is_of_it)
        return first

    def _counts_it_elsewhere(self, said: _Said, giving: Sequence[_Given]) -> bool:
        """Return whether a number counts something else wherever it stands, and what is said has another number."""
        noun = said.counted
        if noun is None or said.unit:
            return False
        others = [given.counted_by(said) for given in giving]
        if not all(other is not None and other.tells and not _is_same_noun(noun, other) for other in others):
            return False
        return any(
            is_value(one) and not _is_label(other.tokens, at) and _is_same_noun(noun, behind)
            for other in self._clauses if other not in giving
            for at, (one, behind) in enumerate(pairwise(other.tokens))
        )

    def _bounds_it_elsewhere(self, said: _Said, giving: Sequence[_Given]) -> bool:
        """Return whether a value is told of the other side of a threshold, and the side that is named has its own:
        « au-delà de 39 heures, 50 % ; jusqu'à ce seuil, 25 % »."""
        sides = sides_named(said.tokens)
        if len(sides) != 1 or not said.unit:
            return False
        return all(not sides & (own := sides_named(given.tokens)) and own for given in giving) and any(
            sides_named(other.tokens) == sides and any(
                unit_behind(other.tokens, at + size) == said.unit for at, size in values_of(other.tokens)
            ) for other in self._clauses if other not in giving
        )

    def _said_elsewhere(
        self, said: _Said, giving: Sequence[_Given], others: Sequence[Anchors]
    ) -> Unanchored | None:
        """Return the sentence that gives a value where another one says more of what is told, with another value."""
        forms = [given.forms | self._on_its_line(given) | forms_of(self._context) for given in giving]
        known = frozenset().union(*forms)
        if any(len(given.own) < SUBJECT_WORDS_MIN for given in giving):
            # A line that was broken says little of what its value is of.
            return None
        for anchors in (self, *others):
            for other in anchors._clauses:
                if anchors is self and (other in giving or self._stands_beside(other, giving)):
                    continue
                if says_more(said.tokens, (said.place, len(said.value)), known, other.tokens, other.forms, said.unit):
                    first = giving[0].clause
                    return Unanchored(first.start, first.end, first.lead, is_of_it=False)
        return None

    def _on_its_line(self, given: _Given) -> frozenset[str]:
        """Return the forms of the sentence before one in its paragraph, which it may go on from."""
        place = self._clauses.index(given)
        before = self._clauses[place - 1] if place else None
        if before is None or "\n" in self._text[before.clause.end : given.clause.start].strip(" "):
            return frozenset()
        return before.forms

    @staticmethod
    def _stands_beside(other: _Given, giving: Sequence[_Given]) -> bool:
        return any(other.clause.start == given.clause.start for given in giving)

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
        """Return the forms of the sentence before one: « La franchise … Elle est de 150 € », « Mme Faure … Sa prime »."""
        place = self._clauses.index(given)
        return self._clauses[place - 1].forms if place and given.is_elliptic else frozenset()

    def _is_elsewhere(self, token: Token, given: _Given) -> bool:
        return any(told(token, other.forms) for other in self._clauses if other is not given)


class _Given:
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
            token for token in self.tokens if token.tells and not is_value(token)
            and token.text not in LIGHT | NEUTRAL | MONEY_WORDS | TIME_WORDS and token.text.isalpha()
        )

    @cached_property
    def is_elliptic(self) -> bool:
        return bool(self.clause.subject) or self.tokens[0].text in _TAKING_OVER

    @cached_property
    def _quantities(self) -> Sequence[Quantity]:
        return quantities_in(self._typed, language=self._language, clocks=True)

    def gives_an_amount(self, said: _Said) -> bool:
        """Return whether it has a value as more than a part of a date or the number of an article."""
        size = len(said.value)
        if any(token.text in MONTHS for token in said.value):
            return True
        return any(
            _is_at(self.tokens, place, said) and not _is_label(self.tokens, place)
            and not any(token.text in MONTHS for token in self.tokens[place + size : place + size + 1])
            for place in range(len(self.tokens) - size + 1)
        )

    def counted_by(self, said: _Said) -> Token | None:
        """Return the word behind a value that it has."""
        size = len(said.value)
        return next((self.tokens[place + size] for place in range(len(self.tokens) - size)
                     if _is_at(self.tokens, place, said) and not _is_label(self.tokens, place)), None)

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

    def is_deferred(self, said: _Said) -> bool:
        """Return whether nothing came of what it gives a value of: « la demande (900 €) est ajournée »."""
        return any(token.text in _DEFERRED for token in self.tokens) and not any(
            token.text in _DEFERRED for token in said.tokens
        ) and any(token.text in _DONE for token in said.tokens)

    @property
    def is_supposed(self) -> bool:
        return self.frame.status in _SUPPOSED

    def is_of_other_part(self, said: _Said) -> bool:
        """Return whether its clause gives a value of something else than a sentence, and gives that another one."""
        own = _comparable(said.tokens, said.unit, said.place, len(said.value))
        spoken = said.without_value
        if len(own) > 1:
            # The sentence gives several values itself: only what it says of this one counts.
            parts = parts_of(said.tokens, own)
            if not parts:
                return False
            part = parts[own.index((said.place, len(said.value)))]
            spoken = (*part.head, *part.own)
        at = next((place for place, _ in values_of(self.tokens)
                   if _is_at(self.tokens, place, said) and not _is_label(self.tokens, place)), None)
        if at is None:
            return False
        found = _comparable(self.tokens, said.unit, at, len(said.value))
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

    def is_of_a_group(self, said: _Said) -> bool:
        """Return whether a value is a group's that is said to be each one's: « 9,80 € par personne » for the family."""
        behind = said.tokens[said.place + len(said.value) :]
        return is_per_head(behind) and names_a_group(self.tokens) and not names_heads(self.tokens)

    def has_other_bound(self, said: _Said) -> bool:
        """Return whether a value bounds from the other side: « jusqu'à 20 km » for « au-delà de 20 km »."""
        wanted = side_of(said.tokens, said.place, len(said.value))
        if not wanted or wanted in self.sides_beside or sum(told(token, self.forms) for token in said.words) < SUBJECT_WORDS_MIN:
            return False
        size = len(said.value)
        sides = [side_of(self.tokens, place, size) for place in range(len(self.tokens) - size + 1)
                 if _is_at(self.tokens, place, said)]
        return bool(sides) and all(side == -wanted for side in sides) and side(said.frame, self.frame) >= 0

    def changes_otherwise(self, said: _Said) -> bool:
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
                    not is_to_come and not any(token.text in _WAS for token in said.tokens)
                ))
            return is_to_come and is_told_of_now(said.typed)
        return False

    def steps_otherwise(self, said: _Said) -> bool:
        """Return whether something changes by a value that is said to be what it changes to, or the other way."""
        wanted = _steps(said.typed, said.value)
        given = _steps(self._typed, said.value)
        return len(wanted) == 1 and len(given) == 1 and "" not in wanted | given and wanted != given

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
    if given.is_deferred(said) or given.is_supposed or given.has_other_rate(said) or given.changes_otherwise(said):
        return True
    if given.is_former(said.value) and not any(token.text in _WAS for token in said.tokens):
        return True
    return (
        given.has_other_days(said) or given.is_other_end(said) or given.has_other_bound(said)
        or given.steps_otherwise(said) or given.is_of_a_group(said)
        or is_other_tax(said.tokens, given.tokens, said.value[:1]) or given.is_of_other_part(said)
    )


def _comparable(tokens: Sequence[Token], unit: str, place: int, length: int) -> list[tuple[int, int]]:
    """Return where values stand that could be taken for the one at a place: of its unit, years with years."""
    if unit in ("h", "min"):
        return []
    kind = _kind_of_value(tokens, place, length)
    found = []
    for at, size in values_of(tokens):
        if _is_label(tokens, at) or all(token.text in DAYS for token in tokens[at : at + size]):
            continue
        own = unit_behind(tokens, at + size)
        behind = tokens[at + size : at + size + 1]
        is_elliptic = not own and not any(token.tells for token in behind) and not _goes_to_another(tokens, at + size)
        if _kind_of_value(tokens, at, size) == kind and (own == unit or (unit and is_elliptic)):
            found.append((at, size))
    return found


def _kind_of_value(tokens: Sequence[Token], place: int, length: int) -> str:
    """Return `date`, `year` or `count`; something else for what is no plain number."""
    value = tokens[place : place + length]
    if any(token.text in MONTHS for token in value):
        return "date"
    [first, *_] = value
    number = next((form for form in first.forms if form.replace(".", "").isdecimal()), "")
    if not number:
        return first.text
    counted = tokens[place + length : place + length + 1]
    is_year = first.text.isdecimal() and not unit_behind(tokens, place + length) and YEARS[0] <= int(first.text) <= YEARS[1] and not any(
        token.tells for token in counted
    )
    return "year" if is_year else "count"


def _goes_to_another(tokens: Sequence[Token], place: int) -> bool:
    """Return whether a value is the beginning of a span: « de 15 à 17 ans »."""
    return len(tokens) > place + 1 and tokens[place].text in ("à", "a", "et", "ou", "to", "or", "and") and is_value(
        tokens[place + 1]
    )


YEARS = (1_000, 2_200)


def _is_at(tokens: Sequence[Token], place: int, said: _Said) -> bool:
    """Return whether a value stands at a place."""
    size = len(said.value)
    unit = unit_behind(tokens, place + size)
    return len(tokens) >= place + size and gives(tokens[place : place + size], said.value, "") and (
        not unit or not said.unit or unit == said.unit
    )


_RANKS = lexicon.words("e er re eme ieme th st nd rd")


def _is_label(tokens: Sequence[Token], place: int) -> bool:
    """Return whether a number names one of several, or ranks: « article 4 », « note n° 3 », « le 8e »."""
    before = [token.text for token in tokens[max(0, place - 2) : place]]
    if any(token.text in _RANKS for token in tokens[place + 1 : place + 2]):
        return True
    return bool(before) and (before[-1] in _NUMBERED or (before[-1] in ("n", "er") and len(before) > 1))


def _steps(text: str, value: Sequence[Token]) -> set[str]:
    """Return whether something changes by a value or to it, for each place where a text has it."""
    return {step_before(text[: match.start()]) for match in _NUMBER.finditer(text)
            if gives(tokens_of(match.group()), value[:1], "")}


_SCALES = lexicon.words(
    "mille million millions milliard milliards thousand billion billions hundred cent cents"
)


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


def _is_same_noun(one: Token, other: Token) -> bool:
    return one.text == other.text or told(one, forms_of((other,)))


_TIMES = frozenset({"fois", "times"})


def _counts_another(said: _Said, given: _Given) -> bool:
    """Return whether a number counts something else there, and what is said has another: « 6 livres et 2 DVD »."""
    noun = said.tokens[said.place + 1] if said.place + 1 < len(said.tokens) else None
    if noun is None or len(said.value) != 1 or not noun.text.isalpha() or is_value(noun):
        return False
    if noun.text in _TIMES:
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
