"""From docling's document tree to blocks, in reading order.

docling's own serialisers are left aside: blocks need kinds, pages and heading paths, tables need one form for every
format, and what a page only repeats (headers, footers) or hides is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from docling_core.types.doc.common.content_layer import ContentLayer
from docling_core.types.doc.document import DoclingDocument
from docling_core.types.doc.items.code import CodeItem
from docling_core.types.doc.items.group import GroupItem
from docling_core.types.doc.items.node import NodeItem
from docling_core.types.doc.items.table.table import TableItem
from docling_core.types.doc.items.table.table_data import RichTableCell, TableCell
from docling_core.types.doc.items.text import ListItem, SectionHeaderItem, TextItem, TitleItem
from docling_core.types.doc.labels import DocItemLabel, GroupLabel

from sourcier.services.chassis.errors import DocumentTooLarge
from sourcier.services.ingest.documents import BlockKind
from sourcier.services.ingest.parsing.builder import DocumentBuilder
from sourcier.services.ingest.parsing.tables import render_table

_REPEATED = frozenset({DocItemLabel.PAGE_HEADER, DocItemLabel.PAGE_FOOTER})
_LISTS = frozenset({GroupLabel.LIST, GroupLabel.ORDERED_LIST})
_SPACE_BEFORE_PUNCTUATION = re.compile(r"(?<=\S) (?=[.,)\]}’'”])|(?<=[(\[{’'“]) (?=\S)")


class DoclingWalk:
    """Visits each node of a tree once and appends what it says to a builder."""

    def __init__(self, document: DoclingDocument, builder: DocumentBuilder, *, cells_max: int) -> None:
        self._document = document
        self._builder = builder
        self._cells_left = cells_max
        self._cells_max = cells_max
        self._visited: set[str] = set()

    def run(self) -> None:
        """Append the whole body."""
        self._visit_children(self._document.body, list_level=0)

    def _visit_children(self, node: NodeItem, *, list_level: int) -> None:
        for reference in node.children:
            child = reference.resolve(self._document)
            if child.self_ref not in self._visited:
                self._visited.add(child.self_ref)
                self._visit(child, list_level=list_level)

    def _visit(self, node: NodeItem, *, list_level: int) -> None:
        if node.content_layer is not ContentLayer.BODY:
            return
        if isinstance(node, GroupItem):
            self._visit_group(node, list_level=list_level)
        elif isinstance(node, TableItem):
            self._add_table(node)
        elif isinstance(node, TextItem):
            self._add_text(node, list_level=list_level)
            self._visit_children(node, list_level=list_level)
        else:
            self._visit_children(node, list_level=list_level)

    def _visit_group(self, group: GroupItem, *, list_level: int) -> None:
        if group.label is GroupLabel.INLINE:
            self._builder.add(BlockKind.PARAGRAPH, self._inline_text(group), page=self._page_below(group))
            return
        if group.label in (GroupLabel.CHAPTER, GroupLabel.SLIDE, GroupLabel.SHEET):
            self._builder.leave_headings()
        if group.label is GroupLabel.SHEET:
            self._builder.add(BlockKind.HEADING, group.name, page=self._page_below(group), level=1)
        self._visit_children(group, list_level=list_level + (group.label in _LISTS))

    def _add_text(self, item: TextItem, *, list_level: int) -> None:
        if item.label in _REPEATED:
            return
        text = item.text or self._take_inline_child(item)
        page = item.prov[0].page_no if item.prov else 0
        if isinstance(item, TitleItem):
            self._builder.add(BlockKind.HEADING, text, page=page, level=1)
        elif isinstance(item, SectionHeaderItem):
            self._builder.add(BlockKind.HEADING, text, page=page, level=item.level + 1)
        elif isinstance(item, ListItem):
            marker = item.marker if item.enumerated and item.marker else "-"
            if text.strip():
                self._builder.add(BlockKind.LIST_ITEM, f"{marker} {text}", page=page, level=max(list_level, 1))
        elif isinstance(item, CodeItem):
            self._builder.add(BlockKind.CODE, text, page=page)
        else:
            kind = BlockKind.CAPTION if item.label is DocItemLabel.CAPTION else BlockKind.PARAGRAPH
            self._builder.add(kind, text, page=page)

    def _take_inline_child(self, item: TextItem) -> str:
        """Return the text of an item whose words are in runs below it, and mark the runs as visited."""
        for reference in item.children:
            child = reference.resolve(self._document)
            if isinstance(child, GroupItem) and child.label is GroupLabel.INLINE:
                self._visited.add(child.self_ref)
                return self._inline_text(child)
        return ""

    def _inline_text(self, group: GroupItem) -> str:
        """Join the runs of one line: text in several formats, links, formulas."""
        runs: list[str] = []
        for reference in group.children:
            child = reference.resolve(self._document)
            self._visited.add(child.self_ref)
            if isinstance(child, TextItem):
                runs.append(child.text)
            elif isinstance(child, GroupItem):
                runs.append(self._inline_text(child))
        return _SPACE_BEFORE_PUNCTUATION.sub("", " ".join(run.strip() for run in runs if run.strip()))

    def _add_table(self, item: TableItem) -> None:
        page = item.prov[0].page_no if item.prov else 0
        for reference in item.captions:
            caption = reference.resolve(self._document)
            if caption.self_ref not in self._visited and isinstance(caption, TextItem):
                self._visited.add(caption.self_ref)
                self._builder.add(BlockKind.CAPTION, caption.text, page=page)
        self._builder.add(*render_table(self._table_rows(item)), page=page)

    def _table_rows(self, item: TableItem) -> list[list[str]]:
        size = item.data.num_rows * item.data.num_cols
        self._cells_left -= size
        if self._cells_left < 0:
            raise DocumentTooLarge(f"The document's tables have more than {self._cells_max:,} cells.")
        rows = [[""] * item.data.num_cols for _ in range(item.data.num_rows)]
        for cell in item.data.table_cells:
            text = self._cell_text(cell)
            # A row span repeats its label in each row, so that a row can be read alone; a column span does not.
            for row in range(cell.start_row_offset_idx, min(cell.end_row_offset_idx, item.data.num_rows)):
                rows[row][cell.start_col_offset_idx] = text
        return rows

    def _cell_text(self, cell: TableCell) -> str:
        """Return a cell's text; docling's own way for rich cells walks the whole document for each of them."""
        if not isinstance(cell, RichTableCell):
            return cell.text
        return " ".join(self._texts_below(cell.ref.resolve(self._document)))

    def _texts_below(self, node: NodeItem) -> Iterator[str]:
        self._visited.add(node.self_ref)
        if isinstance(node, TextItem) and node.text:
            yield node.text
        elif isinstance(node, TableItem):
            yield from (text for row in self._table_rows(node) for text in row if text)
        for reference in node.children:
            yield from self._texts_below(reference.resolve(self._document))

    def _page_below(self, group: GroupItem) -> int:
        for reference in group.children:
            child = reference.resolve(self._document)
            provenance = getattr(child, "prov", None)
            page = provenance[0].page_no if provenance else 0
            if not page and isinstance(child, GroupItem):
                page = self._page_below(child)
            if page:
                return page
        return 0
