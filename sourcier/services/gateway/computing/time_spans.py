"""From when to when something is, in sentences: « du 3 au 14 mars 2025 », « de 9 h à 12 h 30 », « de 1998 à 2015 »."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date

from sourcier.services.gateway.clauses import lexicon
from sourcier.services.gateway.clauses.cutting import Clause, clauses_of
from sourcier.services.gateway.clauses.frame import Status, frame_of
from sourcier.services.gateway.clauses.tokens import Token, tokens_of
from sourcier.services.gateway.computing.asking import AMBIGUOUS_DATE, days_in
from sourcier.services.gateway.computing.results import Place
from sourcier.services.gateway.figures.readings import Source
from sourcier.services.gateway.figures.words import forms_of
from sourcier.services.index.language.stop_words import fold_in_place
from sourcier.services.index.times.dates import MONTH, MONTHS

_SHORT = re.compile(
    rf"\b(?:du|from) (?P<day>\d{{1,2}})(?:er|st|nd|rd|th)?(?: (?P<month>{MONTH}))? (?:au|to) (?=\d|[a-z])"
)
_CLOCK = r"\d{1,2}(?:\s?h(?:eures?)?(?:\s?\d{2})?|:\d{2})(?:\s?[ap]m)?|\d{1,2}\s?[ap]m"
_HOURS = re.compile(rf"\b(?:de|entre|from|between) (?P<first>{_CLOCK}) (?:a|et|to|and) (?P<second>{_CLOCK})(?!\w)")
_TIME = re.compile(r"(?P<hour>\d{1,2})(?:\s?h(?:eures?)?|:)?\s?(?P<minute>\d{2})?\s?(?P<half>[ap]m)?")
_YEARS = re.compile(r"\b(?:de|from) (?P<first>(?:19|20)\d\d) (?:a|to) (?P<second>(?:19|20)\d\d)\b")
_BEGINS = re.compile(r"\b(?:commence|debute|demarre|begins|starts)\w{0,4}\b")
_ENDS = re.compile(r"\b(?:se termine|s'acheve|prend fin|finit|ends)\w{0,4}\b")
_CANCELLED = re.compile(r"\b(?:annul|report|supprim|ajourn|cancel|postpon|call(?:ed)? off)\w{0,8}|\bpas lieu\b")
_SEVERAL_DAYS = re.compile(
    r"\b(?:du|from) \S{1,12}(?: \S{1,12}){0,2} (?:au|to) (?!\d{1,2}\s?(?:h|:))|\bles \d|"
    r"\d (?:et|and) (?:le |the )?\d|\b(?:jours|journees|days|seances|sessions|semaines|weeks)\b"
)
_DIGIT = re.compile(r"\d")
_BORN = re.compile(r"\b(?:nee?s?|born)\b")


@dataclass(frozen=True)
class Span:
    """When something begins and ends, and what it is."""

    forms: frozenset[str]
    around: frozenset[str]
    place: Place
    text: str
    days: tuple[date, date] | None = None
    minutes: tuple[int, int] | None = None
    years: tuple[int, int] | None = None


@dataclass(frozen=True)
class Event:
    """A day in a clause and what happens on it."""

    forms: frozenset[str]
    place: Place
    day: date
    text: str


def spans_in(source: Source, *, today: date) -> Iterator[Span]:
    """Give the spans of time of a passage; a clause of two is not read."""
    if _CANCELLED.search(fold_in_place(source.text)) is not None:
        return
    context = forms_of(tokens_of(source.context))
    for clause, text in _facts(source, today=today):
        folded = fold_in_place(text)
        hours, years = list(_HOURS.finditer(folded)), list(_YEARS.finditer(folded))
        days = _days(text, folded)
        forms = forms_of((*clause.tokens, *clause.subject))
        place = Place(source.number, clause.start, clause.end)
        if hours and (days is not None or _SEVERAL_DAYS.search(_HOURS.sub(" ", folded)) is not None):
            # The hours of each of several days are no duration of all.
            continue
        if len(hours) == 1:
            times = tuple(_minutes(hours[0].group(name)) for name in ("first", "second"))
            first, second = times
            if first is not None and second is not None and first < second:
                shown = text[hours[0].start() : hours[0].end()]
                yield Span(forms, context, place, shown, minutes=(first, second))
        elif days is not None and not hours:
            (start, end), shown = days
            yield Span(forms, context, place, shown, days=(start, end))
        elif len(years) == 1 and not hours:
            first_year, second_year = int(years[0].group("first")), int(years[0].group("second"))
            if first_year < second_year:
                shown = text[years[0].start() : years[0].end()]
                yield Span(forms, context, place, shown, years=(first_year, second_year))


_NAME = re.compile(
    r"(?P<name>[A-ZÀ-Ý][\w'’.-]{0,30}(?: (?:de |du |la |le |van |von )?[A-ZÀ-Ý][\w'’.-]{0,30}){0,4})"
    r"[ ,(–—]{0,3}(?:est |a été |was |is )?$"
)
_PRONOUN = re.compile(r"(?:^|[ ,])(?:il|elle|he|she) (?:est |etait |was )?$")
_OF_ANOTHER = re.compile(r"(?:\b(?:de|du|des|d'|of|et|and|chez|a|à)\s?)$")
_KIN = lexicon.words(
    "frere soeur fils fille mere pere mari femme epouse epoux conjoint conjointe enfant cousin cousine oncle tante "
    "neveu niece parent parents brother sister son daughter mother father husband wife spouse child uncle aunt"
)
_DEATH = re.compile(r"\b(?:mort|morte|morts|decede\w{0,2}|deces|disparue?|died|dead|death|deceased|feue?|late)\b|†")


def births_in(source: Source, *, today: date) -> Iterator[Event]:
    """Give who was born when: only by the name beside it, and of nobody who died."""
    if _BORN.search(fold_in_place(source.text)) is None or _DEATH.search(fold_in_place(source.text)) is not None:
        return
    for clause, text in _facts(source, today=today, plain=False):
        folded = fold_in_place(text)
        births = list(_BORN.finditer(folded))
        if len(births) != 1 or births[0].group() in ("nes", "nees"):
            continue
        [born] = births
        dates = [each for each in days_in(text) if each.start >= born.end()]
        if not dates or dates[0].start - born.end() > 12:
            continue
        who = _who(text[: born.start()], clause)
        if who:
            yield Event(forms_of(who), Place(source.number, clause.start, clause.end), dates[0].period.start,
                        text[dates[0].start : dates[0].end])


def _who(before: str, clause: Clause) -> tuple[Token, ...]:
    """Return whose birth is told: the name beside « né le », or the subject that a pronoun stands for."""
    name = _NAME.search(before)
    pronoun = _PRONOUN.search(fold_in_place(before))
    if pronoun is not None:
        return () if any(token.text in _KIN for token in clause.subject) else tuple(clause.subject)
    if name is None or _OF_ANOTHER.search(fold_in_place(before[: name.start()])) is not None:
        # « la mère de Marthe Gaillard est née »
        return ()
    return tokens_of(name.group("name"))


def _facts(source: Source, *, today: date, plain: bool = True) -> Iterator[tuple[Clause, str]]:
    for clause in clauses_of(source.text, source.context):
        if not _DIGIT.search(clause.text):
            # Framing takes longest, and most clauses have no date.
            continue
        if source.language != "fr" and AMBIGUOUS_DATE.search(clause.text):
            continue
        frame = frame_of(clause.tokens, today=today)
        if frame.denied or frame.status in (Status.REJECTED, Status.HYPOTHESIS, Status.CLAIMED):
            continue
        if plain and (frame.exceptions or frame.conditions):
            continue
        yield clause, clause.text


def _days(text: str, folded: str) -> tuple[tuple[date, date], str] | None:
    """Return the two days of « du 3 au 14 mars 2025 », « commence le … et se termine le … »."""
    found = days_in(text)
    short = _SHORT.search(folded)
    if short is not None and len(found) == 1 and found[0].start == short.end():
        last = found[0].period.start
        month = MONTHS[short.group("month")] if short.group("month") else last.month
        try:
            first = date(last.year, month, int(short.group("day")))
        except ValueError:
            return None
        return ((first, last), text[short.start() : found[0].end]) if first < last else None
    if len(found) != 2:
        return None
    one, other = found
    between = folded[one.end : other.start].strip()
    before = folded[max(0, one.start - 14) : one.start]
    runs = between in ("au", "jusqu'au", "to", "until") and re.search(r"\b(?:du|from|des le)\s$", before)
    if not runs or not one.period.start < other.period.start:
        return None
    return (one.period.start, other.period.start), text[one.start : other.end]


def ends_in(source: Source, *, today: date) -> Iterator[Span]:
    """Give what begins on a day and ends on another, by two clauses of one sentence."""
    folded_text = fold_in_place(source.text)
    if _BEGINS.search(folded_text) is None or _CANCELLED.search(folded_text) is not None:
        return
    clauses: dict[int, list[tuple[Clause, str]]] = {}
    for clause, text in _facts(source, today=today):
        clauses.setdefault(clause.sentence, []).append((clause, text))
    for group in clauses.values():
        sentence = source.text[group[0][0].start : group[0][0].end]
        folded = fold_in_place(sentence)
        found = days_in(sentence)
        begins, ends = _BEGINS.search(folded), _ENDS.search(folded)
        if begins is None or ends is None or len(found) != 2 or not begins.end() <= found[0].start <= ends.start():
            continue
        first, last = found[0].period.start, found[1].period.start
        if found[1].start >= ends.end() and first < last:
            yield Span(
                forms_of(tokens_of(sentence)), forms_of(tokens_of(source.context)),
                Place(source.number, group[0][0].start, group[0][0].end),
                f"{sentence[found[0].start : found[0].end]} – {sentence[found[1].start : found[1].end]}",
                days=(first, last),
            )


def _minutes(text: str) -> int | None:
    match = _TIME.fullmatch(text.strip())
    if match is None:
        return None
    hour, minute = int(match.group("hour")), int(match.group("minute") or 0)
    if match.group("half") == "pm" and hour < 12:
        hour += 12
    return hour * 60 + minute if hour <= 24 and minute < 60 else None
