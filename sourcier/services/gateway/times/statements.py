"""What a clause of a passage states, of what and since when; and whether two clauses speak of the same."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date
from itertools import pairwise

from sourcier.services.gateway.clauses import lexicon
from sourcier.services.gateway.clauses.cutting import Clause, predicate_place
from sourcier.services.gateway.clauses.frame import Frame, Status, frame_of
from sourcier.services.gateway.clauses.sides import side
from sourcier.services.gateway.clauses.tokens import Token, forms_in, tokens_of, told_by
from sourcier.services.index.language.stop_words import fold_in_place
from sourcier.services.index.times.dates import dates_in, without_dates
from sourcier.services.index.times.document import DocumentTimes, numbers_of, same_family
from sourcier.services.index.times.periods import Period

EDITIONS_ALIKE_MIN = 0.6
"""Of the words of two clauses, of editions of one document, from which on they speak of the same."""
_FROM = re.compile(r"(?:a compter du|a compter de|a partir du|a partir de|des le|depuis le|depuis|as of|from|since)\s$")
_UNTIL = re.compile(r"(?:jusqu['’ ]au|jusqu['’ ]en|jusqu['’ ]a|until|till)\s$")
_NAME = re.compile(r"(?<=[^\W_.!?:] )[A-ZÀ-Ý][\w'’-]+|\b(?:M|Mme|Mlle|Dr|Me|Mr|Mrs|Ms)\.? [A-ZÀ-Ý][\w'’-]+")
_TITLED = re.compile(r"\b(?:M|Mme|Mlle|Dr|Me|Mr|Mrs|Ms)\.?(?: [A-ZÀ-Ý][\w'’-]+){1,4}")
_FIXING = lexicon.words(
    "fixe fixee fixes porte portee portes passe etabli etablie est sont sera seront maintenu maintenue reconduit "
    "indique desormais actuellement eleve atteint vaut coute represente nouveau nouvelle montant prix tarif valeur "
    "somme total cout maximum minimum nombre taux duree horaire horaires ouvert ouverte ouverts ouvre compter partir "
    "set raised increased reduced lowered effect passe passent passera desormais now "
    "amounts costs price amount value current currently open opens"
)
"""Words that tell a value and not what it is of."""
_NUMBERED = lexicon.words(
    "article articles annexe annexes chapitre section titre page pages alinea paragraphe point tableau figure numero "
    "no version tome lot appendix annex chapter paragraph clause table"
)
"""Words before a number that is a name and no value."""
_VALUE = re.compile(r"\d")
_HALF_HOURS = re.compile(r"(?<![\d.,])(\d{1,2}) ?(?:h|heures?) ?([0-5]\d)(?!\d)", re.IGNORECASE)
_WEEKDAYS = frozenset((*lexicon.WEEKDAYS, *lexicon.WEEKDAYS_ENGLISH))
OF_PAPERS = lexicon.words(
    "note notes service notice circulaire avis accord avenant convention charte decision deliberation arrete arretes "
    "reglement regles procedure guide fiche rapport compte rendu annexe livret page memo instruction rules policy "
    "minutes report handbook agreement relatif relative relatifs relatives portant concernant regarding bureau comite "
    "temporaire provisoire permanent permanente definitif definitive nouveau nouvelle annuel annuelle mise jour "
    "version edition projet public ancien ancienne anciens anciennes nouveaux nouvelles recent recente recents "
    "recentes actuel actuelle precedent precedente dernier derniere premier premiere vieux vieille original originale "
    "temporary permanent new annual draft old older newer recent current previous former latest last first "
    "updated final"
)
"""Words of titles that tell what kind of paper it is, and not what it is about."""


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
class Stated:
    """What a clause of a passage states."""

    number: int
    candidate: Candidate
    clause: Clause
    told: frozenset[str]
    """The question's words that it holds, or its context; empty without a question."""
    words: tuple[Token, ...]
    """Its own, figures, dates and names apart."""
    figures: frozenset[str]
    main_figures: frozenset[str]
    """Without those that are said beside its value: « porté à 9,80 € par jour, dont 55 % … »."""
    days: frozenset[str]
    units: frozenset[str]
    """What stands behind the figures."""
    names: frozenset[str]
    subject_names: frozenset[str]
    """Those of its names, and its weekdays, that tell what a value is of: « le site de Rennes ouvre à 8 h »."""
    subject_numbers: frozenset[str]
    """Those of its numbers that tell it: « lot 2 », « pour 4 personnes, le prix est … »."""
    frame: Frame
    start: date | None
    end: date | None
    own_start: bool = field(default=False)
    """Whether the clause itself tells since when it holds."""

    @property
    def status(self) -> Status:
        """What it gives its words out for."""
        return self.frame.status

    @property
    def of_kind(self) -> frozenset[str]:
        """The words of its document's title, without numbers and dates."""
        family = self.candidate.times.family
        return family - numbers_of(family)


