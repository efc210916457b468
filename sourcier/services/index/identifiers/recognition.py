"""Which identifiers a text holds."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable

from sourcier.services.index.identifiers.identifier import FORM_CHARACTERS_MAX, Identifier
from sourcier.services.index.identifiers.recognisers import RECOGNISERS, Recogniser

_DASHES = re.compile("[\u2010-\u2015\u2212]")
_SPACES = re.compile("[ \t\u00a0\u2009\u202f]+")
_MARKED = re.compile(r"[\d@]|[^\W_]\.[A-Za-z]|(?<![^\W_])[IVXLC]+(?![^\W_])")
"""What a word of an identifier has: a digit, a sign of addresses and file names, or a Roman number."""
WORDS_BEFORE, WORDS_AFTER = 4, 2
"""Words around those that are read with them: labels before, units after. The rest of a text is passed over."""
_READ = "\0"
"""Stands where an identifier was read, so that no other recogniser reads parts of it."""


def identifiers(text: str, *, question: bool = False) -> tuple[Identifier, ...]:
    """Return the identifiers of a text, each once; `question`: read as people type, without signs and capitals."""
    text = _around_marks(_plain(text))
    if not text:
        return ()
    found: dict[tuple[str, ...], Identifier] = {}
    for recogniser in RECOGNISERS if question else _PASSAGE:
        text = recogniser.pattern.sub(_taker(recogniser, found), text)
    return tuple(found.values())


def _plain(text: str) -> str:
    if not text.isascii():
        text = _DASHES.sub("-", unicodedata.normalize("NFKC", text))
    return _SPACES.sub(" ", text)


def _around_marks(text: str) -> str:
    """Return the words that may belong to identifiers with the words around them."""
    words = text.split(" ")
    marked = [place for place, word in enumerate(words) if _MARKED.search(word)]
    kept: list[str] = []
    end = 0
    for place in marked:
        start = max(place - WORDS_BEFORE, end)
        if start > end and kept:
            kept.append("\n")
        kept.extend(words[start : place + 1 + WORDS_AFTER])
        end = max(end, min(place + 1 + WORDS_AFTER, len(words)))
    return " ".join(kept)


def _taker(recogniser: Recogniser, found: dict[tuple[str, ...], Identifier]) -> Callable[[re.Match[str]], str]:
    def take(match: re.Match[str]) -> str:
        reading = recogniser.read(match)
        if reading is None or any(len(form) > FORM_CHARACTERS_MAX for form in reading.forms):
            return match[0]
        found.setdefault(reading.forms, Identifier(match[0].strip(" .-/"), recogniser.kind, reading))
        return _READ

    return take


_PASSAGE = tuple(each for each in RECOGNISERS if not each.question_only)
