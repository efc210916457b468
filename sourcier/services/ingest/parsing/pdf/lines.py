"""The lines of a PDF page with their place and size, as PDFium finds them."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from dataclasses import dataclass

import pypdfium2
import pypdfium2.raw as pdfium

_BOLD_WEIGHT = 600
_FORCE_BOLD_FLAG = 1 << 18
_BOLD_NAMES = (b"bold", b"black", b"heavy", b"demi")
_FONT_NAME_BYTES_MAX = 128
_LINE_ENDS = (10, 13)


@dataclass(frozen=True, slots=True)
class Line:
    """A line of text; lengths in points, from the page's lower left corner."""

    text: str
    page: int
    left: float
    right: float
    bottom: float
    last_bottom: float
    """Bottom of the last character: lower than `bottom` where PDFium joined lines at a hyphen."""
    height: float
    bold: bool


def read_lines(page: pypdfium2.PdfPage, number: int) -> list[Line]:
    """Return the page's lines in the order of its content."""
    text_page = page.get_textpage()
    try:
        return [
            line
            for start, end, text in _line_spans(text_page.raw)
            if (line := _measure(text_page.raw, number, start, end, text)) is not None
        ]
    finally:
        text_page.close()


def _line_spans(text_page: pdfium.FPDF_TEXTPAGE) -> Iterator[tuple[int, int, str]]:
    """Yield first and last character index and text of each line.

    Character by character: PDFium's own `GetText` skips characters without a mapping, so its offsets do not match the
    indices that the boxes are asked for by.
    """
    characters: list[str] = []
    start = 0
    count = pdfium.FPDFText_CountChars(text_page)
    for index in range(count):
        code = pdfium.FPDFText_GetUnicode(text_page, index)
        if code in _LINE_ENDS:
            if characters:
                yield start, index, "".join(characters)
            characters, start = [], index + 1
        elif code <= 0x10FFFF:
            characters.append(chr(code))
    if characters:
        yield start, count, "".join(characters)


def _measure(text_page: pdfium.FPDF_TEXTPAGE, number: int, start: int, end: int, text: str) -> Line | None:
    if not text.strip():
        return None
    # A line has as many indices as characters, but for the few without a mapping: good enough to find both ends.
    first = start + len(text) - len(text.lstrip())
    last = max(first, min(end, start + len(text.rstrip())) - 1)
    head, tail = _box(text_page, first), _box(text_page, last)
    bold = _is_bold(text_page, first) and _is_bold(text_page, last)
    height = max(head.top - head.bottom, 0.0)
    return Line(
        text=text.strip(),
        page=number,
        left=min(head.left, tail.left),
        right=max(tail.right, head.right),
        bottom=head.bottom,
        last_bottom=tail.bottom,
        height=height,
        bold=bold,
    )


def _is_bold(text_page: pdfium.FPDF_TEXTPAGE, index: int) -> bool:
    # Few writers fill the weight in; most say it in the font's name or flags only.
    name, flags = ctypes.create_string_buffer(_FONT_NAME_BYTES_MAX), ctypes.c_int()
    pdfium.FPDFText_GetFontInfo(text_page, index, name, _FONT_NAME_BYTES_MAX, ctypes.byref(flags))
    lowered = name.value.lower()
    return (
        bool(flags.value & _FORCE_BOLD_FLAG)
        or any(mark in lowered for mark in _BOLD_NAMES)
        or pdfium.FPDFText_GetFontWeight(text_page, index) >= _BOLD_WEIGHT
    )


def _box(text_page: pdfium.FPDF_TEXTPAGE, index: int) -> pdfium.FS_RECTF:
    # The loose box is the font's, not the glyph's: an x and an l of one font are equally high.
    box = pdfium.FS_RECTF()
    pdfium.FPDFText_GetLooseCharBox(text_page, index, ctypes.byref(box))
    return box
