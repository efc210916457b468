"""What is drawn on a page besides text: ruling lines, filled boxes, pictures; and the order of painting."""

from __future__ import annotations

import ctypes
import hashlib
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, NamedTuple

import pypdfium2
import pypdfium2.raw as pdfium

from sourcier.services.ingest.parsing.pdf.content import native
from sourcier.services.ingest.parsing.pdf.content.elements import Box, Embedded, Rule
from sourcier.services.ingest.parsing.pdf.content.frame import Frame

_OBJECTS_MAX = 50_000
_SEGMENTS_MAX = 20_000
"""Of a page; a map or a chart drawn with more has its further lines ignored, its text is read all the same."""
_SEGMENTS_OF_PATH_MAX = 4_000
_BOXES_MAX = 400
_DEPTH_MAX = 8
_THIN = 3.0
"""A filled box of less height or width is a line."""
_RULE_LENGTH_MIN = 5.0
_SLANT_MAX = 0.7
_FINGERPRINT_BYTES = 16
_FINGERPRINTED_PIXELS_MIN = 1_000
"""Smaller ones are decoration under any limits that somebody sets; pages have thousands of them."""
_FINGERPRINTED_BYTES_MAX = 64 * 1024 * 1024
_FINGERPRINTED_OF_PAGE_BYTES_MAX = 256 * 1024 * 1024
"""Of all pictures of a page: it may show the same one ten thousand times."""

Matrix = tuple[float, float, float, float, float, float]
_IDENTITY: Matrix = (1.0, 0.0, 0.0, 1.0, 0.0, 0.0)


class Painted(NamedTuple):
    """A filled box or a picture; what has a greater `order` is painted over it."""

    order: int
    box: Box
    colour: tuple[int, int, int] | None
    """None where it is not certain: a picture's, or that of what lets its ground shine through."""
    opaque: bool
    picture: bool = False


@dataclass(slots=True)
class Drawing:
    """A page's objects, by what they mean to a reader."""

    orders: dict[int, int] = field(default_factory=dict)
    """Of text objects, by their address."""
    painted: list[Painted] = field(default_factory=list)
    horizontal: list[Rule] = field(default_factory=list)
    vertical: list[Rule] = field(default_factory=list)
    segments: int = 0
    drawn: bool = False
    """There is any object."""
    embedded: list[Embedded] = field(default_factory=list)
    """Pictures with pixels."""
    fingerprinted: int = 0
    """Bytes of pictures that were looked at to tell them apart."""

    @property
    def pictures(self) -> Iterator[Painted]:
        """Pictures and shadings."""
        return (item for item in self.painted if item.picture)


def read_drawing(page: pypdfium2.PdfPage, frame: Frame) -> Drawing:
    """Walk the page's objects, those of nested forms included."""
    drawing = Drawing()
    for order, (kind, item, matrix) in enumerate(_objects(page)):
        drawing.drawn = True
        if kind == pdfium.FPDF_PAGEOBJ_TEXT:
            drawing.orders[native.address(item)] = order
        elif kind == pdfium.FPDF_PAGEOBJ_PATH:
            _read_path(item, matrix, order, frame, drawing)
        elif kind in (pdfium.FPDF_PAGEOBJ_IMAGE, pdfium.FPDF_PAGEOBJ_SHADING) and len(drawing.painted) < _BOXES_MAX:
            box = _bounds(item, matrix, frame)
            if box is not None:
                opaque = kind == pdfium.FPDF_PAGEOBJ_IMAGE and not pdfium.FPDFPageObj_HasTransparency(item)
                drawing.painted.append(Painted(order, box, None, opaque, picture=True))
                if kind == pdfium.FPDF_PAGEOBJ_IMAGE:
                    drawing.embedded.append(_embedded(item, box, drawing))
    drawing.horizontal = join_rules(drawing.horizontal)
    drawing.vertical = join_rules(drawing.vertical)
    return drawing


def _embedded(item: Any, box: Box, drawing: Drawing) -> Embedded:
    width, height = ctypes.c_uint(), ctypes.c_uint()
    pdfium.FPDFImageObj_GetImagePixelSize(item, ctypes.byref(width), ctypes.byref(height))
    return Embedded(box, width.value, height.value, _fingerprint(item, box, width.value, height.value, drawing))


def _fingerprint(item: Any, box: Box, width: int, height: int, drawing: Drawing) -> str:
    """Return what tells a picture from others: a logo is the same one on each page."""
    digest = hashlib.blake2b(f"{width} {height}".encode(), digest_size=_FINGERPRINT_BYTES)
    length = int(pdfium.FPDFImageObj_GetImageDataRaw(item, None, 0))
    left = min(_FINGERPRINTED_BYTES_MAX, _FINGERPRINTED_OF_PAGE_BYTES_MAX - drawing.fingerprinted)
    if width * height >= _FINGERPRINTED_PIXELS_MIN and 0 < length <= left:
        drawing.fingerprinted += length
        # As it is stored, so nothing is unpacked.
        data = (ctypes.c_ubyte * length)()
        pdfium.FPDFImageObj_GetImageDataRaw(item, data, length)
        digest.update(data)
    else:
        digest.update(f"{length} {[round(edge) for edge in box]}".encode())
    return digest.hexdigest()


