"""Where the shapes of a slide lie: their own place, or that of the layout's or the master's shape that they fill."""

from __future__ import annotations

from collections.abc import Sequence

from sourcier.services.ingest.parsing.office.arrangement import ShapeBox, reading_order
from sourcier.services.ingest.parsing.office.packages import (
    Element,
    Package,
    attribute,
    child,
    descendants,
    name,
    whole_number,
)

_SIZE_MAX = 100_000_000
_OUTLINES = ("p:spPr", "p:grpSpPr")


class Placement:
    """Knows the places of one slide."""

    def __init__(self, package: Package, part: str, *, size: tuple[int, int]) -> None:
        """`size` is the slides' width and height in EMU, zeros where it is unknown."""
        self._size = size
        self._inherited: list[dict[tuple[str, str], ShapeBox]] = []
        for kind in ("slideLayout", "slideMaster"):
            part = next(iter(package.related(part, kind)), "")
            if not part:
                break
            self._inherited.append(_filled_places(package.xml(part)))

    def ordered(self, shapes: Sequence[Element]) -> list[Element]:
        """Return the shapes in reading order; what shows no text stays before what it stood before."""
        told = [shape for shape in shapes if _says_something(shape)]
        order = [told[index] for index in reading_order([self._box(shape) for shape in told])]
        silent = [shape for shape in shapes if not _says_something(shape)]
        return [*order, *silent]

    def is_outside(self, shape: Element) -> bool:
        """Tell whether a shape lies wholly outside of the slide, where nobody sees it."""
        box, (width, height) = self._box(shape), self._size
        if box is None or not width or not height:
            return False
        return box.right <= 0 or box.bottom <= 0 or box.left >= width or box.top >= height

    def _box(self, shape: Element) -> ShapeBox | None:
        if name(shape) == "mc:AlternateContent":
            forms = (box for form in shape for inner in form if (box := self._box(inner)) is not None)
            return next(forms, None)
        own = _own_box(shape)
        if own is not None:
            return own
        for key in _keys(shape):
            for places in self._inherited:
                if key in places:
                    return places[key]
        return None


def _filled_places(root: Element | None) -> dict[tuple[str, str], ShapeBox]:
    found: dict[tuple[str, str], ShapeBox] = {}
    tree = child(root, "p:cSld", "p:spTree")
    for shape in tree if tree is not None else ():
        box = _own_box(shape)
        if box is not None:
            found.update({key: box for key in _keys(shape) if key not in found})
    return found


def _keys(shape: Element) -> list[tuple[str, str]]:
    """Return what names the place that a shape fills: its number, and its kind."""
    for part in shape:
        place = child(part, "p:nvPr", "p:ph")
        if place is not None:
            kind = attribute(place, "type", "body").replace("ctrTitle", "title")
            number = attribute(place, "idx")
            return [*([("number", number)] if number else []), ("kind", kind)]
    return []


def _own_box(shape: Element) -> ShapeBox | None:
    frame = next((found for kind in _OUTLINES if (found := child(shape, kind, "a:xfrm")) is not None), None)
    frame = child(shape, "p:xfrm") if frame is None else frame
    if frame is None:
        return None
    left, top = (_length(child(frame, "a:off"), axis) for axis in ("x", "y"))
    width, height = (_length(child(frame, "a:ext"), axis) for axis in ("cx", "cy"))
    return ShapeBox(left, top, left + width, top + height) if width or height else None


def _length(element: Element | None, axis: str) -> int:
    value = attribute(element, axis)
    sign = -1 if value.startswith("-") else 1
    return sign * whole_number(value.lstrip("-"), most=_SIZE_MAX)


def _says_something(shape: Element) -> bool:
    return next(descendants(shape, "a:t", "c:chart", "dgm:relIds"), None) is not None


def slide_size(presentation: Element | None) -> tuple[int, int]:
    """Return the width and height of a presentation's slides in EMU, zeros where it does not say."""
    size = child(presentation, "p:sldSz")
    return _length(size, "cx"), _length(size, "cy")
