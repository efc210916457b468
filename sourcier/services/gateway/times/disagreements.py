"""Passages that say the same of another figure or date, or say no to a yes: which of two documents holds, and why.

Rules decide over pairs of passages that are close by their vectors: two clauses tell facts, their words are the same,
and the value differs, or one denies what the other affirms. What differs in a name or in a letter (« salle A ») is
about something else.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property

from sourcier.services.gateway.clauses.cutting import clauses_of
from sourcier.services.gateway.clauses.frame import Status
from sourcier.services.gateway.clauses.tokens import Token
from sourcier.services.gateway.times.precedence import Why, why_it_holds
from sourcier.services.gateway.times.statements import (
    Candidate,
    Stated,
    are_editions,
    opposed,
    say_the_same,
    stated,
    words_apart,
)
from sourcier.services.index.times.dates import dates_in
from sourcier.services.index.times.periods import Period
from sourcier.services.index.times.relations import Said

WORDS_MIN = 2
"""Words that tell what a value is of: « Article 5 » tells nothing."""
ALIKE_MIN = 0.8
"""Of the words of two clauses of editions of one document, from which on they speak of the same."""


@dataclass(frozen=True)
class Disagreement:
    """Two passages that do not say the same."""

    holds: int
    """The place of the one that holds; where nothing tells which, of the first."""
    other: int
    why: Why | None
    holds_clause: tuple[int, int]
    other_clause: tuple[int, int]
    alike: float
    """The share of the two clauses' words that are the same."""


@dataclass(frozen=True)
class _Claim:
    stated: Stated
    values: frozenset[str]
    """Its numbers, or where it has none its dates; empty for a clause that can but affirm or deny."""


def disagreements(
    candidates: Sequence[Candidate], pairs: Iterable[tuple[int, int]], *, today: date, said: Said
) -> list[Disagreement]:
    """Return where passages disagree, at most once for each pair of places in `candidates`."""
    claims: dict[int, _Claims] = {}
    found = []
    for first, second in pairs:
        for number in (first, second):
            if number not in claims:
                claims[number] = _Claims(tuple(_claims(number, candidates[number], today=today)))
        if (each := _of_pair(claims[first], claims[second], today=today, said=said)) is not None:
            found.append(each)
    return found


@dataclass(frozen=True)
class _Claims:
    """What a passage claims, which is held against those of several others."""

    all: tuple[_Claim, ...]

    @cached_property
    def by_form(self) -> Mapping[str, Sequence[_Claim]]:
        """Those with a word, by each of its forms."""
        found: dict[str, list[_Claim]] = defaultdict(list)
        for claim in self.all:
            for form in {form for token in claim.stated.words for form in token.forms}:
                found[form].append(claim)
        return found


def _claims(number: int, candidate: Candidate, *, today: date) -> Iterable[_Claim]:
    for clause in clauses_of(candidate.text, candidate.context):
        each = stated(number, candidate, clause, frozenset(), today=today)
        if each.status is not Status.FACT or _says_too_little(each):
            continue
        bounds = {each.start, each.end}
        yield _Claim(each, each.figures or frozenset(
            str(found.period) for found in dates_in(clause.text, years=True)
            if found.period.start not in bounds and found.period.end not in bounds
        ))


def _says_too_little(each: Stated) -> bool:
    """Return whether a clause does not tell what it is of; « l'accueil est fermé » has its opposite for one word."""
    return not each.words or len(each.words) + bool(each.frame.poles) + bool(each.days) < WORDS_MIN or (
        bool(each.figures) and len(each.words) < WORDS_MIN
    )


def _of_pair(ours: _Claims, theirs: _Claims, *, today: date, said: Said) -> Disagreement | None:
    best: Disagreement | None = None
    for claim in ours.all:
        near = {
            id(other): other for token in claim.stated.words for form in token.forms
            for other in theirs.by_form.get(form, ()) if _comparable(claim, other)
        }
        alike = [(share, other) for other in near.values() if (share := _alike(claim.stated, other.stated)) > 0]
        # What the other passage says, too, it does not contradict.
        if any(_says_it_too(claim, other) for _, other in alike):
            continue
        for share, other in alike:
            if (_another_value(claim, other) or _denied(claim, other, share)) and (best is None or share > best.alike):
                best = _told(claim.stated, other.stated, share, today=today, said=said)
    return best


def _comparable(first: _Claim, second: _Claim) -> bool:
    """Return whether two claims may be of one thing: those without a value are compared word for word."""
    return bool(first.values) == bool(second.values) and (
        bool(first.values) or len(first.stated.words) == len(second.stated.words)
    )


def _alike(first: Stated, second: Stated) -> float:
    """Return the share of words that two clauses share; 0 where they speak of something else."""
    if first.names != second.names and not are_editions(first, second):
        return 0.0
    if bool(first.units) != bool(second.units) or (first.units and not first.units & second.units):
        return 0.0
    apart = words_apart(first, second)
    if any(map(_names_one, apart)):
        return 0.0
    share = 1.0 - len(apart) / (len(first.words) + len(second.words))
    return share if share >= ALIKE_MIN and say_the_same(first, second) else 0.0


def _names_one(token: Token) -> bool:
    """Return whether a word tells one of several: « salle A », « lot T2 »."""
    return token.text.startswith("lettre") or any(character.isdecimal() for character in token.text)


def _says_it_too(first: _Claim, second: _Claim) -> bool:
    return first.values == second.values and first.stated.days == second.stated.days and not opposed(
        first.stated, second.stated
    )


def _another_value(first: _Claim, second: _Claim) -> bool:
    return (
        bool(first.values) and first.stated.days == second.stated.days and len(first.values) == len(second.values)
        and first.values != second.values and not opposed(first.stated, second.stated)
        and any(value[0].isdecimal() for value in first.values) == any(value[0].isdecimal() for value in second.values)
    )


def _denied(first: _Claim, second: _Claim, share: float) -> bool:
    """Return whether one says no where the other says yes, in the same words."""
    return share == 1.0 and first.values == second.values and first.stated.days == second.stated.days and (
        first.stated.names == second.stated.names and opposed(first.stated, second.stated)
    )


def _told(first: Stated, second: Stated, alike: float, *, today: date, said: Said) -> Disagreement:
    for holds, other in ((first, second), (second, first)):
        why = why_it_holds(holds, other, Period(today, today), said)
        if why is not None:
            return _disagreement(holds, other, why, alike)
    return _disagreement(first, second, None, alike)


def _disagreement(holds: Stated, other: Stated, why: Why | None, alike: float) -> Disagreement:
    return Disagreement(
        holds.number, other.number, why, (holds.clause.start, holds.clause.end),
        (other.clause.start, other.clause.end), alike,
    )
