"""The figures of charts and the texts of diagrams, which Office keeps in parts of their own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sourcier.services.ingest.documents import BlockKind
from sourcier.services.ingest.parsing.office.packages import (
    Element,
    attribute,
    child,
    children,
    descendants,
    whole_number,
)
from sourcier.services.ingest.parsing.office.shown import Shown, ShownTable, ShownText
from sourcier.services.ingest.parsing.sheets.number_formats import show

CHART_LEAD = "Graphique :"
_POINTS_MAX = 20_000
_NAMES = ("c:cat", "c:xVal")
_VALUES = ("c:val", "c:yVal")


def chart_table(chart: Element | None) -> Iterator[Shown]:
    """Yield a chart's title and its figures: a row for each category, a column for each series."""
    if chart is None:
        return
    title = " ".join(
        text for text in ((found.text or "").strip() for part in children(child(chart, "c:chart"), "c:title")
                          for found in descendants(part, "a:t", "c:v")) if text
    )  # fmt: skip
    series = [_series(found) for found in descendants(chart, "c:ser")]
    series = [found for found in series if found[2]]
    names = list(dict.fromkeys(key for _, _, values in series for key in values))[:_POINTS_MAX]
    yield ShownText(BlockKind.CAPTION, f"{CHART_LEAD} {title}".rstrip())
    if not series:
        return
    labels = {key: label for _, known, _ in reversed(series) for key, label in known.items()}
    header = ["", *(name or f"Série {index}" for index, (name, _, _) in enumerate(series, start=1))]
    rows = [[labels.get(key, str(key + 1)), *(values.get(key, "") for _, _, values in series)] for key in names]
    yield ShownTable([header, *rows])


def diagram_text(diagram: Element | None) -> str:
    """Return the texts of a diagram, one a line, in the order of its joints: the file's own is that of writing."""
    if diagram is None:
        return ""
    points = {attribute(point, "modelId"): point for point in descendants(diagram, "dgm:pt")}
    order = list(dict.fromkeys([*_below(diagram, points), *points]))
    texts = ("".join(t.text or "" for t in descendants(points[each], "a:t")).strip() for each in order)
    return "\n".join(text for text in texts if text)


def _below(diagram: Element, points: Mapping[str, Element]) -> Iterator[str]:
    """Yield the points from the root on, each before those below it, as the diagram is drawn."""
    ends: dict[str, list[tuple[int, str]]] = {}
    for joint in descendants(diagram, "dgm:cxn"):
        source, end = attribute(joint, "srcId"), attribute(joint, "destId")
        if attribute(joint, "type", "parOf") == "parOf" and source in points and end in points:
            ends.setdefault(source, []).append((whole_number(attribute(joint, "srcOrd")), end))
    waiting = [key for key, point in points.items() if attribute(point, "type") == "doc"]
    seen: set[str] = set()
    while waiting:
        key = waiting.pop()
        if key not in seen:
            seen.add(key)
            yield key
            waiting += [end for _, end in sorted(ends.get(key, ()), reverse=True)]


def _series(element: Element) -> tuple[str, dict[int, str], dict[int, str]]:
    """Return a series' name, the names of its points, and their values."""
    name = " ".join(found.text or "" for part in children(element, "c:tx") for found in descendants(part, "c:v"))
    labels = next((_points(found) for kind in _NAMES for found in children(element, kind)), {})
    values = next((_points(found) for kind in _VALUES for found in children(element, kind)), {})
    return name.strip(), labels, values


def _points(element: Element) -> dict[int, str]:
    """Return the points of a cache by their index; of several levels of names, joined from the outermost."""
    levels = list(descendants(element, "c:lvl"))
    if not levels:
        return _cached(element)
    found: dict[int, str] = {}
    outer: dict[int, str] = {}
    for level in reversed(levels):
        own = _cached(level)
        if level is levels[0]:
            last = ""
            for index in range(max(own, default=-1) + 1):
                last = outer.get(index, last)
                found[index] = " – ".join(part for part in (last, own.get(index, "")) if part)
        else:
            outer.update(own)
    return found


def _cached(element: Element) -> dict[int, str]:
    code = next((found.text or "" for found in descendants(element, "c:formatCode")), "")
    points: dict[int, str] = {}
    for point in descendants(element, "c:pt"):
        index, value = attribute(point, "idx"), child(point, "c:v")
        if index.isdigit() and len(index) < 8 and value is not None and len(points) < _POINTS_MAX:
            points[int(index)] = shown_number(value.text or "", attribute(point, "formatCode", code))
    return points


def shown_number(value: str, code: str) -> str:
    """Return a cached value as its format shows it."""
    try:
        return show(float(value), code)
    except ValueError:
        return value
