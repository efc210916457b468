"""PDFium's functions as they are called most often: with plain numbers for pointers, which is twice as fast.

The functions of `pypdfium2.raw` check and convert each pointer; a page has thousands of characters.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import pypdfium2.raw as pdfium

_Address = ctypes.c_void_p


def _quick(function: Any, result: Any, *arguments: Any) -> Callable[..., Any]:
    address = ctypes.cast(function, ctypes.c_void_p).value
    prototype = ctypes.CFUNCTYPE(result, *arguments)
    return prototype(address)  # type: ignore[arg-type]


character_box = _quick(pdfium.FPDFText_GetLooseCharBox, ctypes.c_int, _Address, ctypes.c_int, _Address)
"""Text page, index, address of four floats: left, top, right, bottom."""
text_object = _quick(pdfium.FPDFText_GetTextObject, _Address, _Address, ctypes.c_int)
"""Text page, index: address of the object that drew the character."""
unicode_of = _quick(pdfium.FPDFText_GetUnicode, ctypes.c_uint, _Address, ctypes.c_int)
"""Text page, index: code point, 0 where the font does not say."""
segment_at = _quick(pdfium.FPDFPath_GetPathSegment, _Address, _Address, ctypes.c_int)
"""Path, index: address of the segment."""
segment_type = _quick(pdfium.FPDFPathSegment_GetType, ctypes.c_int, _Address)
"""Segment: line, curve or move."""
segment_point = _quick(pdfium.FPDFPathSegment_GetPoint, ctypes.c_int, _Address, _Address, _Address)
"""Segment, addresses of x and y."""


def address(pointer: Any) -> int:
    """Return a pointer as a number, 0 for none."""
    return ctypes.cast(pointer, ctypes.c_void_p).value or 0
