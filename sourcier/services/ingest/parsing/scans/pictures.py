"""Picture files as pages: how many they have, and the pixels of one, whatever their colours, depth and orientation."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import IO

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageOps

from sourcier.services.chassis.errors import DocumentMalformed, DocumentTooLarge
from sourcier.services.ingest.parsing.pdf.content.elements import Box

FORMATS = ("PNG", "JPEG", "TIFF", "WEBP", "BMP", "GIF", "JPEG2000")
PIXELS_MAX = 64_000_000
"""Of a picture that is read: a sheet of A0 at 200 dots per inch. Each takes three bytes, a few times over."""
READ_PIXELS_MAX = 16_000_000
"""A larger picture is made smaller before its text is looked for."""
_POINTS_PER_INCH = 72.0
_RESOLUTION_MIN, _RESOLUTION_MAX = 50.0, 1200.0
_RESOLUTION = 200.0
_WHITE = (255, 255, 255, 255)

# Its own check warns, which nobody would read here, and refuses only what has twice as many.
Image.MAX_IMAGE_PIXELS = None


@dataclass(frozen=True, slots=True)
class DrawnPart:
    """A picture on a drawn page: where it is, in points, and what tells it from others."""

    box: Box
    fingerprint: str


@dataclass(frozen=True, slots=True)
class DrawnPage:
    """A page as pixels (height, width, 3: blue, green, red), and its size in points as it is shown."""

    pixels: npt.NDArray[np.uint8]
    width: float
    height: float
    parts: tuple[DrawnPart, ...] = ()
    """The pictures to read of a page that has a text layer; without any, all of it is read."""


def count_pages(path: Path, *, filename: str, pages_max: int) -> int:
    """Return a picture's pages: those of a TIFF, 1 for all others; of what moves, the first picture is read.

    Raise DocumentMalformed or DocumentTooLarge.
    """
    try:
        with Image.open(path, formats=FORMATS) as picture:
            if picture.format != "TIFF":
                return 1
            count = 1
            while True:
                try:
                    picture.seek(count)
                except EOFError:
                    return count
                count += 1
                if count > pages_max:
                    raise DocumentTooLarge(f"The document has more than {pages_max:,} pages, which are not read.")
    except (OSError, ValueError, SyntaxError, KeyError, TypeError, OverflowError) as error:
        raise DocumentMalformed(f"“{filename}” cannot be opened as a picture: it is damaged or cut short.") from error


def draw(file: Path | IO[bytes], number: int) -> DrawnPage:
    """Return a page, counted from 1; raise DocumentTooLarge or one of Pillow's errors."""
    with Image.open(file, formats=FORMATS) as opened:
        if number > 1:
            opened.seek(number - 1)
        # A JPEG can be decoded smaller than it is.
        if opened.format == "JPEG" and opened.width * opened.height > READ_PIXELS_MAX:
            ratio = (READ_PIXELS_MAX / (opened.width * opened.height)) ** 0.5
            size = opened.size
            opened.draft("RGB", (round(opened.width * ratio), round(opened.height * ratio)))
            shown_at = _resolution(opened) * opened.width / size[0]
        else:
            shown_at = _resolution(opened)
        if opened.width * opened.height > PIXELS_MAX:
            raise DocumentTooLarge(
                f"the picture has {opened.width:,} × {opened.height:,} pixels; at most {PIXELS_MAX:,} are read"
            )
        picture = _opaque(ImageOps.exif_transpose(opened))
    width, height = (side * _POINTS_PER_INCH / shown_at for side in picture.size)
    if picture.width * picture.height > READ_PIXELS_MAX:
        ratio = (READ_PIXELS_MAX / (picture.width * picture.height)) ** 0.5
        picture = picture.resize((max(round(picture.width * ratio), 1), max(round(picture.height * ratio), 1)))
    pixels = np.asarray(picture)[:, :, ::-1]
    return DrawnPage(np.ascontiguousarray(pixels), width, height)


def _resolution(picture: Image.Image) -> float:
    try:
        found = float(picture.info.get("dpi", (0.0, 0.0))[0])
    except (TypeError, ValueError, ZeroDivisionError, IndexError):
        return _RESOLUTION
    return found if _RESOLUTION_MIN <= found <= _RESOLUTION_MAX else _RESOLUTION


def _opaque(picture: Image.Image) -> Image.Image:
    """Return a picture in red, green and blue, on white where it lets its ground shine through."""
    if picture.mode in ("I", "F") or picture.mode.startswith("I;"):
        grey = np.asarray(picture, dtype=np.float64)
        low, high = float(grey.min()), float(grey.max())
        return Image.fromarray(((grey - low) * (255.0 / ((high - low) or 1.0))).astype(np.uint8)).convert("RGB")
    if "A" in picture.mode or "a" in picture.mode or "transparency" in picture.info:
        seen = picture.convert("RGBA")
        ground = Image.new("RGBA", seen.size, _WHITE)
        return Image.alpha_composite(ground, seen).convert("RGB")
    return picture.convert("RGB")
