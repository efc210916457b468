"""Amounts in a text: value, sign and unit, and whether they are meant exactly."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import lru_cache

from sourcier.services.gateway.figures.units import CLOCK, NONE, Unit, scale_of, unit_at, unit_named
from sourcier.services.index.language.numerals import written_numbers
from sourcier.services.index.language.stop_words import fold_in_place
from sourcier.services.index.times.dates import dates_in

_SPACES = "\u00a0\u2009\u202f "
_NUMBER = rf"(?:\d{{1,3}}(?:[.,{_SPACES}]\d{{3}})+(?!\d)|\d+)(?:[.,]\d+)?"
_AMOUNT = re.compile(rf"(?<![\w.,/°])(?<!\w[-–])(?P<number>{_NUMBER})(?![\w]*[^\W\d_]\d)")
_BEFORE_SIGN = re.compile(r"(?:(?P<minus>[-−–])|(?P<plus>\+))?\s?(?P<currency>[€£$])?\s?$")
_PER = re.compile(
    r"\s?(?:(?P<tax>ht|ttc)\b\s?)?(?:(?:par|/|a|per)\s?(?P<per>mois|an|annee|jour|heure|semaine|nuit|personne|trimestre|"
    r"month|year|day|hour|week|night|person|km|m²)\b)?"
)
_PERS = {"annee": "an", "month": "mois", "year": "an", "day": "jour", "hour": "heure", "week": "semaine",
         "night": "nuit", "person": "personne"}
_BOUND_BEFORE = re.compile(
    r"(?:\b(?:environ|pres d[e']|plus d[e']|moins d[e']|au moins|au plus|au maximum|au minimum|maximum|minimum|"
    r"jusqu'?a|jusque|a peu pres|autour d[e']|de l'ordre d[e']|quelque|quelques|inferieure?s? a|superieure?s? a|"
    r"entre|about|around|nearly|almost|up to|at least|at most|over|under|more than|less than|between|minimum of|"
    r"maximum of|depasse|excede|plafonnee?s? a|limitee?s? a|capped at|estimee?s? a)|[<>≤≥~≈±])\s?$"
)
_BOUND_AFTER = re.compile(r"\s?(?:environ|maximum|max\b|minimum|min\b|au plus|au moins|au maximum|au minimum|or more|"
                          r"ou plus|ou moins|at most|at least|pres\b)")
_RANGE = re.compile(rf"\s?(?:a|ou|to|or|-|–)\s?(?:{_NUMBER}|deux|trois|quatre|cinq|six|sept|huit|dix|douze|quinze)\b")
_RANGE_BEFORE = re.compile(
    r"(?:\d|\b(?:un|une|deux|trois|quatre|cinq|six|sept|huit|dix|douze|quinze|vingt|one|two|three|four|five|six|ten))"
    r"\s?(?:a|ou|to|or|-|–)\s$|\b(?:entre|between)\s\S{1,12}\s(?:et|and)\s$"
)
_LABEL_BEFORE = re.compile(
    r"(?:\b(?:articles?|art\.?|n°|nº|no|numeros?|pages?|p\.|lots?|chapitres?|annexes?|etapes?|tranches?|niveaux?|"
    r"niveau|salles?|batiments?|tableaux?|tableau|avenants?|alineas?|section|groupe|categorie|classe|zone|phase|"
    r"version|titre|point|liste|ligne|step|article|room|level|grade|table|figure|chapter)|[#§])\s?$"
)
_CLOCK = re.compile(
    r"(?<![\w,.])\d{1,2}\s?(?:h\s?\d{2}\b|:\d{2}\b(?!:)|[ap]\.?m\b)|"
    r"(?<![\w,.])\d{1,2}\s?h(?:eures?)?(?=\s(?:a|et)\s\d{1,2}\s?h)|(?<=\ba )\d{1,2}\s?h\b(?:eures?)?"
)
_WORD = re.compile(r"[^\W\d_]+")
_NUMERAL_WORDS_MAX = 6


@dataclass(frozen=True, slots=True)
class Quantity:
    """One amount of a text."""

    value: Decimal
    """As it is written, a scale word multiplied out."""
    unit: Unit
    start: int
    end: int
    """Where it stands, unit included."""
    exact: bool = True
    """Not « environ », « jusqu'à », « deux à trois »."""
    ambiguous: bool = False
    """Whether the separator may be one of decimals or of thousands."""

    @property
    def base(self) -> Decimal:
        """The value in the unit that it is compared in."""
        return self.value * self.unit.factor

    @property
    def same_as(self) -> tuple[Decimal, str, str]:
        """Return what two amounts share where they are the same."""
        return (self.base.normalize(), *self.unit.comparable)


