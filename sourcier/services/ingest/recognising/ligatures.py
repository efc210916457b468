"""œ and Œ, which OCR takes for o, ce, CE or E: mended where the word is a French one with it, and none without."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby

from sourcier.services.ingest.recognising.reading import Character

_STEMS = (
    "bœuf", "chœur", "cœlia", "cœur", "désœuvr", "écœur", "fœt", "hors-d'œuvre", "main-d'œuvre", "manœuvr", "mœurs",
    "nœud", "œcumén", "œdèm", "œdip", "œil", "œillère", "œillet", "œnolog", "œsophag", "œstrogèn", "œuf", "œuvr",
    "phœnix", "rancœur", "sœur", "subrœstr", "tœnia", "vœu",
)
_ALSO_WORDS = frozenset({"cour", "couru", "ouf", "ouvr", "mours"})
"""What a stem becomes with o, and what other words begin with: mended only where the model saw the ligature, too."""
_EDGES = "«»“”\"'’‘().,;:!?…[]-–—"


def _forms(sign: str) -> Iterator[tuple[str, str]]:
    for stem in _STEMS:
        yield stem.replace("œ", sign), stem


_AS_CE = tuple(_forms("ce"))
_AS_E = tuple(pair for pair in _forms("e") if pair[1].startswith("œuv"))
_AS_O = tuple(_forms("o"))
_ELISION = re.compile(r"[ldnscmtjLDNSCMTJ]['’]")


def mended(characters: Sequence[Character]) -> list[Character]:
    """Return a line's characters with ligatures where they belong."""
    line: list[Character] = []
    for blank, group in groupby(characters, key=lambda character: character.text.isspace()):
        word = list(group)
        line.extend(word if blank else _mended_word(word))
    return line


def _mended_word(word: list[Character]) -> list[Character]:
    text = "".join(character.text for character in word)
    if len(text) != len(word) or "œ" in text or "Œ" in text:
        return word
    start = len(text) - len(text.lstrip(_EDGES))
    if _ELISION.match(text, start):
        start += 2
    lowered = text[start:].lower()
    for sign, forms in (("ce", _AS_CE), ("e", _AS_E), ("o", _AS_O)):
        for form, stem in forms:
            if not lowered.startswith(form):
                continue
            at = start + stem.index("œ")
            if sign == "o" and form in _ALSO_WORDS and not word[at].ligature:
                continue
            return _with_ligature(word, at, len(sign))
    return word


def _with_ligature(word: list[Character], at: int, length: int) -> list[Character]:
    upper = word[at].text.isupper()
    return [*word[:at], replace(word[at], text="Œ" if upper else "œ"), *word[at + length :]]