def join_rules(rules: Iterable[Rule]) -> list[Rule]:
    """Put lines together that touch on one straight line: many writers draw a border for each cell."""
    joined: list[Rule] = []
    level: list[Rule] = []
    for rule in sorted(rules):
        if level and rule.at - level[0].at > 1.2:
            joined.extend(_join_level(level))
            level = []
        level.append(rule)
    joined.extend(_join_level(level))
    return joined


def _join_level(level: Sequence[Rule]) -> Iterator[Rule]:
    current: Rule | None = None
    for rule in sorted(level, key=lambda rule: rule.start):
        if current is not None and rule.start <= current.end + 2.0:
            current = Rule(current.at, current.start, max(current.end, rule.end))
            continue
        if current is not None:
            yield current
        current = rule
    if current is not None:
        yield current


def _objects(page: pypdfium2.PdfPage) -> Iterator[tuple[int, Any, Matrix]]:
    """Yield kind, object and the matrix of the forms around it, in the order in which they are painted."""
    count = pdfium.FPDFPage_CountObjects(page.raw)
    stack: list[tuple[Iterator[Any], Matrix]] = [
        ((pdfium.FPDFPage_GetObject(page.raw, index) for index in range(count)), _IDENTITY)
    ]
    seen = 0
    while stack and seen < _OBJECTS_MAX:
        items, matrix = stack[-1]
        item = next(items, None)
        if item is None:
            stack.pop()
            continue
        seen += 1
        kind = pdfium.FPDFPageObj_GetType(item)
        if kind == pdfium.FPDF_PAGEOBJ_FORM and len(stack) < _DEPTH_MAX:
            stack.append((_children(item), _times(_matrix(item), matrix)))
        else:
            yield kind, item, matrix


def _children(form: Any) -> Iterator[Any]:
    return (pdfium.FPDFFormObj_GetObject(form, index) for index in range(pdfium.FPDFFormObj_CountObjects(form)))


def _read_path(path: Any, matrix: Matrix, order: int, frame: Frame, drawing: Drawing) -> None:
    count = pdfium.FPDFPath_CountSegments(path)
    if not 2 <= count <= _SEGMENTS_OF_PATH_MAX or drawing.segments + count > _SEGMENTS_MAX:
        return
    drawing.segments += count
    mode, stroked = ctypes.c_int(), ctypes.c_int()
    pdfium.FPDFPath_GetDrawMode(path, ctypes.byref(mode), ctypes.byref(stroked))
    if not (mode.value or stroked.value):
        return
    whole = _times(_matrix(path), matrix)
    colour = _fill_colour(path) if mode.value else None
    outlines = list(_outlines(path, count, whole, frame))
    for points, straight in outlines:
        if stroked.value:
            _add_strokes(points, drawing)
            _add_broad_stroke(points, order, path, whole, drawing)
        if colour is not None:
            _add_fill(points, order, colour, path, drawing, straight=straight, single=len(outlines) == 1)


def _outlines(
    path: Any, count: int, matrix: Matrix, frame: Frame
) -> Iterator[tuple[list[tuple[float, float] | None], bool]]:
    """Yield each outline's points and whether all its sides are straight; after a curve stands None."""
    horizontal, vertical = ctypes.c_float(), ctypes.c_float()
    x_at, y_at = ctypes.addressof(horizontal), ctypes.addressof(vertical)
    a, b, c, d, e, f = matrix
    handle = native.address(path)
    points: list[tuple[float, float] | None] = []
    straight = True
    for index in range(count):
        segment = native.segment_at(handle, index)
        if not segment or not native.segment_point(segment, x_at, y_at):
            continue
        kind = native.segment_type(segment)
        x, y = horizontal.value, vertical.value
        if kind == pdfium.FPDF_SEGMENT_MOVETO and points:
            yield points, straight
            points, straight = [], True
        if kind == pdfium.FPDF_SEGMENT_BEZIERTO:
            straight = False
            points.append(None)
        points.append(frame.point(a * x + c * y + e, b * x + d * y + f))
        if pdfium.FPDFPathSegment_GetClose(ctypes.cast(segment, pdfium.FPDF_PATHSEGMENT)):
            first = points[0]
            if first is not None:
                points.append(first)
    if points:
        yield points, straight


def _add_strokes(points: Sequence[tuple[float, float] | None], drawing: Drawing) -> None:
    for begin, end in pairwise(points):
        if begin is not None and end is not None:
            _add_rule(begin, end, drawing)


