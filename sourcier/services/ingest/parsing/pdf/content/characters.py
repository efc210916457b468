"""The words of a page as PDFium finds its characters: place, size, font, angle, and whether anybody sees them."""

from __future__ import annotations

import ctypes
import math
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pypdfium2
import pypdfium2.raw as pdfium

from sourcier.services.ingest.parsing.pdf.content import native
from sourcier.services.ingest.parsing.pdf.content.drawing import Drawing, read_drawing
from sourcier.services.ingest.parsing.pdf.content.elements import Box, Page, Word
from sourcier.services.ingest.parsing.pdf.content.frame import Frame, bounded, frame_of
from sourcier.services.ingest.parsing.pdf.content.visibility import Appearance, is_seen
from sourcier.services.ingest.parsing.pdf.content.widgets import add_annotations

_BOLD_WEIGHT = 600
_FORCE_BOLD_FLAG = 1 << 18
_BOLD_NAMES = (b"bold", b"black", b"heavy", b"demi")
_FONT_NAME_BYTES_MAX = 128
_STRIDE = 16
"""Characters of one object follow one another: between two of the same object all are."""
_UPRIGHT = math.radians(6)
_NEXT_LETTER = 0.25
_LEFTWARD = "\u0590"
_SIZE_MIN = 2.0
_LETTER_SHARE = 0.7
_TOKEN = re.compile("[^ \t\r\n]+")
_UNKNOWN = "\ufffd"
_CONTROLS = {code: _UNKNOWN for code in (*range(32), *range(127, 160)) if code not in (9, 10, 13)}
# The hyphen of a word that a line end broke comes as one of these two.
_CONTROLS |= {0x02: "-", 0xFFFE: "-"}
_PICTURED_SHARE = 0.5
# Without the bullets of symbol fonts, which are known.
_UNMAPPED = re.compile("[\ufffd\ue000-\uf0a6\uf0a8-\uf0b6\uf0b8-\uf0d7\uf0d9-\uf0fb\uf0fd-\uf8ff]")


@dataclass(frozen=True, slots=True)
class _Run:
    """Characters `start` to `end` drawn by one object, and how."""

    start: int
    end: int
    drawn_by: int
    size: float
    angle: float
    bold: bool


@dataclass(slots=True)
class _TextPage:
    """A loaded text page with its text and what was learnt of its fonts."""

    raw: Any
    handle: int
    text: str
    fonts: dict[int, bool] = field(default_factory=dict)
    box: Any = field(default_factory=lambda: (ctypes.c_float * 4)())
    """Where boxes of characters are written to."""
    colour: tuple[ctypes.c_uint, ...] = field(default_factory=lambda: tuple(ctypes.c_uint() for _ in range(4)))
    box_at: int = 0

    def __post_init__(self) -> None:
        """Remember where the box is."""
        self.box_at = ctypes.addressof(self.box)


def read_page(page: pypdfium2.PdfPage, number: int, *, form: Any = None) -> Page:
    """Return the page's words, rules and pictures, and what people added; `form` tells the values of its fields."""
    text_page = page.get_textpage()
    try:
        raw = text_page.raw
        loaded = _TextPage(raw, native.address(raw), _text(raw))
        runs = list(_runs(loaded))
        frame = frame_of(page, turns=_turns(runs, page))
        drawing = read_drawing(page, frame)
        found = _assemble(number, loaded, runs, frame, drawing)
        found.turned = (_own_turns(page) - frame.turns) % 4
        add_annotations(page, form, frame, found)
        return found
    finally:
        text_page.close()


def _assemble(number: int, loaded: _TextPage, runs: list[_Run], frame: Frame, drawing: Drawing) -> Page:
    found = Page(number, width=frame.width, height=frame.height, horizontal=drawing.horizontal,
                 vertical=drawing.vertical)
    area = max(frame.width * frame.height, 1.0)
    found.pictured = any(item.box.width * item.box.height > _PICTURED_SHARE * area for item in drawing.pictures)
    asides: dict[tuple[int, float], list[str]] = {}
    for run in runs:
        words = list(_words(loaded, run, frame))
        if not words:
            continue
        box = Box(min(w.left for w in words), words[0].top, max(w.right for w in words), words[0].bottom)
        upright = _deviation(run.angle, frame.turns) <= _UPRIGHT
        if not is_seen(_appearance(loaded, run, drawing), box if upright else None, frame, drawing):
            found.hidden += len(words)
        elif upright:
            if found.words and _goes_on(found.words[-1], words[0]):
                words[0] = _whole(found.words.pop(), words[0])
            found.words.extend(words)
        else:
            asides.setdefault((round(math.degrees(run.angle)), round(run.size)), []).extend(w.text for w in words)
    found.asides = [" ".join(texts) for texts in asides.values()]
    found.unmapped = len(_UNMAPPED.findall(loaded.text))
    return found


