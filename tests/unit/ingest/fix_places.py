"""What a rectangle of a page holds, as PDFium tells it: by each character's middle, on the page as it is shown."""

from __future__ import annotations

import ctypes
from functools import lru_cache
from pathlib import Path

import pypdfium2
import pypdfium2.raw as pdfium

from sourcier.services.index.places.place import PagePlace, Place

_SCALE = 100
"""Device units for a point: the function that turns pages rounds to whole ones."""


def said_there(path: Path, places: tuple[Place, ...]) -> str:
    """Return the characters in the rectangles, without white space, in the order of the file."""
    pages = _pages(path, path.stat().st_mtime_ns)
    said = ""
    for place in places:
        assert isinstance(place, PagePlace)
        size, characters = pages[place.number - 1]
        assert size == (round(place.width), round(place.height))
        for character, x, y in characters:
            said += character if any(
                left <= x <= left + width and top <= y <= top + height
                for left, top, width, height in place.rectangles
            ) else ""
    return said


@lru_cache(maxsize=4)
def _pages(path: Path, _written: int) -> list[tuple[tuple[int, int], list[tuple[str, float, float]]]]:
    """Return the size and the characters of each page."""
    document = pypdfium2.PdfDocument(path)
    try:
        return [((round(page.get_width()), round(page.get_height())), _characters(page)) for page in document]
    finally:
        document.close()


def _characters(page: pypdfium2.PdfPage) -> list[tuple[str, float, float]]:
    text_page = page.get_textpage()
    width, height = int(page.get_width() * _SCALE), int(page.get_height() * _SCALE)
    left, right, bottom, top = (ctypes.c_double() for _ in range(4))
    x, y = ctypes.c_int(), ctypes.c_int()
    found = []
    for index in range(text_page.count_chars()):
        character = chr(pdfium.FPDFText_GetUnicode(text_page.raw, index))
        if not character.strip() or not character.isprintable():
            continue
        pdfium.FPDFText_GetCharBox(text_page.raw, index, left, right, bottom, top)
        pdfium.FPDF_PageToDevice(
            page.raw, 0, 0, width, height, 0, (left.value + right.value) / 2, (bottom.value + top.value) / 2, x, y
        )
        found.append((character, x.value / _SCALE, y.value / _SCALE))
    return found
