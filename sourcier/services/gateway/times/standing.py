"""Which passages hold at the time that a question asks of, and which are put aside for another that does.

Two passages are compared by the clause in each that answers the question best. One is put aside only where the other
answers at least as much of the question, and its document replaces the first's, or is a later edition of it, or says
the same thing of another value at a later time. What cannot be told leaves both.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date
from itertools import permutations

from sourcier.services.gateway.clauses import lexicon
from sourcier.services.gateway.clauses.cutting import Clause, clauses_of
from sourcier.services.gateway.clauses.frame import Status
from sourcier.services.gateway.clauses.tokens import Token, forms_in, tokens_of, told_by
from sourcier.services.gateway.times.amending import amends, given_anew
from sourcier.services.gateway.times.asking import Aim, AskedTime, asked_time
from sourcier.services.gateway.times.precedence import (
    Why,
    in_force,
    is_over,
    is_to_come,
    names_its_subject,
    names_no_other,
    replaces,
    said_to_replace,
    why_it_holds,
)
from sourcier.services.gateway.times.statements import (
    Candidate,
    Stated,
    are_editions,
    differ,
    is_value,
    opposed,
    say_the_same,
    says_no_more,
    stated,
    words_apart,
)
from sourcier.services.index.times.dates import without_dates
from sourcier.services.index.times.relations import Said

NOTHING_SAID = Said()
SHARE_MIN = 0.6
"""Of a question's words that a clause must hold to be what answers it."""
REPLACED_SHARE_MIN = 0.5
"""The same where the document of the one replaces the other's as a whole: of the one that is replaced."""
REPLACING_SHARE_MIN = 0.3
"""And of the one that replaces it: it may word everything anew, or drop it."""
_NOT_DECIDED = frozenset({Status.HYPOTHESIS, Status.CLAIMED, Status.REJECTED})
_HOURS = re.compile(r"\b\d{1,2} ?(?:h|heures?|am|pm|:\d\d)\b|\b\d{1,2}:\d\d\b", re.IGNORECASE)
_MONEY = re.compile(r"\d ?(?:€|euros?\b|eur\b|\$|£|dollars?\b|pounds?\b)", re.IGNORECASE)
_KINDS = tuple((lexicon.words(names), values) for names, values in (
    ("horaire horaires heure heures ouverture fermeture ouvert ouverte ouverts ouvre opening hours open opens close "
     "closes closing", _HOURS),
    ("prix tarif tarifs cout montant combien coute vaut somme price cost costs fee rate amount much", _MONEY),
))
"""Words of a question that name a kind of value: a clause that holds such a value has told them."""


@dataclass(frozen=True)
class Aside:
    """A passage that is put aside."""

    number: int
    """From 1, as `by`."""
    by: int
    why: Why
    clause: tuple[int, int]
    """Where its clause stands in its text."""
    by_clause: tuple[int, int]
    is_told: bool = True
    """Whether its clause is close enough to the question for somebody to be told."""


@dataclass(frozen=True)
class Standing:
    """What holds of some passages."""

    asked: AskedTime
    aside: tuple[Aside, ...] = ()
    unsettled: tuple[Aside, ...] = ()
    """Pairs that disagree, of which it cannot be told which holds."""


@dataclass(frozen=True)
class _Answer:
    """What a passage says to a question."""

    stated: Stated
    share: float
    """Of the question's words that it holds; 0 where it holds but those of its title."""
    covers: float = 0.0
    """The same, with those of its title."""

    @property
    def is_close(self) -> bool:
        """Whether it holds enough of the question to be what answers it."""
        return self.share >= SHARE_MIN


def standing(
    question: str, candidates: Sequence[Candidate], *, today: date, said: Said = NOTHING_SAID
) -> Standing:
    """Return which passages are put aside for a question, and for which others; what people say goes first."""
    asked = asked_time(question, today=today)
    if asked.aim is Aim.CHANGE or len({each.document for each in candidates}) < 2:
        return Standing(asked)
    wanted = _wanted(question)
    if not wanted:
        return Standing(asked)
    answers = [
        answer for number, candidate in enumerate(candidates, start=1)
        if (answer := _answer(number, candidate, wanted, today=asked.period.end)) is not None
    ]
    aside = _replaced(candidates, wanted, answers, asked, said)
    unsettled: dict[int, Aside] = {}
    for one, other in permutations(answers, 2):
        loser, winner = one.stated, other.stated
        if loser.candidate.document == winner.candidate.document:
            continue
        why = _by_relation(one, other, asked, said)
        if why is None and one.is_close and other.is_close:
            why = _why(loser, winner, asked, said)
            if why is None and winner.number < loser.number and _unsettled(loser, winner, asked):
                unsettled.setdefault(loser.number, _aside(loser, winner, Why.LATER))
        if why is not None:
            aside.setdefault(loser.number, _aside(loser, winner, why))
    for number, each in _amended(candidates, wanted, answers, asked).items():
        aside.setdefault(number, each)
    aside = _ending_at_what_holds(aside)
    told = tuple(
        each for number, each in unsettled.items() if number not in aside and each.by not in aside
    )
    return Standing(asked, tuple(aside[number] for number in sorted(aside)), told)


