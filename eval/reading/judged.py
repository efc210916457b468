"""Readings of all documents beside their truth, as figures by measure and kind."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from eval.reading import measures
from eval.reading.measures import Share
from eval.reading.readings import Reading
from eval.reading.truth import TABLE_KINDS, Document

NONE = "none"
_PROSE = ("columns 1", "columns 2", "columns 3", "columns mixed", "lists", "running lines", "turned")
ROWS = ("characters wrong", "order", "cells, ruled", "cells, unruled", "notes", "values told", "values beside labels",
        "boxes")


@dataclass(frozen=True, slots=True)
class Figures:
    """Shares by measure, and by measure and kind of document; None where a reader does not tell any such thing."""

    overall: Mapping[str, Share | None]
    by_kind: Mapping[tuple[str, str], Share]


def judge(documents: Sequence[Document], readings: Mapping[str, Reading]) -> Figures:
    """Compare what a reader made of documents with what stands in them."""
    sums: dict[tuple[str, str], Share] = {}

    def count(measure: str, kind: str, share: Share) -> None:
        sums[measure, kind] = sums.get((measure, kind), Share()) + share

    for document in documents:
        reading = readings.get(document.name, Reading(document.name))
        for measure, kind, share in _measured(document, reading):
            count(measure, kind, share)
    tables = any(reading.tables is not None for reading in readings.values())
    overall: dict[str, Share | None] = {}
    for measure in ROWS:
        shares = [share for (name, _), share in sums.items() if name == measure]
        overall[measure] = sum(shares, Share()) if tables or not measure.startswith("cells") else None
    return Figures(overall, sums)


def _measured(document: Document, reading: Reading) -> list[tuple[str, str, Share]]:
    kind = document.kind
    found = [("order", kind, measures.order(document, reading))]
    if kind in _PROSE:
        found.append(("characters wrong", kind, Share(measures.characters(document, reading), 1)))
    for table in document.tables:
        name = f"cells, {TABLE_KINDS[table.kind]}"
        found.append((name, kind, measures.cells(table, reading.tables or [])))
    found += [("notes", kind, Share(measures.note(note, reading), 1)) for note in document.notes]
    if document.fields:
        told, beside = measures.values(document.fields, reading)
        found += [("values told", kind, told), ("values beside labels", kind, beside),
                  ("boxes", kind, measures.boxes(document.fields, reading))]
    return found


def missing(documents: Sequence[Document], readings: Mapping[str, Reading], *, measure: str, below: float) -> list[str]:
    """Return the documents whose share of a measure is below a bound, for a person to look at."""
    told: Callable[[Share], bool] = (
        (lambda share: share.value > below) if measure == "characters wrong" else (lambda share: share.value < below)
    )
    found = []
    for document in documents:
        shares = [share for name, _, share in _measured(document, readings.get(document.name, Reading(document.name)))
                  if name == measure and share.of]
        if shares and told(sum(shares, Share())):
            found.append(f"{document.name} {sum(shares, Share()).value:.3f}")
    return found