def _add_broad_stroke(
    points: Sequence[tuple[float, float] | None], order: int, path: Any, matrix: Matrix, drawing: Drawing
) -> None:
    """A single broad line is a ground for text, as a filled box is."""
    if len(points) != 2 or points[0] is None or points[1] is None or len(drawing.painted) >= _BOXES_MAX:
        return
    width = ctypes.c_float()
    pdfium.FPDFPageObj_GetStrokeWidth(path, ctypes.byref(width))
    half = width.value * math.hypot(matrix[0], matrix[1]) / 2
    red, green, blue, alpha = (ctypes.c_uint() for _ in range(4))
    if 2 * half <= _THIN or not pdfium.FPDFPageObj_GetStrokeColor(path, red, green, blue, alpha):
        return
    (x0, y0), (x1, y1) = points[0], points[1]
    colour = (red.value, green.value, blue.value)
    if abs(y0 - y1) <= _SLANT_MAX:
        box = Box(min(x0, x1), min(y0, y1) - half, max(x0, x1), max(y0, y1) + half)
        drawing.painted.append(Painted(order, box, colour, opaque=False))
    elif abs(x0 - x1) <= _SLANT_MAX:
        box = Box(min(x0, x1) - half, min(y0, y1), max(x0, x1) + half, max(y0, y1))
        drawing.painted.append(Painted(order, box, colour, opaque=False))


def _add_rule(begin: tuple[float, float], end: tuple[float, float], drawing: Drawing) -> None:
    width, height = abs(begin[0] - end[0]), abs(begin[1] - end[1])
    if height <= _SLANT_MAX and width >= _RULE_LENGTH_MIN:
        drawing.horizontal.append(Rule((begin[1] + end[1]) / 2, min(begin[0], end[0]), max(begin[0], end[0])))
    elif width <= _SLANT_MAX and height >= _RULE_LENGTH_MIN:
        drawing.vertical.append(Rule((begin[0] + end[0]) / 2, min(begin[1], end[1]), max(begin[1], end[1])))


def _add_fill(
    points: Sequence[tuple[float, float] | None],
    order: int,
    colour: tuple[int, int, int, int],
    path: Any,
    drawing: Drawing,
    *,
    straight: bool,
    single: bool,
) -> None:
    corners = [point for point in points if point is not None]
    xs, ys = [x for x, _ in corners], [y for _, y in corners]
    box = Box(min(xs), min(ys), max(xs), max(ys))
    if straight and box.height <= _THIN and box.width >= _RULE_LENGTH_MIN:
        drawing.horizontal.append(Rule((box.top + box.bottom) / 2, box.left, box.right))
    elif straight and box.width <= _THIN and box.height >= _RULE_LENGTH_MIN:
        drawing.vertical.append(Rule((box.left + box.right) / 2, box.top, box.bottom))
    elif len(drawing.painted) < _BOXES_MAX and colour[3]:
        # Of other shapes only the box around them is known, and one outline within another is a frame around nothing:
        # text on them may be seen, what they cover is not certain.
        sharp = single and straight and len(corners) <= 6 and _square(corners)
        opaque = sharp and colour[3] == 255 and not pdfium.FPDFPageObj_HasTransparency(path)
        drawing.painted.append(Painted(order, box, colour[:3] if opaque else None, opaque))


def _square(corners: Sequence[tuple[float, float]]) -> bool:
    return all(
        abs(begin[0] - end[0]) <= _SLANT_MAX or abs(begin[1] - end[1]) <= _SLANT_MAX for begin, end in pairwise(corners)
    )


def _fill_colour(item: Any) -> tuple[int, int, int, int] | None:
    red, green, blue, alpha = (ctypes.c_uint() for _ in range(4))
    if not pdfium.FPDFPageObj_GetFillColor(item, red, green, blue, alpha):
        return None
    return red.value, green.value, blue.value, alpha.value


def _bounds(item: Any, matrix: Matrix, frame: Frame) -> Box | None:
    left, bottom, right, top = (ctypes.c_float() for _ in range(4))
    if not pdfium.FPDFPageObj_GetBounds(item, left, bottom, right, top):
        return None
    a, b, c, d, e, f = matrix
    xs, ys = (left.value, right.value), (bottom.value, top.value)
    corners = [frame.point(a * x + c * y + e, b * x + d * y + f) for x in xs for y in ys]
    return Box(
        *(min(point[axis] for point in corners) for axis in (0, 1)), *(max(p[axis] for p in corners) for axis in (0, 1))
    )


def _matrix(item: Any) -> Matrix:
    matrix = pdfium.FS_MATRIX()
    if not pdfium.FPDFPageObj_GetMatrix(item, ctypes.byref(matrix)):
        return _IDENTITY
    return matrix.a, matrix.b, matrix.c, matrix.d, matrix.e, matrix.f


def _times(inner: Matrix, outer: Matrix) -> Matrix:
    if outer is _IDENTITY:
        return inner
    a, b, c, d, e, f = inner
    p, q, r, s, t, u = outer
    return (a * p + b * r, a * q + b * s, c * p + d * r, c * q + d * s, e * p + f * r + t, e * q + f * s + u)
