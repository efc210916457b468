"""Words, numbers and codes of a text, in order."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

_APOSTROPHES = re.compile("[\u2018\u2019\u02bc\u0060\u00b4\uff07]")
# 14 500 000 with any of the spaces French puts between groups of three; 2003 120 is left alone.
_DIGIT_GROUPS = re.compile(r"(?<![\d.,])\d{1,3}(?:[ \u00a0\u2009\u202f]\d{3})+(?!\d)")
_GROUP_SPACES = re.compile(r"[ \u00a0\u2009\u202f]")
_ELISION = re.compile(r"\b(?:[ldjnscmt]|(?:lors|puis|jus|quoi|pres|quel)?qu|entr)'(?=\w)")
_TOKEN = re.compile(r"\w+(?:[-/.,:_+]\w+)*")
_PARTS = re.compile(r"[^\W_]+")


def split_words(text: str) -> Iterator[str]:
    """Give the words in lower case, elisions cut off, function words included; codes whole and in parts."""
    text = _APOSTROPHES.sub("'", unicodedata.normalize("NFKC", text).lower())
    text = _DIGIT_GROUPS.sub(lambda group: _GROUP_SPACES.sub("", group[0]), text)
    text = _ELISION.sub(" ", text).replace("œ", "oe").replace("æ", "ae")
    for token in _TOKEN.findall(text):
        # Most tokens are plain words, and are their only part.
        if token.isalnum():
            yield token
            continue
        parts = _PARTS.findall(token)
        if len(parts) > 1 and any(character.isdigit() for character in token):
            yield token
        yield from parts
