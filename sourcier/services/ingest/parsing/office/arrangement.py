"""The order in which the shapes of a slide are read: by where they lie, and by the file's order where both may be."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

_OVERLAP = 0.15
"""By how much of its width or height a shape may reach over another and lie beside it all the same."""
_DEPTH_MAX = 20


class ShapeBox(NamedTuple):
    """Where a shape lies, in any unit, from the upper left corner."""

    left: float
    top: float
    right: float
    bottom: float


class _Cut(NamedTuple):
    groups: list[list[int]]
    white: float
    """The widest gap between two groups."""


def reading_order(boxes: Sequence[ShapeBox | None]) -> list[int]:
    """Return the indices of the shapes in reading order; as the file has them where one lies nobody knows where.

    White over the whole width parts rows, white over the whole height columns. Where both part them, the file's order
    decides if it agrees with one of them, else the wider white.
    """
    if any(box is None for box in boxes):
        return list(range(len(boxes)))
    return list(_ordered([box for box in boxes if box is not None], list(range(len(boxes))), 0))


def _ordered(boxes: Sequence[ShapeBox], indices: list[int], depth: int) -> Iterator[int]:
    cuts = [_cut(boxes, indices, start, end) for start, end in ((1, 3), (0, 2))] if depth < _DEPTH_MAX else []
    cuts = [cut for cut in cuts if len(cut.groups) > 1]
    if len(indices) < 2 or not cuts:
        yield from indices
        return
    written = [cut for cut in cuts if all(max(one) < min(other) for one, other in pairwise(cut.groups))]
    chosen = written[0] if len(written) == 1 else max(cuts, key=lambda cut: cut.white)
    for group in chosen.groups:
        yield from _ordered(boxes, group, depth + 1)


def _cut(boxes: Sequence[ShapeBox], indices: Sequence[int], start: int, end: int) -> _Cut:
    """Group the shapes by the white between them, from the edge `start` to the edge `end` of their boxes."""
    groups: list[list[int]] = []
    reach, white = -math.inf, 0.0
    for index in sorted(indices, key=lambda index: boxes[index][start]):
        box = boxes[index]
        spare = _OVERLAP * (box[end] - box[start])
        if box[start] + spare >= reach:
            white = max(white, box[start] - reach) if groups else 0.0
            groups.append([index])
        else:
            groups[-1].append(index)
        reach = max(reach, box[end] - spare)
    return _Cut([sorted(group) for group in groups], white)
