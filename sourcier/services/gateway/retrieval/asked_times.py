"""What a question says of time prefers documents by their own dates: « en 2024 », « depuis mars », « le dernier PV ».

A preference and never a filter: what is told of 2024 may stand in a paper of 2023, and many documents have no date.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cached_property

from sourcier.services.index.language.analyser import analyse_subject
from sourcier.services.index.language.stop_words import fold_in_place
from sourcier.services.index.times.dates import MONTH, MONTHS, dates_in
from sourcier.services.index.times.periods import Period

TIME_WEIGHT = 0.05
"""What a document of the time asked for gains: as much as the best full-text score. It decides between passages that
are as close to the question as one another, such as those of two years' price lists, and lifts none that are not."""
LATEST_WEIGHT = 0.1
"""What the latest of the papers that the question names gains. More, for it is asked of those alone."""
EARLIER_SHARE = 0.5
"""Of the weight for the paper before, and so on."""
SUBJECT_WORDS_MAX = 4
"""Looked at behind « le dernier »."""

_BEFORE_CHARACTERS = 30
_SINCE = re.compile(
    r"\b(?:depuis|des|apres|since|after|from|a (?:partir|compter) d[eu])\s(?:le\s|l'annee\s|la fin de\s)?$"
)
_UNTIL = re.compile(r"\b(?:jusqu'(?:en|au|a)|until)\s(?:le\s)?$")
_BEFORE = re.compile(r"\b(?:avant|before)\s(?:le\s|l'annee\s)?$")
_RANGE_START = re.compile(r"\b(?:entre|de|du|between|from)\s(?:le\s)?$")
_RANGE_MIDDLE = re.compile(r"\s?(?:et|a|au|and|to|-|–)\s?(?:le\s)?")
_MONTH_ALONE = re.compile(rf"\b(?:en|depuis|avant|des|in|since|before)\s(?P<month>{MONTH})\b(?!\s\d)")
_RELATIVE = re.compile(
    r"\b(?:(?P<this_year>cette annee|this year)|"
    r"(?P<last_year>l'an(?:nee)? dernier(?:e)?|l'an(?:nee)? passee?|last year)|"
    r"(?P<this_month>ce mois(?:-ci)?\b|this month)|(?P<last_month>le mois dernier|last month))"
)
_LATEST = re.compile(
    r"\b(?:dernier|derniere|derniers|dernieres|latest|newest|most recent)\s(?P<ahead>[^?!.,;:]{1,60})"
    r"|(?P<behind>[^?!.,;:]{1,60})\s(?:le|la|les)\splus\srecent(?:e|s|es)?\b"
)
_NO_PAPER = frozenset({
    "mois", "annee", "annees", "an", "ans", "jour", "jours", "semaine", "semaines", "trimestre", "semestre", "heure",
    "heures", "minute", "minutes", "fois", "etage", "delai", "recours", "ressort", "moment", "lieu", "rang", "place",
    "alinea", "paragraphe", "phrase", "ligne", "page", "pages", "chapitre", "partie", "point", "echelon", "tranche",
    "salaire", "salaires", "employeur", "poste", "enfant", "etape", "year", "years", "month", "months", "week",
    "weeks", "day", "days", "time",
})


@dataclass(frozen=True)
class AskedTimes:
    """The times that a question names, and the papers whose latest it asks for."""

    periods: tuple[Period, ...] = ()
    latest_of: frozenset[str] = frozenset()
    """The stems of the words behind « le dernier »; empty where it asks for no latest one."""
    subject: str = ""
    """The question without the dates that only bound what it asks for: « avant 2024 » names no paper of 2024."""

    def shares(self, titles: Sequence[str], dates: Sequence[Period | None]) -> list[float]:
        """Return what each candidate gains, by its document's title and own date; 0 for one without a date."""
        latest = _Latest(self.latest_of, titles, dates)
        return [
            max(TIME_WEIGHT * self._inside(period), LATEST_WEIGHT * latest.share(title, period))
            for title, period in zip(titles, dates, strict=True)
        ]

    def _inside(self, period: Period | None) -> float:
        if period is None:
            return 0.0
        if any(asked.holds(period) for asked in self.periods):
            return 1.0
        # A document of a year, where a month is asked for.
        return 0.5 if any(period.start <= asked.end and asked.start <= period.end for asked in self.periods) else 0.0


