"""Dates and relations of a document as JSON, as the tables keep them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

from sourcier.services.index.times.document import (
    DateKind,
    DocumentDate,
    DocumentTimes,
    Origin,
    Relation,
    RelationKind,
)
from sourcier.services.index.times.periods import Period


def dates_json(dates: Sequence[DocumentDate]) -> list[Any]:
    """Return dates as JSON."""
    return [[each.kind.value, *period_json(each.period), each.origin.value, each.words] for each in dates]


def relations_json(relations: Sequence[Relation]) -> list[Any]:
    """Return relations as JSON."""
    return [
        [each.kind.value, sorted(each.words), [period_json(period) for period in each.dates], list(each.version),
         each.everything, each.part, each.quote]
        for each in relations
    ]


def times_from(
    *, dates: Sequence[Any], relations: Sequence[Any], family: Sequence[str], edition: Sequence[int],
    set_dates: Mapping[str, Any] | None,
) -> DocumentTimes:
    """Return what is known of a document from its row, with the dates that somebody set."""
    read = DocumentTimes(
        tuple(
            DocumentDate(DateKind(kind), period_from(days), Origin(origin), words)
            for kind, *days, origin, words in dates
        ),
        tuple(edition),
        tuple(
            Relation(frozenset(words), tuple(map(period_from, periods)), tuple(version), everything,
                     RelationKind(kind), part, quote)
            for kind, words, periods, version, everything, part, quote in relations
        ),
        frozenset(family),
    )
    return read.with_dates_set(set_dates_from(set_dates))


def set_dates_from(set_dates: Mapping[str, Any] | None) -> dict[DateKind, Period]:
    """Return the dates that somebody set, by kind."""
    return {DateKind(kind): period_from(days) for kind, days in (set_dates or {}).items()}


def period_json(period: Period) -> list[str]:
    """Return a period's first and last day."""
    return [period.start.isoformat(), period.end.isoformat()]


def period_from(days: Sequence[str]) -> Period:
    """Return a period from its first and last day."""
    start, end = days
    return Period(date.fromisoformat(start), date.fromisoformat(end))
