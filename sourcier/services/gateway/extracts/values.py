"""Values of a kind in a text, and where they stand: amounts, durations, dates, hours, numbers, people, places."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import takewhile

from sourcier.services.gateway.clauses import lexicon
from sourcier.services.gateway.clauses.tokens import Token, tokens_of
from sourcier.services.gateway.extracts.asking import DURATION_UNIT, Kind
from sourcier.services.index.language.stop_words import fold_in_place
from sourcier.services.index.times.dates import MONTH, dates_in

_NUMBER_WORD = (
    "(?:une?|deux|trois|quatre|cinq|six|sept|huit|neuf|dix|onze|douze|treize|quatorze|quinze|seize|vingt|trente|"
    "quarante|cinquante|soixante|cents?|mille|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|fifteen|"
    "twenty|thirty|forty|fifty|sixty|hundred|thousand)"
)
_WRITTEN = rf"{_NUMBER_WORD}(?:[- ](?:et[- ])?{_NUMBER_WORD}){{0,5}}"
_DIGITS = r"(?<![\d.,/-])\d{1,3}(?:[ \u00a0\u202f]\d{3}){1,4}(?:[.,]\d++)?|(?<![\d.,/-])\d++(?:[.,]\d++)?"
_FIGURE = rf"(?:{_DIGITS}|\b{_WRITTEN})"
_SCALE = r"(?:\s?(?:millions?|milliards?|billions?)(?:\s(?:de|d'))?)?+"
_TIME_UNIT = rf"{DURATION_UNIT}\b"
_MONEY = r"(?:€|euros?\b|eur\b|\$|£|dollars?\b|francs?\b|livres?\b|pounds?\b)"
_SHARE = r"(?:%|pour ?cent\b|percent\b)"
_CLOCK = r"(?:h|heures?|:)\s?(?:\d\d)?+"
_FORMS: dict[Kind, re.Pattern[str]] = {
    Kind.AMOUNT: re.compile(
        rf"(?:{_DIGITS}){_SCALE}\s?(?:{_MONEY}|{_SHARE})|[€$£]\s?\d++(?:[.,]\d++)*+{_SCALE}|"
        rf"\b{_WRITTEN}{_SCALE}\s(?:{_MONEY}|{_SHARE})"
    ),
    Kind.DURATION: re.compile(
        rf"{_FIGURE}(?:\s(?:a|ou|to|or|et)\s{_FIGURE})?+\s?(?:{_TIME_UNIT}|h\b(?!\s?\d))"
        r"(?:\s(?:ouvres|ouvrables|francs|calendaires))?+|\b\d{1,3}\s?h\s?\d\d\b"
    ),
    Kind.HOUR: re.compile(
        rf"(?<![\d,.])\d{{1,2}}\s?{_CLOCK}(?:\s?(?:a|-|–|et|to)\s?\d{{1,2}}\s?{_CLOCK})?+(?!\w)|"
        r"\b\d{1,2}\s?(?:am|pm)\b|\bmidi\b|\bminuit\b|\bnoon\b"
    ),
    Kind.NUMBER: re.compile(rf"{_FIGURE}{_SCALE}"),
}
_ARTICLES = frozenset({"un", "une"})
_DATE_PARTS = re.compile(
    rf"\b\d{{1,2}}(?:er|st|nd|rd|th)?\s(?:of\s)?(?:{MONTH})\b(?:\s\d{{3,4}}\b)?|"
    rf"\b(?:{MONTH})\s\d{{1,4}}\b|"
    rf"\b(?:{'|'.join((*lexicon.WEEKDAYS, *lexicon.WEEKDAYS_ENGLISH))})s?\b|"
    rf"\b[ivx]++e siecle\b|\bannees \d{{2,4}}\b|\b(?:en|in|debut|fin|depuis|mois de|mois d')\s(?:{MONTH})\b|"
    # The year of an old event stands without a century that the dates of documents have.
    r"(?<![\d.,/-])(?:1[0-8]|[5-9])\d\d(?![\d.,/%€-]|\s?(?:€|%|euros?|m\b|km\b|habitants))"
)
_AGENTS = lexicon.words(
    "responsable responsables directeur directrice direction service services employeur salarie salaries manager chef "
    "maire president presidente ministre secretaire conseil comite commission medecin prefet juge juges banque caisse "
    "gestionnaire referent referente referents coordinateur coordinatrice syndicat agent agents assureur proprietaire "
    "locataire etat commune departement region tribunal officier notaire inspecteur inspection administrateur "
    "comptable assistant assistante hierarchique superieur hotesse correspondant prestataire supervisor director "
    "head officer employer employee landlord tenant team department council committee mayor"
)
_NAME = re.compile(
    r"\b(?:M\.|MM\.|Mme|Mlle|Dr|Me|Mr|Mrs|Ms)\s[A-ZÀ-Ý][\w'’-]+(?:\s[A-ZÀ-Ý][\w'’-]+)*|"
    r"(?<![^\W])[A-ZÀ-Ý][\w'’-]+(?:\s(?:(?:de|du|des|d'|d’|la|le|von|van|of|the)\s?)*[A-ZÀ-Ý][\w'’-]+)*"
)
_PLACE = re.compile(
    r"\b(?:à|au|aux|en|dans|chez|sur|près d[eu]|in|at|near|on|rue|place|avenue|salle|bâtiment|bureau|room|building)\s"
    r"(?:l'|l’|la |le |les |the )?(?:[A-ZÀ-Ý][\w'’-]+(?:\s(?:de |du |d'|la |le |les )?[A-ZÀ-Ý][\w'’-]+)*|\d+)"
)


_NEXT = frozenset({",", ";", "(", ")", ":", "et", "and", "ou", "or"})


@dataclass(frozen=True)
class Value:
    """A value, where it stands, and the words that stand behind it."""

    start: int
    end: int
    text: str


def values_in(text: str, kind: Kind) -> list[Value]:
    """Return the values of a kind in a text, in its order."""
    if kind is Kind.OTHER:
        return []
    if kind in (Kind.PERSON, Kind.PLACE):
        return [Value(start, end, text[start:end]) for start, end in _named(text, kind)]
    folded = fold_in_place(text)
    dates = _dates(text, folded)
    hours = [match.span() for match in _FORMS[Kind.HOUR].finditer(folded)] if kind in (Kind.DATE, Kind.NUMBER) else []
    if kind is Kind.DATE:
        # « Quand ferme la piscine ? » is answered by an hour.
        return [Value(start, end, text[start:end]) for start, end in dates or hours]
    return [
        Value(match.start(), match.end(), text[match.start() : match.end()])
        for match in _FORMS[kind].finditer(folded)
        if kind is not Kind.NUMBER or not (match.group() in _ARTICLES or _within(match.span(), (*dates, *hours)))
    ]


def unit_behind(text: str, value: Value) -> tuple[Token, ...]:
    """Return the words that carry meaning close behind a value: what it counts."""
    following = tokens_of(text[value.end : value.end + 60])[:6]
    # « deux discoureurs et un débatteur »: the next figure counts something else.
    own = takewhile(lambda token: token.text not in _NEXT and not token.text[0].isdecimal(), following)
    return tuple(token for token in own if token.tells)[:3]


def _dates(text: str, folded: str) -> list[tuple[int, int]]:
    found = [(each.start, each.end) for each in dates_in(text, years=True)]
    found += [match.span() for match in _DATE_PARTS.finditer(folded) if not _within(match.span(), found)]
    return sorted(found)


def _within(span: tuple[int, int], others: tuple[tuple[int, int], ...] | list[tuple[int, int]]) -> bool:
    return any(span[0] < end and start < span[1] for start, end in others)


def _named(text: str, kind: Kind) -> Iterator[tuple[int, int]]:
    if kind is Kind.PLACE:
        for match in _PLACE.finditer(text):
            yield match.span()
        return
    for match in _NAME.finditer(text):
        if match.start() or " " in match.group():
            yield match.span()


def is_full_name(text: str) -> bool:
    """Return whether a name is surely one: of two words, or with a title."""
    return len(text.split()) > 1


def names_an_agent(tokens: tuple[Token, ...]) -> bool:
    """Return whether a text names somebody by what they are: « le responsable hiérarchique »."""
    return any(token.text in _AGENTS for token in tokens)
