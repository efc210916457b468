"""OpenDocument files: texts, spreadsheets, presentations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sourcier.services.chassis.errors import DocumentMalformed
from sourcier.services.ingest.documents import BlockKind, ParsedDocument
from sourcier.services.ingest.parsing.builder import DocumentBuilder
from sourcier.services.ingest.parsing.formats import LABELS, Format
from sourcier.services.ingest.parsing.office.packages import Element, attribute, child, children, descendants, name
from sourcier.services.ingest.parsing.office.shown import FOOTER_LEAD, HEADER_LEAD, append, flat_text
from sourcier.services.ingest.parsing.opendocument.blocks import BlockReader
from sourcier.services.ingest.parsing.opendocument.files import OpenDocument, opened
from sourcier.services.ingest.parsing.opendocument.sheets import SheetReader, is_hidden_sheet, shapes_of, table_spans
from sourcier.services.ingest.parsing.opendocument.slides import is_hidden_slide, notes_shown, slide_shown
from sourcier.services.ingest.parsing.opendocument.styles import Styles
from sourcier.services.ingest.parsing.pictures.embedded import EmbeddedPictures
from sourcier.services.ingest.parsing.sheets.reader import region_shown
from sourcier.services.ingest.parsing.sheets.regions import regions
from sourcier.services.ingest.parsing.source import Source
from sourcier.services.ingest.parsing.tables import CellBudget
from sourcier.services.ingest.parsing.titles import usable_title
from sourcier.services.ingest.reading_warnings import WarningCode

_RUNNING = {
    **dict.fromkeys(("style:header", "style:header-first", "style:header-left"), HEADER_LEAD),
    **dict.fromkeys(("style:footer", "style:footer-first", "style:footer-left"), FOOTER_LEAD),
}
_FIRST_PAGES = "Standard"


def parse_opendocument_text(source: Source) -> ParsedDocument:
    """Read a text: headers and footers once, before the text; it has no pages."""
    builder = DocumentBuilder(source.limits, pictures=EmbeddedPictures(source))
    with opened(source, label=LABELS[Format.ODT]) as document:
        body = _body(document, source, Format.ODT)
        budget = CellBudget(source.limits.table_cells)
        styles = _styles(document)
        for lead, text in _running_texts(document, _used_pages(document, body, styles), builder, budget):
            builder.add(BlockKind.PARAGRAPH, f"{lead} {text}")
        blocks = BlockReader(document, styles, builder, budget)
        append(blocks.blocks(body), builder)
        return _built(builder, document, source, Format.ODT)


def parse_opendocument_sheets(source: Source) -> ParsedDocument:
    """Read a spreadsheet: cells as they are shown, hidden sheets, rows and columns left out and told."""
    builder = DocumentBuilder(source.limits, pictures=EmbeddedPictures(source))
    with opened(source, label=LABELS[Format.ODS]) as document:
        body = _body(document, source, Format.ODS)
        styles, budget = _styles(document), CellBudget(source.limits.table_cells)
        tables = list(children(body, "table:table"))
        unseen = [attribute(table, "table:name") for table in tables if is_hidden_sheet(table, styles)]
        builder.warnings.add(WarningCode.HIDDEN_CELLS, count=len(unseen), places=unseen, detail="sheets")
        seen = [table for table in tables if not is_hidden_sheet(table, styles)]
        source.check_pages(len(seen), "sheets")
        for page, table in enumerate(seen, start=1):
            sheet_name = attribute(table, "table:name") or f"{page}"
            reader = SheetReader(
                styles, builder.warnings, budget, sheet_name=sheet_name, comments=builder.reads_comments
            )
            found = regions(reader.read(table), table_spans(body, sheet_name), budget)
            shown = [item for region in found for item in region_shown(region, sheet_name)]
            blocks = BlockReader(document, styles, builder, budget)
            builder.leave_headings()
            for shape in shapes_of(table):
                if next(descendants(shape, "draw:object"), None) is None:
                    # A chart draws what stands in cells.
                    shown += blocks.block(shape)
            if shown:
                builder.add(BlockKind.HEADING, sheet_name, page=page, level=1)
                append(shown, builder, page=page)
        return _built(builder, document, source, Format.ODS, pages=len(seen))


def parse_opendocument_slides(source: Source) -> ParsedDocument:
    """Read a presentation: each slide is a page; hidden slides are left out and told."""
    builder = DocumentBuilder(source.limits, pictures=EmbeddedPictures(source))
    with opened(source, label=LABELS[Format.ODP]) as document:
        body = _body(document, source, Format.ODP)
        styles, budget = _styles(document), CellBudget(source.limits.table_cells)
        pages = list(children(body, "draw:page"))
        source.check_pages(len(pages), "slides")
        for number, page in enumerate(pages, start=1):
            builder.leave_headings()
            if is_hidden_slide(page, styles):
                builder.warnings.add(WarningCode.HIDDEN_TEXT, places=[str(number)], detail="slides")
                continue
            blocks = BlockReader(document, styles, builder, budget, page=number)
            append(slide_shown(page, blocks), builder, page=number)
            append(notes_shown(page, blocks), builder, page=number)
        return _built(builder, document, source, Format.ODP, pages=len(pages))


def _body(document: OpenDocument, source: Source, kind: Format) -> Element:
    names = {Format.ODT: "text", Format.ODS: "spreadsheet", Format.ODP: "presentation"}
    body = document.body(names[kind])
    if body is None:
        raise DocumentMalformed(f"“{source.filename}” cannot be read as {LABELS[kind]}: it has no {names[kind]}.")
    return body


def _styles(document: OpenDocument) -> Styles:
    return Styles(
        child(document.styles, "office:styles"), child(document.content, "office:automatic-styles")
    )


def _built(
    builder: DocumentBuilder, document: OpenDocument, source: Source, kind: Format, *, pages: int = 0
) -> ParsedDocument:
    return builder.build(
        format=kind,
        filename=source.filename,
        page_count=pages,
        titles=(source.title, usable_title(document.title())),
        empty_reason=f"“{source.filename}” holds no text: only pictures, drawings or nothing at all.",
    )


def _running_texts(
    document: OpenDocument, pages: Sequence[Element], builder: DocumentBuilder, budget: CellBudget
) -> Iterator[tuple[str, str]]:
    """Yield the texts of the headers and footers of pages, each once, with its lead."""
    styles = Styles(child(document.styles, "office:styles"), child(document.styles, "office:automatic-styles"))
    blocks = BlockReader(document, styles, builder, budget)
    told: set[tuple[str, str]] = set()
    for page in pages:
        for part in page:
            lead = _RUNNING.get(name(part), "")
            if not lead or attribute(part, "style:display") == "false":
                continue
            found = (lead, flat_text(blocks.blocks(part)))
            if any(map(str.isalnum, found[1])) and found not in told:
                told.add(found)
                yield found


def _used_pages(document: OpenDocument, body: Element, styles: Styles) -> list[Element]:
    """Return the pages that paragraphs begin, or else the first one: those have the headers that are shown."""
    known = {attribute(page, "style:name"): page
             for page in children(child(document.styles, "office:master-styles"), "style:master-page")}  # fmt: skip
    used = {attribute(part, "text:style-name") for part in descendants(body, "text:p", "text:h")}
    named = (attribute(style, "style:master-page-name") for own in used for style in styles.chain("paragraph", own))
    pages = dict.fromkeys([_FIRST_PAGES, *sorted(filter(None, named))])
    following = [attribute(known[page], "style:next-style-name") for page in pages if page in known]
    return [known[page] for page in dict.fromkeys([*pages, *following]) if page in known]
