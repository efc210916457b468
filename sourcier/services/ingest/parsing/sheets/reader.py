"""A workbook: each sheet that people see is a page, under its name."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from sourcier.services.chassis.errors import DocumentMalformed
from sourcier.services.index.places.place_map import Frame, Kind
from sourcier.services.ingest.documents import BlockKind, ParsedDocument
from sourcier.services.ingest.parsing.builder import DocumentBuilder
from sourcier.services.ingest.parsing.formats import LABELS, Format
from sourcier.services.ingest.parsing.office.archives import check_archive
from sourcier.services.ingest.parsing.office.charts import chart_table
from sourcier.services.ingest.parsing.office.packages import (
    Element,
    Package,
    attribute,
    child,
    children,
    descendants,
    name,
    whole_number,
)
from sourcier.services.ingest.parsing.office.properties import core_title
from sourcier.services.ingest.parsing.office.shown import Shown, ShownTable, ShownText, append
from sourcier.services.ingest.parsing.pictures.embedded import EmbeddedPictures
from sourcier.services.ingest.parsing.placing.collector import Standing
from sourcier.services.ingest.parsing.sheets.cells import Sheet, SheetReader, Span, parse_span
from sourcier.services.ingest.parsing.sheets.comments import sheet_comments
from sourcier.services.ingest.parsing.sheets.regions import Region, regions
from sourcier.services.ingest.parsing.sheets.workbook import SheetEntry, Workbook
from sourcier.services.ingest.parsing.source import Source
from sourcier.services.ingest.parsing.tables import CellBudget
from sourcier.services.ingest.parsing.titles import usable_title
from sourcier.services.ingest.reading_warnings import WarningCode

RAW_LEAD = "Valeurs enregistrées"
RAW_VALUES_MAX = 100
_CHART_SHEETS = "chartsheets/"
_ANCHORS = frozenset({"twoCellAnchor", "oneCellAnchor", "absoluteAnchor"})


def parse_workbook(source: Source) -> ParsedDocument:
    """Read a workbook: cells as they are shown, hidden sheets, rows and columns left out and told."""
    check_archive(source.path, source.limits)
    builder = DocumentBuilder(source.limits, pictures=EmbeddedPictures(source))
    with Package(source.path, filename=source.filename) as package:
        workbook = Workbook(package)
        if not workbook.found:
            raise DocumentMalformed(f"“{source.filename}” cannot be read as {LABELS[Format.XLSX]}: it has no workbook.")
        seen = [entry for entry in workbook.sheets if not entry.hidden]
        unseen = [entry.name for entry in workbook.sheets if entry.hidden]
        builder.warnings.add(WarningCode.HIDDEN_CELLS, count=len(unseen), places=unseen, detail="sheets")
        source.check_pages(len(seen), "sheets")
        reader = _SheetsReader(package, workbook, builder, CellBudget(source.limits.table_cells))
        for page, entry in enumerate(seen, start=1):
            shown = list(reader.sheet(entry))
            builder.leave_headings()
            builder.stand(Standing(Frame(Kind.CELLS, name=entry.name)))
            if shown:
                builder.add(BlockKind.HEADING, entry.name, page=page, level=1)
                append(shown, builder, page=page)
            reader.add_pictures(builder, entry, page=page)
        title = core_title(package)
    return builder.build(
        format=Format.XLSX,
        filename=source.filename,
        page_count=len(seen),
        titles=(source.title, usable_title(title)),
        empty_reason=f"“{source.filename}” holds no text: only pictures, hidden cells or nothing at all.",
    )


@dataclass(frozen=True, slots=True)
class _AnchoredPicture:
    """A picture on a sheet: the part that names it, and the first row and column and the last ones that it covers."""

    part: str
    identifier: str
    alternative: str
    cells: tuple[int, int, int, int]


class _SheetsReader:
    def __init__(self, package: Package, workbook: Workbook, builder: DocumentBuilder, budget: CellBudget) -> None:
        self._package = package
        self._workbook = workbook
        self._warnings = builder.warnings
        self._pictures: list[_AnchoredPicture] = []
        self._budget = budget
        self._reads_comments = builder.reads_comments

    def sheet(self, entry: SheetEntry) -> Iterator[Shown]:
        """Yield what a sheet shows."""
        content = self._package.read(entry.part)
        if content is None:
            return
        if _CHART_SHEETS not in entry.part:
            reader = SheetReader(
                self._workbook, self._warnings, self._budget, sheet_name=entry.name,
                target=self._package.targets(entry.part),
            )
            sheet = reader.read(content)
            if self._reads_comments:
                self._add_comments(sheet, entry)
            for region in regions(sheet, self._tables(entry), self._budget):
                yield from region_shown(region, entry.name)
        yield from self._drawings(entry)
        if self._reads_comments:
            return
        comments = [self._package.xml(part) for part in self._package.related(entry.part, "comments")]
        count = sum(1 for root in comments if root is not None for _ in descendants(root, "x:comment"))
        self._warnings.add(WarningCode.NOT_READ, count=count, detail="comments")

    def add_pictures(self, builder: DocumentBuilder, entry: SheetEntry, *, page: int) -> None:
        """Have the builder take the pictures of the sheet that was read last."""
        pictures, self._pictures = self._pictures, []
        for picture in pictures:
            builder.add_picture(
                self._package.picture(picture.part, picture.identifier), page=page, place=entry.name,
                alternative=picture.alternative,
                standing=Standing(Frame(Kind.CELLS, name=entry.name), (picture.cells,)),
            )

    def _add_comments(self, sheet: Sheet, entry: SheetEntry) -> None:
        """Put what was written about a cell behind what it shows; of hidden cells nothing is read."""
        for (row, column), comments in sheet_comments(self._package, entry.part, self._workbook.people).items():
            cell = sheet.rows.get(row, {}).get(column)
            if cell is not None:
                said = "".join(comment.shown for comment in comments)
                sheet.rows[row][column] = replace(cell, text=cell.text + said)

    def _tables(self, entry: SheetEntry) -> list[Span]:
        found = []
        for part in self._package.related(entry.part, "table"):
            root = self._package.xml(part)
            span = parse_span(attribute(root, "ref"))
            if span and attribute(root, "headerRowCount", "1") != "0":
                found.append(span)
        return found

    def _drawings(self, entry: SheetEntry) -> Iterator[Shown]:
        """Yield text boxes, and the charts of a sheet that is a chart: others draw what stands in cells."""
        for part in self._package.related(entry.part, "drawing"):
            root = self._package.xml(part)
            if root is None:
                continue
            for body in descendants(root, "txBody"):
                yield ShownText(BlockKind.PARAGRAPH, _body_text(body))
            self._pictures += [_anchored_picture(blip, part) for blip in descendants(root, "a:blip")]
            if _CHART_SHEETS in entry.part:
                for chart in self._package.related(part, "chart"):
                    yield from chart_table(self._package.xml(chart))


def _anchored_picture(blip: Element, part: str) -> _AnchoredPicture:
    """Return a picture with the cells that it covers."""
    anchor = next((above for above in blip.iterancestors() if name(above) in _ANCHORS), None)
    described = next(descendants(anchor, "cNvPr"), None) if anchor is not None else None
    alternative = attribute(described, "descr")
    first, last = (_cell(child(anchor if anchor is not None else blip, corner)) for corner in ("from", "to"))
    return _AnchoredPicture(part, attribute(blip, "r:embed"), alternative, (*first, *last) if last[0] else first * 2)


def _cell(corner: Element | None) -> tuple[int, int]:
    """Return row and column from 1; zeros where they are not told."""
    found = [child(corner, kind) for kind in ("row", "col")]
    row, column = (whole_number((part.text or "").strip(), -1) + 1 if part is not None else 0 for part in found)
    return (row, column) if row and column else (0, 0)


def _body_text(body: Element) -> str:
    return "\n".join("".join(text.text or "" for text in descendants(line, "a:t")) for line in children(body, "a:p"))


def region_shown(region: Region, sheet: str) -> Iterator[Shown]:
    """Yield what stands above a table, the table, and the numbers that it shows otherwise than they are stored.

    A search for `0.075` finds the sheet that shows `7,5 %`; the row itself says only what people see.
    """
    frame = Frame(Kind.CELLS, name=sheet)
    left, right = region.columns[0], region.columns[-1]
    above = [(line, number) for line, number in zip(region.above, region.above_numbers, strict=True) if line.strip()]
    if above:
        edges = [(number, left, number, right) for _, number in above]
        yield ShownText(BlockKind.PARAGRAPH, "\n".join(line for line, _ in above), standing=Standing(frame, edges))
    if not region.rows:
        return
    rows = [(number, left, number, right) for number in region.numbers]
    yield ShownTable(region.rows, region.header_rows, standing=Standing(frame, rows))
    if region.below:
        edges = [(number, left, number, right) for number, _ in region.below]
        text = "\n".join(line for _, line in region.below)
        yield ShownText(BlockKind.PARAGRAPH, text, standing=Standing(frame, edges))
    whole = [(region.numbers[0], left, region.numbers[-1], right)]
    for column, values in region.raw:
        lead = f"{RAW_LEAD}, {column}" if column else RAW_LEAD
        yield ShownText(
            BlockKind.CAPTION, f"{lead} : {' ; '.join(values[:RAW_VALUES_MAX])}", standing=Standing(frame, whole)
        )
