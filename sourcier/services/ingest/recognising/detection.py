"""Finds the lines of text on a picture: a map of where text is (DB, arXiv 1911.08947), and a box around each part."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt
import onnxruntime

Pixels = npt.NDArray[np.uint8]
Corners = npt.NDArray[np.float32]
"""Four points: upper left, upper right, lower right, lower left."""

SIDE_MAX = 2000
"""A larger picture is made smaller to find its lines; they are read in full size."""
SIDE_MIN = 736
"""A smaller one is made larger."""
_LONG = 2.5
"""A picture that is so many times as long as wide is a strip: a screenshot of a whole page, a receipt."""
_OVERLAP = 0.1
_EDGE = 3
_MULTIPLE = 32
_TEXT_MIN = 0.3
_LINE_MIN = 0.5
_GROWN = 1.6
"""The map shows the middle of a line: its box is grown by so many times its area through its circumference."""
_LINES_MAX = 3_000
_THIN = 3.0


class Detector:
    """The detection model."""

    def __init__(self, session: onnxruntime.InferenceSession) -> None:
        self._session = session
        self._input = session.get_inputs()[0].name

    def find(self, picture: Pixels) -> list[Corners]:
        """Return the corners of each line on a picture (height, width, 3), in its pixels."""
        height, width = picture.shape[:2]
        if max(height, width) <= max(SIDE_MAX, _LONG * min(height, width)):
            return self._find(picture)
        # As a whole, a strip would be made too small to find anything: it is looked at part by part.
        side = min(height, width)
        upright = height > width
        found: list[Corners] = []
        for start, end in strips(max(height, width), part=max(2 * side, SIDE_MIN)):
            part = picture[start:end] if upright else picture[:, start:end]
            shift = np.array([0, start] if upright else [start, 0], np.float32)
            whole = _within(self._find(part), start, end, length=max(height, width), axis=1 if upright else 0)
            found.extend(
                corners + shift for corners in whole
                if not any(_holds(known, (corners + shift).mean(axis=0)) for known in found)
            )
        return found

    def _find(self, picture: Pixels) -> list[Corners]:
        height, width = picture.shape[:2]
        shrunk = _sized(picture)
        normal = (shrunk.astype(np.float32) / 127.5 - 1.0).transpose(2, 0, 1)[np.newaxis]
        found = self._session.run(None, {self._input: np.ascontiguousarray(normal)})[0][0, 0]
        scale = np.array([width / found.shape[1], height / found.shape[0]], np.float32)
        mask = cv2.dilate((found > _TEXT_MIN).astype(np.uint8), np.ones((2, 2), np.uint8))
        contours, _ = cv2.findContours(mask * 255, cv2.RETR_LIST, cv2.CHAIN_APPROX_SIMPLE)
        boxes = (_box(contour, found) for contour in contours[:_LINES_MAX])
        edges = np.array([width, height], np.float32)
        return [np.clip(corners * scale, 0, edges) for corners in boxes if corners is not None]


@dataclass(frozen=True, slots=True)
class Extent:
    """How long and how high a line is, in pixels."""

    length: float
    height: float

    @classmethod
    def of(cls, corners: Corners) -> Extent:
        """Measure a line."""
        return cls(
            float(np.linalg.norm(corners[1] - corners[0]) + np.linalg.norm(corners[2] - corners[3])) / 2,
            float(np.linalg.norm(corners[3] - corners[0]) + np.linalg.norm(corners[2] - corners[1])) / 2,
        )


def strips(length: int, *, part: int) -> list[tuple[int, int]]:
    """Return the parts of a length, which overlap by a tenth: what one cuts the other has whole."""
    starts = range(0, max(length - round(part * _OVERLAP), 1), part - round(part * _OVERLAP))
    return [(start, min(start + part, length)) for start in starts]


def cut_out(picture: Pixels, corners: Corners) -> Pixels:
    """Return a line straightened."""
    extent = Extent.of(corners)
    width, height = max(round(extent.length), 1), max(round(extent.height), 1)
    upright = np.array([[0, 0], [width, 0], [width, height], [0, height]], np.float32)
    transform = cv2.getPerspectiveTransform(corners, upright)
    cut: Pixels = cv2.warpPerspective(  # type: ignore[assignment]
        picture, transform, (width, height), borderMode=cv2.BORDER_REPLICATE, flags=cv2.INTER_CUBIC
    )
    return cut


def _sized(picture: Pixels) -> Any:
    height, width = picture.shape[:2]
    ratio = min(max(1.0, SIDE_MIN / min(height, width)), SIDE_MAX / max(height, width))
    sides = [max(round(side * ratio / _MULTIPLE), 1) * _MULTIPLE for side in (width, height)]
    return cv2.resize(picture, sides, interpolation=cv2.INTER_AREA if ratio < 1 else cv2.INTER_LINEAR)


def _box(contour: Any, found: npt.NDArray[np.float32]) -> Corners | None:
    centre, sides, angle = cv2.minAreaRect(contour)
    if min(sides) < _THIN:
        return None
    if _mean_inside(cv2.boxPoints((centre, sides, angle)), found) < _LINE_MIN:
        return None
    grown = 2 * _GROWN * sides[0] * sides[1] / (2 * (sides[0] + sides[1]))
    return _ordered(cv2.boxPoints((centre, (sides[0] + grown, sides[1] + grown), angle)))


def _within(lines: list[Corners], start: int, end: int, *, length: int, axis: int) -> Iterator[Corners]:
    """Yield the lines of a part that its edges do not cut."""
    low = _EDGE if start else -length
    high = end - start - _EDGE if end < length else 2 * length
    for corners in lines:
        if corners[:, axis].min() > low and corners[:, axis].max() < high:
            yield corners


def _holds(corners: Corners, point: npt.NDArray[np.float32]) -> bool:
    return bool((corners.min(axis=0) <= point).all() and (point <= corners.max(axis=0)).all())


def _mean_inside(points: Any, found: npt.NDArray[np.float32]) -> float:
    low = np.clip(np.floor(points.min(axis=0)).astype(int), 0, None)
    high = np.ceil(points.max(axis=0)).astype(int) + 1
    part = found[low[1] : high[1], low[0] : high[0]]
    mask = np.zeros(part.shape, np.uint8)
    cv2.fillPoly(mask, [(points - low).astype(np.int32)], 1)
    return float(cv2.mean(part, mask)[0])


def _ordered(points: Any) -> Corners:
    """Return the corners of a rectangle from the upper left one clockwise."""
    by_x = points[np.argsort(points[:, 0], kind="stable")]
    left, right = by_x[:2], by_x[2:]
    upper_left, lower_left = left[np.argsort(left[:, 1], kind="stable")]
    upper_right, lower_right = right[np.argsort(right[:, 1], kind="stable")]
    return np.array([upper_left, upper_right, lower_right, lower_left], np.float32)