class _Latest:
    """The papers whose latest is asked for, by their dates."""

    def __init__(self, stems: frozenset[str], titles: Sequence[str], dates: Sequence[Period | None]) -> None:
        self._stems = stems
        self._candidates = tuple(zip(titles, dates, strict=True)) if stems else ()

    @cached_property
    def _days(self) -> list[date]:
        named = {period.start for title, period in self._candidates if period is not None and self._names(title)}
        return sorted(named, reverse=True)

    def _names(self, title: str) -> bool:
        return not self._stems.isdisjoint(_stems(title))

    def share(self, title: str, period: Period | None) -> float:
        """Return 1 for the latest, a half for the one before, and so on; 0 for what is none of them."""
        if not self._stems or period is None or not self._names(title):
            return 0.0
        return EARLIER_SHARE ** self._days.index(period.start)


def asked_times(question: str, *, today: date) -> AskedTimes | None:
    """Return what a question says of time; None for nothing."""
    folded = fold_in_place(question).replace("’", "'")
    named = tuple(_named(question, folded))
    periods = (*(each.period for each in named), *_months(folded, today), *_relative(folded, today))
    latest = _papers(folded)
    if not periods and not latest:
        return None
    subject = question
    for each in reversed(named):
        if each.bounds:
            subject = f"{subject[:each.start]} {subject[each.end:]}"
    return AskedTimes(tuple(dict.fromkeys(periods)), latest, subject)


@dataclass(frozen=True)
class _Named:
    """A time that a question names, and where its dates stand."""

    start: int
    end: int
    period: Period
    bounds: bool
    """Whether its dates are ends of it."""


def _named(question: str, folded: str) -> Iterator[_Named]:
    found = dates_in(question, years=True)
    if len(found) == 2:
        first, last = found
        between, before = folded[first.end : last.start], folded[max(0, first.start - _BEFORE_CHARACTERS) : first.start]
        if _RANGE_MIDDLE.fullmatch(between) and _RANGE_START.search(before) and first.period.start <= last.period.end:
            yield _Named(first.start, last.end, Period(first.period.start, last.period.end), bounds=True)
            return
    for each in found:
        period = _open(each.period, folded[max(0, each.start - _BEFORE_CHARACTERS) : each.start])
        yield _Named(each.start, each.end, period, bounds=period != each.period)


def _open(period: Period, before: str) -> Period:
    """Return a period as what stands before it opens it: « depuis 2024 », « avant mars 2023 »."""
    if _SINCE.search(before):
        return Period(period.start, date.max)
    if _UNTIL.search(before):
        return Period(date.min, period.end)
    if _BEFORE.search(before) and period.start > date.min:
        return Period(date.min, period.start - timedelta(days=1))
    return period


def _months(folded: str, today: date) -> Iterator[Period]:
    for match in _MONTH_ALONE.finditer(folded):
        month = MONTHS[match["month"]]
        period = Period.of_month(today.year - (month > today.month), month)
        yield _open(period, folded[match.start() : match.start("month")])


def _relative(folded: str, today: date) -> Iterator[Period]:
    for match in _RELATIVE.finditer(folded):
        if match["this_year"] or match["last_year"]:
            yield Period.of_year(today.year - bool(match["last_year"]))
        else:
            day = today.replace(day=1) - timedelta(days=1) if match["last_month"] else today
            yield Period.of_month(day.year, day.month)


def _papers(folded: str) -> frozenset[str]:
    found: set[str] = set()
    for match in _LATEST.finditer(folded):
        words = (match["ahead"] or match["behind"]).split()
        near = words[:SUBJECT_WORDS_MAX] if match["ahead"] else words[-SUBJECT_WORDS_MAX:]
        if match["ahead"] and near[0] in _NO_PAPER:
            continue
        found |= _stems(" ".join(near))
    return frozenset(found)


def _stems(text: str) -> frozenset[str]:
    return frozenset().union(*map(frozenset, analyse_subject(text)))
