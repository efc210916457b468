"""Serial numbers as dates and times, shown by a format's letters."""

from __future__ import annotations

import datetime as dt
import re

_EPOCH = dt.datetime(1899, 12, 30)
_EPOCH_1904 = dt.datetime(1904, 1, 1)
_SERIAL_MAX = 2_958_466
_LEAP_BUG = 60
"""Excel counts a 29 February 1900, as Lotus did: serials below it are a day late."""
_TOKEN = re.compile(
    r"\"[^\"]*+(?:\"|\Z)|\\.|_.|\*.|\[[^\]]*+(?:\]|\Z)|AM/PM|A/P|[yY]++|[mM]++|[dD]++|[hH]++|[sS]++(?:\.0++)?|[^\w\[\"\\]|\w",
    re.S,
)
FRENCH_MONTHS = [
    "janvier", "février", "mars", "avril", "mai", "juin", "juillet", "août", "septembre", "octobre", "novembre",
    "décembre",
]  # fmt: skip
_FRENCH_SHORT_MONTHS = [
    "janv.", "févr.", "mars", "avr.", "mai", "juin", "juil.", "août", "sept.", "oct.", "nov.", "déc.",
]  # fmt: skip
_FRENCH_DAYS = ["lundi", "mardi", "mercredi", "jeudi", "vendredi", "samedi", "dimanche"]
_ENGLISH_MONTHS = [
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
]  # fmt: skip
_ENGLISH_DAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]


def show_date(serial: float, code: str, *, date_1904: bool, french: bool) -> str | None:
    """Return the date and time that a serial number stands for; None where it is none."""
    if not 0 <= serial < _SERIAL_MAX:
        return None
    tokens = _TOKEN.findall(code)
    seconds = round(serial * 86_400, 3 if ".0" in code else 0)
    days = seconds // 86_400
    if not date_1904 and days < _LEAP_BUG and re.search("[yYdD]", code):
        days += 1
    moment = (_EPOCH_1904 if date_1904 else _EPOCH) + dt.timedelta(days=days, seconds=seconds % 86_400)
    twelve_hours = any(token in ("AM/PM", "A/P") for token in tokens)
    return "".join(
        _shown(token, moment, seconds, french=french, twelve_hours=twelve_hours, minutes=_is_minutes(tokens, index))
        for index, token in enumerate(tokens)
    ).strip()


def _is_minutes(tokens: list[str], index: int) -> bool:
    """Tell whether an `m` means minutes: it stands after hours or before seconds."""
    if tokens[index][0] not in "mM":
        return False
    before = next((t for t in reversed(tokens[:index]) if t[0].isalpha() or re.match(r"\[[hms]", t, re.I)), "")
    after = next((t for t in tokens[index + 1 :] if t[0].isalpha()), "")
    return before.lstrip("[")[:1].lower() == "h" or after[:1].lower() == "s"


def _shown(token: str, moment: dt.datetime, seconds: float, *, french: bool, twelve_hours: bool, minutes: bool) -> str:
    first, size = token[0].lower(), len(token)
    if first == '"':
        return token[1:-1]
    if first == "\\":
        return token[1]
    if first in "_*":
        return " " if first == "_" else ""
    if first == "[":
        return _elapsed(token[1:-1].lower(), seconds)
    if token in ("AM/PM", "A/P"):
        return "AM" if moment.hour < 12 else "PM"
    if first == "y":
        return f"{moment.year:04d}" if size > 2 else f"{moment.year % 100:02d}"
    if first == "m" and not minutes:
        return _month(moment.month, size, french=french)
    if first == "d":
        return _day(moment, size, french=french)
    if first == "s":
        fraction = token.partition(".")[2]
        part = f"{moment.microsecond / 1e6:.{len(fraction)}f}"[2:] if fraction else ""
        return f"{moment.second:02d}" + (f"{',' if french else '.'}{part}" if part else "")
    if first in "hm":
        count = moment.minute if first == "m" else moment.hour
        if first == "h" and twelve_hours:
            count = count % 12 or 12
        return f"{count:02d}" if size > 1 or first == "m" else str(count)
    return token


def _elapsed(name: str, seconds: float) -> str:
    unit = {"h": 3600, "m": 60, "s": 1}.get(name[:1])
    if unit is None or set(name) != {name[0]}:
        return ""
    return f"{int(seconds // unit):0{len(name)}d}"


def _month(month: int, size: int, *, french: bool) -> str:
    if size <= 2:
        return f"{month:02d}" if size == 2 else str(month)
    full = (FRENCH_MONTHS if french else _ENGLISH_MONTHS)[month - 1]
    if size == 3:
        return _FRENCH_SHORT_MONTHS[month - 1] if french else full[:3]
    return full[0].upper() if size == 5 else full


def _day(moment: dt.datetime, size: int, *, french: bool) -> str:
    if size <= 2:
        return f"{moment.day:02d}" if size == 2 else str(moment.day)
    full = (_FRENCH_DAYS if french else _ENGLISH_DAYS)[moment.weekday()]
    return full if size > 3 else full[:3] + ("." if french else "")
