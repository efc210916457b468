"""Texts that are dates, in SQL: their first and their last day."""

from __future__ import annotations

from sourcier.services.index.filtering import readings


def first_day(text: str) -> str:
    """Return the first day of a text that is a date; dates are compared as text, so that no cast can fail."""
    return _day(text, month="-01", year="-01-01")


def last_day(text: str) -> str:
    """Return the last day of a text that is a date; a month has 31 days here, whichever it is."""
    return _day(text, month="-31", year="-12-31")


def _day(text: str, *, month: str, year: str) -> str:
    return f"""(case
        when {text} ~ '{readings.DAY}' then left({text}, 10)
        when {text} ~ '{readings.YEAR}' then {text} || '{year}'
        when {text} ~ '{readings.YEAR_MONTH}' then {text} || '{month}'
        when {text} ~ '{readings.FRENCH_DAY}' then
            right({text}, 4) || '-' || substr({text}, 4, 2) || '-' || left({text}, 2)
    end collate "C")"""
