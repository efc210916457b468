"""The blocks of a Word document in reading order: paragraphs with their numbers, lists, tables, text boxes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sourcier.services.ingest.documents import TITLE_CHARACTERS_MAX, BlockKind
from sourcier.services.ingest.parsing.builder import DocumentBuilder
from sourcier.services.ingest.parsing.office.charts import chart_table, diagram_text
from sourcier.services.ingest.parsing.office.lines import Comment, Line
from sourcier.services.ingest.parsing.office.packages import Element, Package, attribute, child, name
from sourcier.services.ingest.parsing.office.shown import Shown, ShownText, flat_text
from sourcier.services.ingest.parsing.tables import CellBudget
from sourcier.services.ingest.parsing.word.notes import Notes
from sourcier.services.ingest.parsing.word.numbering import BULLET, Label, Numbering
from sourcier.services.ingest.parsing.word.runs import Anchored, RunReader
from sourcier.services.ingest.parsing.word.styles import Styles
from sourcier.services.ingest.parsing.word.tables import TableReader
from sourcier.services.ingest.reading_warnings import WarningCode

_GONE = frozenset({"w:del", "w:moveFrom", "w:sdtPr", "w:sdtEndPr", "w:sectPr", "w:tcPr", "w:pPr"})


class BlockReader:
    """Reads the parts of one document; numbers and notes are counted over all of them."""

    def __init__(
        self, package: Package, styles: Styles, numbering: Numbering, notes: Notes, builder: DocumentBuilder,
        budget: CellBudget,
    ) -> None:  # fmt: skip
        """The `builder` is told what is not read, and takes the pictures; the text is yielded."""
        self._package = package
        self._styles = styles
        self._numbering = numbering
        self._runs = RunReader(styles, notes, builder.warnings)
        self._tables = TableReader(self._blocks, budget)
        self._builder = builder
        self._part = ""
        self._joined: Line | None = None
        self._comments: dict[str, Element] = {}
        self._runs.comment = self._comment
        notes.read = lambda element: flat_text(self._blocks(element))

    def read(self, container: Element, *, part: str) -> Iterator[Shown]:
        """Yield what a part of the archive shows."""
        self._part = part
        self._runs.target = self._package.targets(part)
        yield from self._blocks(container)

    def read_comments(self, comments: Mapping[str, Element]) -> None:
        """Have the comments read where they are called."""
        self._comments.update(comments)

    def _comment(self, identifier: str) -> Comment | None:
        comment = self._comments.pop(identifier, None)
        text = flat_text(self._blocks(comment)) if comment is not None else ""
        return Comment(attribute(comment, "author").strip(), text) if text else None

    def _blocks(self, container: Element) -> Iterator[Shown]:
        for element in container:
            kind = name(element)
            if kind == "w:p":
                yield from self._paragraph(element)
            elif kind == "w:tbl":
                yield from self._tables.read(element)
            elif kind == "w:altChunk":
                self._builder.warnings.add(WarningCode.NOT_READ, detail="an embedded document")
            elif kind == "mc:AlternateContent":
                chosen = child(element, "mc:Choice")
                yield from self._blocks(chosen if chosen is not None else element)
            elif kind not in _GONE:
                yield from self._blocks(element)

    def _paragraph(self, element: Element) -> Iterator[Shown]:
        properties = child(element, "w:pPr")
        line = self._joined or Line()
        self._joined = None
        anchored = self._runs.paragraph(element, line)
        if _mark_is_gone(properties):
            # The end of this paragraph was deleted: the next one goes on in it.
            self._joined = line
            yield from self._anchored(anchored)
            return
        text = line.text()
        if text.strip():
            chain = self._styles.paragraph_chain(properties)
            yield self._shown(text, properties, self._numbering.label(properties, chain))
        yield from self._anchored(anchored)

    def _shown(self, text: str, properties: Element | None, label: Label | None) -> ShownText:
        role = self._styles.role(properties)
        if role.heading and len(text) <= TITLE_CHARACTERS_MAX:
            numbered = f"{label.text} {text}" if label and label.text != BULLET else text
            return ShownText(BlockKind.HEADING, numbered, role.heading)
        if label:
            return ShownText(BlockKind.LIST_ITEM, f"{label.text} {text.strip()}", label.level)
        return ShownText(BlockKind.CAPTION if role.caption else BlockKind.PARAGRAPH, text)

    def _anchored(self, anchored: Anchored) -> Iterator[Shown]:
        for picture in anchored.pictures:
            self._builder.add_picture(
                self._package.picture(self._part, picture.identifier), alternative=picture.alternative
            )
        for text_box in anchored.text_boxes:
            yield from self._blocks(text_box)
        if not anchored.charts and not anchored.diagrams:
            return
        named = self._package.relationships(self._part)
        for identifier in anchored.charts:
            if identifier in named:
                yield from chart_table(self._package.xml(named[identifier].target))
        for identifier in anchored.diagrams:
            if identifier in named:
                text = diagram_text(self._package.xml(named[identifier].target))
                yield ShownText(BlockKind.PARAGRAPH, text)


def _mark_is_gone(properties: Element | None) -> bool:
    mark = child(properties, "w:rPr")
    return child(mark, "w:del") is not None or child(mark, "w:moveFrom") is not None