def _goes_on(word: Word, following: Word) -> bool:
    """Tell whether a word is the rest of the one before it: some writers draw each letter by itself."""
    leftward = word.text[0] >= _LEFTWARD and unicodedata.bidirectional(word.text[0]) in ("R", "AL")
    return (
        word.end == following.first
        and word.bold == following.bold
        and abs(word.size - following.size) < 0.05 * word.size
        and abs(word.baseline - following.baseline) < 0.02 * word.size
        and abs(word.left - following.right if leftward else following.left - word.right) < _NEXT_LETTER * word.size
    )


def _whole(word: Word, rest: Word) -> Word:
    left, right = min(word.left, rest.left), max(word.right, rest.right)
    return word._replace(text=word.text + rest.text, left=left, right=right, end=rest.end)


def _text(raw: Any) -> str:
    """Return a character for each index; what has no mapping is the replacement character."""
    count = pdfium.FPDFText_CountChars(raw)
    buffer = (ctypes.c_ushort * (count + 1))()
    written = pdfium.FPDFText_GetText(raw, 0, count, buffer)
    text = bytes(buffer)[: 2 * count].decode("utf-16-le", "replace") if written - 1 == count else ""
    if len(text) != count:  # characters without a mapping are skipped there, and those beyond U+FFFF are two
        handle = native.address(raw)
        codes = (native.unicode_of(handle, index) for index in range(count))
        text = "".join(chr(code) if 0 < code <= 0x10FFFF else _UNKNOWN for code in codes)
    return text if text.isprintable() else text.translate(_CONTROLS)


def _runs(loaded: _TextPage) -> Iterator[_Run]:
    """Yield stretches of one text object each; what PDFium adds itself, spaces and line ends, belongs to none."""
    count, start = len(loaded.text), 0
    while start < count:
        drawn_by = native.text_object(loaded.handle, start)
        end = _end_of_run(loaded, start, count, drawn_by)
        if drawn_by:
            size, angle = _size_and_angle(loaded, start, end)
            yield _Run(start, end, drawn_by, size, angle, _is_bold(loaded, start, drawn_by))
        start = end


def _end_of_run(loaded: _TextPage, start: int, count: int, drawn_by: int | None) -> int:
    low, high = start, start + 1
    step = 1
    while high < count and native.text_object(loaded.handle, high) == drawn_by:
        low, high = high, high + step
        step = min(step * 2, _STRIDE)
    high = min(high, count)
    while high - low > 1:
        middle = (low + high) // 2
        if native.text_object(loaded.handle, middle) == drawn_by:
            low = middle
        else:
            high = middle
    return high


def _size_and_angle(loaded: _TextPage, index: int, end: int) -> tuple[float, float]:
    matrix = pdfium.FS_MATRIX()
    size = abs(pdfium.FPDFText_GetFontSize(loaded.raw, index))
    if not pdfium.FPDFText_GetMatrix(loaded.raw, index, ctypes.byref(matrix)):
        return size, 0.0
    size *= math.hypot(matrix.c, matrix.d)
    if not math.isfinite(size) or size <= _SIZE_MIN:
        size = _measured_size(loaded, index, end)
    return size, math.atan2(matrix.b, matrix.a)


def _measured_size(loaded: _TextPage, index: int, end: int) -> float:
    # A font may be scaled by its own matrix: what counts is how large its letters are.
    left, right, bottom, top = (ctypes.c_double() for _ in range(4))
    tallest = 0.0
    for letter in range(index, min(index + _STRIDE, end)):
        if pdfium.FPDFText_GetCharBox(loaded.raw, letter, left, right, bottom, top):
            tallest = max(tallest, min(abs(top.value - bottom.value), abs(right.value - left.value) * 3))
    return tallest / _LETTER_SHARE


