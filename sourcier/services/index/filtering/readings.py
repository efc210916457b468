"""What a text reads as: a number, a date, true or false. Documents' values and filters' values are read alike.

The metadata of documents is text, whoever sent it; so `2024`, `"2024"` and a JSON number are the same value here.
"""

from __future__ import annotations

import re
from calendar import monthrange
from dataclasses import dataclass
from decimal import Decimal

from sourcier.services.index.filtering.conditions import Scalar
from sourcier.services.index.times.dates import dates_in

TRUE_WORDS, FALSE_WORDS = ("true", "yes", "oui", "vrai"), ("false", "no", "non", "faux")

# The same patterns for Python and for PostgreSQL, which have to agree. Without braces, which templates of statements
# have a meaning for.
NUMBER = "^-?[0-9]+([.][0-9]+)?$"
NUMBER_CHARACTERS_MAX = 60
"""Of a text that is read as a number."""
SPELLED_CHARACTERS_MAX = 40
"""Of a date in words."""
_YEAR, _MONTH, _DAY = "[12][0-9][0-9][0-9]", "(0[1-9]|1[0-2])", "(0[1-9]|[12][0-9]|3[01])"
YEAR = f"^{_YEAR}$"
YEAR_MONTH = f"^{_YEAR}-{_MONTH}$"
DAY = f"^{_YEAR}-{_MONTH}-{_DAY}([T ]|$)"
"""Whatever comes behind is the time of the day."""
FRENCH_DAY = f"^{_DAY}/{_MONTH}/{_YEAR}$"

_NUMBER, _YEAR_ALONE, _YEAR_AND_MONTH, _WHOLE_DAY, _WHOLE_FRENCH_DAY = (
    # Python's `$` would be met before a newline, too.
    re.compile(pattern.replace("$", r"\Z")) for pattern in (NUMBER, YEAR, YEAR_MONTH, DAY, FRENCH_DAY)
)


@dataclass(frozen=True, slots=True)
class Period:
    """From the first to the last day of a year or a month; or a day. In ISO's form, which sorts as text."""

    first: str
    last: str


def number_of(value: Scalar) -> Decimal | None:
    """Return the number that a value reads as."""
    if isinstance(value, bool):
        return None
    if isinstance(value, str):
        if len(value) > NUMBER_CHARACTERS_MAX or _NUMBER.match(value) is None:
            return None
        return Decimal(value)
    return Decimal(repr(value)) if isinstance(value, float) else Decimal(value)


def period_of(value: Scalar) -> Period | None:
    """Return the year, month or day that a value reads as. A month has 31 days here, whichever it is."""
    text = _text_of_year(value) if not isinstance(value, str) else value
    if text is None:
        return None
    if _WHOLE_DAY.match(text):
        return Period(text[:10], text[:10])
    if _YEAR_AND_MONTH.match(text):
        return Period(f"{text}-01", f"{text}-31")
    if _YEAR_ALONE.match(text):
        return Period(f"{text}-01-01", f"{text}-12-31")
    if _WHOLE_FRENCH_DAY.match(text):
        day, month, year = text.split("/")
        return Period(f"{year}-{month}-{day}", f"{year}-{month}-{day}")
    return None


def period_asked(value: Scalar) -> Period | None:
    """Return the period that a filter's value reads as: also « mars 2021 », « 1er juin 2023 », which documents' own
    values do not, since statements read those."""
    read = period_of(value)
    if read is not None or not isinstance(value, str) or len(value) > SPELLED_CHARACTERS_MAX:
        return read
    spelled = dates_in(value)
    if len(spelled) != 1 or (spelled[0].start, spelled[0].end) != (0, len(value)):
        return None
    period = spelled[0].period
    return Period(period.start.isoformat(), period.end.isoformat())


def is_day(period: Period) -> bool:
    """Return whether the calendar has the days of a period: it has no 30 February."""
    year, month, day = map(int, period.first.split("-"))
    return day <= monthrange(year, month)[1]


def truth_of(value: Scalar) -> bool | None:
    """Return what a value says of yes and no."""
    if isinstance(value, bool):
        return value
    if not isinstance(value, str):
        return None
    word = value.lower()
    return True if word in TRUE_WORDS else False if word in FALSE_WORDS else None


def kinds_of(text: str) -> frozenset[str]:
    """Return what a document's value is: `number`, `date` and `boolean`, as it reads; else `text`."""
    kinds = {"number": number_of(text), "date": period_of(text), "boolean": truth_of(text)}
    return frozenset(kind for kind, read in kinds.items() if read is not None) or frozenset({"text"})


def _text_of_year(value: Scalar) -> str | None:
    if isinstance(value, bool | str) or value != int(value):
        return None
    return str(int(value))
