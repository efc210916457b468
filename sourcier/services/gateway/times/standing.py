"""Which passages hold at the time that a question asks of, and which are put aside for another that does.

Two passages are compared by the clause in each that answers the question best. One is put aside only where the other
answers at least as much of the question, and its document replaces the first's, or is a later edition of it, or says
the same thing of another figure at a later time. What cannot be told leaves both.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date
from enum import Enum
from itertools import pairwise

from sourcier.services.gateway.clauses import lexicon
from sourcier.services.gateway.clauses.cutting import Clause, clauses_of
from sourcier.services.gateway.clauses.frame import Status, frame_of
from sourcier.services.gateway.clauses.tokens import Token, forms_in, tokens_of, told_by
from sourcier.services.gateway.times.asking import Aim, AskedTime, asked_time
from sourcier.services.index.language.stop_words import fold_in_place
from sourcier.services.index.times.dates import dates_in, without_dates
from sourcier.services.index.times.document import DocumentTimes, same_family
from sourcier.services.index.times.periods import Period
from sourcier.services.index.times.relations import Said

NOTHING_SAID = Said()
SHARE_MIN = 0.6
"""Of a question's words that a clause must hold to be what answers it."""
EDITIONS_ALIKE_MIN = 0.6
"""Of the words of two clauses, of editions of one document, from which on they speak of the same."""
_FROM = re.compile(r"(?:a compter du|a compter de|a partir du|a partir de|des le|depuis le|depuis|as of|from|since)\s$")
_UNTIL = re.compile(r"(?:jusqu['’ ]au|jusqu['’ ]en|jusqu['’ ]a|until|till)\s$")
_NAME = re.compile(r"(?<=[^\W_.!?:] )[A-ZÀ-Ý][\w'’-]+|\b(?:M|Mme|Mlle|Dr|Me|Mr|Mrs|Ms)\.? [A-ZÀ-Ý][\w'’-]+")
_NOT_DECIDED = frozenset({Status.HYPOTHESIS, Status.CLAIMED, Status.REJECTED})
_FIXING = lexicon.words(
    "fixe fixee fixes porte portee portes passe etabli etablie est sont sera seront maintenu maintenue reconduit "
    "indique desormais actuellement eleve atteint vaut coute represente nouveau nouvelle montant prix tarif valeur "
    "somme total cout maximum minimum nombre taux duree horaire horaires ouvert ouverte ouverts ouvre compter partir "
    "set raised now amounts costs price amount value current currently open opens"
)
"""Words that tell a value and not what it is of."""
_VALUE = re.compile(r"\d")
_WEEKDAYS = frozenset((*lexicon.WEEKDAYS, *lexicon.WEEKDAYS_ENGLISH))
_HOURS = re.compile(r"\b\d{1,2} ?(?:h|heures?|am|pm|:\d\d)\b|\b\d{1,2}:\d\d\b", re.IGNORECASE)
_MONEY = re.compile(r"\d ?(?:€|euros?\b|eur\b|\$|£|dollars?\b|pounds?\b)", re.IGNORECASE)
_KINDS = tuple((lexicon.words(names), values) for names, values in (
    ("horaire horaires heure heures ouverture fermeture ouvert ouverte ouverts ouvre opening hours open opens", _HOURS),
    ("prix tarif tarifs cout montant combien coute vaut somme price cost costs fee rate amount much", _MONEY),
))
"""Words of a question that name a kind of value: a clause that holds such a value has told them."""


class Why(Enum):
    """Why one passage holds and the other does not."""

    REPLACED = "replaced"
    """Its document says that it replaces the other's."""
    LATER = "later"
    ENDED = "ended"
    """The other one says until when it held."""
    NOT_DECIDED = "not_decided"
    """The other one tells what somebody proposes, or what was rejected."""
    NOT_YET = "not_yet"
    """The other one begins later than the time that is asked of."""


@dataclass(frozen=True)
class Candidate:
    """A passage as it is looked at."""

    document: str
    """What tells its document from others."""
    text: str
    context: str
    """Title and headings."""
    times: DocumentTimes


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


@dataclass(frozen=True)
class Standing:
    """What holds of some passages."""

    asked: AskedTime
    aside: tuple[Aside, ...] = ()
    unsettled: tuple[Aside, ...] = ()
    """Pairs that disagree, of which it cannot be told which holds."""


