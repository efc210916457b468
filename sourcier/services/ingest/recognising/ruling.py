"""Ruling lines of a drawn page, for tables: long dark runs, horizontal and vertical."""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np

from sourcier.services.ingest.parsing.pdf.content.elements import Rule
from sourcier.services.ingest.recognising.detection import Pixels

_LENGTH_MIN = 24.0
"""In points; letters of titles have shorter strokes."""
_THICKNESS_MAX = 4.0
_RULES_MAX = 2_000


def find_rules(pixels: Pixels, *, scale: float) -> tuple[list[Rule], list[Rule]]:
    """Return the horizontal and the vertical rules of an upright page in points; `scale` is points per pixel."""
    grey = cv2.cvtColor(pixels, cv2.COLOR_BGR2GRAY)
    dark = cv2.adaptiveThreshold(grey, 255, cv2.ADAPTIVE_THRESH_MEAN_C, cv2.THRESH_BINARY_INV, 31, 15)
    length = max(round(_LENGTH_MIN / scale), 8)
    return (
        [Rule(rule[1], rule[0], rule[2]) for rule in _runs(dark, (length, 1), scale)],
        [Rule(rule[0], rule[1], rule[3]) for rule in _runs(dark, (1, length), scale, upright=True)],
    )


def _runs(
    dark: Any, shape: tuple[int, int], scale: float, *, upright: bool = False
) -> list[tuple[float, float, float, float]]:
    """Return middle or start and end of the runs of a shape: x, y, x, y."""
    # A line that a scan frayed is mended across, before what is shorter than the shape goes.
    joined = cv2.dilate(dark, np.ones((1, 3) if upright else (3, 1), np.uint8))
    kept = cv2.morphologyEx(joined, cv2.MORPH_OPEN, cv2.getStructuringElement(cv2.MORPH_RECT, shape))
    _, _, found, _ = cv2.connectedComponentsWithStats(kept, connectivity=8)
    runs = []
    for x, y, width, height, _ in found[1 : _RULES_MAX + 1].tolist():
        if (width if upright else height) * scale > _THICKNESS_MAX:
            continue
        if upright:
            runs.append(((x + width / 2) * scale, y * scale, 0.0, (y + height) * scale))
        else:
            runs.append((x * scale, (y + height / 2) * scale, (x + width) * scale, 0.0))
    return runs
