"""Arithmetic of days: months added, working days and French public holidays, ages."""

from __future__ import annotations

from calendar import monthrange
from datetime import date, timedelta
from functools import lru_cache

SATURDAY, SUNDAY = 5, 6
DAYS_MAX = 3_700


def months_later(day: date, months: int) -> date:
    """Return the same day some months later, the last of the month where it has no such day."""
    month = day.month - 1 + months
    year, month = day.year + month // 12, month % 12 + 1
    return date(year, month, min(day.day, monthrange(year, month)[1]))


def working_days_later(day: date, count: int, *, saturdays: bool) -> date | None:
    """Return the day that is some working days later, None past ten years; with `saturdays`, « jours ouvrables »."""
    step = timedelta(days=1 if count >= 0 else -1)
    left = abs(count)
    for _ in range(DAYS_MAX):
        if not left:
            return day
        day += step
        left -= is_working_day(day, saturdays=saturdays)
    return None


def is_working_day(day: date, *, saturdays: bool) -> bool:
    """Return whether a day is worked: no Sunday, no public holiday, and no Saturday unless these count."""
    weekend = {SUNDAY} if saturdays else {SATURDAY, SUNDAY}
    return day.weekday() not in weekend and day not in holidays(day.year)


@lru_cache(maxsize=64)
def holidays(year: int) -> frozenset[date]:
    """Return the eleven public holidays of a year in France; those of Alsace and overseas are not among them."""
    easter = _easter(year)
    return frozenset({
        date(year, 1, 1), easter + timedelta(days=1), date(year, 5, 1), date(year, 5, 8), easter + timedelta(days=39),
        easter + timedelta(days=50), date(year, 7, 14), date(year, 8, 15), date(year, 11, 1), date(year, 11, 11),
        date(year, 12, 25),
    })


def years_between(first: date, last: date) -> int:
    """Return the whole years from a day to a later one: an age."""
    return last.year - first.year - ((last.month, last.day) < (first.month, first.day))


def _easter(year: int) -> date:
    """Return Easter Sunday (Anonymous Gregorian algorithm, Meeus 1991)."""
    a, b, c = year % 19, year // 100, year % 100
    d, e = b // 4, b % 4
    g = (8 * b + 13) // 25
    h = (19 * a + b - d - g + 15) % 30
    j, k = c // 4, c % 4
    m = (a + 11 * h) // 319
    r = (2 * e + 2 * j - k - h + m + 32) % 7
    month = (h - m + r + 90) // 25
    return date(year, month, (h - m + r + month + 19) % 32)