def _is_bold(loaded: _TextPage, index: int, drawn_by: int) -> bool:
    # Few writers fill the weight in; most say it in the font's name or flags only.
    font = native.address(pdfium.FPDFTextObj_GetFont(ctypes.cast(drawn_by, pdfium.FPDF_PAGEOBJECT)))
    known = loaded.fonts.get(font)
    if known is None:
        name, flags = ctypes.create_string_buffer(_FONT_NAME_BYTES_MAX), ctypes.c_int()
        pdfium.FPDFText_GetFontInfo(loaded.raw, index, name, _FONT_NAME_BYTES_MAX, ctypes.byref(flags))
        lowered = name.value.lower()
        known = loaded.fonts[font] = (
            bool(flags.value & _FORCE_BOLD_FLAG)
            or any(mark in lowered for mark in _BOLD_NAMES)
            or pdfium.FPDFText_GetFontWeight(loaded.raw, index) >= _BOLD_WEIGHT
        )
    return known


def _turns(runs: list[_Run], page: pypdfium2.PdfPage) -> int:
    """Return the quarter turns that set most of the text upright; without text, the page's own."""
    characters: Counter[int] = Counter()
    for run in runs:
        characters[_quarter(run.angle)] += run.end - run.start
    own = _own_turns(page)
    if not characters:
        return own
    return max(characters, key=lambda turns: (characters[turns], turns == own))


def _own_turns(page: pypdfium2.PdfPage) -> int:
    """Return the quarter turns clockwise by which a viewer shows the page."""
    return max(int(pdfium.FPDFPage_GetRotation(page.raw)), 0) % 4


def _quarter(angle: float) -> int:
    return round(angle / (math.pi / 2)) % 4


def _deviation(angle: float, turns: int) -> float:
    return abs(math.remainder(angle - turns * math.pi / 2, 2 * math.pi))


def _words(loaded: _TextPage, run: _Run, frame: Frame) -> Iterator[Word]:
    aligned = abs(math.sin(2 * run.angle)) < 0.002
    baseline: float | None = None
    for match in _TOKEN.finditer(loaded.text, run.start, run.end):
        first, end = match.span()
        head, tail = _ends(loaded, first, end - 1, frame)
        if baseline is None or not aligned:
            baseline = _baseline(loaded, first, frame)
        yield Word(match.group(), min(head, tail), max(head, tail), baseline, run.size, run.bold, first, end)


def _ends(loaded: _TextPage, first: int, last: int, frame: Frame) -> tuple[float, float]:
    if frame.turns == 0:
        # The loose box is the font's, not the glyph's: it begins where the pen was and ends where it went.
        box, at = loaded.box, loaded.box_at
        native.character_box(loaded.handle, first, at)
        head = box[0]
        if last != first:
            native.character_box(loaded.handle, last, at)
        return bounded(head) - frame.left, bounded(max(box[2], box[0])) - frame.left
    left, right, bottom, top = (ctypes.c_double() for _ in range(4))
    places: list[float] = []
    for index in (first, last):
        pdfium.FPDFText_GetCharBox(loaded.raw, index, left, right, bottom, top)
        places += [frame.point(left.value, bottom.value)[0], frame.point(right.value, top.value)[0]]
    return min(places), max(places)


def _baseline(loaded: _TextPage, index: int, frame: Frame) -> float:
    x, y = ctypes.c_double(), ctypes.c_double()
    pdfium.FPDFText_GetCharOrigin(loaded.raw, index, x, y)
    return frame.point(x.value, y.value)[1]


def _appearance(loaded: _TextPage, run: _Run, drawing: Drawing) -> Appearance:
    red, green, blue, alpha = loaded.colour
    known = pdfium.FPDFText_GetFillColor(loaded.raw, run.start, red, green, blue, alpha)
    mode = pdfium.FPDFTextObj_GetTextRenderMode(ctypes.cast(run.drawn_by, pdfium.FPDF_PAGEOBJECT))
    return Appearance(
        colour=(red.value, green.value, blue.value) if known else None,
        alpha=alpha.value if known else 255,
        mode=mode,
        size=run.size,
        order=drawing.orders.get(run.drawn_by, -1),
    )
