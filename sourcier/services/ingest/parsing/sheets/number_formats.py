"""Numbers as a sheet shows them: the number formats of Office Open XML (ECMA-376, 18.8.31), in French or English."""

from __future__ import annotations

import math
import re
from decimal import ROUND_HALF_UP, Context, Decimal, InvalidOperation
from fractions import Fraction

from sourcier.services.ingest.parsing.sheets.dates import show_date

GENERAL = "General"
BUILT_IN = {
    0: GENERAL, 1: "0", 2: "0.00", 3: "#,##0", 4: "#,##0.00", 5: '#,##0 "€"', 6: '#,##0 "€"', 7: '#,##0.00 "€"',
    8: '#,##0.00 "€"', 9: "0%", 10: "0.00%", 11: "0.00E+00", 12: "# ?/?", 13: "# ??/??", 14: "dd/mm/yyyy",
    15: "d-mmm-yy", 16: "d-mmm", 17: "mmm-yy", 18: "h:mm AM/PM", 19: "h:mm:ss AM/PM", 20: "hh:mm", 21: "hh:mm:ss",
    22: "dd/mm/yyyy hh:mm", **dict.fromkeys(range(27, 37), "dd/mm/yyyy"), 37: "#,##0;-#,##0", 38: "#,##0;-#,##0",
    39: "#,##0.00;-#,##0.00", 40: "#,##0.00;-#,##0.00", 41: "#,##0", 42: '#,##0 "€"', 43: "#,##0.00",
    44: '#,##0.00 "€"', 45: "mm:ss", 46: "[h]:mm:ss", 47: "mm:ss.0", 48: "0.0E+0", 49: "@",
    **dict.fromkeys(range(50, 59), "dd/mm/yyyy"),
}  # fmt: skip
"""Formats that files name by number alone; those that follow the computer's country, as in France."""

_SECTIONS = re.compile(r"(?:\"[^\"]*+(?:\"|\Z)|\\.|\[[^\]]*+(?:\]|\Z)|[^;\"\\\[]|\\)*+", re.S)
_LITERALS = re.compile(r"\"[^\"]*+(?:\"|\Z)|\\.|_.|\*.|\[[^\]]*+(?:\]|\Z)", re.S)
"""What is not closed reaches to the end."""
_DATE_LETTERS = re.compile(r"[yYmMdDhHsS]")
_ELAPSED = re.compile(r"\[(?:h{1,9}|m{1,9}|s{1,9})\]", re.I)
_CONDITION = re.compile(r"\[(<=|>=|<>|<|>|=)\s?(-?[\d.]{1,30})\]")
_CURRENCY = re.compile(r"\[\$([^\]\-]*+)(?:-([0-9A-Fa-f]{1,8}))?[^\]]*+(?:\]|\Z)")
_TOKEN = re.compile(r"\"[^\"]*+(?:\"|\Z)|\\.|_.|\*.|\[[^\]]*+(?:\]|\Z)|E[+-]0++|[0#?]|.", re.S)
_LONG_DATE, _LONG_TIME = "F800", "F400"
_PLAIN_MAX = 1e15
_PRECISE = Context(prec=60)
_CODE_CHARACTERS_MAX = 500
_COMPARE = {
    "<": lambda a, b: a < b, "<=": lambda a, b: a <= b, ">": lambda a, b: a > b, ">=": lambda a, b: a >= b,
    "=": lambda a, b: a == b, "<>": lambda a, b: a != b,
}  # fmt: skip


def show(value: float, code: str, *, date_1904: bool = False, french: bool = True) -> str:
    """Return a number as its format shows it; an unknown or broken format shows it plainly."""
    if math.isnan(value) or math.isinf(value):
        return str(value)
    section, value = _section(value, code[:_CODE_CHARACTERS_MAX] or GENERAL)
    if section.strip().lower() in ("general", "standard", "@", ""):
        return plain(value, french=french) if section.strip() else ""
    language = _CURRENCY.search(section)
    if language and language.group(2) in (_LONG_DATE, _LONG_TIME):
        section = "dddd d mmmm yyyy" if language.group(2) == _LONG_DATE else "hh:mm:ss"
    if is_date(section):
        shown = show_date(value, section, date_1904=date_1904, french=french)
        return plain(value, french=french) if shown is None else shown
    try:
        return _show_number(value, section, french=french)
    except (InvalidOperation, OverflowError, ValueError):
        return plain(value, french=french)


def is_date(code: str) -> bool:
    """Tell whether a format shows a date or a time."""
    bare = _LITERALS.sub("", code)
    if "general" in bare.lower():
        return False
    return bool(_ELAPSED.search(code) or _DATE_LETTERS.search(bare))


def plain(value: float, *, french: bool) -> str:
    """Return a number as the general format shows it, long ones in full: they are references."""
    if value == int(value) and abs(value) < _PLAIN_MAX:
        return str(int(value))
    return _localised(f"{value:.10g}".replace("e", "E"), french=french)


def show_text(text: str, code: str) -> str:
    """Return a text as the fourth section of its format shows it."""
    sections = _split(code[:_CODE_CHARACTERS_MAX])
    if len(sections) < 4 or "@" not in sections[3]:
        return "" if len(sections) >= 4 and not sections[3].strip() else text
    return "".join(text if piece == "@" else _literal(piece) for piece in _TOKEN.findall(sections[3]))


