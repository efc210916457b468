"""Which rows of a table name its columns: often not the first, where an account's or a report's name stands above."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

_ROWS_LOOKED_AT = 500
_ROWS_ABOVE_MAX = 40


@dataclass(frozen=True, slots=True)
class Header:
    """Where the rows that name the columns begin, and these rows, names over several columns repeated."""

    first: int
    rows: list[list[str]]


def find_header(rows: Sequence[Sequence[str]]) -> Header:
    """Return the header of a table; rows before it that fill at most half of the columns stand above the table."""
    width = _usual_width(rows)
    first = 0
    while first < min(len(rows), _ROWS_ABOVE_MAX) and _reach(rows[first]) <= (width + 1) // 2:
        first += 1
    if width < 2 or first >= min(len(rows), _ROWS_ABOVE_MAX):
        return Header(0, [list(row) for row in rows[:1]])
    upper = [cell.strip() for cell in rows[first]]
    below = rows[first + 1 : first + 3]
    if len(below) == 2 and _is_second_line(upper, below[0], below[1], width):
        return Header(first, [_repeated(upper, below[0]), [cell.strip() for cell in below[0]]])
    return Header(first, [upper])


def _usual_width(rows: Sequence[Sequence[str]]) -> int:
    widths = Counter(filter(None, map(_reach, rows[:_ROWS_LOOKED_AT])))
    return max(widths, key=lambda width: (widths[width], width), default=0)


def _reach(row: Sequence[str]) -> int:
    """Return how many columns a row has up to its last filled cell."""
    return max((place + 1 for place, cell in enumerate(row) if cell.strip()), default=0)


def _is_second_line(upper: Sequence[str], lower: Sequence[str], body: Sequence[str], width: int) -> bool:
    """Tell whether the row below the first one goes on naming: it fills its gaps, with words."""
    if any(map(_has_digit, lower)) or not any(map(_has_digit, body)) or _reach(lower) < width - 1:
        return False
    gaps = [place for place in range(width) if not _at(upper, place) and _at(lower, place)]
    return bool(gaps) and not (_at(upper, 0) and _at(lower, 0))


def _repeated(upper: Sequence[str], lower: Sequence[str]) -> list[str]:
    """Return the upper line with each name repeated over the columns that the lower one divides it into."""
    repeated: list[str] = []
    for place in range(max(len(upper), len(lower))):
        cell = _at(upper, place)
        repeated.append(cell or (repeated[-1] if repeated and _at(lower, place) else ""))
    return repeated


def _at(row: Sequence[str], place: int) -> str:
    return row[place].strip() if place < len(row) else ""


def _has_digit(cell: str) -> bool:
    return any(character.isdigit() for character in cell)
