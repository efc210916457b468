"""A presentation: each slide is a page; notes and charts are told apart from what stands on it."""

from __future__ import annotations

from collections.abc import Iterator

from sourcier.services.chassis.errors import DocumentMalformed
from sourcier.services.index.places.place_map import Frame, Kind
from sourcier.services.ingest.documents import BlockKind, ParsedDocument
from sourcier.services.ingest.parsing.builder import DocumentBuilder
from sourcier.services.ingest.parsing.formats import LABELS, Format
from sourcier.services.ingest.parsing.office.archives import check_archive
from sourcier.services.ingest.parsing.office.lines import comment_text
from sourcier.services.ingest.parsing.office.packages import Package, attribute, child, children
from sourcier.services.ingest.parsing.office.properties import core_title
from sourcier.services.ingest.parsing.office.shown import append
from sourcier.services.ingest.parsing.pictures.embedded import EmbeddedPictures
from sourcier.services.ingest.parsing.placing.collector import Standing
from sourcier.services.ingest.parsing.slides.comments import slide_comments
from sourcier.services.ingest.parsing.slides.placement import slide_size
from sourcier.services.ingest.parsing.slides.shapes import ShapeReader, placeholder
from sourcier.services.ingest.parsing.slides.texts import line_text
from sourcier.services.ingest.parsing.source import Source
from sourcier.services.ingest.parsing.tables import CellBudget
from sourcier.services.ingest.parsing.titles import usable_title
from sourcier.services.ingest.reading_warnings import WarningCode

NOTES_LEAD = "Notes :"
_MAIN = "ppt/presentation.xml"


def parse_slides(source: Source) -> ParsedDocument:
    """Read a presentation; hidden slides are left out and told."""
    check_archive(source.path, source.limits)
    builder = DocumentBuilder(source.limits, pictures=EmbeddedPictures(source))
    with Package(source.path, filename=source.filename) as package:
        parts, size = _slide_parts(package, source.filename)
        source.check_pages(len(parts), "slides")
        budget = CellBudget(source.limits.table_cells)
        for page, part in enumerate(parts, start=1):
            builder.leave_headings()
            builder.stand(Standing(Frame(Kind.SLIDE, page)))
            _read_slide(package, part, builder, budget, page=page, size=size)
        title = core_title(package)
    return builder.build(
        format=Format.PPTX,
        filename=source.filename,
        page_count=len(parts),
        titles=(source.title, usable_title(title)),
        empty_reason=f"“{source.filename}” holds no text: only pictures, drawings or nothing at all.",
    )


def _slide_parts(package: Package, filename: str) -> tuple[list[str], tuple[int, int]]:
    """Return the parts of the slides, and the slides' size."""
    main = package.main_part(_MAIN)
    root = package.xml(main)
    if root is None:
        raise DocumentMalformed(f"“{filename}” cannot be read as {LABELS[Format.PPTX]}: it has no presentation.")
    named = package.relationships(main)
    entries = (attribute(entry, "r:id") for entry in children(child(root, "p:sldIdLst"), "p:sldId"))
    return [named[identifier].target for identifier in entries if identifier in named], slide_size(root)


def _read_slide(
    package: Package, part: str, builder: DocumentBuilder, budget: CellBudget, *, page: int, size: tuple[int, int]
) -> None:
    slide = package.xml(part)
    if slide is None:
        return
    if attribute(slide, "show", "1") in ("0", "false"):
        builder.warnings.add(WarningCode.HIDDEN_TEXT, places=[str(page)], detail="slides")
        return
    shapes = ShapeReader(package, part, builder, budget, page=page, size=size)
    append(shapes.read(child(slide, "p:cSld", "p:spTree")), builder, page=page)
    notes = "\n".join(line for found in package.related(part, "notesSlide") for line in _notes(package, found))
    if notes:
        builder.add(BlockKind.PARAGRAPH, f"{NOTES_LEAD} {notes}", page=page)
    if builder.reads_comments:
        for comment in slide_comments(package, part):
            builder.add(BlockKind.PARAGRAPH, comment_text(comment.mark, comment.text), page=page)
        return
    comments = len(package.related(part, "comments"))
    builder.warnings.add(WarningCode.NOT_READ, count=comments, places=[str(page)], detail="comments")


def _notes(package: Package, part: str) -> Iterator[str]:
    """Yield the lines of a slide's notes; number, date and the slide's picture are left out."""
    root = package.xml(part)
    tree = child(root, "p:cSld", "p:spTree")
    for shape in tree if tree is not None else ():
        if placeholder(shape) in ("body", ""):
            yield from filter(str.strip, map(line_text, children(child(shape, "p:txBody"), "a:p")))