def quantities_in(text: str, *, language: str = "fr", clocks: bool = False) -> list[Quantity]:
    """Return the amounts of a text in its order; dates, codes and numbers of articles are none.

    Times of day are but with `clocks`: in minutes.
    """
    plain = fold_in_place(text).replace("’", "'")
    plain = _blanked(plain, [(each.start, each.end) for each in dates_in(text, years=True)])
    times = list(_CLOCK.finditer(plain))
    plain = _blanked(plain, [match.span() for match in times])
    found = [_time(match) for match in times] if clocks else []
    found += [_quantity(match, plain, language) for match in _AMOUNT.finditer(plain)
             if _LABEL_BEFORE.search(plain[max(0, match.start() - 16) : match.start()]) is None]
    known = [(each.start, each.end) for each in found]
    found += (each for each in _worded(plain) if not any(start < each.end and each.start < end for start, end in known))
    return sorted(found, key=lambda each: each.start)


def number_value(written: str, *, language: str) -> tuple[Decimal, bool]:
    """Return the value of a number in digits, and whether its separator may mean another thing."""
    compact = re.sub(f"[{_SPACES}]", "", written)
    separators = [each for each in compact if each in ".,"]
    if not separators:
        return Decimal(compact), False
    last = max(compact.rfind("."), compact.rfind(","))
    decimals = compact[last + 1 :]
    whole = re.sub(r"[.,]", "", compact[:last])
    if len(decimals) != 3 or len(set(separators)) == 2:
        return Decimal(f"{whole}.{decimals}"), False
    if len(separators) > 1:
        return Decimal(whole + decimals), False
    decimal_sign = "." if language == "en" else ","
    if whole.strip("0") == "":
        return Decimal(f"0.{decimals}"), False
    if separators[0] == decimal_sign:
        return Decimal(f"{whole}.{decimals}"), language not in ("fr", "en")
    return Decimal(whole + decimals), language not in ("fr", "en")


def _time(match: re.Match[str]) -> Quantity:
    hour, *minute = re.findall(r"\d+", match.group())
    half = 12 if "p" in match.group() and int(hour) < 12 else 0
    value = (int(hour) + half) * 60 + int(minute[0] if minute else 0)
    return Quantity(Decimal(value), CLOCK, match.start(), match.end())


def _quantity(match: re.Match[str], plain: str, language: str) -> Quantity:
    value, ambiguous = number_value(match.group("number"), language=language)
    start, end = match.span()
    sign = _BEFORE_SIGN.search(plain[max(0, start - 4) : start])
    assert sign is not None
    unit = unit_named(sign.group("currency") or "") or NONE
    begins = start - len(sign.group().lstrip()) if sign.group().strip() else start
    if sign.group("minus") and _is_sign(plain, begins, start):
        value = -value
    elif not sign.group("currency"):
        begins = start
    space = plain[end : end + 1] == " "
    after = unit_at(plain, end + space)
    if after is not None:
        named, scale, end = after
        value *= scale_of(scale) if scale else 1
        unit = unit if named is NONE else named
    qualified = _PER.match(plain, end)
    assert qualified is not None
    if unit is not NONE and (qualified.group("tax") or qualified.group("per")):
        per = qualified.group("per")
        tax = (qualified.group("tax") or "").upper()
        unit = replace(unit, qualifier=f"/{_PERS.get(per, per)}" if per else tax)
        end = qualified.end()
    return Quantity(value, unit, begins, end, _is_exact(plain, begins, end), ambiguous)


def _is_sign(plain: str, begins: int, start: int) -> bool:
    """Return whether a dash before a figure is a minus: not that of a list or of a range."""
    dash = plain[begins:start].lstrip()[:1]
    before = plain[begins - 1 : begins]
    attached = not plain[begins + 1 : start].strip(" €£$") and (dash == "−" or plain[begins + 1 : begins + 2] != " ")
    return attached and (not before or before in " (|:\n")


def _is_exact(plain: str, start: int, end: int) -> bool:
    before = plain[max(0, start - 24) : start].rstrip(" ") + " "
    return (
        _BOUND_BEFORE.search(before) is None and _BOUND_AFTER.match(plain, end) is None
        and _RANGE.match(plain, end) is None and _RANGE_BEFORE.search(before) is None
    )


def _worded(plain: str) -> Iterator[Quantity]:
    """Give the amounts whose number is in words: « deux mois », « vingt-cinq pour cent »."""
    run: list[re.Match[str]] = []
    for match in _WORD.finditer(plain):
        between = plain[run[-1].end() : match.start()] if run else ""
        if run and between not in (" ", "-"):
            run = []
        if run and not (_is_numeral(match.group()) or match.group() == "et"):
            unit = unit_at(plain, match.start())
            numbers = list(written_numbers(plain[run[0].start() : run[-1].end()], sure=False))
            if unit is not None and unit[0] is not NONE and len(numbers) == 1:
                start, end = run[0].start(), unit[2]
                yield Quantity(Decimal(numbers[0]), unit[0], start, end, _is_exact(plain, start, end))
            run = []
        elif _is_numeral(match.group()):
            run = [*run, match][-_NUMERAL_WORDS_MAX:]


@lru_cache(maxsize=4_000)
def _is_numeral(word: str) -> bool:
    return next(written_numbers(word, sure=False), None) is not None


def _blanked(text: str, spans: list[tuple[int, int]]) -> str:
    for start, end in spans:
        text = f"{text[:start]}{'·' * (end - start)}{text[end:]}"
    return text
