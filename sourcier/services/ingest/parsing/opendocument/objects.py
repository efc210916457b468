"""What frames embed: charts with their figures, and formulas as a line of text."""

from __future__ import annotations

from collections.abc import Iterator

from sourcier.services.ingest.documents import BlockKind
from sourcier.services.ingest.parsing.office.charts import CHART_LEAD
from sourcier.services.ingest.parsing.office.packages import Element, attribute, children, descendants, name
from sourcier.services.ingest.parsing.office.shown import Shown, ShownTable, ShownText
from sourcier.services.ingest.parsing.scripts import SUBSCRIPTS, SUPERSCRIPTS
from sourcier.services.ingest.parsing.tables import CellBudget

_RAISABLE = frozenset("0123456789+-−n")
_LOWERABLE = frozenset("0123456789+-−")
_NOTES = frozenset({"math:annotation", "math:annotation-xml"})


def object_shown(root: Element | None, budget: CellBudget) -> Iterator[Shown]:
    """Yield what an embedded object shows."""
    if root is None:
        return
    formulas = [root] if name(root) == "math:math" else list(descendants(root, "math:math"))
    for formula in formulas:
        yield ShownText(BlockKind.PARAGRAPH, formula_text(formula))
    for chart in descendants(root, "chart:chart"):
        yield from _chart(chart, budget)


def formula_text(element: Element) -> str:
    """Return a formula of MathML as a line of text: `(a+b)/c`, `x²`, `√(2)`."""
    kind = name(element)
    if kind in _NOTES:
        return ""
    parts = [formula_text(part) for part in element]
    if kind in ("math:msup", "math:msub") and len(parts) == 2:
        return parts[0] + (_raised(parts[1]) if kind == "math:msup" else _lowered(parts[1]))
    if kind == "math:msubsup" and len(parts) == 3:
        return parts[0] + _lowered(parts[1]) + _raised(parts[2])
    if kind == "math:mfrac" and len(parts) == 2:
        return f"{_grouped(parts[0])}/{_grouped(parts[1])}"
    if kind == "math:msqrt":
        return f"√({''.join(parts)})"
    if kind == "math:mroot" and len(parts) == 2:
        return f"{_raised(parts[1])}√({parts[0]})"
    return (element.text or "").strip() + "".join(parts)


def _grouped(text: str) -> str:
    return text if text.isalnum() else f"({text})"


def _raised(text: str) -> str:
    return text.translate(SUPERSCRIPTS) if text and set(text) <= _RAISABLE else f"^{_grouped(text)}"


def _lowered(text: str) -> str:
    return text.translate(SUBSCRIPTS) if text and set(text) <= _LOWERABLE else f"_{_grouped(text)}"


def _chart(chart: Element, budget: CellBudget) -> Iterator[Shown]:
    """Yield a chart's title and its figures, which stand in a table of its own."""
    titles = ("".join(title.itertext()).strip() for title in children(chart, "chart:title"))
    yield ShownText(BlockKind.CAPTION, f"{CHART_LEAD} {' '.join(filter(None, titles))}".rstrip())
    for table in children(chart, "table:table"):
        rows = [[_cell(cell) for cell in children(row, "table:table-cell")]
                for row in descendants(table, "table:table-row")]  # fmt: skip
        budget.take(sum(map(len, rows)))
        if any(any(row) for row in rows):
            yield ShownTable(rows)


def _cell(cell: Element) -> str:
    text = " ".join("".join(line.itertext()).strip() for line in children(cell, "text:p"))
    return text or attribute(cell, "office:value")
