"""A picture as PNG, written with the standard library: no image library reads or writes what a stranger sent."""

from __future__ import annotations

import struct
import zlib

import numpy as np
import numpy.typing as npt

_LEVEL = 4
"""Of compression: pages are mostly white, and a higher one takes three times as long for a tenth of the bytes."""

Pixels = npt.NDArray[np.uint8]
"""Rows, columns, and red, green and blue."""


def three_channels(drawn: npt.NDArray[np.uint8]) -> Pixels:
    """Return what PDFium drew in its own order of colours: grey three times, nothing of what shines through."""
    channels = drawn.reshape(drawn.shape[0], drawn.shape[1], -1)
    channels = np.repeat(channels, 3, axis=2) if channels.shape[2] == 1 else channels[:, :, :3]
    return np.ascontiguousarray(channels)


def png(pixels: Pixels) -> bytes:
    """Return a picture's bytes."""
    height, width, _ = pixels.shape
    rows = np.zeros((height, 1 + width * 3), dtype=np.uint8)
    # Each row tells its difference to the one above: the same white again and again.
    rows[:, 0] = 2
    rows[0, 1:] = pixels[0].reshape(-1)
    rows[1:, 1:] = pixels[1:].reshape(height - 1, -1) - pixels[:-1].reshape(height - 1, -1)
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + b"".join((
        _part(b"IHDR", header), _part(b"IDAT", zlib.compress(rows.tobytes(), _LEVEL)), _part(b"IEND", b""),
    ))


def mark(pixels: Pixels, box: tuple[int, int, int, int]) -> None:
    """Colour a box (left, top, right, bottom) as a felt pen does: what is dark stays dark."""
    height, width, _ = pixels.shape
    left, top, right, bottom = box
    part = pixels[max(top, 0) : min(bottom, height), max(left, 0) : min(right, width)]
    part[:] = part.astype(np.uint16) * _PEN // 255


_PEN = np.array([255, 232, 92], dtype=np.uint16)


def _part(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