def _replaced(
    candidates: Sequence[Candidate], wanted: Sequence[Token], answers: Sequence[_Answer], asked: AskedTime, said: Said
) -> dict[int, Aside]:
    """Return the passages of documents that another one, found too, names as replaced: all they say is over.

    What somebody is told of is what answers the question.
    """
    known = {each.document: each for each in candidates}
    if not any(each.times.relations for each in known.values()) and not said.replaces:
        return {}
    by_number = {each.stated.number: each for each in answers}
    found = {
        number: by_number.get(number) or _beside(number, candidate, asked.period.end)
        for number, candidate in enumerate(candidates, start=1)
    }
    aside: dict[int, Aside] = {}
    for one, other in permutations([each for each in found.values() if each is not None], 2):
        loser, winner = one.stated, other.stated
        new, old = winner.candidate, loser.candidate
        if new.document == old.document or not in_force(winner, asked.period) or not replaces(winner, loser, said):
            continue
        others = [each.times for document, each in known.items() if document != new.document]
        if not (said_to_replace(winner, loser, said) or names_its_subject(winner, loser)
                or names_no_other(winner, loser, others)):
            continue
        before = aside.get(loser.number)
        if before is None or other.share > (found[before.by] or other).share:
            told = one.share >= REPLACED_SHARE_MIN and other.share >= REPLACING_SHARE_MIN
            aside[loser.number] = replace(_aside(loser, winner, Why.REPLACED), is_told=told)
    return aside


def _amended(
    candidates: Sequence[Candidate], wanted: Sequence[Token], answers: Sequence[_Answer], asked: AskedTime
) -> dict[int, Aside]:
    """Return the passages whose answer another document gives anew, which amends theirs."""
    amending = [
        found.stated for number, candidate in enumerate(candidates, start=1)
        if candidate.times.relations and (found := _beside(number, candidate, asked.period.end)) is not None
    ]
    aside: dict[int, Aside] = {}
    for one in answers:
        loser = one.stated
        for winner in amending if one.covers >= SHARE_MIN else ():
            if winner.candidate.document == loser.candidate.document or not amends(winner, loser):
                continue
            changed = given_anew(winner, loser, wanted) if in_force(winner, asked.period) else None
            if changed is not None:
                aside.setdefault(loser.number, Aside(loser.number, winner.number, Why.LATER, *changed))
    return aside


def _beside(number: int, candidate: Candidate, today: date) -> _Answer | None:
    """Return a passage that says nothing of a question; None for one without a clause."""
    clause = next(iter(clauses_of(candidate.text, candidate.context)), None)
    return None if clause is None else _Answer(stated(number, candidate, clause, frozenset(), today=today), 0.0)


def _wanted(question: str) -> list[Token]:
    """Return the words of a question by which a clause is told to answer it."""
    return [token for token in tokens_of(without_dates(question)) if token.tells and not is_value(token)]


def closest_clause(question: str, passages: Sequence[tuple[str, str]]) -> tuple[int, Clause] | None:
    """Return the clause that holds most of a question's words, and the place of its passage, a text and its context."""
    wanted = _wanted(question)
    found = [
        (best.share, best.beside_context, -place, best.clause) for place, (text, context) in enumerate(passages)
        if (best := _best_clause(text, context, wanted)) is not None
    ]
    if not found:
        return None
    _, _, place, clause = max(found, key=lambda each: each[:3])
    return -place, clause


def _ending_at_what_holds(aside: dict[int, Aside]) -> dict[int, Aside]:
    """Return the same with each one put aside by what holds itself, and nothing where that runs in a circle."""
    found: dict[int, Aside] = {}
    for number, each in aside.items():
        seen = {number}
        last = each
        while last.by in aside and last.by not in seen:
            seen.add(last.by)
            last = aside[last.by]
        if last.by not in seen:
            found[number] = replace(each, by=last.by, by_clause=last.by_clause)
    return found


def _aside(loser: Stated, winner: Stated, why: Why) -> Aside:
    return Aside(
        loser.number, winner.number, why, (loser.clause.start, loser.clause.end),
        (winner.clause.start, winner.clause.end),
    )


