"""Words, numbers and codes of a text, in order."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from itertools import chain

WORDS_MAX = 50_000
"""Words remembered with their parts, about 10 MB; then all are forgotten, and the common ones are back at once."""
WORD_CHARACTERS_MAX = 64
"""Longer ones are rarely said twice."""
LONG_NUMBER_DIGITS = 5
"""Numbers of so many digits and more are hardly said twice either, and are not remembered."""

RECENT_MAX, RECENT_CHARACTERS_MAX = 1_000, 2_000
"""Texts whose words are kept for a while, about 4 MB: a passage's language is told when it is cut, and its stems are
found when it is indexed."""

_APOSTROPHES = re.compile("[\u2018\u2019\u02bc\u0060\u00b4\uff07]")
# 14 500 000 with any of the spaces French puts between groups of three; 2003 120 is left alone.
_DIGIT_GROUPS = re.compile(r"(?<![\d.,])\d{1,3}(?:[ \u00a0\u2009\u202f]\d{3})+(?!\d)")
_GROUP = re.compile(r"\d[ \u00a0\u2009\u202f]\d{3}")
_GROUP_SPACES = re.compile(r"[ \u00a0\u2009\u202f]")
_FIXED_SPACES = "\u00a0\u2009\u202f"
_ELISION = re.compile(r"\b(?:[ldjnscmt]|(?:lors|puis|jus|quoi|pres|quel)?qu|entr)'(?=\w)")
_TOKEN = re.compile(r"\w+(?:[-/.,:_+]\w+)*")
_PARTS = re.compile(r"[^\W_]+")
_DOTTED = re.compile(r"[^\W\d_](?:\.[^\W\d_])+")
_LONG_NUMBER = re.compile(rf"\d{{{LONG_NUMBER_DIGITS}}}")


class _Parts(dict[str, tuple[str, ...]]):
    """The parts of what stands between two spaces, found out once."""

    def __missing__(self, word: str) -> tuple[str, ...]:
        parts = tuple(_split(word))
        if len(word) <= WORD_CHARACTERS_MAX and not _LONG_NUMBER.search(word):
            if len(self) >= WORDS_MAX:
                self.clear()
            self[word] = parts
        return parts


_PARTS_OF = _Parts()


def split_words(text: str) -> list[str]:
    """Return the words in lower case, elisions cut off, function words included; codes whole and in parts."""
    return list(_recently_split(text) if len(text) <= RECENT_CHARACTERS_MAX else _words(text))


@lru_cache(maxsize=RECENT_MAX)
def _recently_split(text: str) -> tuple[str, ...]:
    return tuple(_words(text))


def _words(text: str) -> list[str]:
    text = _normalised(text)
    if _GROUP.search(text):
        text = _DIGIT_GROUPS.sub(lambda group: _GROUP_SPACES.sub("", group[0]), text)
    # What stands between spaces is read the same wherever it stands, and a corpus says few words many times. Without a
    # line of Python for each word this takes half as long.
    return list(chain.from_iterable(map(_PARTS_OF.__getitem__, text.split())))


def _normalised(text: str) -> str:
    """Return the text in NFKC."""
    # Most French text lacks nothing else, and normalising takes longer than all the rest.
    for space in _FIXED_SPACES:
        text = text.replace(space, " ")
    return text if unicodedata.is_normalized("NFKC", text) else unicodedata.normalize("NFKC", text)


def _split(word: str) -> Iterator[str]:
    """Give the parts of what stands between two spaces."""
    word = _APOSTROPHES.sub("'", word.lower())
    word = _ELISION.sub(" ", word).replace("œ", "oe").replace("æ", "ae")
    for token in _TOKEN.findall(word):
        # Most tokens are plain words, and are their only part.
        if token.isalnum():
            yield token
            continue
        # `C.S.E.` is `CSE`.
        if _DOTTED.fullmatch(token):
            yield token.replace(".", "")
            continue
        parts = _PARTS.findall(token)
        if len(parts) > 1 and any(character.isdigit() for character in token):
            yield token
        yield from parts