def stated(number: int, candidate: Candidate, clause: Clause, told: frozenset[str], *, today: date) -> Stated:
    """Return what a clause states."""
    plain = _HALF_HOURS.sub(r"\1.\2 h", without_dates(clause.text))
    main = _up_to_its_value(plain)
    words = tuple(
        token for token in tokens_of(_NAME.sub(" ", main))
        if token.tells and not is_value(token) and token.text not in _FIXING
    )
    tokens = tokens_of(plain)
    start, end = _bounds(clause.text)
    return Stated(
        number, candidate, clause, told, words, _figures(tokens), _figures(tokens_of(main)),
        frozenset(token.text for token in tokens if token.text in _WEEKDAYS), _units(tokens),
        frozenset(_NAME.findall(plain)), _subject_names(plain, _lead_characters(clause)), _subject_numbers(tokens),
        frame_of(clause.tokens, today=today),
        candidate.times.start if start is None else start.start,
        candidate.times.end if end is None else end.end, start is not None,
    )


def is_value(token: Token) -> bool:
    """Return whether a word of a question is what it asks about the rest: « à 10 € ? », « le vendredi ? »."""
    return is_figure(token) or token.text in _WEEKDAYS or token.text in lexicon.POLES


def is_figure(token: Token) -> bool:
    """Return whether a word is a number, in digits or in letters."""
    return token.text[0].isdecimal() or any(form.isdecimal() for form in token.forms)


def is_later(winner: Stated, loser: Stated) -> bool:
    """Return whether one is later than the other beyond what their dates leave open."""
    if winner.start is None or loser.start is None:
        return False
    dated = loser.candidate.times.period
    last = loser.start if loser.own_start or dated is None else max(loser.start, dated.end)
    return winner.start > last


def are_editions(first: Stated, second: Stated) -> bool:
    """Return whether the documents of two clauses are editions of one."""
    return same_family(first.of_kind, second.of_kind)


def say_the_same(first: Stated, second: Stated) -> bool:
    """Return whether two clauses speak of the same: « la taxe foncière » and « la taxe de séjour » do not.

    Editions of one document may word it anew; of others each word must be found again.
    """
    if first.subject_names != second.subject_names or _are_siblings(first, second):
        return False
    if first.subject_numbers and second.subject_numbers and first.subject_numbers.isdisjoint(second.subject_numbers):
        return False
    if first.names != second.names and opposed(first, second):
        # « Le parking de Brest est gratuit », « le parking de Quimper est payant ».
        return False
    of_both = len(first.words) + len(second.words)
    both = of_both - len(words_apart(first, second))
    if are_editions(first, second) and len(first.of_kind) > 1:
        return both >= EDITIONS_ALIKE_MIN * of_both
    return both == of_both


def says_no_more(first: Stated, second: Stated) -> bool:
    """Return whether a clause speaks of what the other one does, which may say why besides."""
    return first.subject_names == second.subject_names and bool(first.words) and all(
        told_by(token, forms_in(second.words)) for token in first.words
    )


