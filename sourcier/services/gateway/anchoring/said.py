"""One value of a sentence, where it stands, and which values of a text could be taken for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sourcier.services.gateway.clauses import lexicon
from sourcier.services.gateway.clauses.frame import Frame
from sourcier.services.gateway.clauses.tokens import Token
from sourcier.services.gateway.figures.rows import DAYS, gives, is_value, unit_behind, values_of
from sourcier.services.index.times.dates import MONTHS

_NUMBERED = lexicon.words(
    "article articles annexe annexes chapitre section titre page lot lots alinea paragraphe point tableau figure "
    "numero no version tome appendix annex chapter paragraph clause table place places salle batiment niveau tranche"
)
"""Words before a number that is a name and no value."""
_RANKS = lexicon.words("e er re eme ieme th st nd rd")
_YEARS = range(1_000, 2_201)
TIMES = frozenset({"fois", "times"})


@dataclass(frozen=True)
class Said:
    """One value of a sentence, and what the sentence says beside it."""

    typed: str
    value: tuple[Token, ...]
    place: int
    tokens: tuple[Token, ...]
    words: tuple[Token, ...]
    """What tells of what it is, without light words."""
    rates: frozenset[str]
    unit: str
    is_measured: bool
    """Whether a unit stands behind it."""
    frame: Frame

    @property
    def without_value(self) -> tuple[Token, ...]:
        """What it says beside the value."""
        return (*self.tokens[: self.place], *self.tokens[self.place + len(self.value) :])

    @property
    def counted(self) -> Token | None:
        """The word right behind it, where that tells what is counted."""
        behind = self.tokens[self.place + len(self.value) : self.place + len(self.value) + 1]
        return next((token for token in behind if token.text.isalpha() and (token.tells or token.text in TIMES)), None)

    @property
    def counts(self) -> bool:
        """Whether a unit or what is counted stands behind it."""
        return bool(self.unit) or self.counted is not None


def comparable_values(tokens: Sequence[Token], unit: str, place: int, length: int) -> list[tuple[int, int]]:
    """Return where values stand that could be taken for the one at a place: of its unit, years with years."""
    if unit in ("h", "min"):
        return []
    kind = _kind_of_value(tokens, place, length)
    found = []
    for at, size in values_of(tokens):
        if is_label(tokens, at) or all(token.text in DAYS for token in tokens[at : at + size]):
            continue
        own = unit_behind(tokens, at + size)
        behind = tokens[at + size : at + size + 1]
        is_elliptic = not own and not any(token.tells for token in behind) and not _goes_to_another(tokens, at + size)
        if _kind_of_value(tokens, at, size) == kind and (own == unit or (unit and is_elliptic)):
            found.append((at, size))
    return found


def _kind_of_value(tokens: Sequence[Token], place: int, length: int) -> str:
    """Return `date`, `year` or `count`; something else for what is no plain number."""
    value = tokens[place : place + length]
    if any(token.text in MONTHS for token in value):
        return "date"
    [first, *_] = value
    number = next((form for form in first.forms if form.replace(".", "").isdecimal()), "")
    if not number:
        return first.text
    counted = tokens[place + length : place + length + 1]
    is_year = first.text.isdecimal() and int(first.text) in _YEARS and (
        not unit_behind(tokens, place + length) and not any(token.tells for token in counted)
    )
    return "year" if is_year else "count"


def _goes_to_another(tokens: Sequence[Token], place: int) -> bool:
    """Return whether a value is the beginning of a span: « de 15 à 17 ans »."""
    return len(tokens) > place + 1 and tokens[place].text in ("à", "a", "et", "ou", "to", "or", "and") and is_value(
        tokens[place + 1]
    )


def is_at(tokens: Sequence[Token], place: int, said: Said) -> bool:
    """Return whether a value stands at a place."""
    size = len(said.value)
    unit = unit_behind(tokens, place + size)
    return len(tokens) >= place + size and gives(tokens[place : place + size], said.value, "") and (
        not unit or not said.unit or unit == said.unit
    )


def is_label(tokens: Sequence[Token], place: int) -> bool:
    """Return whether a number names one of several, or ranks: « article 4 », « note n° 3 », « le 8e »."""
    before = [token.text for token in tokens[max(0, place - 2) : place]]
    if any(token.text in _RANKS for token in tokens[place + 1 : place + 2]):
        return True
    return bool(before) and (before[-1] in _NUMBERED or (before[-1] in ("n", "er") and len(before) > 1))
