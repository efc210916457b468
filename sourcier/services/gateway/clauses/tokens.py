"""The tokens of a clause: words folded, with the forms by which another text may say the same; figures in one form."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from sourcier.services.gateway.clauses import lexicon
from sourcier.services.gateway.clauses.lexicon import Phrase, Phrases
from sourcier.services.index.language.analyser import passage_stems
from sourcier.services.index.language.light_words import CARRYING_NOTHING
from sourcier.services.index.language.numerals import written_numbers
from sourcier.services.index.language.stop_words import fold

_APOSTROPHES = re.compile("[\u2018\u2019\u02bc\u0060\u00b4\uff07]")
_GROUPED = re.compile(r"(?<=\d)[ \u00a0\u2009\u202f](?=\d{3}(?!\d))")
_TOKEN = re.compile(r"[^\W\d_]{1,5}\d\w*|\d+(?:[.,]\d+)?|[^\W\d_]+'?|[,;:()«»€%]")
# « le bâtiment A » is not « le bâtiment a »; English says I.
_LETTER = re.compile(r"(?<=[^\W_] )[A-HJ-Z](?![\w'\u2019])")
_ENGLISH_NOT = re.compile(r"n't\b|(?<=\bcan)not\b")
_ACCENTED = lexicon.words("à où")
"""Words that are others without their accent."""
_BEFORE_BEEN = lexicon.words(
    "a ont avait avaient aura auront ayant avoir pas plus jamais n' aurait auraient il elle ils elles on"
)
"""« A-t-elle été votée ? » has its verb turned round."""
_FAMILY = {word: f"={number}" for number, family in enumerate(lexicon.FAMILIES) for word in family}


ADULT_YEARS = 18


@dataclass(frozen=True, slots=True)
class Token:
    """One word, figure or sign."""

    text: str
    """Folded, in lower case; a figure in one form."""
    forms: frozenset[str]
    """What it shares with other words of its kind; empty for what carries no meaning by itself."""

    @property
    def tells(self) -> bool:
        """Whether it carries meaning by itself."""
        return bool(self.forms)


@lru_cache(maxsize=2_000)
def tokens_of(text: str) -> tuple[Token, ...]:
    """Return the tokens of a text in order."""
    text = _LETTER.sub(lambda letter: f"lettre{letter.group()}", text)
    plain = _APOSTROPHES.sub("'", text.casefold().replace("\u00a0", " "))
    plain = _GROUPED.sub("", _ENGLISH_NOT.sub(" not", plain))
    found = [_token(match.group()) for match in _TOKEN.finditer(plain)]
    for place, token in enumerate(found):
        # « a été supprimé » and « l'été » are one word without accents.
        if token.text == "ete" and place and found[place - 1].text in _BEFORE_BEEN:
            found[place] = Token("ete", frozenset())
    return tuple(found)


@lru_cache(maxsize=20_000)
def _token(word: str) -> Token:
    if word in _ACCENTED:
        return Token(word, frozenset())
    word = fold(word)
    if word[0].isdecimal():
        whole, _, decimals = word.replace(",", ".").partition(".")
        decimals = decimals.rstrip("0")
        number = (whole.lstrip("0") or "0") + (f".{decimals}" if decimals else "")
        return Token(number, frozenset({number}))
    if not word[0].isalpha():
        return Token(word, frozenset())
    if (number_written := next(written_numbers(word, sure=True), None)) is not None:
        return Token(word, frozenset({str(number_written)}))
    return Token(word, _forms(word))


def _forms(word: str) -> frozenset[str]:
    pole = lexicon.POLES.get(word)
    if pole is not None:
        return frozenset({f"#{pole.scale.value}"})
    if word in CARRYING_NOTHING or len(word) < 2 or word.endswith("'"):
        return frozenset()
    family = _FAMILY.get(word)
    return frozenset({word, *passage_stems(word, "")} | ({family} if family else set()))


def holds(tokens: Sequence[Token], phrase: Phrase, place: int) -> bool:
    """Return whether a phrase stands at a place."""
    return len(tokens) >= place + len(phrase) and all(
        tokens[place + offset].text in (word, "à" if word == "a" else word) for offset, word in enumerate(phrase)
    )


def phrase_at(tokens: Sequence[Token], phrases: Phrases, place: int) -> Phrase | None:
    """Return the longest of the phrases that stands at a place; None at the end of the tokens."""
    if place >= len(tokens):
        return None
    return next((phrase for phrase in phrases.get(tokens[place].text, ()) if holds(tokens, phrase, place)), None)


def places(tokens: Sequence[Token], phrases: Phrases) -> Iterator[tuple[int, Phrase]]:
    """Give where phrases stand, each place once."""
    for place in range(len(tokens)):
        if (phrase := phrase_at(tokens, phrases, place)) is not None:
            yield place, phrase


def has(tokens: Sequence[Token], phrases: Phrases) -> bool:
    """Return whether one of the phrases stands anywhere."""
    return next(places(tokens, phrases), None) is not None


def told_by(token: Token, others: frozenset[str]) -> bool:
    """Return whether one of the forms of others is one of the token's."""
    return not token.forms.isdisjoint(others)


def forms_in(tokens: Sequence[Token]) -> frozenset[str]:
    """Return the forms of all tokens; weekdays between two that make a range are among them."""
    forms = frozenset().union(*(token.forms for token in tokens)) if tokens else frozenset[str]()
    texts = [token.text for token in tokens]
    if any(text in _DAY_NUMBERS for text in texts):
        forms |= _days_between(tokens)
    if "moins" in texts and "ans" in texts and any(
        token.text == "moins" and tokens[place + 1].text == "de" and tokens[place + 3].text == "ans"
        and int(next(filter(str.isdecimal, tokens[place + 2].forms), "99")) <= ADULT_YEARS
        for place, token in enumerate(tokens[:-3])
    ):
        # « les moins de douze ans » are children.
        forms |= _token("enfant").forms
    return forms | _every_day(tokens)


_DAY_NUMBERS = {
    name: (number, names)
    for names in (lexicon.WEEKDAYS, lexicon.WEEKDAYS_ENGLISH) for number, name in enumerate(names)
}


def _every_day(tokens: Sequence[Token]) -> frozenset[str]:
    if not has(tokens, lexicon.EVERY_DAY):
        return frozenset()
    return frozenset(form for name in _DAY_NUMBERS for form in _token(name).forms)


def _days_between(tokens: Sequence[Token]) -> frozenset[str]:
    """Return the forms of the days of « du lundi au vendredi », « from Monday to Friday »."""
    found: set[str] = set()
    for place, token in enumerate(tokens[:-2]):
        first, last = _DAY_NUMBERS.get(token.text), _DAY_NUMBERS.get(tokens[place + 2].text)
        if first is None or last is None or tokens[place + 1].text not in ("au", "à", "to", "through"):
            continue
        names = first[1]
        day = first[0]
        while True:
            found |= _token(names[day]).forms
            if day == last[0]:
                break
            day = (day + 1) % len(names)
    return frozenset(found)