@dataclass(frozen=True)
class Stated:
    """What a clause of a passage states."""

    number: int
    candidate: Candidate
    clause: Clause
    told: frozenset[str]
    """The question's words that it holds; empty without a question."""
    words: tuple[Token, ...]
    """Its own, figures, dates and names apart."""
    figures: frozenset[str]
    units: frozenset[str]
    """What stands behind the figures."""
    names: frozenset[str]
    status: Status
    start: date | None
    end: date | None
    own_start: bool = field(default=False)
    """Whether the clause itself tells since when it holds."""


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
    aside: dict[int, Aside] = {}
    unsettled: dict[int, Aside] = {}
    for loser in answers:
        for winner in answers:
            if loser.candidate.document == winner.candidate.document or not loser.told <= winner.told:
                continue
            why = _why(loser, winner, asked, said)
            if why is not None:
                aside.setdefault(loser.number, _aside(loser, winner, why))
            elif winner.number < loser.number and _unsettled(loser, winner, asked):
                unsettled.setdefault(loser.number, _aside(loser, winner, Why.LATER))
    aside = _ending_at_what_holds(aside)
    told = tuple(
        each for number, each in unsettled.items() if number not in aside and each.by not in aside
    )
    return Standing(asked, tuple(aside[number] for number in sorted(aside)), told)


def _wanted(question: str) -> list[Token]:
    """Return the words of a question by which a clause is told to answer it."""
    return [token for token in tokens_of(without_dates(question)) if token.tells and not _is_value(token)]


def closest_clause(question: str, passages: Sequence[tuple[str, str]]) -> tuple[int, Clause] | None:
    """Return the clause that holds most of a question's words, and the place of its passage, a text and its context."""
    found = [
        (share, -place, clause) for place, (text, context) in enumerate(passages)
        if (best := _best_clause(text, context, _wanted(question))) is not None for share, clause, _ in (best,)
    ]
    if not found:
        return None
    _, place, clause = max(found, key=lambda each: each[:2])
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
            found[number] = Aside(number, last.by, each.why, each.clause, last.by_clause)
    return found


def _aside(loser: Stated, winner: Stated, why: Why) -> Aside:
    return Aside(
        loser.number, winner.number, why, (loser.clause.start, loser.clause.end),
        (winner.clause.start, winner.clause.end),
    )


def _answer(number: int, candidate: Candidate, wanted: Sequence[Token], *, today: date) -> Stated | None:
    best = _best_clause(candidate.text, candidate.context, wanted)
    if best is None or best[0] < SHARE_MIN:
        return None
    _, clause, told = best
    return stated(number, candidate, clause, told, today=today)


def _best_clause(
    text: str, context: str, wanted: Sequence[Token]
) -> tuple[float, Clause, frozenset[str]] | None:
    """Return the clause of a passage that tells the largest share of these words, that share, and which it tells."""
    best: tuple[float, Clause, frozenset[str]] | None = None
    for clause in clauses_of(text, context):
        here, around = forms_in(clause.tokens), forms_in((*clause.subject, *clause.context))
        kinds = frozenset().union(*(names for names, values in _KINDS if values.search(clause.text)))
        told = frozenset(token.text for token in wanted if told_by(token, here) or token.text in kinds)
        share = (len(told) + 0.5 * sum(
            told_by(token, around) for token in wanted if token.text not in told
        )) / len(wanted)
        if told and (best is None or share > best[0]):
            best = share, clause, told
    return best


def stated(number: int, candidate: Candidate, clause: Clause, told: frozenset[str], *, today: date) -> Stated:
    """Return what a clause states."""
    plain = without_dates(clause.text)
    names = frozenset(_NAME.findall(plain))
    words = tuple(
        token for token in tokens_of(_NAME.sub(" ", _up_to_its_value(plain)))
        if token.tells and not _is_value(token) and token.text not in _FIXING
    )
    figures = frozenset(_number(token) for token in tokens_of(plain) if _is_value(token))
    start, end = _bounds(clause.text)
    return Stated(
        number, candidate, clause, told, words, figures, _units(plain), names,
        frame_of(clause.tokens, today=today).status,
        candidate.times.start if start is None else start.start,
        candidate.times.end if end is None else end.end, start is not None,
    )


def _up_to_its_value(text: str) -> str:
    """Return a clause without what is said beside its value: « porté à 9,80 € par jour, dont 55 % … »."""
    value = _VALUE.search(text)
    comma = -1 if value is None else text.find(", ", value.end())
    return text if comma < 0 else text[:comma]


def _is_value(token: Token) -> bool:
    """Return whether a word of a question is what it asks about the rest: « à 10 € ? », « le vendredi ? »."""
    return _is_figure(token) or token.text in _WEEKDAYS or token.text in lexicon.POLES


