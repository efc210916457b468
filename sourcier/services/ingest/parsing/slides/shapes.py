"""The shapes of a slide in reading order: title first, then as they lie on it."""

from __future__ import annotations

from collections.abc import Iterator

from sourcier.services.ingest.documents import BlockKind
from sourcier.services.ingest.parsing.builder import DocumentBuilder
from sourcier.services.ingest.parsing.office.charts import chart_table, diagram_text
from sourcier.services.ingest.parsing.office.lines import Line
from sourcier.services.ingest.parsing.office.links import Links
from sourcier.services.ingest.parsing.office.packages import (
    Element,
    Package,
    attribute,
    child,
    children,
    descendants,
    name,
)
from sourcier.services.ingest.parsing.office.shown import Shown, ShownTable, ShownText
from sourcier.services.ingest.parsing.slides.placement import Placement
from sourcier.services.ingest.parsing.slides.texts import body_texts, line_text
from sourcier.services.ingest.parsing.tables import CellBudget, GridCell, grid_rows, header_height
from sourcier.services.ingest.reading_warnings import WarningCode

TITLES = frozenset({"title", "ctrTitle"})
_RUNNING = frozenset({"dt", "ftr", "hdr", "sldNum", "sldImg"})
_LISTED = frozenset({"body", "obj", ""})
_SPAN_MAX = 200


class ShapeReader:
    """Reads the shapes of one slide's part."""

    def __init__(
        self, package: Package, part: str, builder: DocumentBuilder, budget: CellBudget, *, page: int,
        size: tuple[int, int],
    ) -> None:
        """The `builder` is told what is not read, and takes the pictures; the text is yielded."""
        self._package = package
        self._part = part
        self._page = page
        self._placement = Placement(package, part, size=size)
        self._builder = builder
        self._named = package.relationships(part)
        self._links = Links()
        self._target = package.targets(part)
        self._warnings = builder.warnings
        self._budget = budget

    def read(self, tree: Element | None) -> Iterator[Shown]:
        """Yield what the shapes of a slide show."""
        yield from self._read(tree, whole=True)

    def _read(self, tree: Element | None, *, whole: bool = False) -> Iterator[Shown]:
        shapes = [shape for shape in (tree if tree is not None else ()) if isinstance(shape.tag, str)]
        if whole:
            outside = [shape for shape in shapes if self._placement.is_outside(shape)]
            self._warnings.add(WarningCode.HIDDEN_TEXT, count=sum(map(_has_text, outside)), places=[str(self._page)])
            shapes = [shape for shape in shapes if shape not in outside]
        shapes = self._placement.ordered(shapes)
        for shape in sorted(shapes, key=lambda shape: placeholder(shape) not in TITLES):
            yield from self._shape(shape)

    def _shape(self, shape: Element) -> Iterator[Shown]:
        kind = name(shape)
        if kind == "mc:AlternateContent":
            chosen = child(shape, "mc:Choice")
            chosen = child(shape, "mc:Fallback") if chosen is None else chosen
            yield from self._read(chosen)
        elif kind == "p:grpSp":
            yield from self._read(shape)
        elif _is_unseen(shape):
            self._warnings.add(WarningCode.HIDDEN_TEXT, count=int(_has_text(shape)))
        elif kind == "p:sp":
            yield from self._text_shape(shape)
        elif kind == "p:graphicFrame":
            yield from self._frame(shape)
        elif kind == "p:pic":
            for blip in descendants(shape, "a:blip"):
                self._picture(shape, blip)

    def _text_shape(self, shape: Element) -> Iterator[Shown]:
        place = placeholder(shape)
        body = child(shape, "p:txBody")
        if place in _RUNNING:
            return
        if place in TITLES:
            yield ShownText(BlockKind.HEADING, " ".join(map(line_text, children(body, "a:p"))), 1)
            return
        listed = place in _LISTED and place is not None and _items(body) > 1
        yield from body_texts(body, listed=listed, link=self._end_link)

    def _end_link(self, line: Line, mark: int, identifier: str) -> None:
        self._links.end(line, mark, self._target(identifier))

    def _frame(self, shape: Element) -> Iterator[Shown]:
        for part in descendants(shape, "a:tbl", "c:chart", "dgm:relIds", "a:blip"):
            kind = name(part)
            if kind == "a:tbl":
                yield self._table(part)
            elif kind == "c:chart":
                named = self._named.get(attribute(part, "r:id"))
                yield from chart_table(self._package.xml(named.target) if named else None)
            elif kind == "dgm:relIds":
                named = self._named.get(attribute(part, "r:dm"))
                yield ShownText(BlockKind.PARAGRAPH, diagram_text(self._package.xml(named.target) if named else None))
            else:
                self._picture(shape, part)

    def _picture(self, shape: Element, blip: Element) -> None:
        named = next(descendants(shape, "p:cNvPr"), None)
        self._builder.add_picture(
            self._package.picture(self._part, attribute(blip, "r:embed")), page=self._page,
            alternative=attribute(named, "descr"),
        )

    def _table(self, table: Element) -> ShownTable:
        cells: list[GridCell] = []
        rows = list(children(table, "a:tr"))
        width = 0
        for index, row in enumerate(rows):
            for column, entry in enumerate(children(row, "a:tc")):
                width = max(width, column + 1)
                if attribute(entry, "hMerge") in ("1", "true") or attribute(entry, "vMerge") in ("1", "true"):
                    continue
                text = " ".join(line_text(each, self._end_link) for each in children(child(entry, "a:txBody"), "a:p"))
                cells.append(GridCell(index, column, text, _span(entry, "rowSpan"), _span(entry, "gridSpan")))
        self._budget.take(len(rows) * width)
        return ShownTable(grid_rows(cells, height=len(rows), width=width), header_height(cells, width))


def placeholder(shape: Element) -> str | None:
    """Return the kind of place that a shape fills (empty: content), None for a shape of its own."""
    for part in shape:
        place = child(part, "p:nvPr", "p:ph")
        if place is not None:
            return attribute(place, "type")
    return None


def _is_unseen(shape: Element) -> bool:
    return any(attribute(child(part, "p:cNvPr"), "hidden") in ("1", "true") for part in shape)


def _has_text(shape: Element) -> bool:
    return any(text.text for text in descendants(shape, "a:t"))


def _items(body: Element | None) -> int:
    return sum(1 for paragraph in children(body, "a:p") if next(descendants(paragraph, "a:t"), None) is not None)


def _span(entry: Element, wanted: str) -> int:
    value = attribute(entry, wanted, "1")
    return min(max(int(value), 1), _SPAN_MAX) if value.isdigit() and len(value) < 6 else 1
