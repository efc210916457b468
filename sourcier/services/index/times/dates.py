"""Dates in French and English texts, as periods: a day, a month, a year."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date

from sourcier.services.index.language.stop_words import fold_in_place
from sourcier.services.index.times.periods import Period

MONTHS = {
    name: number for names in (
        "janvier fevrier mars avril mai juin juillet aout septembre octobre novembre decembre",
        "january february march april may june july august september october november december",
    ) for number, name in enumerate(names.split(), start=1)
}
YEAR_MIN, YEAR_MAX = 1900, 2199

_DAY = r"(?P<day>\d{1,2})(?:er|st|nd|rd|th)?"
MONTH = "|".join(sorted(MONTHS, key=len, reverse=True))
YEAR = r"(?P<year>(?:19|20|21)\d\d)"
# A figure that goes on before or behind is no date: « L. 2023-4 », « 1 2024 », « 2024 € ».
_EDGE = r"(?<![\d.,/-])"
_END = r"(?!\d|[.,/-]\d)"
_FORMS = tuple(re.compile(form) for form in (
    rf"{_EDGE}{_DAY}\s(?:of\s)?(?P<month>{MONTH}),?\s{YEAR}{_END}",
    rf"\b(?P<month>{MONTH})\s{_DAY},?\s{YEAR}{_END}",
    rf"\b(?P<month>{MONTH})\s{YEAR}{_END}",
    rf"{_EDGE}{YEAR}-(?P<month>\d\d)-(?P<day>\d\d){_END}",
    rf"{_EDGE}(?P<day>\d\d?)[./-](?P<month>\d\d?)[./-]{YEAR}{_END}",
))
_YEAR_ALONE = re.compile(
    rf"(?<![\w.,/-]){YEAR}(?!\w|[.,/-]\d|\s?(?:€|%|euros?\b|h\b|m\b|km\b|kg\b|personnes?\b|agents?\b|salari))"
)
_IN_NAMES = tuple(re.compile(form) for form in (
    rf"(?<!\d){YEAR}[-_. ]?(?P<month>\d\d)[-_. ]?(?P<day>\d\d)(?!\d)",
    rf"(?<!\d)(?P<day>\d\d)[-_. ]?(?P<month>\d\d)[-_. ]?{YEAR}(?!\d)",
    rf"(?<!\d){YEAR}[-_. ](?P<month>\d\d)(?!\d)",
    rf"(?<!\d){YEAR}(?!\d)",
))


@dataclass(frozen=True, slots=True)
class Dated:
    """A date in a text, and where it stands."""

    start: int
    end: int
    period: Period


def dates_in(text: str, *, years: bool = False) -> list[Dated]:
    """Return the dates of a text in its order; with `years`, those that are but a year too."""
    folded = fold_in_place(text)
    found: list[Dated] = []
    for form in (*_FORMS, *((_YEAR_ALONE,) if years else ())):
        for match in form.finditer(folded):
            period = period_in(match)
            if period is None or any(each.start < match.end() and match.start() < each.end for each in found):
                continue
            found.append(Dated(match.start(), match.end(), period))
    return sorted(found, key=lambda each: each.start)


def date_of_name(name: str) -> Period | None:
    """Return the date that a file's name holds: `note-2024-01.md`, `20260312 CR.pdf`."""
    stem = name.rsplit("/", 1)[-1]
    stem = stem.rsplit(".", 1)[0] if "." in stem else stem
    spelled = dates_in(stem.replace("_", " ").replace("-", " "))
    if spelled:
        return spelled[-1].period
    for form in _IN_NAMES:
        for match in form.finditer(stem):
            if (period := period_in(match)) is not None:
                return period
    return None


def without_dates(text: str) -> str:
    """Return a text with its dates blanked out."""
    for each in reversed(dates_in(text, years=True)):
        text = text[: each.start] + " " * (each.end - each.start) + text[each.end :]
    return text


def period_in(match: re.Match[str]) -> Period | None:
    """Return the year, month or day that a match names by these groups; None where the calendar has none such."""
    groups = match.groupdict()
    year = int(groups["year"])
    month = groups.get("month")
    if not month:
        return Period.of_year(year)
    number = int(month) if month.isdecimal() else MONTHS[month]
    if not 1 <= number <= 12:
        return None
    whole = Period.of_month(year, number)
    day = groups.get("day")
    if not day:
        return whole
    if not 1 <= int(day) <= whole.end.day:
        return None
    return Period(date(year, number, int(day)), date(year, number, int(day)))
