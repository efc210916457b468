"""Whether the sentence of a passage that gives a value gives it of what a sentence of an answer says it of.

`agreement` tells where another figure is the right one. Here what speaks against a value is its own sentence: it shares
nothing with the answer but the value, ranks or names something else, gives it as what was before, per another time, or
as what somebody asks for. One sentence of the passage against which nothing speaks is enough.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from itertools import pairwise

from sourcier.services.gateway.anchoring.elsewhere import says_more
from sourcier.services.gateway.anchoring.given import SUBJECT_WORDS_MIN, Given
from sourcier.services.gateway.anchoring.otherwise import (
    counts_another,
    gives_it_otherwise,
    goes_on_otherwise,
    is_measured,
    is_same_noun,
    ranks_otherwise,
    subject_of_value,
)
from sourcier.services.gateway.anchoring.said import Said, is_at, is_label
from sourcier.services.gateway.clauses import lexicon
from sourcier.services.gateway.clauses.cutting import clauses_of
from sourcier.services.gateway.clauses.frame import Frame, Status, frame_of
from sourcier.services.gateway.clauses.tokens import Token, tokens_of
from sourcier.services.gateway.figures.bounds import sides_named
from sourcier.services.gateway.figures.quantities import quantities_in
from sourcier.services.gateway.figures.rates import rates_in
from sourcier.services.gateway.figures.readings import covers
from sourcier.services.gateway.figures.rows import (
    DAYS,
    complements,
    gives,
    is_foreign,
    is_ordinal,
    is_value,
    tells_of,
    unit_behind,
    values_of,
)
from sourcier.services.gateway.figures.units import NONE
from sourcier.services.gateway.figures.words import forms_of, told

WORDS_MAX = 16
"""Of a sentence: a longer one says more than one thing, and what of it its value is of is not told by words alone."""

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


class Anchors:
    """The sentences of one passage that give values, read once for all sentences of an answer."""

    def __init__(self, text: str, context: str, language: str, *, today: date) -> None:
        """Take a passage's text, its title and headings, and its language."""
        self._text = text
        self._context = forms_of(tokens_of(context))
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

    def _of_a_plan(self, said: Said) -> Unanchored | None:
        """Return where a value stands that is said to come, and is what was before or of another thing."""
        giving = [given for given in self._clauses if gives(given.tokens, said.value, said.unit)]
        if giving and all(
            given.changes_otherwise(said) or given.has_other_bound(said) or given.is_of_other_part(said)
            for given in giving
        ):
            return _in(giving[0], is_of_it=True)
        return None

    def _values(self, sentence: str, tokens: tuple[Token, ...], frame: Frame) -> Iterator[Said]:
        places = list(values_of(tokens))
        measured = [each for each in quantities_in(sentence, language=self._language, clocks=True)
                    if each.unit is not NONE]
        for place, length in places:
            if all(token.text in DAYS for token in tokens[place : place + length]) or is_label(tokens, place):
                continue
            words = tuple(
                token for token in tokens if tells_of(token) and not is_ordinal(token)
            )
            yield Said(
                sentence, tokens[place : place + length], place, tokens, words,
                rates_in(tokens) if len(places) == 1 else frozenset(), unit_behind(tokens, place + length),
                any(told(tokens[place], forms_of(tokens_of(sentence[each.start : each.end]))) for each in measured),
                frame,
            )

    @cached_property
    def _clauses(self) -> list[Given]:
        found = [
            Given(clause, self._text, self._language, self._today) for clause in clauses_of(self._text)
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

    def _is_in_a_table(self, said: Said) -> bool:
        """Return whether a cell is that value, or has it with its unit."""
        return any(
            gives(cell, said.value, said.unit) and (
                len(cell) <= len(said.value) + CELL_TOKENS_MORE or not said.unit
                or any(is_at(cell, at, said) and unit_behind(cell, at + len(said.value)) for at in range(len(cell)))
            ) for cell in self._cells
        )

    def _against(self, said: Said, others: Sequence[Anchors]) -> Unanchored | None:
        holding = [given for given in self._clauses if gives(given.tokens, said.value, said.unit)]
        giving = [given for given in holding if given.gives_an_amount(said)]
        if self._is_in_a_table(said):
            return None
        if not giving:
            if holding and said.counts:
                # « trois jours » over « la circulaire du 3 mars ».
                return _in(holding[0], is_of_it=False)
            return self._of_another_number(said)
        if self._counts_it_elsewhere(said, giving) or self._bounds_it_elsewhere(said, giving):
            return _in(giving[0], is_of_it=False)
        if (better := self._said_elsewhere(said, giving, others)) is not None:
            return better
        first: Unanchored | None = None
        for given in giving:
            is_of_it = gives_it_otherwise(said, given)
            if not is_of_it and not self._gives_another(said, given):
                return None
            first = first or _in(given, is_of_it=is_of_it)
        return first

    def _counts_it_elsewhere(self, said: Said, giving: Sequence[Given]) -> bool:
        """Return whether a number counts something else wherever it stands, and what is said has another number."""
        noun = said.counted
        if noun is None or said.unit:
            return False
        others = [given.counted_by(said) for given in giving]
        if not all(other is not None and other.tells and not is_same_noun(noun, other) for other in others):
            return False
        return any(
            is_value(one) and not is_label(other.tokens, at) and is_same_noun(noun, behind)
            for other in self._clauses if other not in giving
            for at, (one, behind) in enumerate(pairwise(other.tokens))
        )

    def _bounds_it_elsewhere(self, said: Said, giving: Sequence[Given]) -> bool:
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
        self, said: Said, giving: Sequence[Given], others: Sequence[Anchors]
    ) -> Unanchored | None:
        """Return the sentence that gives a value where another one says more of what is told, with another value."""
        forms = [given.forms | self._on_its_line(given) | self._context for given in giving]
        known = frozenset().union(*forms)
        if any(len(given.own) < SUBJECT_WORDS_MIN for given in giving):
            # A line that was broken says little of what its value is of.
            return None
        for anchors in (self, *others):
            for other in anchors._clauses:
                if anchors is self and (other in giving or self._stands_beside(other, giving)):
                    continue
                if says_more(said.tokens, (said.place, len(said.value)), known, other.tokens, other.forms, said.unit):
                    return _in(giving[0], is_of_it=False)
        return None

    def _on_its_line(self, given: Given) -> frozenset[str]:
        """Return the forms of the sentence before one in its paragraph, which it may go on from."""
        before = self._preceding(given)
        if before is None or "\n" in self._text[before.clause.end : given.clause.start].strip(" "):
            return frozenset()
        return before.forms

    @staticmethod
    def _stands_beside(other: Given, giving: Sequence[Given]) -> bool:
        return any(other.clause.start == given.clause.start for given in giving)

    def _of_another_number(self, said: Said) -> Unanchored | None:
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
        return _in(counting[0], is_of_it=True)

    def _gives_another(self, said: Said, given: Given) -> bool:
        if is_measured(said, given) or counts_another(said, given) or ranks_otherwise(said.tokens, given.tokens):
            return True
        if all(told(token, given.forms) for token in said.words):
            return False
        return self._is_of_another(said, given)

    def _is_of_another(self, said: Said, given: Given) -> bool:
        words = said.words
        if not words:
            return False
        near = given.forms | self._before(given)
        around = near | self._context
        left = [token for token in words if not told(token, around)]
        subject = subject_of_value(said)
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
            told(token, given.forms) and other in left and goes_on_otherwise(token, given.tokens, known)
            for token, other in (*complements(subject), *((b, a) for a, b in complements(subject)))
        )

    def _before(self, given: Given) -> frozenset[str]:
        """Return the forms of the sentence before one that goes on: « La franchise … Elle est de 150 € »."""
        before = self._preceding(given) if given.is_elliptic else None
        return frozenset() if before is None else before.forms

    def _preceding(self, given: Given) -> Given | None:
        place = self._clauses.index(given)
        return self._clauses[place - 1] if place else None

    def _is_elsewhere(self, token: Token, given: Given) -> bool:
        return any(told(token, other.forms) for other in self._clauses if other is not given)


def _in(given: Given, *, is_of_it: bool) -> Unanchored:
    return Unanchored(given.clause.start, given.clause.end, given.clause.lead, is_of_it)
