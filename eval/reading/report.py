"""Figures of all readers as Markdown and as a plot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from eval.reading.judged import ROWS, Figures
from eval.reading.measures import Share
from eval.reading.own import NAME
from eval.reading.truth import Document
from eval.reporting.blocks import markdown_table
from eval.reporting.plots import Axis, Bar, write_bars

BARS = {"order": 0.99, "cells, ruled": 0.98, "cells, unruled": 0.92}
_SHORT = {"characters wrong": "characters", "order": "order", "cells, ruled": "ruled", "cells, unruled": "unruled",
          "notes": "notes", "values beside labels": "values", "boxes": "boxes"}


def table(figures: Mapping[str, Figures]) -> str:
    """Return every measure by reader."""
    rows = [["", *figures]]
    for measure in ROWS:
        rows.append([measure, *(_told(each.overall[measure], measure) for each in figures.values())])
    return markdown_table(rows)


def by_kind(figures: Mapping[str, Figures]) -> str:
    """Return every measure and kind of document by reader, but for what all read wholly."""
    kinds = list(figures[NAME].by_kind)
    rows = [["measure", "kind", *figures]]
    for measure, kind in sorted(kinds, key=lambda key: ROWS.index(key[0])):
        shares = [each.by_kind[measure, kind] if each.overall[measure] else None for each in figures.values()]
        rows.append([measure, kind, *(_told(share, measure) for share in shares)])
    return markdown_table(rows)


def scans(documents: Sequence[Document], wrong: Mapping[str, float]) -> str:
    """Return the share of characters that OCR reads wrong, by resolution and noise."""
    rows = [["", "clean", "with noise, blur and up to 0.7° askew"]]
    for resolution in sorted({each.resolution for each in documents}):
        found = [
            [wrong[each.name] for each in documents if each.resolution == resolution and each.noisy == noisy]
            for noisy in (False, True)
        ]
        rows.append([f"{resolution} dpi", *(f"{sum(each) / len(each):.2%}" if each else "–" for each in found)])
    return markdown_table(rows)


def missed(figures: Mapping[str, Figures]) -> list[str]:
    """Return the bars that Sourcier does not reach, and the measures in which another reader is better."""
    told = [f"{measure} under {bar}" for measure, bar in BARS.items() if _value(figures[NAME], measure) < bar]
    for measure in ROWS:
        sign = -1 if measure == "characters wrong" else 1
        better = [name for name, each in figures.items() if each.overall[measure] is not None
                  and sign * _value(each, measure) > sign * _value(figures[NAME], measure)]
        told += [f"{measure}: {', '.join(better)} better"] if better else []
    return told


def plot(path: Path, figures: Mapping[str, Figures]) -> None:
    """Draw every measure by reader; of characters, the share that is right."""
    groups = {}
    for measure, name in _SHORT.items():
        bars = {}
        for reader, each in figures.items():
            value = _value(each, measure)
            value = 1 - value if measure == "characters wrong" else value
            bars[reader] = Bar(value, value, value)
        groups[name] = bars
    share = Axis("share", 0.0, 1.0, percent=True)
    write_bars(path, title="What is read right, by reader", vertical=share, groups=groups)


def _value(figures: Figures, measure: str) -> float:
    share = figures.overall[measure]
    return share.value if share is not None else 0.0


def _told(share: Share | None, measure: str) -> str:
    if share is None:
        return "none"
    return f"{share.value:.2%}" if measure == "characters wrong" else f"{share.value:.3f}"
