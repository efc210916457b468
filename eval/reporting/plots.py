"""Plots as SVG, written without a plotting library: curves, and bars with their intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import escape

WIDTH, HEIGHT = 720, 400
LEFT, RIGHT, TOP, BOTTOM = 64, 200, 44, 52
COLOURS = ("#1b6ca8", "#c8553d", "#3a7d44", "#8a5a9e", "#8c6d1f", "#555555")
_STYLE = "font-family:system-ui,sans-serif;font-size:12px;fill:#333"


@dataclass(frozen=True, slots=True)
class Bar:
    """A value with its interval, on the scale of the plot."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Axis:
    """What an axis shows."""

    name: str
    low: float
    high: float
    ticks: int = 5
    percent: bool = False

    def share(self, value: float) -> float:
        """Return how far along the axis a value is, 0 to 1."""
        return min(max((value - self.low) / (self.high - self.low), 0.0), 1.0)

    def labels(self) -> list[tuple[float, str]]:
        """Return the ticks with what they say."""
        step = (self.high - self.low) / self.ticks
        values = [self.low + step * number for number in range(self.ticks + 1)]
        return [(value, f"{value:.0%}" if self.percent else f"{value:.2f}") for value in values]


def write_curves(
    path: Path, *, title: str, horizontal: Axis, vertical: Axis, curves: Mapping[str, Sequence[tuple[float, float]]],
    line_at: float | None = None,
) -> None:
    """Write named curves, each a sequence of points; `line_at` marks a place on the horizontal axis."""
    parts = [*_frame(title, vertical), *_horizontal(horizontal)]
    if line_at is not None:
        place = _x(horizontal.share(line_at))
        parts.append(f'<line x1="{place:.1f}" x2="{place:.1f}" y1="{TOP}" y2="{HEIGHT - BOTTOM}" stroke="#999" '
                     'stroke-dasharray="4 3"/>')
    for number, (name, points) in enumerate(curves.items()):
        colour = COLOURS[number % len(COLOURS)]
        path_points = " ".join(f"{_x(horizontal.share(x)):.1f},{_y(vertical.share(y)):.1f}" for x, y in points)
        parts.append(f'<polyline points="{path_points}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts.append(_legend(number, name, colour))
    _write(path, parts)


def write_bars(path: Path, *, title: str, vertical: Axis, groups: Mapping[str, Mapping[str, Bar]]) -> None:
    """Write groups of bars: by group and by name, the same names in each group."""
    parts = _frame(title, vertical)
    names = list(next(iter(groups.values())))
    room = (WIDTH - LEFT - RIGHT) / len(groups)
    width = room * 0.8 / len(names)
    for place, (group, bars) in enumerate(groups.items()):
        start = LEFT + room * place + room * 0.1
        parts.append(_text(start + room * 0.4, HEIGHT - BOTTOM + 18, group, anchor="middle"))
        for number, name in enumerate(names):
            bar = bars[name]
            x, y = start + width * number, _y(vertical.share(bar.value))
            middle = x + width / 2
            parts.append(f'<rect x="{x:.1f}" y="{y:.1f}" width="{width * 0.9:.1f}" height="{HEIGHT - BOTTOM - y:.1f}" '
                         f'fill="{COLOURS[number % len(COLOURS)]}"/>')
            parts.append(f'<line x1="{middle:.1f}" x2="{middle:.1f}" y1="{_y(vertical.share(bar.low)):.1f}" '
                         f'y2="{_y(vertical.share(bar.high)):.1f}" stroke="#222" stroke-width="1.5"/>')
    parts += [_legend(number, name, COLOURS[number % len(COLOURS)]) for number, name in enumerate(names)]
    _write(path, parts)


def _frame(title: str, vertical: Axis) -> list[str]:
    parts = [f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>', _text(LEFT, 24, title, size=14)]
    for value, label in vertical.labels():
        y = _y(vertical.share(value))
        parts.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}" stroke="#e5e5e5"/>')
        parts.append(_text(LEFT - 8, y + 4, label, anchor="end"))
    parts.append(f'<text transform="translate(16 {HEIGHT / 2:.0f}) rotate(-90)" text-anchor="middle" '
                 f'style="{_STYLE}">{escape(vertical.name)}</text>')
    return parts


def _horizontal(axis: Axis) -> list[str]:
    parts = [_text(_x(axis.share(value)), HEIGHT - BOTTOM + 18, label, anchor="middle")
             for value, label in axis.labels()]
    return [*parts, _text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 12, axis.name, anchor="middle")]


def _legend(number: int, name: str, colour: str) -> str:
    x, y = WIDTH - RIGHT + 14, TOP + 10 + number * 20
    return f'<rect x="{x}" y="{y - 9}" width="10" height="10" fill="{colour}"/>' + _text(x + 16, y, name)


def _text(x: float, y: float, text: str, *, anchor: str = "start", size: int = 12) -> str:
    style = _STYLE.replace("12px", f"{size}px")
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" style="{style}">{escape(text)}</text>'


def _x(share: float) -> float:
    return LEFT + share * (WIDTH - LEFT - RIGHT)


def _y(share: float) -> float:
    return HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM)


def _write(path: Path, parts: Sequence[str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    body = "\n".join(parts)
    path.write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img">\n{body}\n</svg>\n', "utf-8"
    )
