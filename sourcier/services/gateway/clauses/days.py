"""Days of the week and months that a sentence names and its passage does not: « le mercredi » over a text without days.

A passage holds a day within a range (« du lundi au vendredi ») or a group (« tous les jours », « en semaine »), and a
month in a date of figures or within a range of months.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache

from sourcier.services.gateway.clauses import lexicon
from sourcier.services.index.language.stop_words import fold_in_place
from sourcier.services.index.times.dates import MONTH, MONTHS

_DAYS: Mapping[str, int] = {
    name: number for names in (lexicon.WEEKDAYS, lexicon.WEEKDAYS_ENGLISH) for number, name in enumerate(names)
}
_MODALS = frozenset({"may", "march"})
"""English months that are other words too: only where a day, a year or a preposition stands beside them."""
_DAY = rf"(?P<name>{'|'.join(_DAYS)})s?\b"
_MONTH = rf"(?P<name>{MONTH})\b"
_NAMED_DAY, _NAMED_MONTH = re.compile(rf"\b{_DAY}"), re.compile(rf"\b{_MONTH}")
_TO = re.compile(
    r"\s?(?:(?:matin|soir|apres-midi|midi)\s)?(?:inclus\s)?(?:au|a|to|through|until|till|jusqu'au|jusqu'a|jusqu'en|-|–)\s?"
    r"(?:(?:\d{1,2}|1er)\s)?"
)
_GROUPS: tuple[tuple[re.Pattern[str], frozenset[int]], ...] = tuple(
    (re.compile(rf"\b(?:{words})\b"), frozenset(days)) for words, days in (
        (r"tous les (?:jours|matins|soirs|midis)|toutes les nuits|chaque (?:jour|matin|soir|nuit)|"
         r"7 ?j(?:ours)? ?(?:/|sur) ?7|sept jours sur sept|toute la semaine|quotidien(?:ne)?s?|quotidiennement|"
         r"every (?:day|morning|evening|night)|"
         r"all week|daily|seven days a week|jour et nuit", range(7)),
        (r"en semaine|jours? (?:ouvres?|de (?:la )?semaine)|weekdays?|working days|on a weekday", range(5)),
        (r"jours? ouvrables?|jours? d'ouverture", range(6)),
        (r"week-?ends?|fins? de semaine", (5, 6)),
    )
)
_EVERY_MONTH = re.compile(
    r"\b(?:toute l'annee|tous les mois|chaque mois|mensuel(?:le)?s?|mensuellement|every month|monthly|all year|"
    r"toute la saison)\b"
)
_IN_FIGURES = re.compile(r"\b(?:\d{1,2}[/.-](?P<second>\d{1,2})[/.-](?:\d{4}|\d{2})|\d{4}-(?P<first>\d{2})-\d{2})\b")
_BESIDE_MONTH = re.compile(r"(?:\d(?:er|st|nd|rd|th)?|\b(?:in|of|on|until|by|from|since|to|and|early|late|mid))[\s-]$")


def absent(sentence: str, passage: str) -> tuple[str, ...]:
    """Return the days and months that a sentence names, as it names them, and its passage does not hold."""
    said = _folded(sentence)
    week = [(match, _DAYS[match["name"]]) for match in _NAMED_DAY.finditer(said)]
    months = [(match, MONTHS[match["name"]]) for match in _months(said)]
    if not week and not months:
        return ()
    days_held, months_held = held(passage)
    lacking = [match for match, day in week if day not in days_held]
    lacking += [match for match, month in months if month not in months_held]
    return tuple(dict.fromkeys(sentence[match.start() : match.end()] for match in lacking))


def named(sentence: str) -> frozenset[int]:
    """Return the days that a sentence names, 0 for Monday."""
    return frozenset(_DAYS[match["name"]] for match in _NAMED_DAY.finditer(_folded(sentence)))


@lru_cache(maxsize=200)
def held(passage: str) -> tuple[frozenset[int], frozenset[int]]:
    """Return the days, 0 for Monday, and the months, 1 to 12, that a text holds, within ranges and groups too."""
    text = _folded(passage)
    days = frozenset(_within(text, list(_NAMED_DAY.finditer(text)), _DAYS, first=0, count=7))
    for words, group in _GROUPS:
        if words.search(text) is not None:
            days |= group
    months = frozenset(_within(text, list(_months(text)), MONTHS, first=1, count=12))
    months |= {int(match["second"] or match["first"]) for match in _IN_FIGURES.finditer(text)}
    if _EVERY_MONTH.search(text) is not None:
        months |= frozenset(range(1, 13))
    return days, months


def _within(
    text: str, named: list[re.Match[str]], numbers: Mapping[str, int], *, first: int, count: int
) -> Iterator[int]:
    for place, match in enumerate(named):
        number = numbers[match["name"]]
        yield number
        following = named[place + 1] if place + 1 < len(named) else None
        if following is not None and _TO.fullmatch(text, match.end(), following.start()) is not None:
            last = numbers[following["name"]]
            while number != last:
                yield number
                number = (number - first + 1) % count + first


def _months(text: str) -> Iterator[re.Match[str]]:
    for match in _NAMED_MONTH.finditer(text):
        if match["name"] not in _MODALS or _BESIDE_MONTH.search(text[max(0, match.start() - 8) : match.start()]) or (
            text[match.end() : match.end() + 2].strip().isdecimal()
        ):
            yield match


def is_named(word: str) -> bool:
    """Return whether a word is the name of a day or of a month."""
    folded = _folded(word.casefold()).removesuffix("s")
    return folded in _DAYS or _folded(word.casefold()) in MONTHS


def _folded(text: str) -> str:
    """Return a text without accents and capitals, at the same places."""
    return fold_in_place(text).replace("\u2019", "'")