def words_apart(first: Stated, second: Stated) -> list[Token]:
    """Return the words of each of two clauses that the other one does not tell."""
    ours, theirs = forms_in(first.words), forms_in(second.words)
    return [
        *(token for token in first.words if not told_by(token, theirs)),
        *(token for token in second.words if not told_by(token, ours)),
    ]


def differ(first: Stated, second: Stated) -> bool:
    """Return whether two clauses that say the same differ in a figure, a day, a name or a denial."""
    return (
        first.figures != second.figures or first.days != second.days or first.names != second.names
        or first.status is not second.status or opposed(first, second)
    )


def opposed(first: Stated, second: Stated) -> bool:
    """Return whether one clause denies what the other one affirms; what has conditions or exceptions is not told."""
    ours, theirs = first.frame, second.frame
    for each in (ours, theirs):
        if each.exceptions or each.conditions or each.restricted or 0 in each.poles.values():
            return False
    return ours.poles.keys() == theirs.poles.keys() and ours.quantities == theirs.quantities and side(ours, theirs) < 0


def _are_siblings(first: Stated, second: Stated) -> bool:
    """Return whether two documents are of one form and two subjects: « Accès au site de Nantes », « … de Rennes ».

    A word of one title that the other document's clause has names no other subject.
    """
    if not first.of_kind & second.of_kind:
        return False
    return _has_own_subject(first, second) and _has_own_subject(second, first)


def _has_own_subject(one: Stated, other: Stated) -> bool:
    own = one.of_kind - other.of_kind - OF_PAPERS
    said = forms_in((*other.clause.tokens, *other.clause.context))
    return any(token.tells and not told_by(token, said) for token in tokens_of(" ".join(sorted(own))))


def _subject_names(text: str, lead: int) -> frozenset[str]:
    """Return the names and days before the verb or the figure of a clause with figures.

    Not a person's, nor what stands behind the `lead` characters up to a colon: « Déléguée : Mme Aubin, poste 3310 »
    tells a name for a value, and so does a clause without figures.
    """
    value = _VALUE.search(text)
    if value is None:
        return frozenset()
    before = text[: min(value.start(), lead or len(text))]
    names = _NAME.findall(_TITLED.sub(" ", before))
    tokens = tokens_of(before)
    place = predicate_place(tokens)
    days = [token.text for token in tokens[:place] if token.text in _WEEKDAYS] if place < len(tokens) else []
    return frozenset((*names, *days))


def _subject_numbers(tokens: Sequence[Token]) -> frozenset[str]:
    """Return the numbers before the verb of a clause, and those that number something."""
    place = predicate_place(tokens)
    before = tokens[:place] if place < len(tokens) else ()
    return frozenset((
        *(_number(token) for token in before if is_figure(token)),
        *(_number(number) for word, number in pairwise(tokens) if word.text in _NUMBERED and is_figure(number)),
    ))


def _lead_characters(clause: Clause) -> int:
    return 0 if clause.lead is None else clause.lead[1] - clause.lead[0]


def _up_to_its_value(text: str) -> str:
    """Return a clause without what is said beside its value: « porté à 9,80 € par jour, dont 55 % … »."""
    value = _VALUE.search(text)
    comma = -1 if value is None else text.find(", ", value.end())
    return text if comma < 0 else text[:comma]


def _figures(tokens: Sequence[Token]) -> frozenset[str]:
    """Return the figures of a clause, without those that number something: « article 4 »."""
    return frozenset(
        _number(token) for place, token in enumerate(tokens)
        if is_figure(token) and not (place and tokens[place - 1].text in _NUMBERED)
    )


def _number(token: Token) -> str:
    """Return a figure in one form: « deux mois » and « 2 mois » say the same."""
    return next((form for form in token.forms if form.isdecimal()), token.text)


def _units(tokens: Sequence[Token]) -> frozenset[str]:
    return frozenset(
        unit for token, following in pairwise(tokens) if is_figure(token)
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
