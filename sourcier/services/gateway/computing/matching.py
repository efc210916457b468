"""Finds the figures that a question names: each by its own words, both of the same thing, and no other that fits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

from sourcier.services.gateway.clauses import lexicon
from sourcier.services.gateway.clauses.tokens import Token, tokens_of
from sourcier.services.gateway.computing.results import Doubt
from sourcier.services.gateway.figures.readings import TOTALS, Grid, Reading, covers, wanted
from sourcier.services.gateway.figures.units import Kind
from sourcier.services.gateway.figures.words import forms_of, told
from sourcier.services.index.times.dates import MONTHS

CANDIDATES_MAX = 60
COMBINATIONS_MAX = 4_000
_DETERMINERS = lexicon.words(
    "le la les l' un une the celui celle ceux celles a an"
)
_THAT_OF = lexicon.words(
    "celui celle ceux celles that those"
)


@dataclass(frozen=True)
class _Part:
    """One thing that a question names."""

    words: tuple[Token, ...]
    refers: bool
    """« celui de Nantes »: its first word stands with the other thing."""
    whole: bool
    """Whether it is named by itself, « le lot 2 », and not by what is another of it, « 2024 »."""

    @property
    def numeric(self) -> bool:
        """Whether it is but figures and months."""
        return bool(self.words) and all(token.text[0].isdecimal() or token.text in MONTHS for token in self.words)


Found = tuple[Reading, ...]


def named(
    parts: Sequence[str], about: str, readings: Sequence[Reading], grids: Sequence[Grid]
) -> Found | Doubt | None:
    """Return the figures of the things named; None where none fit, a doubt where that is not sure."""
    things = [_part(text) for text in parts]
    shared = tuple(token for token in wanted(about) if token.text not in _SKIPPED)
    if not all(thing.words for thing in things):
        return None
    everything = (*shared, *(token for thing in things for token in thing.words))
    totals = _totals(grids)
    candidates = [
        [each for each in readings if _fits(each, thing, totals)][:CANDIDATES_MAX] for thing in things
    ]
    asked = frozenset[str]().union(*(token.forms for token in everything))
    size = 1
    for each in candidates:
        size *= len(each)
    if not size:
        return None
    if size > COMBINATIONS_MAX:
        return Doubt.AMBIGUOUS
    measured = bool(shared) or any(thing.refers for thing in things)
    best: dict[tuple[int, ...], list[tuple[int, Found]]] = {}
    units_differ = False
    for chosen in product(*candidates):
        if not _apart(chosen) or not _told(chosen, things, shared, everything):
            continue
        if not measured and not _alike(chosen, things):
            # « la différence entre un CDD et un CDI » need not be one of figures.
            continue
        if len({each.unit.comparable for each in chosen}) > 1 or not _same_counted(chosen):
            units_differ = True
            continue
        key = tuple(each.source for each in chosen)
        best.setdefault(key, []).append((_score(chosen, things, everything, asked), chosen))
    if not best:
        return Doubt.UNITS if units_differ else None
    return _settled(best)


def _settled(best: dict[tuple[int, ...], list[tuple[int, Found]]]) -> Found | Doubt:
    """Return the one set of figures that fits best, where no other document says otherwise."""
    chosen: list[Found] = []
    for found in best.values():
        most = max(score for score, _ in found)
        leading = [each for score, each in found if score == most]
        if len({_values(each) for each in leading}) > 1:
            return Doubt.AMBIGUOUS
        chosen.append(leading[0])
    if len({_values(each) for each in chosen}) > 1:
        # Figures of two documents may be combined with one another: those of one document are meant.
        alone = [each for each in chosen if len({reading.source for reading in each}) == 1]
        if len({_values(each) for each in alone}) != 1:
            return Doubt.CONFLICT
        chosen = alone
    first = chosen[0]
    return first if all(each.is_fact for each in first) else Doubt.INEXACT


def _values(chosen: Found) -> tuple[object, ...]:
    return tuple(each.quantity.same_as for each in chosen)


_SKIPPED = lexicon.words("augmentation baisse hausse")


def _part(text: str) -> _Part:
    tokens = tokens_of(text)
    first = tokens[0].text if tokens else ""
    return _Part(wanted(text), first in _THAT_OF, first in _DETERMINERS)


def _totals(grids: Sequence[Grid]) -> frozenset[tuple[int, int, int]]:
    return frozenset(
        (grid.source.number, grid.number, row) for grid in grids for row in range(len(grid.table.rows))
        if grid.is_total(row)
    )


def _fits(reading: Reading, thing: _Part, totals: frozenset[tuple[int, int, int]]) -> bool:
    """Return whether a figure may be that of a thing: all of its words are told, one of them by itself."""
    forms = reading.own | reading.head
    if not all(covers(token, reading.forms, reading.unit) for token in thing.words):
        return False
    if not any(told(token, forms) for token in thing.words):
        return False
    is_total = (reading.source, reading.table, reading.row) in totals and reading.table >= 0
    return not is_total or any(token.text in TOTALS for token in thing.words)


def _apart(chosen: Found) -> bool:
    """Return whether figures are of different places, and of one row or column where of one table."""
    places = {(each.source, each.quantity.start) for each in chosen}
    if len(places) < len(chosen):
        return False
    tables = {(each.source, each.table) for each in chosen}
    if len(tables) == 1 and chosen[0].table >= 0:
        return len({each.row for each in chosen}) == 1 or len({each.place for each in chosen}) == 1
    return True


def _told(chosen: Found, things: Sequence[_Part], shared: Sequence[Token], everything: Sequence[Token]) -> bool:
    """Return whether the figures are of the things asked for, each of the same of its thing."""
    if not all(any(covers(token, each.forms, each.unit) for each in chosen) for token in everything):
        return False
    if not all(covers(token, each.forms, each.unit) for token in shared for each in chosen):
        return False
    first, thing = chosen[0], things[0]
    for other, its in zip(chosen[1:], things[1:], strict=True):
        alone = [token for token in thing.words if not covers(token, other.forms, other.unit)]
        its_own = [token for token in its.words if not covers(token, first.forms, first.unit)]
        if not alone or not its_own:
            return False
        if (first.source, first.table) == (other.source, other.table) and first.table >= 0:
            continue
        if its.refers and thing.words[0] in alone:
            return False
        if its.numeric and not all(token.text[0].isdecimal() or token.text in MONTHS for token in alone):
            return False
        if not its.whole and len(alone) > len(its_own) + 1:
            return False
    return True


def _alike(chosen: Found, things: Sequence[_Part]) -> bool:
    """Return whether figures of sentences say the same of their things: « compte 58 agents », « compte 41 agents »."""
    if all(each.table >= 0 for each in chosen):
        return len({each.column for each in chosen}) == 1 or len({(each.source, each.table) for each in chosen}) == 1
    names = forms_of([token for thing in things for token in thing.words])
    first, *others = [
        {form for form in (each.own | each.head) - names if not form.startswith(("#", "="))} for each in chosen
    ]
    common = first.intersection(*others)
    return bool(common) and all(len(forms - common) <= len(common) for forms in (first, *others))


def _same_counted(chosen: Found) -> bool:
    """Return whether bare numbers count the same: « 58 agents » and « 41 voitures » are not set off."""
    if chosen[0].unit.kind is not Kind.NUMBER:
        return True
    counted = [each.counted for each in chosen if each.counted is not None]
    return all(told(counted[0], other.forms) for other in counted[1:]) if counted else True


def _score(chosen: Found, things: Sequence[_Part], everything: Sequence[Token], asked: frozenset[str]) -> int:
    """Return how literally figures are named: their own words first, then the question's, then fewer others.

    `asked` are the forms of `everything`.
    """
    total = 0
    for each, thing in zip(chosen, things, strict=True):
        forms = each.own | each.head
        total += 100 * sum(told(token, forms) for token in thing.words)
        total += 10 * sum(told(token, forms) for token in everything)
        if each.table >= 0:
            own = [token for token in tokens_of(each.label) if token.tells]
            total -= sum(not told(token, asked) for token in own)
    return total
