"""Pictures on drawn pages, cut out, and as files that may leave the process: what is sent is never a stranger's own."""

from __future__ import annotations

import cv2
import numpy as np

from sourcier.services.ingest.parsing.pdf.content.elements import Box
from sourcier.services.ingest.parsing.scans.pictures import DrawnPage
from sourcier.services.ingest.recognising.detection import Pixels

SIDE_MAX = 1_568
"""Vision models make larger pictures smaller before they look at them."""
_QUALITY = 85


def cut_part(page: DrawnPage, box: Box) -> Pixels:
    """Return the pixels of a picture on a page."""
    scale = page.pixels.shape[1] / max(page.width, 1.0)
    left, top, right, bottom = (max(round(edge * scale), 0) for edge in box)
    return np.ascontiguousarray(page.pixels[top:bottom, left:right])


def as_jpeg(page: DrawnPage, box: Box) -> bytes:
    """Return a picture on a page as a file; nothing where none of it is on the page."""
    pixels = cut_part(page, box)
    height, width = pixels.shape[:2]
    if not height or not width:
        return b""
    ratio = SIDE_MAX / max(height, width)
    if ratio < 1:
        size = (max(round(width * ratio), 1), max(round(height * ratio), 1))
        pixels = cv2.resize(pixels, size, interpolation=cv2.INTER_AREA)  # type: ignore[assignment]
    _, encoded = cv2.imencode(".jpg", pixels, [cv2.IMWRITE_JPEG_QUALITY, _QUALITY])
    return encoded.tobytes()
