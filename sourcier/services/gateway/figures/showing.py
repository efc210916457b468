"""Amounts and days as a person writes them, in French or English."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

from sourcier.services.gateway.figures.units import Kind, Unit
from sourcier.services.index.times.periods import Period

_ENGLISH = {
    "jours": "days", "jours ouvrés": "working days", "jours ouvrables": "working days (Saturdays included)",
    "jours calendaires": "calendar days", "semaines": "weeks", "mois": "months", "ans": "years", "heures": "hours",
    "minutes": "minutes", "secondes": "seconds",
}
_IN_ENGLISH_PERS = {"/mois": "/month", "/an": "/year", "/jour": "/day", "/heure": "/hour", "/semaine": "/week"}
_BEFORE = frozenset({"£", "$"})


def number(value: Decimal, *, language: str) -> str:
    """Return a number with its thousands apart: `1 234,5`, `1,234.5`."""
    plain = f"{abs(value):f}"
    whole, _, decimals = plain.partition(".")
    decimals = decimals.rstrip("0")
    groups = f"{int(whole):,}"
    # A narrow no-break space, as French typography has it.
    shown = groups if language == "en" else groups.replace(",", "\u202f")
    if decimals:
        shown += ("." if language == "en" else ",") + decimals
    return f"−{shown}" if value < 0 else shown


def amount(value: Decimal, unit: Unit, *, language: str) -> str:
    """Return an amount with its unit; of money two decimals or none."""
    shown = number(value, language=language)
    sign = "." if language == "en" else ","
    if unit.kind is Kind.MONEY and unit.factor == 1 and sign in shown and len(shown.rpartition(sign)[2]) == 1:
        shown += "0"
    if not unit.symbol:
        return shown
    name = unit.shown
    if language == "en":
        name = unit.symbol if not unit.qualifier else f"{unit.symbol}{_IN_ENGLISH_PERS.get(unit.qualifier, '')}"
        name = _ENGLISH.get(unit.symbol, name)
        if unit.symbol in _BEFORE:
            return f"{'−' if value < 0 else ''}{name[0]}{shown.lstrip('−')}{name[1:]}"
        if unit.symbol == "%":
            return f"{shown}%"
    if abs(value) < 2 and unit.kind is Kind.TIME and name.endswith("s") and name != "mois":
        name = " ".join(word.removesuffix("s") for word in name.split(" "))
    return f"{shown}\u00a0{name}"


def day_text(day: date, *, language: str) -> str:
    """Return a day: « 14 mars 2024 »."""
    return Period(day, day).text(language=language)


def clock(minutes: int, *, language: str) -> str:
    """Return a time as hours and minutes: « 8 h 45 », `8 h 45 min`."""
    hours, rest = divmod(minutes, 60)
    if not hours:
        return f"{rest} min"
    if not rest:
        return f"{hours} h"
    return f"{hours} h {rest:02d}" + (" min" if language == "en" else "")
