"""The blocks of an OpenDocument text in reading order: headings and lists with their numbers, tables, text boxes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sourcier.services.ingest.documents import TITLE_CHARACTERS_MAX, BlockKind
from sourcier.services.ingest.parsing.builder import DocumentBuilder
from sourcier.services.ingest.parsing.office.packages import Element, attribute, child, name, whole_number
from sourcier.services.ingest.parsing.office.shown import Shown, ShownText, flat_text
from sourcier.services.ingest.parsing.opendocument.files import OpenDocument
from sourcier.services.ingest.parsing.opendocument.numbering import BULLET, LEVELS_MAX, Counts, Numbering
from sourcier.services.ingest.parsing.opendocument.objects import object_shown
from sourcier.services.ingest.parsing.opendocument.runs import DRAWN, Controls, RunReader
from sourcier.services.ingest.parsing.opendocument.styles import Styles
from sourcier.services.ingest.parsing.opendocument.tables import TableReader
from sourcier.services.ingest.parsing.tables import CellBudget
from sourcier.services.ingest.reading_warnings import WarningCode

_GONE = frozenset({
    "text:tracked-changes", "text:sequence-decls", "text:variable-decls", "text:user-field-decls", "svg:title",
    "text:dde-connection-decls", "text:table-of-content-source", "text:alphabetical-index-source", "svg:desc",
    "text:bibliography-source", "text:illustration-index-source", "text:table-index-source", "table:shapes",
    "text:object-index-source", "text:user-index-source", "presentation:notes", "office:event-listeners",
})  # fmt: skip
_ALTERNATIVES = frozenset({"svg:title", "svg:desc"})
_ITEMS = frozenset({"text:list-item", "text:list-header"})


@dataclass(frozen=True, slots=True)
class _Place:
    """Where in a list a block stands: the list's style and what it counts in, and the level from 1."""

    style: str
    counts: Counts
    level: int


class BlockReader:
    """Reads the blocks of one part; numbers are counted over all that it is given."""

    def __init__(
        self, document: OpenDocument, styles: Styles, builder: DocumentBuilder, budget: CellBudget, *, page: int = 0
    ) -> None:
        """The `builder` is told what is not read, and takes the pictures; the text is yielded."""
        self._document = document
        self._styles = styles
        self._builder = builder
        self._page = page
        self._budget = budget
        self._controls = Controls()
        self._runs = RunReader(styles, builder.warnings, self._controls, comments=builder.reads_comments)
        self._runs.read_note = lambda body: flat_text(self.blocks(body))
        self._numbering = Numbering(styles)
        self._tables = TableReader(self.blocks, budget)

    def blocks(self, container: Element) -> Iterator[Shown]:
        """Yield what an element shows."""
        for element in container:
            yield from self.block(element)

    def block(self, element: Element) -> Iterator[Shown]:
        """Yield what one element shows."""
        kind = name(element)
        if kind == "text:h":
            yield from self._heading(element)
        elif kind == "text:p":
            yield from self._paragraph(element)
        elif kind == "text:list":
            yield from self._list(element)
        elif kind == "table:table":
            yield from self._tables.read(element)
        elif kind == "office:forms":
            self._controls.add(element)
        elif kind == "office:annotation":
            comment = self._runs.comment(element)
            if comment is not None:
                yield ShownText(BlockKind.PARAGRAPH, comment.shown.strip(" ()"))
        elif kind == "text:section" and attribute(element, "text:display") == "none":
            self._builder.warnings.add(WarningCode.HIDDEN_TEXT, count=1 if "".join(element.itertext()).strip() else 0)
        elif kind in DRAWN:
            yield from self._drawn(element)
        elif kind not in _GONE:
            yield from self.blocks(element)

    def _heading(self, element: Element, label: str = "") -> Iterator[Shown]:
        level = _outline_level(element)
        text, anchored = self._runs.paragraph(element)
        if text.strip():
            if not label and attribute(element, "text:is-list-header") != "true":
                label = self._numbering.heading(level)
            numbered = f"{label} {text}" if label and label != BULLET else text
            if len(text) <= TITLE_CHARACTERS_MAX:
                yield ShownText(BlockKind.HEADING, numbered, level + 1)
            else:
                yield ShownText(BlockKind.PARAGRAPH, numbered)
        yield from self._anchored(anchored)

    def _paragraph(self, element: Element) -> Iterator[Shown]:
        text, anchored = self._runs.paragraph(element)
        if text.strip():
            role = self._styles.role(attribute(element, "text:style-name"))
            if role.heading and len(text) <= TITLE_CHARACTERS_MAX:
                yield ShownText(BlockKind.HEADING, text, role.heading)
            else:
                yield ShownText(BlockKind.CAPTION if role.caption else BlockKind.PARAGRAPH, text)
        yield from self._anchored(anchored)

    def _list(self, listed: Element, above: _Place | None = None) -> Iterator[Shown]:
        style = attribute(listed, "text:style-name") or (above.style if above else self._style_inside(listed))
        if above is None:
            place = _Place(style, self._numbering.counts(listed, style), 1)
        else:
            place = _Place(style, above.counts, min(above.level + 1, LEVELS_MAX))
        for item in listed:
            if name(item) in _ITEMS:
                yield from self._item(item, place)

    def _item(self, item: Element, place: _Place) -> Iterator[Shown]:
        start, marked = attribute(item, "text:start-value"), name(item) == "text:list-header"
        for element in item:
            kind = name(element)
            if kind == "text:list":
                yield from self._list(element, place)
            elif kind in ("text:p", "text:h"):
                text, anchored = self._runs.paragraph(element)
                label = ""
                if text.strip() and not marked:
                    label, marked = self._numbering.item(place.counts, place.style, place.level, start=start), True
                yield from self._labelled(element, text, label, place.level)
                yield from self._anchored(anchored)
            elif kind != "text:number":
                yield from self.block(element)

    def _labelled(self, element: Element, text: str, label: str, level: int) -> Iterator[Shown]:
        heading = self._styles.role(attribute(element, "text:style-name")).heading
        if name(element) == "text:h":
            heading = _outline_level(element) + 1
        if heading and len(text) <= TITLE_CHARACTERS_MAX:
            yield ShownText(BlockKind.HEADING, f"{label} {text}" if label not in ("", BULLET) else text, heading)
        elif label:
            yield ShownText(BlockKind.LIST_ITEM, f"{label} {text}", level)
        else:
            yield ShownText(BlockKind.PARAGRAPH, text)

    def _style_inside(self, listed: Element) -> str:
        """Return the list style that the first paragraph of a list names by its own style."""
        first = next((entry for entry in listed.iter() if name(entry) in ("text:p", "text:h")), None)
        return self._styles.role(attribute(first, "text:style-name")).list_style

    def _anchored(self, anchored: list[Element]) -> Iterator[Shown]:
        for element in anchored:
            yield from self._drawn(element)

    def _drawn(self, element: Element) -> Iterator[Shown]:
        """Yield what a frame, a group or a shape shows: one picture of several forms of it counts once."""
        embedded = child(element, "draw:object")
        if embedded is not None:
            yield from object_shown(self._document.object(embedded), self._budget)
            return
        picture = child(element, "draw:image")
        if picture is not None and child(element, "draw:text-box") is None:
            self._builder.add_picture(
                self._document.picture(picture), page=self._page,
                alternative=" ".join("".join(part.itertext()) for part in element if name(part) in _ALTERNATIVES),
            )
            return
        yield from self.blocks(element)


def _outline_level(heading: Element) -> int:
    return max(whole_number(attribute(heading, "text:outline-level", "1"), 1, most=LEVELS_MAX), 1)
