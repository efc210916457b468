"""Signs of the symbol fonts, whose letters are pictures: a ticked box is the letter « þ » in Wingdings."""

from __future__ import annotations

TICKED = "☒"
EMPTY = "☐"
_PRIVATE_USE = 0xF000

_WINGDINGS = {
    0x28: "☎", 0x2A: "✉", 0x4A: "☺", 0x6C: "●", 0x6E: "■", 0x6F: EMPTY, 0x70: EMPTY, 0x71: EMPTY, 0x72: EMPTY,
    0x76: "❖", 0x78: TICKED, 0xA1: "○", 0xA7: "▪", 0xA8: EMPTY, 0xD8: "➢", 0xDF: "←", 0xE0: "→", 0xE1: "↑", 0xE2: "↓",
    0xE8: "➔", 0xF0: "⇨", 0xFB: "✗", 0xFC: "✓", 0xFD: TICKED, 0xFE: TICKED,
}  # fmt: skip
_WINGDINGS_2 = {
    0x2A: EMPTY, 0x30: EMPTY, 0x4F: "✗", 0x50: "✓", 0x51: TICKED, 0x52: TICKED, 0x53: TICKED, 0x54: TICKED, 0x97: "●",
    0xA2: "■", 0xA3: EMPTY,
}  # fmt: skip
_WEBDINGS = {0x61: "✓", 0x63: EMPTY, 0x67: "■", 0x6E: "●", 0x72: "✗"}
_SYMBOL = {
    **dict(zip(range(0x61, 0x7B), "αβχδεφγηιϕκλμνοπθρστυϖωξψζ", strict=True)),
    **dict(zip(range(0x41, 0x5B), "ΑΒΧΔΕΦΓΗΙϑΚΛΜΝΟΠΘΡΣΤΥςΩΞΨΖ", strict=True)),
    0xA3: "≤", 0xA5: "∞", 0xAB: "↔", 0xAC: "←", 0xAD: "↑", 0xAE: "→", 0xAF: "↓", 0xB0: "°", 0xB1: "±", 0xB2: "″",
    0xB3: "≥", 0xB4: "×", 0xB5: "∝", 0xB6: "∂", 0xB7: "•", 0xB8: "÷", 0xB9: "≠", 0xBA: "≡", 0xBB: "≈", 0xC5: "⊕",
    0xC7: "∩", 0xC8: "∪", 0xCC: "⊂", 0xCE: "∈", 0xCF: "∉", 0xD5: "∏", 0xD6: "√", 0xD7: "⋅", 0xDE: "⇒", 0xE5: "∑",
    0xF2: "∫",
}  # fmt: skip
_FONTS = {"wingdings": _WINGDINGS, "wingdings 2": _WINGDINGS_2, "webdings": _WEBDINGS, "symbol": _SYMBOL}


def is_symbol_font(font: str) -> bool:
    """Tell whether a font's letters are pictures."""
    return font.strip().lower() in _FONTS


def symbol(code: int, font: str) -> str:
    """Return the sign that a font shows for a code; an unknown one is the character itself, or nothing."""
    place = code - _PRIVATE_USE if code >= _PRIVATE_USE else code
    found = _FONTS.get(font.strip().lower(), {}).get(place)
    if found:
        return found
    private = is_symbol_font(font) or 0xE000 <= code <= 0xF8FF or not 0x20 <= code < 0x110000
    return "" if private or 0xD800 <= code <= 0xDFFF else chr(code)


def symbols(text: str, font: str) -> str:
    """Return text that is set in a symbol font, as the signs it shows."""
    return "".join(" " if character.isspace() else symbol(ord(character), font) for character in text)


def box(ticked: bool) -> str:
    """Return the sign of a box."""
    return TICKED if ticked else EMPTY
