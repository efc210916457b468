"""How acronyms and long forms are compared: without dots, accents and capitals, long forms by the stems of words."""

from __future__ import annotations

import re

from sourcier.services.index.language.analyser import question_stems
from sourcier.services.index.language.stop_words import FUNCTION_WORDS, fold
from sourcier.services.index.language.words import split_words

SHORT_CHARACTERS_MIN, SHORT_CHARACTERS_MAX = 2, 12
LONG_CHARACTERS_MAX = 160
LONG_WORDS_MAX = 14
HEAD_STEMS = 2
"""Stems of a long form that it is looked up by; the rest is compared."""
SMALL_WORDS = FUNCTION_WORDS
"""Words that an acronym mostly has no letter of."""

_SIGNS = re.compile(r"[\W_]+")
KEY_LANGUAGE = "fr"
"""Keys are made by one stemmer, whatever language a text is in, so that they are the same on both sides."""


def words_of(text: str) -> frozenset[str]:
    """Return the words of a list."""
    return frozenset(text.split())


def short_key(short: str) -> str:
    """Return an acronym in the form that its ways of writing share: `C.S.S.C.T.` and `CSSCT` give `cssct`."""
    return _SIGNS.sub("", fold(short.lower()))


def long_stems(text: str) -> tuple[str, ...]:
    """Return the stems of a text's words that carry meaning, accents, plurals and function words left out."""
    return tuple(
        stem for word in split_words(text) for stem in question_stems(fold(word), KEY_LANGUAGE)[:1]
        if word not in SMALL_WORDS
    )


def long_key(text: str) -> str:
    """Return a long form in the form that its ways of writing share."""
    return " ".join(long_stems(text))


def head_of(stems: tuple[str, ...]) -> str:
    """Return what a long form is looked up by."""
    return " ".join(stems[:HEAD_STEMS])
