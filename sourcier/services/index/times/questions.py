"""What a question says of time: « en 2024 », « depuis mars », « avant la réforme », « le dernier PV du CSE »."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from enum import Enum

from sourcier.services.index.language.stop_words import FUNCTION_WORDS, fold_in_place
from sourcier.services.index.language.words import split_words
from sourcier.services.index.times.dates import MONTH, MONTHS, dates_in
from sourcier.services.index.times.periods import Period

SUBJECT_WORDS_MAX = 4
"""Looked at behind « le dernier »."""
BEFORE_CHARACTERS = 40
"""Of what stands before a date, where the words that open it are looked for."""


class Opening(Enum):
    """Which side of a date a question asks for."""

    SINCE = "since"
    AFTER = "after"
    UNTIL = "until"
    BEFORE = "before"

    def of(self, period: Period) -> Period:
        """Return the time on that side of a period; the period itself belongs to « depuis » and « jusqu'à » alone."""
        if self is Opening.SINCE:
            return Period(period.start, date.max)
        if self is Opening.UNTIL:
            return Period(date.min, period.end)
        if self is Opening.AFTER:
            return Period(min(period.end, date.max - timedelta(days=1)) + timedelta(days=1), date.max)
        return Period(date.min, max(period.start, date.min + timedelta(days=1)) - timedelta(days=1))


_WORDS = {
    Opening.SINCE: r"depuis|des|since|from|(?:a|as) (?:partir|compter|of) ?(?:d[eu]|d'|des)?",
    Opening.AFTER: r"apres|after|posterieurs? a|posterieures? a",
    Opening.UNTIL: r"jusqu[' ]?(?:en|aux?|a)|until|up to",
    Opening.BEFORE: r"avant|before|prior to|anterieurs? a|anterieures? a",
}
_OPENINGS = {
    opening: re.compile(rf"\b(?:{words})\s?(?:le\s|la\s|l'annee\s|la fin (?:de\s|d')|(?:the )?end of\s)?$")
    for opening, words in _WORDS.items()
}
_IN_A_YEAR = re.compile(
    r"\b(?:en|de|du|pour|courant|durant|pendant|sur|an|annees?|exercice|millesime|debut|fin|mi|in|of|for|during|year|"
    r"early|late|et|ou|and|or)[\s-](?:l'annee\s|l'exercice\s|the year\s)?$"
)
"""What says of a year that it is a time."""
_RANGE_START = re.compile(r"\b(?:entre|de|du|between|from)\s(?:le\s)?$")
_RANGE_MIDDLE = re.compile(r"\s?(?:et|a|au|and|to|-|–)\s?(?:le\s)?")
_MONTH_ALONE = re.compile(rf"\b(?:en|depuis|avant|des|apres|in|since|before|after)\s(?P<month>{MONTH})\b(?!\s\d)")
_PART_OF_YEAR = re.compile(
    r"(?:\b(?P<half>premier|1er|second|deuxieme|2e|2eme|first|second)\s(?:semestre|half)\s(?:de\s|of\s)?"
    r"|\b[sh](?P<half_number>[12])\s?"
    r"|\b(?P<quarter>premier|1er|deuxieme|2e|2eme|troisieme|3e|3eme|quatrieme|4e|4eme|first|second|third|fourth)\s"
    r"(?:trimestre|quarter)\s(?:de\s|of\s)?|\b[tq](?P<quarter_number>[1-4])\s?)$"
)
_ORDINALS = {
    "premier": 1, "1er": 1, "first": 1, "second": 2, "deuxieme": 2, "2e": 2, "2eme": 2, "troisieme": 3, "3e": 3,
    "3eme": 3, "third": 3, "quatrieme": 4, "4e": 4, "4eme": 4, "fourth": 4,
}
_RELATIVE = re.compile(
    r"\b(?:(?P<this_year>cette annee|l'annee en cours|this year)|"
    r"(?P<last_year>l'an(?:nee)? derniere?|l'an(?:nee)? passee?|last year)|"
    r"(?P<this_month>ce mois(?:-ci)?\b|this month)|(?P<last_month>le mois (?:dernier|passe)|last month)|"
    r"(?P<this_week>cette semaine|this week)|(?P<last_week>la semaine (?:derniere|passee)|last week)|"
    r"il y a (?P<years_fr>\d{1,2}|un|deux|trois|quatre|cinq) ans?\b|"
    r"(?P<years_en>\d{1,2}|one|two|three|four|five) years? ago\b)"
)
_NUMBERS = {
    "un": 1, "deux": 2, "trois": 3, "quatre": 4, "cinq": 5, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5,
}
_LATEST = re.compile(
    r"\b(?:derniere?s?|latest|newest|most recent|last)\s(?P<ahead>[^?!.,;:]{1,60})"
    r"|(?P<behind>[^?!.,;:]{1,60})\s(?:l[ea]s?)\splus\srecente?s?\b"
)
_NO_PAPER = frozenset({
    "mois", "annee", "annees", "an", "ans", "jour", "jours", "semaine", "semaines", "trimestre", "semestre", "heure",
    "heures", "minute", "fois", "etage", "delai", "recours", "ressort", "moment", "lieu", "rang", "place",
    "alinea", "paragraphe", "phrase", "ligne", "page", "pages", "chapitre", "partie", "point", "echelon", "tranche",
    "salaire", "salaires", "employeur", "poste", "enfant", "etape", "year", "years", "month", "months", "week",
    "weeks", "day", "days", "time", "name", "names", "night", "chance", "resort", "person", "word",
})
# What happens once to an organisation. « Avant le licenciement » asks of no time.
_EVENT = re.compile(
    r"\b(?:(?P<before>avant|before|prior to)|depuis|apres|since|after)\s(?:le |la |les |l'|the )"
    r"(?P<event>reforme|demenagement|fusion|reorganisation|restructuration|rachat|acquisition|refonte|migration|scission|"
    r"privatisation|deconfinement|confinement|pandemie|covid|reform|merger|takeover|relocation|reorgani[sz]ation|"
    r"restructuring|rebranding|lockdown|pandemic)\b"
)