def _split(code: str) -> list[str]:
    sections, start = [], 0
    while start <= len(code):
        match = _SECTIONS.match(code, start)
        end = match.end() if match else len(code)
        sections.append(code[start:end])
        start = end + 1
    return sections


def _section(value: float, code: str) -> tuple[str, float]:
    """Return the section of a format that is for this value, and the value without the sign that it writes itself."""
    sections = _split(code)[:3]
    conditions = [_CONDITION.search(section) for section in sections]
    if any(conditions):
        for section, condition in zip(sections, conditions, strict=True):
            if condition is None or _COMPARE[condition.group(1)](value, float(condition.group(2))):
                return section, value
        return GENERAL, value
    if len(sections) > 1 and value < 0:
        return sections[1], -value
    if len(sections) > 2 and value == 0:
        return sections[2], value
    return sections[0], value


def _show_number(value: float, section: str, *, french: bool) -> str:
    pieces = _TOKEN.findall(section)
    places = [index for index, piece in enumerate(pieces) if piece in ("0", "#", "?")]
    if not places:
        return "".join(map(_literal, pieces)).strip()
    first, last = places[0], places[-1]
    if any(piece == "/" for piece in pieces[first:last]):
        return _show_fraction(value, pieces, first, last)
    value *= 100 ** sum(piece == "%" for piece in pieces)
    while last + 1 < len(pieces) and pieces[last + 1] == ",":
        value /= 1000
        del pieces[last + 1]
    middle = pieces[first : last + 1]
    exponent = next((piece for piece in pieces[last + 1 :] if piece.startswith("E")), "")
    sign = "-" if value < 0 else ""
    digits = _digits(abs(value), middle, exponent, french=french)
    if not any(character.isdigit() and character != "0" for character in digits):
        sign = ""
    before = "".join(map(_literal, pieces[:first])).lstrip()
    after = "".join("" if piece.startswith("E") else _literal(piece) for piece in pieces[last + 1 :])
    if french:
        after = re.sub(r"(?<![\s%])%", " %", after, count=1)
    return f"{sign}{before}{digits}{after}".strip()


def _digits(value: float, middle: list[str], exponent: str, *, french: bool) -> str:
    point = middle.index(".") if "." in middle else len(middle)
    whole, part = middle[:point], middle[point + 1 :]
    decimals = sum(piece in ("0", "#", "?") for piece in part)
    needed = sum(piece == "0" for piece in part)
    power = 0
    if exponent and value:
        power = math.floor(math.log10(value))
        value /= 10.0**power
    rounded = Decimal(repr(value)).quantize(Decimal(1).scaleb(-decimals), ROUND_HALF_UP, _PRECISE)
    integer, _, fraction = f"{rounded:f}".partition(".")
    while len(fraction) > needed and fraction.endswith("0"):
        fraction = fraction[:-1]
    least = sum(piece == "0" for piece in whole)
    integer = integer.lstrip("0").rjust(least, "0") if integer.strip("0") or least else ""
    shown = _spread(integer, whole)
    if "," in whole:
        shown = _grouped(shown, " " if french else ",")
    if fraction:
        shown += ("," if french else ".") + fraction
    if exponent:
        shown += f"E{'-' if power < 0 else '+'}{abs(power):0{len(exponent) - 2}d}"
    return shown


def _grouped(shown: str, separator: str) -> str:
    """Set the thousands of a number apart; what a format writes between digits stays as it is."""
    if not shown.isdigit():
        return shown
    first = len(shown) % 3
    groups = [shown[:first], *(shown[start : start + 3] for start in range(first, len(shown), 3))]
    return separator.join(group for group in groups if group)


def _spread(digits: str, whole: list[str]) -> str:
    """Put what a format writes between digits where it stands: `01 02 03 04 05`."""
    if all(piece in ("0", "#", "?", ",") for piece in whole):
        return digits
    shown, left = "", digits
    for piece in reversed(whole):
        if piece in ("0", "#", "?"):
            shown, left = (left[-1:] or ("0" if piece == "0" else "")) + shown, left[:-1]
        elif piece != ",":
            shown = (_literal(piece) if left else "") + shown
    return left + shown


def _show_fraction(value: float, pieces: list[str], first: int, last: int) -> str:
    after = "".join(pieces[pieces.index("/", first) + 1 :])
    fixed = re.match(r"\s?(\d{1,4})", after)
    size = min(sum(piece in ("0", "#", "?") for piece in after), 4)
    sign, value = ("-" if value < 0 else ""), abs(value)
    mixed = " " in pieces[first:last]
    whole = int(value) if mixed else 0
    if fixed and fixed.group(1).strip("0"):
        denominator = int(fixed.group(1))
        part, below = round((value - whole) * denominator), denominator
    else:
        found = Fraction(value - whole).limit_denominator(10 ** max(size, 1) - 1)
        part, below = found.numerator, found.denominator
    if not part:
        return f"{sign}{whole}"
    return f"{sign}{whole} {part}/{below}" if whole else f"{sign}{part}/{below}"


def _literal(piece: str) -> str:
    if piece.startswith('"'):
        return piece.strip('"')
    if piece.startswith("\\"):
        return piece[1:]
    if piece.startswith("[$"):
        currency = _CURRENCY.match(piece)
        return currency.group(1) if currency else ""
    if piece.startswith(("[", "*")):
        return ""
    return " " if piece.startswith("_") else "" if piece in ("?", "#") else piece


def _localised(number: str, *, french: bool) -> str:
    return number.replace(".", ",") if french else number
