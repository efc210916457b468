"""Which acronyms a text spells out: `Règlement professionnel du notariat (RPN)`, `RPN : règlement …`, `RPN, soit le …`.

Wherever something stands that may be an acronym, the words before and behind it are compared with its letters. What
stands between them decides how freely: behind a bracket letters may be left out, beside nothing at all they may not.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from sourcier.services.index.acronyms import matching
from sourcier.services.index.acronyms.forms import (
    LONG_CHARACTERS_MAX,
    SHORT_CHARACTERS_MAX,
    SHORT_CHARACTERS_MIN,
    SMALL_WORDS,
    long_key,
    short_key,
    words_of,
)
from sourcier.services.index.acronyms.matching import Match
from sourcier.services.index.language.stop_words import fold

RULES = 2
"""Counts what makes documents be read anew."""
AROUND_CHARACTERS = 200
DEFINITIONS_MAX = 200
"""Of one text."""
COMPARED_MAX = 2_000
"""Of one document: so many of its candidates are compared with the words around them."""
FREE_COST_MAX, STRICT_COST_MAX = 1.05, 0.1
WORD_LETTERS_MIN = 4
"""Of an acronym that is written as a word, `Urssaf`: it is one in brackets alone."""

_FILE_TYPES = words_of(
    "pdf doc docx odt rtf txt xls xlsx ods csv tsv ppt pptx odp jpg jpeg png gif bmp tif tiff svg webp zip rar 7z gz "
    "html htm xml json yaml msg mp3 mp4 avi wav exe"
)
"""What files are called by; behind a text in brackets they tell what it is written in."""
_DAYS = words_of(
    "lundi mardi mercredi jeudi vendredi samedi dimanche monday tuesday wednesday thursday friday saturday sunday"
)
_CANDIDATE = re.compile(
    r"(?<![\w&.])(?=[A-Z\d\u00c0-\u00d6\u00d8-\u00de])"
    r"(?:(?:[^\W\d_]\. ?){1,11}[^\W\d_]\b\.?|[^\W_]{1,6} ?& ?[^\W_]{1,6}|[^\W_]{2,12})(?![\w&])"
)
WORD = re.compile(r"[^\W_]+")
_END = re.compile(r"[.;:!?()\[\]{}|=•\u2013\u2014]|\n\s*\n|[\n ][-*] ")
"""What no long form runs over."""
_BETWEEN = re.compile(r"[\s,:()\[\]«»\"'“”‘’=|/*_\u2013\u2014-]*")
_OPENS = re.compile(r"[(\[:=|]")
_SPACES = re.compile("[ \t\u00a0\u2009\u202f]+")
_CONNECTORS = words_of(
    "ou soit dit dite dits dites ci apres designe designee denomme denommee appele appelee abrege abregee en par sous "
    "le la les l sigle acronyme nom est un une c a dire signifie veut pour abreviation de du des d "
    "or called hereinafter hereafter aka known as the stands for means is short i e acronym abbreviated to"
)
_CONNECTORS_MAX = 7


@dataclass(frozen=True, slots=True)
class Definition:
    """An acronym and what it stands for, as a text has them."""

    short: str
    long: str

    @property
    def key(self) -> tuple[str, str]:
        """What it is the same as another by."""
        return short_key(self.short), long_key(self.long)


@dataclass(frozen=True, slots=True)
class _Word:
    text: str
    start: int
    end: int


class Budget:
    """How many candidates of a document may still be compared with the words around them."""

    def __init__(self, left: int = COMPARED_MAX) -> None:
        self.left = left

    def takes(self) -> bool:
        """Return whether one more may be, and count it."""
        self.left -= 1
        return self.left >= 0


def definitions(text: str, budget: Budget | None = None) -> tuple[Definition, ...]:
    """Return the acronyms that a text spells out, each once; texts of one document share a budget."""
    budget = budget or Budget()
    text = _plain(text)
    found: dict[tuple[str, str], Definition] = {}
    known: set[str] = set()
    for match in _CANDIDATE.finditer(text):
        # Most capitals begin a word like any other.
        if match[0][1:].islower() and "(" not in text[max(0, match.start() - 1) : match.end() + 2]:
            continue
        shown = _shown(match[0])
        if not shown or not _is_candidate(shown, text, match):
            continue
        if short_key(shown) in known and not _OPENS.search(text[max(0, match.start() - 2) : match.end() + 2]):
            continue
        if not budget.takes():
            break
        for definition in _defined(shown, text, match.start(), match.end()):
            known.add(definition.key[0])
            found.setdefault(definition.key, definition)
        if len(found) >= DEFINITIONS_MAX:
            break
    return tuple(found.values())


def _plain(text: str) -> str:
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
    return _SPACES.sub(" ", text)


def _shown(written: str) -> str:
    """Return an acronym as it is shown: without dots and spaces, and without the s of several; empty for none."""
    shown = re.sub(r"[. ]", "", written)
    if len(shown) > SHORT_CHARACTERS_MIN and shown[-1] == "s" and shown[:-1].isupper():
        shown = shown[:-1]
    return shown if SHORT_CHARACTERS_MIN <= len(short_key(shown)) <= SHORT_CHARACTERS_MAX else ""


def _is_candidate(shown: str, text: str, match: re.Match[str]) -> bool:
    capitals = sum(letter.isupper() for letter in shown)
    if capitals >= 2 or "." in match[0]:
        return shown[0].isupper() or shown[0].isdigit() or "." in match[0]
    if any(letter.isdigit() for letter in shown):
        return capitals == 1
    # `Urssaf`: between brackets, or with an opening one behind it.
    bracketed = text[match.start() - 1 : match.start()] == "(" and text[match.end() : match.end() + 1] == ")"
    opens = text[match.end() : match.end() + 2].strip() == "("
    return shown[0].isupper() and len(shown) >= WORD_LETTERS_MIN and (bracketed or opens)


def _defined(shown: str, text: str, start: int, end: int) -> Iterator[Definition]:
    letters = short_key(shown)
    if letters in _FILE_TYPES:
        return
    for side in (_before, _behind):
        long = side(text, start, end, letters)
        if long and short_key(long) != letters and len(long) <= LONG_CHARACTERS_MAX and (
            len(letters) > SHORT_CHARACTERS_MIN or not shown.isalpha() or _is_name(long)
        ):
            yield Definition(shown, long)


def _is_name(long: str) -> bool:
    """Return whether words are the name of something: two letters fit any two words, and a person's initials.

    « Direction générale » and « ressources humaines » are; « Pierre Martin » and « lundi au vendredi » are not.
    """
    words = WORD.findall(long)
    if fold(words[0].lower()) in _DAYS:
        return False
    small = any(fold(word.lower()) in SMALL_WORDS for word in words)
    if long == long.lower():
        return not small
    is_person = not small and all(word[0].isupper() and not word.isupper() for word in words)
    return words[0][0].isupper() and not is_person


def _before(text: str, start: int, _: int, letters: str) -> str:
    part = text[max(0, start - AROUND_CHARACTERS) : start]
    words = _words(part)
    for left in range(min(_CONNECTORS_MAX, len(words) - 1) + 1):
        last = len(words) - 1 - left
        if left and words[last + 1].text not in _CONNECTORS:
            break
        if words[last].text in SMALL_WORDS and words[last].text in _CONNECTORS:
            continue
        between = part[words[last].end :]
        if not _is_between(between, words[last + 1 :], words[last].end):
            break
        named = _run_back(part, words[: last + 1])
        match = _match(matching.before, named, letters, between, connected=left > 0)
        if match is not None:
            return part[named[match.first].start : named[-1].end]
    return ""


def _behind(text: str, _: int, end: int, letters: str) -> str:
    part = text[end : end + AROUND_CHARACTERS]
    words = _words(part)
    for left in range(min(_CONNECTORS_MAX, len(words) - 1) + 1):
        if left and words[left - 1].text not in _CONNECTORS:
            break
        between = part[: words[left].start]
        if not _is_between(between, words[:left], 0):
            break
        named = _run_on(part, words[left:])
        match = _match(matching.behind, named, letters, between, connected=left > 0)
        if match is not None:
            return part[named[0].start : named[match.last].end]
    return ""


def _words(part: str) -> list[_Word]:
    return [_Word(fold(word[0].lower()), word.start(), word.end()) for word in WORD.finditer(part)]


def _is_between(between: str, connectors: Sequence[_Word], offset: int) -> bool:
    """Return whether nothing but separators and connectors stands there."""
    place = 0
    for word in connectors:
        gap = between[place : word.start - offset]
        if not _BETWEEN.fullmatch(gap):
            return False
        place = word.end - offset
    return _BETWEEN.fullmatch(between[place:]) is not None and "\n\n" not in between


def _run_back(part: str, words: Sequence[_Word]) -> Sequence[_Word]:
    """Return the words at the end that nothing ends a long form between."""
    first = len(words) - 1
    while first > 0 and not _END.search(part[words[first - 1].end : words[first].start]):
        first -= 1
    return words[first:]


def _run_on(part: str, words: Sequence[_Word]) -> Sequence[_Word]:
    last = 0
    while last + 1 < len(words) and not _END.search(part[words[last].end : words[last + 1].start]):
        last += 1
    return words[: last + 1]


def _match(
    look: Callable[..., Match | None], words: Sequence[_Word], letters: str, between: str, *, connected: bool
) -> Match | None:
    opened = _OPENS.search(between) is not None
    if len(letters) == SHORT_CHARACTERS_MIN and not opened:
        return None
    match = look([word.text for word in words], letters, freely=opened)
    limit = FREE_COST_MAX if opened and len(letters) > SHORT_CHARACTERS_MIN else STRICT_COST_MAX
    if not opened and not connected and match is not None and match.cost > 0:
        return None
    return match if match is not None and match.cost <= limit else None
