"""A Word document: what its pages show, headers and footers once, before the text."""

from __future__ import annotations

from collections.abc import Iterator

from sourcier.services.chassis.errors import DocumentMalformed
from sourcier.services.ingest.documents import BlockKind, ParsedDocument
from sourcier.services.ingest.parsing.builder import DocumentBuilder
from sourcier.services.ingest.parsing.formats import LABELS, Format
from sourcier.services.ingest.parsing.office.archives import check_archive
from sourcier.services.ingest.parsing.office.packages import (
    Element,
    Package,
    attribute,
    child,
    children,
    descendants,
)
from sourcier.services.ingest.parsing.office.properties import core_title
from sourcier.services.ingest.parsing.office.shown import FOOTER_LEAD, HEADER_LEAD, Shown, append, flat_text
from sourcier.services.ingest.parsing.pictures.embedded import EmbeddedPictures
from sourcier.services.ingest.parsing.source import Source
from sourcier.services.ingest.parsing.tables import CellBudget
from sourcier.services.ingest.parsing.titles import usable_title
from sourcier.services.ingest.parsing.word.blocks import BlockReader
from sourcier.services.ingest.parsing.word.notes import Notes
from sourcier.services.ingest.parsing.word.numbering import Numbering
from sourcier.services.ingest.parsing.word.styles import Styles, is_on
from sourcier.services.ingest.reading_warnings import WarningCode

_LEADS = {"w:headerReference": HEADER_LEAD, "w:footerReference": FOOTER_LEAD}
_MAIN = "word/document.xml"


def parse_word(source: Source) -> ParsedDocument:
    """Read a Word document: headings, numbers, lists, tables, notes; it has no pages."""
    check_archive(source.path, source.limits)
    builder = DocumentBuilder(source.limits, pictures=EmbeddedPictures(source))
    with Package(source.path, filename=source.filename) as package:
        main = package.main_part(_MAIN)
        document = package.xml(main)
        body = child(document, "w:body")
        if document is None or body is None:
            what = f"“{source.filename}” cannot be read as {LABELS[Format.DOCX]}"
            raise DocumentMalformed(f"{what}: it has no text part.")
        word = _WordParts(package, main, builder, CellBudget(source.limits.table_cells))
        builder.count_paragraphs()
        for lead, text in word.running_texts(document):
            builder.add(BlockKind.PARAGRAPH, f"{lead} {text}")
        append(word.body(body), builder)
        word.warn_of_comments()
        title = core_title(package)
    return builder.build(
        format=Format.DOCX,
        filename=source.filename,
        titles=(source.title, usable_title(title)),
        empty_reason=f"“{source.filename}” holds no text: only pictures, drawings or nothing at all.",
    )


class _WordParts:
    """The parts of one document and what reads them."""

    def __init__(self, package: Package, main: str, builder: DocumentBuilder, budget: CellBudget) -> None:
        self._package = package
        self._main = main
        self._named = package.relationships(main)
        self._settings = self._part("settings")
        styles = Styles(self._part("styles"))
        notes = Notes(self._part("footnotes"), self._part("endnotes"), self._settings)
        numbering = Numbering(self._part("numbering"), styles)
        self._warnings = builder.warnings
        self._blocks = BlockReader(package, styles, numbering, notes, builder, budget)
        self._reads_comments = builder.reads_comments
        if self._reads_comments:
            comments = children(self._part("comments"), "w:comment")
            self._blocks.read_comments({attribute(comment, "id"): comment for comment in comments})

    def body(self, body: Element) -> Iterator[Shown]:
        """Yield what the document itself shows."""
        return self._blocks.read(body, part=self._main)

    def running_texts(self, document: Element) -> list[tuple[str, str]]:
        """Return the texts of headers and footers that are shown, each once, with its lead."""
        evens = child(self._settings, "w:evenAndOddHeaders")
        shows_evens = evens is not None and is_on(attribute(evens, "val", "1"))
        found: dict[tuple[str, str], None] = {}
        for section in descendants(document, "w:sectPr"):
            first = child(section, "w:titlePg")
            shown = {"default", *(("even",) if shows_evens else ()),
                     *(("first",) if first is not None and is_on(attribute(first, "val", "1")) else ())}  # fmt: skip
            for kind, lead in _LEADS.items():
                for reference in children(section, kind):
                    if attribute(reference, "type", "default") in shown:
                        found[lead, attribute(reference, "r:id")] = None
        texts = ((lead, self._running_text(identifier)) for lead, identifier in found)
        return list(dict.fromkeys((lead, text) for lead, text in texts if any(map(str.isalnum, text))))

    def _running_text(self, identifier: str) -> str:
        related = self._named.get(identifier)
        root = self._package.xml(related.target) if related and not related.external else None
        return flat_text(self._blocks.read(root, part=related.target)) if related and root is not None else ""

    def warn_of_comments(self) -> None:
        """Tell how many comments were left out."""
        if self._reads_comments:
            return
        comments = self._part("comments")
        count = sum(1 for _ in children(comments, "w:comment"))
        self._warnings.add(WarningCode.NOT_READ, count=count, detail="comments")

    def _part(self, kind: str) -> Element | None:
        target = next((found.target for found in self._named.values() if found.kind == kind and not found.external), "")
        return self._package.xml(target) if target else None