@dataclass(frozen=True)
class Event:
    """Something before or after which a question asks: « avant la réforme »."""

    word: str
    opening: Opening


@dataclass(frozen=True)
class QuestionTimes:
    """The times that a question names."""

    periods: tuple[Period, ...] = ()
    """Told by a date or by words: « en 2024 », « l'an dernier », « depuis mars »."""
    years: tuple[Period, ...] = ()
    """Years that stand beside a word alone, and may be a part of its name: « budget 2026 », « Horizon 2030 »."""
    events: tuple[Event, ...] = ()
    latest: tuple[str, ...] = ()
    """The words behind « le dernier », function words left out; empty where it asks for no latest one."""
    subject: str = ""
    """The question without what only bounds it: « avant 2024 » names no paper of 2024."""

    def __bool__(self) -> bool:
        return bool(self.periods or self.years or self.events or self.latest)


def opening_of(before: str) -> Opening | None:
    """Return what words open a date, by the folded text that ends before it."""
    return next((opening for opening, words in _OPENINGS.items() if words.search(before)), None)


def times_of_question(question: str, *, today: date) -> QuestionTimes:
    """Return what a question says of time."""
    folded = fold_in_place(question).replace("’", "'")
    named = tuple(_named(question, folded))
    bounds = [(each.start, each.end) for each in named if each.bounds]
    bounds += [match.span("event") for match in _EVENT.finditer(folded)]
    subject = question
    for start, end in sorted(bounds, reverse=True):
        subject = f"{subject[:start]} {subject[end:]}"
    periods = (
        *(each.period for each in named if not each.bare), *_months(folded, today), *_relative(folded, today)
    )
    return QuestionTimes(
        tuple(dict.fromkeys(periods)), tuple(dict.fromkeys(each.period for each in named if each.bare)),
        tuple(_events(folded)), tuple(_papers(folded)), subject,
    )


@dataclass(frozen=True)
class _Named:
    """A time that a question names, and where its dates stand."""

    start: int
    end: int
    period: Period
    bounds: bool
    """Whether its dates are ends of it."""
    bare: bool = False
    """Whether it is a year, and no word before it says that it is a time."""


def _named(question: str, folded: str) -> Iterator[_Named]:
    found = dates_in(question, years=True)
    if len(found) == 2:
        first, last = found
        between, before = folded[first.end : last.start], folded[max(0, first.start - BEFORE_CHARACTERS) : first.start]
        if _RANGE_MIDDLE.fullmatch(between) and _RANGE_START.search(before) and first.period.start <= last.period.end:
            yield _Named(first.start, last.end, Period(first.period.start, last.period.end), bounds=True)
            return
    for each in found:
        before = folded[max(0, each.start - BEFORE_CHARACTERS) : each.start]
        period, before = _part_of_year(each.period, before)
        opening = opening_of(before)
        bare = opening is None and each.period == Period.of_year(each.period.start.year) == period
        yield _Named(
            each.start, each.end, period if opening is None else opening.of(period), bounds=opening is not None,
            bare=bare and _IN_A_YEAR.search(before) is None,
        )


def _part_of_year(period: Period, before: str) -> tuple[Period, str]:
    """Return the half or quarter of a year that the words before it name, and what stands before those."""
    match = _PART_OF_YEAR.search(before)
    if match is None or period != Period.of_year(period.start.year):
        return period, before
    half, quarter = match["half"] or match["half_number"], match["quarter"] or match["quarter_number"]
    written, months = (half, 6) if half else (quarter, 3)
    number = int(written) if written.isdecimal() else _ORDINALS[written]
    first, last = (Period.of_month(period.start.year, months * (number - 1) + each) for each in (1, months))
    return Period(first.start, last.end), before[: match.start()]


def _months(folded: str, today: date) -> Iterator[Period]:
    for match in _MONTH_ALONE.finditer(folded):
        month = MONTHS[match["month"]]
        period = Period.of_month(today.year - (month > today.month), month)
        opening = opening_of(folded[match.start() : match.start("month")])
        yield period if opening is None else opening.of(period)


def _relative(folded: str, today: date) -> Iterator[Period]:
    for match in _RELATIVE.finditer(folded):
        if match["this_year"] or match["last_year"]:
            yield Period.of_year(today.year - bool(match["last_year"]))
        elif match["this_week"] or match["last_week"]:
            monday = today - timedelta(days=today.weekday() + 7 * bool(match["last_week"]))
            yield Period(monday, monday + timedelta(days=6))
        elif years := match["years_fr"] or match["years_en"]:
            yield Period.of_year(today.year - (_NUMBERS.get(years) or int(years)))
        else:
            day = today.replace(day=1) - timedelta(days=1) if match["last_month"] else today
            yield Period.of_month(day.year, day.month)


def _papers(folded: str) -> Iterator[str]:
    for match in _LATEST.finditer(folded):
        words = split_words(match["ahead"] or match["behind"])
        if match["ahead"] and words and words[0] in _NO_PAPER:
            continue
        telling = [each for each in words if each not in FUNCTION_WORDS]
        yield from telling[:SUBJECT_WORDS_MAX] if match["ahead"] else telling[-SUBJECT_WORDS_MAX:]


def _events(folded: str) -> Iterator[Event]:
    for match in _EVENT.finditer(folded):
        yield Event(match["event"], Opening.BEFORE if match["before"] else Opening.AFTER)
