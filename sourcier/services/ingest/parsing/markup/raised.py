"""Raised and lowered characters as plain text: an exponent, an index, the end of an ordinal, or the call of a note.

`19` with a raised 2 is an amount with a note, never 192; `m` with a raised 2 is a square metre.
"""

from __future__ import annotations

import re

from sourcier.services.ingest.parsing.scripts import SUBSCRIPTS, SUPERSCRIPTS

_FIGURE = re.compile(r"[+\-−–]?\d{1,6}")
_EXPRESSION = re.compile(r"[0-9+\-−–=()ni]{1,12}")
_CALL = re.compile(r"[\[(]?(\d{1,3}(?:\s?[,;–-]\s?\d{1,3}){0,5}|\*{1,4}|[a-zA-Z])[\])]?")
_UNITS = frozenset(
    [
        "m", "dm", "cm", "mm", "µm", "μm", "nm", "dam", "hm", "km", "s", "ms", "min", "h", "A", "V", "W", "K", "J",
        "N", "Pa", "Hz", "kg", "g", "mg", "L", "l", "ft", "in", "yd", "mi", "pi", "po", "mol", "cd", "rad", "sr",
    ]
)
_LAST_WORD = re.compile(r"(?<![^\W\d_])[^\W\d_]{1,3}\Z")
_IN_FORMULA = re.compile(r"= ?[^\W\d_]{1,3}\Z")
_POWER_OF_TEN = re.compile(r"(?<![\d.,\u00a0\u202f])10\Z")
_ORDINAL_ENDS = frozenset([
    "e", "è", "er", "re", "ère", "ère", "d", "de", "nd", "nde", "st", "th", "rd", "ème", "eme", "ième", "ier", "ière",
    "o", "os", "a", "ers", "res", "es",
])
# What follows a figure in a raised hand and belongs to it: 14ʰ30, 12 €⁹⁰, a mark.
_KEPT_AFTER_FIGURE = frozenset(["h", "min", "s", "°", "€", "$", "£", "%", "‰", "™", "tm", "®", "ttc", "ht"])


def raised(before: str, text: str, *, calls_note: bool = False) -> str:
    """Return a raised text as it reads after `before`; `calls_note` where it is a link to a note."""
    text = text.strip()
    call = _CALL.fullmatch(text)
    if not text or (calls_note and call):
        return _note(before, call.group(1)) if call else ""
    last = before[-1:]
    if _FIGURE.fullmatch(text):
        return text.translate(SUPERSCRIPTS) if _is_power(before, text) else _after_figures(before, text)
    if last.isdigit():
        return _after_digit(before, text, call)
    if call and (text[0] in "[(" or text[0].isdigit()):
        return _note(before, call.group(1))
    if _EXPRESSION.fullmatch(text) and _is_power(before, "-1"):
        return text.translate(SUPERSCRIPTS)
    # Mᵐᵉ, Dʳ, Sᵗ, nᵒ: one word; a longer text that is raised stands apart.
    if last.isalpha() and text.isalpha() and len(text) <= 4:
        return "°" if text == "o" and last in "nN" else text
    return text if not last.isalnum() or not text[0].isalnum() else f" {text}"


def lowered(before: str, text: str) -> str:
    """Return a lowered text as it reads after `before`: CO₂, xₙ₊₁ as far as there are such signs, else in line."""
    text = text.strip()
    if re.fullmatch(r"[0-9+\-−–=()]{1,12}", text):
        return text.translate(SUBSCRIPTS)
    return f" {text}" if before[-1:].isalnum() and " " in text else text


def _is_power(before: str, figure: str) -> bool:
    """Tell whether a raised figure is an exponent: signed, after ten, a unit or the name of a variable."""
    last = before[-1:]
    if not figure[0].isdigit() and (last.isalnum() or last in ")]"):
        return True
    if last.isdigit():
        return bool(_POWER_OF_TEN.search(before))
    word = _LAST_WORD.search(before)
    if _IN_FORMULA.search(before):
        return True
    if word is None:
        return False
    found = word.group()
    return found in _UNITS or (len(found) == 1 and found not in "aàyAÀY")


def _after_figures(before: str, figure: str) -> str:
    # Prices are written 12 €⁹⁰ in shops.
    if before.endswith("€") and len(figure) == 2:
        return figure
    return _note(before, figure)


def _after_digit(before: str, text: str, call: re.Match[str] | None) -> str:
    small = text.lower().rstrip(".")
    if small in _ORDINAL_ENDS or small in _KEPT_AFTER_FIGURE or not (text[0].isalnum() or call):
        return text
    if call:
        return _note(before, call.group(1))
    return text if text.isalpha() and len(text) <= 4 else f" {text}"


def _note(before: str, call: str) -> str:
    if call.startswith("*"):
        return call
    return f" [{call}]" if before and not before[-1].isspace() else f"[{call}]"
