"""Raised and lowered figures set apart from what they stand at: `1er`, `m²`, `10⁻³`, `CO₂`, but `4 500 [3] euros`.

What is raised is either part of the word (an ordinal's ending, a power) or a note's mark. A mark that joined a number
would make another number of it.
"""

from __future__ import annotations

import re

from sourcier.services.ingest.parsing.scripts import SUBSCRIPTS, SUPERSCRIPTS

_UNITS = frozenset({
    "m", "dm", "cm", "mm", "km", "hm", "dam", "nm", "µm", "s", "ms", "h", "min", "kg", "g", "mg", "mol", "l", "L", "W",
    "kW",
    "N", "Pa", "K", "J", "A", "V", "ft", "in", "yd", "Hz", "rad", "px", "pt",
})  # fmt: skip
_WORD_BEFORE = re.compile(r"(?<![^\W\d_])[^\W\d_]++\Z")
_NUMBER_BEFORE = re.compile(r"\d[.,]*+\Z")
_TIMES_TEN = re.compile(r"[×x*·⋅.][ \u00a0\u202f]?10\Z")
_FIGURES = re.compile(r"\d{1,3}")
_MARKS = re.compile(r"[(\[]?(\d{1,3}(?: ?[,;–-] ?\d{1,3})*|[a-z]|[ivx]{1,5}|\*{1,3}|[†‡§])[)\]]?")
_SIGNED = re.compile(r"[-+−–]\d{1,3}|\d{0,3}n[-+−–]?\d{0,3}")
_MARK_CHARACTERS_MAX = 12
_BEFORE_CHARACTERS = 40


def raised(before: str, text: str) -> str:
    """Return what a raised text adds to the text before it."""
    stripped = text.strip()
    before = before[-_BEFORE_CHARACTERS:]
    if not stripped or len(stripped) > _MARK_CHARACTERS_MAX:
        return text
    if _SIGNED.fullmatch(stripped):
        return text.translate(SUPERSCRIPTS)
    if _FIGURES.fullmatch(stripped) and _is_power(before):
        return text.translate(SUPERSCRIPTS)
    mark = _MARKS.fullmatch(stripped)
    if mark is None or not before.strip():
        return text
    found = mark.group(1)
    if found.isalpha() and not (_NUMBER_BEFORE.search(before) and len(found) == 1 and found in "abcf"):
        return text  # an ordinal's ending, or part of a word
    if not found[0].isalnum():
        return text
    space = " " if text.endswith((" ", "\u00a0")) else ""
    return ("" if before.endswith((" ", "\u00a0")) else " ") + f"[{found}]" + space


def lowered(text: str) -> str:
    """Return a lowered text: figures as such, letters as they are."""
    return text.translate(SUBSCRIPTS)


def _is_power(before: str) -> bool:
    """Tell whether figures raised here are a power: of a unit, a variable, or of ten in `1,5 × 10`."""
    word = _WORD_BEFORE.search(before)
    if word:
        return word.group() in _UNITS or len(word.group()) == 1
    return before.endswith("10") and bool(_TIMES_TEN.search(before))
