"""A flame graph as SVG: one box a function, as wide as its share of the samples, above the one that called it."""

from __future__ import annotations

import zlib
from dataclasses import dataclass, field
from xml.sax.saxutils import escape

from bench.profiling.sampling import Stacks, owner

WIDTH, ROW, TOP = 1200, 17, 40
SHARE_MIN = 0.004
"""Narrower boxes are left out: nobody could read them, and they are most of the file."""
CHARACTER_WIDTH = 6.6
OURS, LIBRARIES = ("#d55e00", "#e69f00", "#e8a06a"), ("#9ecae1", "#b5d3e7", "#c6dbef")


@dataclass
class _Box:
    count: int = 0
    inner: dict[str, _Box] = field(default_factory=dict)


def flame_graph(stacks: Stacks, *, title: str) -> str:
    """Return the graph; our own code is orange, libraries are blue. Boxes tell their share when pointed at."""
    root = _Box(sum(stacks.values()))
    for stack, count in stacks.items():
        box = root
        for frame in stack:
            box = box.inner.setdefault(frame, _Box())
            box.count += count
    shapes: list[str] = []
    depth = max((_draw(name, box, root.count, left, 0, shapes) for name, box, left in _placed(root, 0)), default=0)
    height = TOP + ROW * (depth + 1) + 8
    shown = "".join(shapes)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
        f'font-family="ui-monospace,Menlo,monospace" font-size="11">'
        f'<rect width="100%" height="100%" fill="white"/>'
        f'<text x="6" y="22" font-size="14" font-family="system-ui,sans-serif">{escape(title)}: {root.count:,} samples'
        f'</text>{shown}</svg>\n'
    )


def _placed(box: _Box, left: int) -> list[tuple[str, _Box, int]]:
    places = []
    for name, inner in sorted(box.inner.items()):
        places.append((name, inner, left))
        left += inner.count
    return places


def _draw(name: str, box: _Box, total: int, left: int, depth: int, shapes: list[str]) -> int:
    """Draw a box with all above it; return the greatest depth."""
    if box.count < SHARE_MIN * total:
        return max(depth - 1, 0)
    x, width, y = WIDTH * left / total, WIDTH * box.count / total, TOP + ROW * depth
    colours = OURS if owner(name).startswith("sourcier.") else LIBRARIES
    colour = colours[zlib.crc32(name.encode()) % len(colours)]
    text = _fitting(name, width)
    label = f'<text x="{x + 3:.1f}" y="{y + 12}">{escape(text)}</text>' if text else ""
    shapes.append(f'<g><title>{escape(name)}: {box.count / total:.1%}</title><rect x="{x:.1f}" y="{y}" '
                  f'width="{max(width - 0.5, 0.5):.1f}" height="{ROW - 1}" fill="{colour}"/>{label}</g>')
    return max([depth, *(_draw(inner_name, inner, total, place, depth + 1, shapes)
                         for inner_name, inner, place in _placed(box, left))])


def _fitting(name: str, width: float) -> str:
    characters = int((width - 6) / CHARACTER_WIDTH)
    if characters < 4:
        return ""
    return name if len(name) <= characters else name[: characters - 1] + "…"
