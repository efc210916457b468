"""Amounts in a text: value, sign and unit, and whether they are meant exactly."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import lru_cache
from itertools import pairwise

from sourcier.services.gateway.figures.units import (
    CLOCK,
    NONE,
    Kind,
    Unit,
    is_scale,
    letter_at,
    qualified,
    scale_of,
    unit_at,
    unit_named,
)
from sourcier.services.index.language.numerals import written_numbers
from sourcier.services.index.language.stop_words import fold_in_place
from sourcier.services.index.times.dates import dates_in

_SPACES = "\u00a0\u2009\u202f "
_NUMBER = rf"(?:\d{{1,3}}(?:[.,{_SPACES}]\d{{3}})+(?!\d)|\d+)(?:[.,]\d+)?"
_AMOUNT = re.compile(rf"(?<![\w.,/°])(?<!\w[-–])(?P<number>{_NUMBER})(?![\w]*[^\W\d_]\d)")
_BEFORE_SIGN = re.compile(r"(?:(?P<minus>[-−–])|(?P<plus>\+))?\s?(?P<currency>[€£$])?\s?$")
_BOUND_BEFORE = re.compile(
    r"(?:\b(?:environ|a partir d[e']|des|from|starting (?:at|from)|presque|quasi|approximately|roughly|circa|ca|"
    r"pres d[e']|plus d[e']|moins d[e']|au moins|au plus|au maximum|au minimum|maximum|minimum|"
    r"jusqu'?a|jusque|a peu pres|autour d[e']|de l'ordre d[e']|quelque|quelques|inferieure?s? a|superieure?s? a|"
    r"entre|about|around|nearly|almost|up to|at least|at most|over|under|more than|less than|between|minimum of|"
    r"maximum of|depasse(?:nt|r)?|exceed(?:s|ing)?|au-dela d[e']|excede|"
    r"plafonnee?s? a|limitee?s? a|capped at|estimee?s? a)|[<>≤≥~≈±])\s?$"
)
_BOUND_AFTER = re.compile(
    r"/\d|\s?[½¼¾⅓⅔+]|\s(?:et|and) (?:an? )?(?:demie?|quart|half|quarter)\b|\s?(?:environ|maximum|max\b|minimum|min\b|"
    r"au plus|au moins|au maximum|au minimum|or more|ou plus|ou moins|at most|at least|pres\b)"
)
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
DIGITS_MAX = 15


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
             if sum(map(str.isdecimal, match.group("number"))) <= DIGITS_MAX
             and _LABEL_BEFORE.search(plain[max(0, match.start() - 16) : match.start()]) is None]
    known = [(each.start, each.end) for each in found]
    found += (each for each in _worded(plain) if not any(start < each.end and each.start < end for start, end in known))
    return _apart(sorted(found, key=lambda each: each.start), plain)


def _apart(found: list[Quantity], plain: str) -> list[Quantity]:
    """Return amounts, those that are parts of one not exact: « 5 ans et 6 mois »."""
    parts: set[int] = set()
    for place, (one, other) in enumerate(pairwise(found)):
        between = plain[one.end : other.start].strip()
        if one.unit.kind is other.unit.kind is Kind.TIME and between in ("", "et", "and", ",") and (
            one.unit.symbol != other.unit.symbol
        ):
            parts |= {place, place + 1}
    return [replace(each, exact=False) if place in parts else each for place, each in enumerate(found)]


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
    letter = letter_at(plain, end) if unit is not NONE else None
    after = unit_at(plain, end + (plain[end : end + 1] == " ")) if letter is None else None
    if letter is not None:
        factor, end = letter
        value *= factor
    elif after is not None and (unit is NONE or after[0] is NONE or after[0].kind is unit.kind):
        named, scale, end = after
        value *= scale_of(scale) if scale else 1
        unit = unit if named is NONE else named
    if unit is not NONE:
        unit, end = qualified(unit, plain, end)
    exact = _is_exact(plain, begins, end) and _is_whole(plain, begins, end)
    return Quantity(value, unit, begins, end, exact, ambiguous)


def _is_whole(plain: str, start: int, end: int) -> bool:
    """Return whether an amount is read to its end: no letter or mark behind it, and no scale word before it."""
    behind = plain[end : end + 1]
    if behind.isalpha() or behind in ("€", "$", "£", "/", "†", "‡", "²", "³") or (
        behind == "*" and plain[start - 1 : start] != "*"
    ):
        return False
    last = plain[start:end].split()[-1]
    if is_scale(last) and plain[end : end + 2].strip().isdecimal():
        return False
    before = plain[max(0, start - 16) : start].split()
    return not before or not is_scale(before[-1])


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
                named, end = qualified(unit[0], plain, end)
                value = Decimal(numbers[0]) * (scale_of(unit[1]) if unit[1] else 1)
                exact = _is_exact(plain, start, end) and _is_whole(plain, start, end)
                yield Quantity(value, named, start, end, exact)
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
