"""Durations, ages and deadlines, by the calendar."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date, timedelta
from decimal import Decimal

from sourcier.services.gateway.clauses import lexicon
from sourcier.services.gateway.clauses.tokens import Token, tokens_of
from sourcier.services.gateway.computing.asking import Asked, Operation
from sourcier.services.gateway.computing.calendars import months_later, working_days_later, years_between
from sourcier.services.gateway.computing.results import Computed, Doubt, Doubtful, Operand, place_of
from sourcier.services.gateway.computing.time_spans import Span, births_in, ends_in, spans_in
from sourcier.services.gateway.figures.quantities import Quantity
from sourcier.services.gateway.figures.readings import Reading, Source, covers, read, wanted
from sourcier.services.gateway.figures.showing import amount, clock, day_text
from sourcier.services.gateway.figures.units import DAYS, YEARS, Kind
from sourcier.services.gateway.figures.words import forms_of, told
from sourcier.services.index.language.stop_words import fold_in_place


def compute(
    asked: Asked, sources: Sequence[Source], *, today: date, language: str
) -> Computed | Doubtful | None:
    """Return a duration, an age or a deadline; None where the passages tell none."""
    if asked.operation is Operation.AGE:
        return _age(asked, sources, today=today, language=language)
    if asked.operation is Operation.DEADLINE:
        return _deadline(asked, sources, today=today, language=language)
    return _duration(asked, sources, today=today, language=language)


_OPEN_WORDS = lexicon.words(
    "dure durent durait duree duré durer lieu tient tenir temps long tombe date limite suivant derniere jour"
)


def _words(text: str) -> tuple[Token, ...]:
    return tuple(token for token in wanted(text) if token.text not in _OPEN_WORDS)


def _duration(asked: Asked, sources: Sequence[Source], *, today: date, language: str) -> Computed | Doubtful | None:
    [unit] = asked.parts
    words = _words(asked.about)
    if asked.dates:
        if words:
            return None
        first, last = asked.dates
        if unit not in ("jours", "temps", "") or last <= first:
            return None
        return Computed(asked.operation, (), f"{day_text(last, language=language)} − "
                        f"{day_text(first, language=language)}", value=Decimal((last - first).days), unit=DAYS)
    if not words:
        return None
    fitting = [
        span for source in sources for span in (*spans_in(source, today=today), *ends_in(source, today=today))
        if all(told(token, span.forms | span.around) for token in words)
        and any(told(token, span.forms) for token in words) and _of_unit(span, unit)
    ]
    if fitting and any(_states(reading, words) for source in sources for reading in read(source, today=today)[0]):
        return None
    distinct = {(span.days, span.minutes, span.years) for span in fitting}
    if len(distinct) != 1:
        return Doubtful(asked.operation, Doubt.AMBIGUOUS, tuple(span.place for span in fitting)) if fitting else None
    return _length(fitting[0], language=language)


def _states(reading: Reading, words: Sequence[Token]) -> bool:
    """Return whether a sentence gives the duration itself."""
    return reading.unit.kind is Kind.TIME and all(told(token, reading.forms) for token in words)


def _of_unit(span: Span, unit: str) -> bool:
    if span.minutes is not None:
        return unit in ("heures", "temps", "minutes", "")
    if span.days is not None:
        return unit in ("jours", "temps", "")
    return unit in ("annees", "temps", "")


def _length(span: Span, *, language: str) -> Computed:
    operand = Operand(span.text, "", span.place)
    if span.minutes is not None:
        length = span.minutes[1] - span.minutes[0]
        shown = clock(length, language=language)
        return Computed(Operation.DURATION, (operand,), "", value=Decimal(length), clock=shown)
    if span.days is not None:
        first, last = span.days
        return Computed(Operation.DURATION, (operand,), "", value=Decimal((last - first).days + 1), unit=DAYS,
                        note="inclusive")
    assert span.years is not None
    first_year, last_year = span.years
    return Computed(Operation.DURATION, (operand,), f"{last_year} − {first_year}",
                    value=Decimal(last_year - first_year), unit=YEARS)


def _age(asked: Asked, sources: Sequence[Source], *, today: date, language: str) -> Computed | Doubtful | None:
    words = wanted(asked.about)
    if not words:
        return None
    fitting = [each for source in sources for each in births_in(source, today=today)
               if all(told(token, each.forms) for token in words)]
    days = {each.day for each in fitting}
    if len(days) != 1:
        return Doubtful(asked.operation, Doubt.AMBIGUOUS, tuple(each.place for each in fitting)) if fitting else None
    born, at = fitting[0], asked.dates[0] if asked.dates else today
    if at < born.day:
        return None
    operand = Operand(born.text, "", born.place)
    if asked.parts:
        return Computed(asked.operation, (operand,), f"{at.year} − {born.day.year}",
                        value=Decimal(at.year - born.day.year), unit=YEARS, note="in_year")
    return Computed(asked.operation, (operand,), f"{day_text(born.day, language=language)} → "
                    f"{day_text(at, language=language)}", value=Decimal(years_between(born.day, at)), unit=YEARS)


def _deadline(asked: Asked, sources: Sequence[Source], *, today: date, language: str) -> Computed | Doubtful | None:
    [day] = asked.dates
    if asked.limit is not None:
        if _words(asked.about):
            return None
        return _later(day, asked.limit, (), language=language, backwards=not asked.highest)
    words = list(_words(asked.about))
    found: list[Reading] = []
    for source in sources:
        found += [each for each in read(source, today=today)[0] if each.unit.kind is Kind.TIME]
    fitting = [
        each for each in found
        if each.table < 0 and all(covers(token, each.forms, each.unit) for token in words)
    ]
    if not fitting or not words:
        return None
    if len({each.quantity.same_as for each in fitting}) > 1:
        return Doubtful(asked.operation, Doubt.AMBIGUOUS, tuple(place_of(each) for each in fitting))
    chosen = fitting[0]
    if not all(each.is_fact for each in fitting):
        return Doubtful(asked.operation, Doubt.INEXACT, (place_of(chosen),))
    runs = [_runs(each, next(source for source in sources if source.number == each.source), words) for each in fitting]
    if runs[0] is None or len(set(runs)) > 1:
        return None
    operand = Operand(amount(chosen.quantity.value, chosen.unit, language=language), "", place_of(chosen))
    return _later(day, chosen.quantity, (operand,), language=language, backwards=runs[0] < 0)


_NOT_BY_THE_CALENDAR = re.compile(
    r"\bfin (?:de|du|d'un) |\bfrancs?\b|\bclear days?\b|\bend of (?:the |each )?(?:month|quarter|year)\b|"
    r"\b(?:etai|avai|pouvai|devai|fallai)(?:t|ent)\b|\b(?:fut|was|were|had|formerly|previously|anciennement|"
    r"auparavant|used to)\b|\bjusqu'en\b"
)
_RUNS_FROM = re.compile(
    r"\b(?:(?P<before>avant|before|precedant|prior to|preceding)|suivants?|suivante|apres|a compter d[eu']|"
    r"a partir d[eu']|a dater d[eu']|des|following|after|from|of)\b"
)
CHARACTERS_BETWEEN_MAX = 12


def _runs(reading: Reading, source: Source, words: Sequence[Token]) -> int | None:
    """Return 1 for a delay that runs from what the question dates, -1 for one before it; None for any other."""
    text = source.text[reading.start : reading.end]
    if _NOT_BY_THE_CALENDAR.search(fold_in_place(text).replace("’", "'")) is not None:
        return None
    behind = source.text[reading.quantity.end : reading.end]
    begins = _RUNS_FROM.search(fold_in_place(behind).replace("’", "'"))
    if begins is None or begins.start() > CHARACTERS_BETWEEN_MAX:
        return None
    named = next((token for token in tokens_of(behind[begins.end() :]) if token.tells), None)
    if named is None or not told(named, forms_of(words)):
        # « 15 jours après la clôture »: the day that the question gives may be another.
        return None
    return -1 if begins.group("before") else 1


def _later(
    day: date, delay: Quantity, operands: tuple[Operand, ...], *, language: str, backwards: bool = False
) -> Computed | None:
    if delay.value != delay.value.to_integral_value() or not 0 < delay.value <= 3_650:
        return None
    count = int(delay.value) * (-1 if backwards else 1)
    symbol = delay.unit.symbol
    try:
        result = _moved(day, count, symbol)
    except (ValueError, OverflowError):
        # Before the year 1 or after 9999.
        return None
    if result is None or delay.unit.qualifier:
        return None
    note = {"jours": "calendar_days", "jours ouvrés": symbol, "jours ouvrables": symbol}.get(symbol, "")
    sign = "−" if backwards else "+"
    expression = f"{day_text(day, language=language)} {sign} {amount(delay.value, delay.unit, language=language)}"
    return Computed(Operation.DEADLINE, operands, expression, day=result, note=note)


def _moved(day: date, count: int, symbol: str) -> date | None:
    """Return the day that is so many days, weeks, months or years from another; None for any other unit."""
    match symbol:
        case "jours" | "jours calendaires":
            return day + timedelta(days=count)
        case "jours ouvrés" | "jours ouvrables":
            return working_days_later(day, count, saturdays=symbol == "jours ouvrables")
        case "semaines":
            return day + timedelta(weeks=count)
        case "mois":
            return months_later(day, count)
        case "ans":
            return months_later(day, 12 * count)
        case _:
            return None
