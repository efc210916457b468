"""Questions for durations, ages and deadlines."""

from __future__ import annotations

import re

from sourcier.services.gateway.computing.asking import BETWEEN, Asked, Operation, Said, days_in
from sourcier.services.gateway.figures.quantities import quantities_in
from sourcier.services.gateway.figures.units import Kind
from sourcier.services.index.times.dates import dates_in

_HOW_LONG = re.compile(
    r"(?:pendant |durant |for )?(?:combien (?:de |d')(?P<unit>jours|temps|heures|annees|ans|mois|minutes|semaines)\b|"
    r"quelle (?:est|etait|sera) la duree (?:de |du |des |de la |d')|how (?:many (?P<unit_en>days|hours|years)|long)\b)"
)
_UNITS_ASKED = {"days": "jours", "hours": "heures", "years": "annees", "ans": "annees"}


def duration(said: Said) -> Asked | None:
    """Return a question that asks how long something lasts; None for another."""
    head = _HOW_LONG.match(said.plain)
    if head is None:
        return None
    unit = head.group("unit") or head.group("unit_en") or ""
    dates = days_in(said.typed)
    about = said.without(head.span(), *((each.start, each.end) for each in dates))
    limits = BETWEEN.search(said.plain) is not None
    if len(dates) == 2 and (limits or re.search(r"\bdu\b|\bde\b|\bfrom\b", said.plain)):
        return Asked(Operation.DURATION, about, (_UNITS_ASKED.get(unit, unit),),
                     dates=(dates[0].period.start, dates[1].period.start))
    if dates or limits:
        return None
    return Asked(Operation.DURATION, about, (_UNITS_ASKED.get(unit, unit),))


_AGE = re.compile(
    r"quel age (?:a-t-(?:il|elle) |avait-(?:il|elle) |aura-t-(?:il|elle) )?(?:avait|aura|a eu|a|aurait)\b|"
    r"how old (?:was|is|will)\b"
)

_PAST_OR_FUTURE = re.compile(r"avait|aura|a eu|was|will")


def age(said: Said) -> Asked | None:
    """Return a question that asks how old somebody is; None for another."""
    head = _AGE.match(said.plain)
    if head is None:
        return None
    dates = dates_in(said.typed, years=True)
    if len(dates) > 1 or (not dates and _PAST_OR_FUTURE.search(head.group())):
        # « Quel âge avait-il à sa mort ? »: not of today.
        return None
    about = said.without(head.span(), *((each.start, each.end) for each in dates))
    about = re.sub(r"\b(?:aujourd'hui|today|actuellement|now|be)\b", " ", about, flags=re.IGNORECASE)
    whole_year = bool(dates) and dates[0].period.start != dates[0].period.end
    if whole_year and dates[0].period.start.month != dates[0].period.end.month:
        return Asked(Operation.AGE, about, ("year",), dates=(dates[0].period.end,))
    if whole_year:
        return None
    return Asked(Operation.AGE, about, dates=tuple(each.period.start for each in dates))


_BY_WHEN = re.compile(
    r"\b(?:jusqu'a quand|jusqu'a quelle date|date limite|au plus tard|quelle (?:est la )?date|avant quand|"
    r"avant quelle date|quand (?:expire|prend fin|se termine|finit)|a quelle date|deadline|by when|what date|"
    r"until when|when does|when is)\b"
)
_LIMIT_OF_TIME = re.compile(
    r"\b(?:jusqu'a quand|jusqu'a quelle date|date limite|au plus tard|avant quand|avant quelle date|"
    r"quand (?:expire|prend fin|se termine|finit)|deadline|by when|until when)\b"
)
_AFTER = re.compile(r"\b(?:apres|a compter du|a partir du|suivant|after|from|avant|before)\b")


def deadline(said: Said) -> Asked | None:
    """Return a question that asks by when something is due; None for another."""
    head = _BY_WHEN.search(said.plain)
    dates = days_in(said.typed)
    if head is None or len(dates) != 1:
        return None
    [day] = dates
    delays = [each for each in quantities_in(said.typed, language=said.language) if each.unit.kind is Kind.TIME]
    if len(delays) > 1:
        return None
    about = said.without(head.span(), (day.start, day.end), *((each.start, each.end) for each in delays))
    if not delays:
        if _LIMIT_OF_TIME.search(said.plain) is None:
            return None
        return Asked(Operation.DEADLINE, about, dates=(day.period.start,))
    between = said.plain[delays[0].end : day.start]
    after = _AFTER.search(between)
    if after is None or len(between) > 30:
        return None
    return Asked(Operation.DEADLINE, about, limit=delays[0], dates=(day.period.start,),
                 highest=after.group() not in ("avant", "before"))
