"""OpenDocument presentations: what a slide shows, title first, and its speaker's notes apart."""

from __future__ import annotations

import re
from collections.abc import Iterator

from sourcier.services.ingest.documents import BlockKind
from sourcier.services.ingest.parsing.office.arrangement import ShapeBox, reading_order
from sourcier.services.ingest.parsing.office.packages import Element, attribute, child, children, descendants, name
from sourcier.services.ingest.parsing.office.shown import Shown, ShownText, flat_text
from sourcier.services.ingest.parsing.opendocument.blocks import BlockReader
from sourcier.services.ingest.parsing.opendocument.styles import Styles
from sourcier.services.ingest.parsing.slides.reader import NOTES_LEAD

_LENGTH = re.compile(r"(-?[0-9]{1,6}(?:\.[0-9]{1,9})?)(cm|mm|in|pt)")
_MILLIMETRES = {"cm": 10.0, "mm": 1.0, "in": 25.4, "pt": 25.4 / 72}
_RUNNING = frozenset({"page-number", "header", "footer", "date-time", "page", "handout"})


def is_hidden_slide(page: Element, styles: Styles) -> bool:
    """Tell whether a slide is not shown."""
    style = attribute(page, "draw:style-name")
    return styles.property("drawing-page", style, "drawing-page", "presentation:visibility") == "hidden"


def slide_shown(page: Element, blocks: BlockReader) -> Iterator[Shown]:
    """Yield what a slide shows."""
    forms = child(page, "office:forms")
    if forms is not None:
        list(blocks.block(forms))
    shapes = [shape for shape in page if name(shape) != "office:forms"]
    shapes = [shapes[index] for index in reading_order([_box(shape) for shape in shapes])]
    for shape in sorted(shapes, key=lambda shape: attribute(shape, "presentation:class") != "title"):
        place = attribute(shape, "presentation:class")
        if place in _RUNNING or attribute(shape, "presentation:placeholder") == "true":
            continue
        if place == "title":
            yield ShownText(BlockKind.HEADING, flat_text(blocks.blocks(shape)), 1)
        else:
            yield from blocks.block(shape)


def _box(shape: Element) -> ShapeBox | None:
    """Return where a shape lies, a group by what it holds, in millimetres; None where it does not say."""
    if name(shape) == "draw:g":
        inner = [box for box in map(_box, shape) if box is not None]
        if not inner:
            return None
        lefts, tops, rights, bottoms = zip(*inner, strict=True)
        return ShapeBox(min(lefts), min(tops), max(rights), max(bottoms))
    left, top, width, height = (_length(attribute(shape, f"svg:{side}")) for side in ("x", "y", "width", "height"))
    if left is None or top is None:
        return None
    return ShapeBox(left, top, left + (width or 0.0), top + (height or 0.0))


def _length(value: str) -> float | None:
    found = _LENGTH.fullmatch(value)
    return float(found[1]) * _MILLIMETRES[found[2]] if found else None


def notes_shown(page: Element, blocks: BlockReader) -> Iterator[Shown]:
    """Yield a slide's notes; the slide's picture and what runs over all notes are left out."""
    lines: list[str] = []
    for notes in children(page, "presentation:notes"):
        for frame in descendants(notes, "draw:frame", "draw:custom-shape"):
            if attribute(frame, "presentation:class") in ("notes", "") and (
                attribute(frame, "presentation:placeholder") != "true"
            ):
                lines += [item.text for item in blocks.blocks(frame) if isinstance(item, ShownText)]
    if lines:
        yield ShownText(BlockKind.PARAGRAPH, f"{NOTES_LEAD} " + "\n".join(lines))
