"""Rows of a table that stand for a range: « de 600 à 1 200 » is the row of a quotient of 900."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

from sourcier.services.gateway.clauses import lexicon
from sourcier.services.gateway.clauses.tokens import Token
from sourcier.services.gateway.figures.words import forms_of, told

_BELOW = lexicon.words("moins inferieur inferieurs inferieure under below less jusqu' jusque maximum")
_ABOVE = lexicon.words("plus superieur superieurs superieure over above more dessus dela partir depasse exceeding")
_TO = lexicon.words("a à to and et - –")
YEARS = range(1900, 2101)


@dataclass(frozen=True, slots=True)
class Range:
    """The numbers from `low` to `high`; None where it has no end."""

    low: Decimal | None
    high: Decimal | None

    def holds(self, number: Decimal, side: int) -> bool:
        """Return whether a number is in it; `side` is 1 for what is above the number, -1 for what is below."""
        if side > 0:
            return (self.low is None or self.low <= number) and (self.high is None or number < self.high)
        if side < 0:
            return (self.low is None or self.low < number) and (self.high is None or number <= self.high)
        return (self.low is None or self.low <= number) and (self.high is None or number <= self.high)


def range_of(label: Sequence[Token]) -> Range | None:
    """Return the range that a row's name tells; None for a name that tells none."""
    numbers = [(place, each) for place, token in enumerate(label) if (each := _number(token)) is not None]
    texts = {token.text for token in label}
    if len(numbers) == 2:
        (first, low), (second, high) = numbers
        between = {token.text for token in label[first + 1 : second]}
        return Range(low, high) if low < high and (between & _TO or not between) else None
    if len(numbers) != 1 or not texts & (_BELOW | _ABOVE):
        return None
    [(_, bound)] = numbers
    return Range(None, bound) if texts & _BELOW else Range(bound, None)


def rows_in_range(
    ranges: Sequence[Range | None], tokens: Sequence[Token], *, named: frozenset[str], columns: frozenset[str]
) -> set[int]:
    """Return the rows that a number of a question stands in; none unless it can only be meant of them.

    `named` are the forms of what the ranges are of, `columns` those of the names of the other columns: « 3 enfants » is
    no quotient where a column is called « 3 enfants et plus ».
    """
    if sum(each is not None for each in ranges) < 2:
        return set()
    meant = [
        (number, side) for place, number, side in _numbers_of(tokens)
        if not any(told(token, columns) and not told(token, named) for token in tokens[place + 1 : place + 2])
        and not (not side and number in YEARS)
    ] or [
        (number, side) for place, number, side in _numbers_of(tokens)
        if any(told(token, named) for token in tokens[max(place - 3, 0) : place + 4] if token.tells)
    ]
    if len(meant) != 1:
        return set()
    [(number, side)] = meant
    found = {row for row, each in enumerate(ranges) if each is not None and each.holds(number, side)}
    return found if len(found) <= 2 else set()


def _numbers_of(tokens: Sequence[Token]) -> Iterator[tuple[int, Decimal, int]]:
    """Give each number, and whether what is above or below it is meant."""
    for place, token in enumerate(tokens):
        number = _number(token)
        if number is None:
            continue
        before = {each.text for each in tokens[max(place - 3, 0) : place]}
        yield place, number, 1 if before & _ABOVE else -1 if before & _BELOW else 0


def _number(token: Token) -> Decimal | None:
    try:
        return Decimal(token.text) if token.text[0].isdecimal() else None
    except InvalidOperation:
        return None


def column_forms(names: Sequence[Sequence[Token]]) -> frozenset[str]:
    """Return the forms of all columns' names but the first one."""
    return forms_of([token for name in names[1:] for token in name])
