"""Numbers as lists and notes count: figures, letters, Roman numerals."""

from __future__ import annotations

_ROMAN = ((1000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc"), (50, "l"), (40, "xl"), (10, "x"),
          (9, "ix"), (5, "v"), (4, "iv"), (1, "i"))  # fmt: skip
_ROMAN_MAX = 3999


def spell(count: int, form: str) -> str:
    """Return a number in one of Word's number formats; decimal where the format is rarer."""
    if form == "none":
        return ""
    if form in ("upperRoman", "lowerRoman") and 0 < count <= _ROMAN_MAX:
        roman = ""
        for value, sign in _ROMAN:
            roman += sign * (count // value)
            count %= value
        return roman.upper() if form == "upperRoman" else roman
    if form in ("upperLetter", "lowerLetter") and 0 < count <= _ROMAN_MAX:
        # After z comes aa, then bb.
        letters = chr(ord("a") + (count - 1) % 26) * ((count - 1) // 26 + 1)
        return letters.upper() if form == "upperLetter" else letters
    if form == "decimalZero":
        return f"{count:02d}"
    if form == "ordinal":
        return "1er" if count == 1 else f"{count}e"
    return str(count)
