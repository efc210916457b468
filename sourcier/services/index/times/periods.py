"""Days, months and years as periods, and how a person writes them."""

from __future__ import annotations

from calendar import monthrange
from dataclasses import dataclass
from datetime import date
from typing import Self


@dataclass(frozen=True, slots=True)
class Period:
    """From a day to a day, both in it."""

    start: date
    end: date

    @classmethod
    def of_year(cls, year: int) -> Self:
        """Return a whole year."""
        return cls(date(year, 1, 1), date(year, 12, 31))

    @classmethod
    def of_month(cls, year: int, month: int) -> Self:
        """Return a whole month."""
        return cls(date(year, month, 1), date(year, month, monthrange(year, month)[1]))

    def holds(self, other: Period) -> bool:
        """Return whether all of another period is in it."""
        return self.start <= other.start and other.end <= self.end

    def text(self, *, language: str) -> str:
        """Return it as a person writes it: « 12 mars 2026 », « mars 2026 », « 2026 »."""
        if self.start == self.end:
            day = "1er" if self.start.day == 1 and language == "fr" else str(self.start.day)
            return f"{day} {_name(self.start.month, language)} {self.start.year}"
        if (self.start.year, self.start.month) == (self.end.year, self.end.month):
            return f"{_name(self.start.month, language)} {self.start.year}"
        return str(self.start.year) if self.start.year == self.end.year else f"{self.start.year}–{self.end.year}"


def dated(name: str, period: Period | None, *, language: str) -> str:
    """Return a document's name with its date behind it, where it has one that the name does not say."""
    told = "" if period is None else period.text(language=language)
    return f"{name} ({told})" if told and told.casefold() not in name.casefold() else name


def _name(month: int, language: str) -> str:
    names = _FRENCH_MONTHS if language == "fr" else _ENGLISH_MONTHS
    return names[month - 1]


_FRENCH_MONTHS = (
    "janvier", "février", "mars", "avril", "mai", "juin", "juillet", "août", "septembre", "octobre", "novembre",
    "décembre",
)
_ENGLISH_MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)
