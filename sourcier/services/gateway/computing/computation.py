"""Computes what a question asks for from figures of the passages: exactly, with its operands, or not at all."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from decimal import Decimal

from sourcier.services.gateway.clauses import lexicon
from sourcier.services.gateway.computing import timing
from sourcier.services.gateway.computing.aggregates import Series, member, series, sum_of
from sourcier.services.gateway.computing.asking import Asked, Operation
from sourcier.services.gateway.computing.counting import counted
from sourcier.services.gateway.computing.matching import Found, named
from sourcier.services.gateway.computing.results import (
    Computed,
    Doubt,
    Doubtful,
    Operand,
    place_of,
    rounded,
)
from sourcier.services.gateway.figures.readings import Grid, Reading, Source, covers, read, wanted
from sourcier.services.gateway.figures.showing import amount, number
from sourcier.services.gateway.figures.units import PERCENT, POINTS, Kind, Unit

OPERANDS_SHOWN_MAX = 40
_STATED = lexicon.words(
    "total totale totaux somme ensemble moyenne moyen difference ecart part pourcentage sum average mean share hausse "
    "baisse augmentation progression"
)


def compute(
    asked: Asked, sources: Sequence[Source], *, today: date, language: str
) -> Computed | Doubtful | None:
    """Return what a question asks for; None where the passages hold none of its figures, or say the result itself."""
    if asked.operation in (Operation.DURATION, Operation.AGE, Operation.DEADLINE):
        return timing.compute(asked, sources, today=today, language=language)
    readings: list[Reading] = []
    grids: list[Grid] = []
    for source in sources:
        found, tables = read(source, today=today)
        readings += found
        grids += tables
    if _is_stated(asked, readings):
        return None
    if asked.operation is Operation.COUNT:
        return counted(asked, sources, grids, language=language)
    if asked.parts:
        return _of_parts(asked, readings, grids, language=language)
    return _of_all(asked, grids, language=language)


def _is_stated(asked: Asked, readings: Sequence[Reading]) -> bool:
    """Return whether a sentence says the result itself: « le total est de 500 € »."""
    words = wanted(" ".join((asked.about, *asked.parts)))
    return any(
        reading.table < 0 and any(form in _STATED for form in reading.own | reading.head)
        and all(covers(token, reading.forms, reading.unit) for token in words) for reading in readings
    )


def _of_parts(
    asked: Asked, readings: Sequence[Reading], grids: Sequence[Grid], *, language: str
) -> Computed | Doubtful | None:
    kinds = [each for each in readings if asked.kind in (None, each.unit.kind)]
    found = named(asked.parts, asked.about, kinds, grids)
    if found is None:
        return None
    if isinstance(found, Doubt):
        return Doubtful(asked.operation, found, ())
    match asked.operation:
        case Operation.DIFFERENCE:
            return _difference(asked, found, language=language)
        case Operation.GROWTH:
            return _growth(asked, found, language=language)
        case Operation.SUM:
            return _sum(found, language=language)
        case Operation.EXTREME:
            return _extreme(asked, found, language=language)
        case _:
            return None


def _operand(reading: Reading, language: str, *, among: Sequence[Reading] = ()) -> Operand:
    """Return a figure as it is shown, named by what tells it from the others."""
    one_row = len({(each.source, each.table, each.row) for each in among}) == 1 and reading.table >= 0
    one_column = len({(each.source, each.table, each.place) for each in among}) == 1
    if reading.table < 0:
        label = ""
    elif one_row:
        label = reading.column
    else:
        label = reading.label if one_column and len(among) > 2 else ", ".join(
            filter(None, (reading.label, reading.column))
        )
    return Operand(amount(reading.quantity.value, reading.unit, language=language), label, place_of(reading))


def _in_one_unit(found: Sequence[Reading]) -> tuple[list[Decimal], Unit]:
    """Return the values in one unit: their own where they share it, else the one that they are compared in."""
    units = {each.unit for each in found}
    if len(units) == 1:
        return [each.quantity.value for each in found], units.pop()
    unit = found[0].unit
    base = Unit(unit.base or unit.symbol, unit.kind, qualifier=unit.qualifier)
    return [each.quantity.base for each in found], base


def _difference(asked: Asked, found: Found, *, language: str) -> Computed | None:
    values, unit = _in_one_unit(found)
    if (values[0] - values[1]) * asked.direction < 0:
        # « combien de plus »: it is less.
        return None
    pairs = sorted(zip(values, found, strict=True), key=lambda each: -each[0])
    (high, first), (low, second) = pairs
    operands = tuple(_operand(each, language, among=found) for each in (first, second))
    texts = [_in_brackets(amount(value, unit, language=language), value) for value in (high, low)]
    result = POINTS if unit.kind is Kind.PERCENT else unit
    return Computed(asked.operation, operands, f"{texts[0]} − {texts[1]}", value=high - low, unit=result)


def _growth(asked: Asked, found: Found, *, language: str) -> Computed | Doubtful | None:
    values, unit = _in_one_unit(found)
    before, after = values
    if (after - before) * asked.direction < 0:
        # « de combien a-t-il baissé »: it rose.
        return None
    operands = tuple(_operand(each, language, among=found) for each in found)
    first, last = (_in_brackets(amount(each, unit, language=language), each) for each in values)
    if not asked.percent or unit.kind is Kind.PERCENT:
        result = POINTS if unit.kind is Kind.PERCENT else unit
        return Computed(asked.operation, operands, f"{last} − {first}", value=after - before, unit=result)
    if before <= 0:
        return Doubtful(asked.operation, Doubt.UNITS, tuple(place_of(each) for each in found))
    value, exact = rounded((after - before) / before * 100, 1)
    return Computed(asked.operation, operands, f"({last} − {first}) ÷ {first}", value=value, unit=PERCENT, exact=exact)


def _sum(found: Sequence[Reading], *, language: str) -> Computed | Doubtful:
    if found[0].unit.kind in (Kind.PERCENT, Kind.POINTS, Kind.TEMPERATURE):
        return Doubtful(Operation.SUM, Doubt.UNITS, tuple(place_of(each) for each in found))
    values, unit = _in_one_unit(found)
    return Computed(
        Operation.SUM, tuple(_operand(each, language, among=found) for each in found),
        " + ".join(_in_brackets(amount(each, unit, language=language), each, first=not place)
                   for place, each in enumerate(values)),
        value=sum(values, Decimal(0)), unit=unit,
    )


def _extreme(asked: Asked, found: Sequence[Reading], *, language: str) -> Computed | Doubtful:
    ordered = sorted(found, key=lambda each: each.quantity.base, reverse=asked.highest)
    best, second = ordered[:2]
    if best.quantity.base == second.quantity.base:
        return Doubtful(asked.operation, Doubt.AMBIGUOUS, tuple(place_of(each) for each in ordered[:2]))
    places = [_operand(each, language, among=found) for each in ordered[:OPERANDS_SHOWN_MAX]]
    label = best.label if best.table >= 0 else ""
    if not label and asked.parts:
        words = [wanted(part) for part in asked.parts]
        fitting = [part for part, tokens in zip(asked.parts, words, strict=True)
                   if all(covers(token, best.forms, best.unit) for token in tokens)]
        if len(fitting) != 1:
            return Doubtful(asked.operation, Doubt.AMBIGUOUS, (place_of(best),))
        label = fitting[0].strip()
    elif len({each.row for each in found}) == 1:
        label = best.column
    return Computed(asked.operation, tuple(places), "", value=best.quantity.value, unit=best.unit, label=label)


def _of_all(asked: Asked, grids: Sequence[Grid], *, language: str) -> Computed | Doubtful | None:
    if asked.operation is Operation.SHARE:
        return _share(asked, grids, language=language)
    if asked.operation not in (Operation.SUM, Operation.AVERAGE, Operation.EXTREME):
        return None
    found = series(asked, grids)
    if found is None:
        return None
    if isinstance(found, Doubt):
        return Doubtful(asked.operation, found, ())
    if asked.operation is Operation.EXTREME:
        return _extreme(asked, found.readings, language=language)
    total = _sum(found.readings, language=language)
    if asked.operation is Operation.SUM:
        return total
    return _mean(found, language=language)


def _mean(found: Series, *, language: str) -> Computed | Doubtful:
    if found.unit.kind in (Kind.PERCENT, Kind.POINTS):
        return Doubtful(Operation.AVERAGE, Doubt.UNITS, tuple(place_of(each) for each in found.readings))
    values, unit = _in_one_unit(found.readings)
    value, exact = rounded(sum(values, Decimal(0)) / len(values), 2)
    terms = " + ".join(_in_brackets(number(each, language=language), each, first=not place)
                       for place, each in enumerate(values))
    return Computed(
        Operation.AVERAGE, tuple(_operand(each, language, among=found.readings) for each in found.readings),
        f"({terms}) ÷ {len(values)}", value=value, unit=unit, exact=exact,
    )


def _share(asked: Asked, grids: Sequence[Grid], *, language: str) -> Computed | Doubtful | None:
    found = member(asked, grids)
    if found is None:
        return None
    if isinstance(found, Doubt):
        return Doubtful(asked.operation, found, ())
    part, whole = found
    total = sum_of(whole.readings)
    if part.unit.kind in (Kind.PERCENT, Kind.POINTS) or total <= 0 or any(
        each.quantity.base < 0 for each in whole.readings
    ):
        return Doubtful(asked.operation, Doubt.UNITS, (place_of(part),))
    value, exact = rounded(part.quantity.base / total * 100, 1)
    unit = part.unit if len({each.unit for each in whole.readings}) == 1 else Unit(
        part.unit.base or part.unit.symbol, part.unit.kind
    )
    shown_total = amount(total / unit.factor, unit, language=language)
    operands = [_operand(part, language, among=(part, *whole.readings)), *(
        [_operand(whole.total, language, among=(part, whole.total))] if whole.total is not None
        else [_operand(each, language, among=whole.readings) for each in whole.readings if each is not part]
    )]
    return Computed(
        asked.operation, tuple(operands),
        f"{amount(part.quantity.base / unit.factor, unit, language=language)} ÷ {shown_total}",
        value=value, unit=PERCENT, exact=exact,
    )


def _in_brackets(text: str, value: Decimal, *, first: bool = False) -> str:
    return f"({text})" if value < 0 and not first else text