def _answer(number: int, candidate: Candidate, wanted: Sequence[Token], *, today: date) -> _Answer | None:
    best = _best_clause(candidate.text, candidate.context, wanted)
    if best is None or best.share < REPLACING_SHARE_MIN:
        return None
    around = forms_in((*best.clause.subject, *best.clause.context))
    told = best.told | {token.text for token in wanted if told_by(token, around)}
    # « Où est l'extincteur de la salle serveur ? »: what tells but its title's words answers nothing of it.
    says = len(told) == len({token.text for token in wanted}) or bool(best.beside_context)
    return _Answer(stated(number, candidate, best.clause, told, today=today), best.share if says else 0.0, best.share)


@dataclass(frozen=True)
class _Close:
    """The clause of a passage that is closest to a question."""

    share: float
    clause: Clause
    told: frozenset[str]
    """The words that it tells itself."""
    beside_context: int
    """How many of them its title and headings do not tell."""


def _best_clause(text: str, context: str, wanted: Sequence[Token]) -> _Close | None:
    """Return the clause of a passage that tells the largest share of these words."""
    best: _Close | None = None
    above = forms_in(tokens_of(context))
    for clause in clauses_of(text, context):
        if clause.text.strip("# ") in context:
            # The title, said again as the text's first line, answers nothing.
            continue
        here, around = forms_in(clause.tokens), forms_in((*clause.subject, *clause.context))
        kinds = frozenset().union(*(names for names, values in _KINDS if values.search(clause.text)))
        told = frozenset(token.text for token in wanted if told_by(token, here) or token.text in kinds)
        share = (len(told) + 0.5 * sum(
            told_by(token, around) for token in wanted if token.text not in told
        )) / len(wanted)
        own = sum(token.text in told and not told_by(token, above) for token in wanted)
        if told and (best is None or (share, own) > (best.share, best.beside_context)):
            best = _Close(share, clause, told, own)
    return best


def _by_relation(loser: _Answer, winner: _Answer, asked: AskedTime, said: Said) -> Why | None:
    """Return whether the one gives way since one document replaces the other, however each words it."""
    one, other, then = loser.stated, winner.stated, asked.period
    if not in_force(other, then) or other.status in _NOT_DECIDED:
        return None
    if loser.share < REPLACED_SHARE_MIN or winner.share < REPLACING_SHARE_MIN:
        return None
    of_one = say_the_same(one, other) or are_editions(one, other)
    if said_to_replace(other, one, said) or (replaces(other, one, said) and (of_one or names_its_subject(other, one))):
        return Why.REPLACED
    is_replaced_later = is_to_come(one, then) and replaces(one, other, said)
    return Why.NOT_YET if is_replaced_later and (of_one or names_its_subject(one, other)) else None


def _why(loser: Stated, winner: Stated, asked: AskedTime, said: Said) -> Why | None:
    """Return why the one gives way to the other at the time that is asked of; None where it does not."""
    then = asked.period
    if not in_force(winner, then) or winner.status in _NOT_DECIDED or not loser.told <= winner.told:
        return None
    if loser.status in _NOT_DECIDED and not asked.plans and _another_figure(loser, winner):
        return Why.NOT_DECIDED
    if is_over(loser, then) and says_no_more(winner, loser):
        return Why.ENDED
    if not say_the_same(loser, winner) or not (
        differ(loser, winner) or (are_editions(loser, winner) and words_apart(loser, winner))
    ):
        return None
    return why_it_holds(winner, loser, then, said)


def _another_figure(loser: Stated, winner: Stated) -> bool:
    """Return whether a fact tells another figure of one unit: « pourrait passer à 10 € » beside « porté à 9,80 € »."""
    return (
        winner.status is Status.FACT and bool(loser.units & winner.units) and loser.figures != winner.figures
        and bool(winner.told)
    )


def _unsettled(first: Stated, second: Stated, asked: AskedTime) -> bool:
    """Return whether two passages disagree on a figure or a yes, and nothing tells which one holds."""
    if not (in_force(first, asked.period) and in_force(second, asked.period)) or first.told != second.told:
        return False
    if {first.status, second.status} != {Status.FACT} or not say_the_same(first, second) or words_apart(first, second):
        # Of editions, too: « l'agent » and « le cadre » have each their own.
        return False
    if opposed(first, second) and first.figures == second.figures and first.days == second.days:
        return True
    # « De 8 h à 12 h » and « de 8 h à 12 h et de 14 h à 17 h », « le lundi » and « le mardi »: none says otherwise.
    return not first.main_figures <= second.main_figures and not second.main_figures <= first.main_figures