def _is_figure(token: Token) -> bool:
    return token.text[0].isdecimal() or any(form.isdecimal() for form in token.forms)


def _number(token: Token) -> str:
    """Return a figure in one form: « deux mois » and « 2 mois » say the same."""
    return next((form for form in token.forms if form.isdecimal()), token.text)


def _units(text: str) -> frozenset[str]:
    tokens = tokens_of(text)
    return frozenset(
        unit for token, following in pairwise(tokens) if _is_figure(token)
        for unit in (following.forms or {following.text})
    )


def _bounds(text: str) -> tuple[Period | None, Period | None]:
    """Return since when and until when a clause itself says that it holds."""
    folded = fold_in_place(text)
    start = end = None
    for each in dates_in(text, years=True):
        before = folded[max(0, each.start - 24) : each.start]
        if _FROM.search(before):
            start = start or each.period
        elif _UNTIL.search(before):
            end = end or each.period
    return start, end


def _why(loser: Stated, winner: Stated, asked: AskedTime, said: Said) -> Why | None:
    """Return why the one gives way to the other at the time that is asked of; None where it does not."""
    then = asked.period
    if winner.start is not None and winner.start > then.end:
        return None
    if winner.end is not None and winner.end < then.start:
        return None
    if winner.status in _NOT_DECIDED:
        return None
    of_one_kind = same_family(loser.candidate.times.family, winner.candidate.times.family)
    same = say_the_same(loser, winner)
    pair = (winner.candidate.document, loser.candidate.document)
    reads_so = pair not in said.denied and winner.candidate.times.replaces_document(loser.candidate.times)
    if pair in said.replaces or (reads_so and (same or of_one_kind)):
        return Why.REPLACED
    if loser.status in _NOT_DECIDED and not asked.plans and _another_figure(loser, winner):
        return Why.NOT_DECIDED
    if not same:
        return None
    differ = _differ(loser, winner)
    if loser.start is not None and loser.start > then.end:
        return Why.NOT_YET if differ else None
    if loser.end is not None and loser.end < then.start:
        return Why.ENDED
    if winner.start is None or loser.start is None or not is_later(winner, loser):
        return None
    return Why.LATER if differ or of_one_kind else None


def is_later(winner: Stated, loser: Stated) -> bool:
    """Return whether one is later than the other beyond what their dates leave open."""
    assert winner.start is not None
    assert loser.start is not None
    dated = loser.candidate.times.period
    last = loser.start if loser.own_start or dated is None else max(loser.start, dated.end)
    return winner.start > last


def say_the_same(first: Stated, second: Stated) -> bool:
    """Return whether two clauses speak of the same: « la taxe foncière » and « la taxe de séjour » do not.

    Editions of one document may word it anew; of others each word must be found again.
    """
    of_both = len(first.words) + len(second.words)
    both = of_both - len(words_apart(first, second))
    if same_family(first.candidate.times.family, second.candidate.times.family) and len(
        first.candidate.times.family
    ) > 1:
        return both >= EDITIONS_ALIKE_MIN * of_both
    return both == of_both


def words_apart(first: Stated, second: Stated) -> list[Token]:
    """Return the words of each of two clauses that the other one does not tell."""
    ours, theirs = forms_in(first.words), forms_in(second.words)
    return [
        *(token for token in first.words if not told_by(token, theirs)),
        *(token for token in second.words if not told_by(token, ours)),
    ]


def _another_figure(loser: Stated, winner: Stated) -> bool:
    """Return whether a fact tells another figure of one unit: « pourrait passer à 10 € » beside « porté à 9,80 € »."""
    return (
        winner.status is Status.FACT and bool(loser.units & winner.units) and loser.figures != winner.figures
        and bool(winner.told)
    )


def _differ(first: Stated, second: Stated) -> bool:
    """Return whether two clauses that say the same differ in a figure, a name or a denial."""
    return first.figures != second.figures or first.names != second.names or first.status is not second.status


def _unsettled(first: Stated, second: Stated, asked: AskedTime) -> bool:
    """Return whether two passages disagree on a figure, and nothing tells which one holds."""
    then = asked.period
    over = [
        each for each in (first, second)
        if (each.start is not None and each.start > then.end) or (each.end is not None and each.end < then.start)
    ]
    return (
        not over and first.told == second.told and bool(first.figures) and bool(second.figures)
        and first.figures.isdisjoint(second.figures) and say_the_same(first, second)
        and {first.status, second.status} == {Status.FACT}
    )
