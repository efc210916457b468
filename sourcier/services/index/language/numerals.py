"""Numbers in words, French and English, and in Roman numerals, so that `dix jours` holds the figure of `10 jours`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from sourcier.services.index.language.stop_words import fold

_UNITS = (
    "zero un deux trois quatre cinq six sept huit neuf dix onze douze treize quatorze quinze seize",
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen",
)
_TENS = {
    "vingt": 20, "trente": 30, "quarante": 40, "cinquante": 50, "soixante": 60, "septante": 70, "huitante": 80,
    "octante": 80, "nonante": 90, "twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70,
    "eighty": 80, "ninety": 90,
}
_VALUES = {word: value for words in _UNITS for value, word in enumerate(words.split())} | _TENS | {"une": 1}
_HUNDREDS = frozenset({"cent", "hundred"})
_THOUSANDS = frozenset({"mille", "thousand"})
_ORDINALS = {
    "premier": 1, "premiere": 1, "second": 2, "seconde": 2, "first": 1, "third": 3, "fifth": 5, "eighth": 8,
    "ninth": 9, "twelfth": 12, "neuvieme": 9, "quatrieme": 4, "cinquieme": 5, "onzieme": 11, "douzieme": 12,
    "trentieme": 30, "quarantieme": 40, "cinquantieme": 50, "soixantieme": 60, "treizieme": 13, "quatorzieme": 14,
    "quinzieme": 15, "seizieme": 16,
}
_AMBIGUOUS = frozenset({"un", "une", "one", "neuf", "second", "seconde", "premier", "premiere", "first"})
"""Articles, `neuf` for new, `first of all`: a passage that has them may mean the number, a sentence need not."""
_WORD = re.compile(r"[^\W\d_]+")
_ROMAN = re.compile(r"\b([IVX]{2,}|[IVX]+(?=(?:e|er|ème|eme|es)\b))(?:e|er|ème|eme|es)?\b")
_ROMAN_DIGITS = {"I": 1, "V": 5, "X": 10}


def written_numbers(text: str, *, sure: bool) -> Iterator[int]:
    """Give the numbers that a text has in words or Roman numerals; `sure` leaves out words that may mean another thing.

    `vingt et un`, `quatre-vingt-dix-huit`, `deux mille trois cents`, `twenty-one`, `troisième`, `XIXe`.
    """
    run: list[int] = []
    alone = ""
    previous = ""
    for match in _WORD.finditer(text):
        word = fold(match.group().casefold())
        kind = _kind(word, previous)
        if kind is None and not (run and word in ("et", "and")):
            yield from _flush(run, alone, sure=sure)
            run, alone = [], ""
        elif kind is not None:
            extended = _extended(run, kind)
            if extended is None:
                yield from _flush(run, alone, sure=sure)
                extended, alone = _extended([], kind), ""
            alone = word if not run and len(extended or []) == 1 else ""
            run = extended or []
        previous = word
    yield from _flush(run, alone, sure=sure)
    for match in _ROMAN.finditer(text):
        yield _roman(match.group(1))


def _kind(word: str, previous: str) -> int | None:
    """Return the value a word adds, 100 and 1000 for what multiplies; None for a word that is no number."""
    if word in _ORDINALS:
        return _ORDINALS[word]
    base = word.removesuffix("ieme") if word.endswith("ieme") else word
    for form in (base, base.removesuffix("s"), f"{base}e"):
        if form in _VALUES:
            return _VALUES[form]
        if form in _HUNDREDS:
            # `50 pour cent` is no hundred.
            return None if previous in ("pour", "per") else 100
        if form in _THOUSANDS:
            return 1000
    return None


def _extended(run: list[int], value: int) -> list[int] | None:
    """Return the number so far, as [thousands, rest], with one more word; None where a new number begins."""
    if not run:
        return [value] if value < 1000 else [1000, 0]
    thousands, rest = (0, run[0]) if len(run) == 1 else run
    if value == 1000:
        return [max(rest, 1) * 1000, 0] if thousands == 0 else None
    last = rest % 100
    if value == 100:
        grown = rest * 100 if 0 < rest < 10 else rest + 100 if rest == 0 and thousands else None
    elif value == 20 and last == 4:
        grown = rest + 76
    elif rest == 0 and thousands:
        grown = value
    elif _adds(last, value, after_hundreds=rest >= 100):
        grown = rest + value
    else:
        grown = None
    if grown is None:
        return None
    return [thousands, grown] if thousands else [grown]


def _adds(last: int, value: int, *, after_hundreds: bool) -> bool:
    """Return whether a number whose last two digits are `last` goes on with `value`: `cent|un`, `soixante|dix`."""
    if last == 0:
        return after_hundreds
    if last == 10:
        return 7 <= value <= 9
    return last % 10 == 0 and value < (20 if last in (60, 80) else 10)


def _flush(run: list[int], alone: str, *, sure: bool) -> Iterator[int]:
    if run and not (sure and (alone in _AMBIGUOUS or sum(run) < 2)):
        yield sum(run)


def _roman(numeral: str) -> int:
    values = [_ROMAN_DIGITS[letter] for letter in numeral]
    pairs = zip(values, [*values[1:], 0], strict=True)
    return sum(-value if value < following else value for value, following in pairs)
