"""Draw plots as small PNGs, in an environment of its own: descriptions on standard input, files into a folder."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter, FuncFormatter, LogLocator, NullFormatter
from PIL import Image

INCHES, DOTS_PER_INCH = (8.0, 4.4), 100

# Okabe and Ito's, told apart by the colour-blind; markers and dashes tell them apart in print.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
DASHES = ("-", "--", "-.", ":")


def main(folder: Path) -> None:
    """Draw each plot that standard input describes."""
    matplotlib.rcParams.update({"font.size": 10, "axes.spines.top": False, "axes.spines.right": False,
                                "axes.titlesize": 11, "axes.titlelocation": "left"})
    for plot in json.load(sys.stdin):
        height = INCHES[1] if plot["kind"] == "curve" else 1.3 + 0.42 * len(plot["samples"])
        figure = Figure(figsize=(INCHES[0], height), layout="constrained")
        axes = figure.subplots()
        {"curve": draw_curve, "samples": draw_samples}[plot["kind"]](axes, plot)
        axes.set_title(plot["title"])
        save(figure, folder / plot["file"])


def draw_curve(axes: Any, plot: dict[str, Any]) -> None:
    """Draw named series of points."""
    for number, (name, points) in enumerate(plot["series"].items()):
        axes.plot(
            [x for x, _ in points], [y for _, y in points], label=name, color=COLOURS[number % len(COLOURS)],
            marker=MARKERS[number % len(MARKERS)] if len(points) <= 40 else "", markersize=4.5,
            linestyle=DASHES[number // len(COLOURS) % len(DASHES)], linewidth=1.6,
        )
    for axis, logarithmic, name in ((axes.xaxis, plot["log_x"], "x"), (axes.yaxis, plot["log_y"], "y")):
        if logarithmic:
            getattr(axes, f"set_{name}scale")("log")
            axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if _decades(plot, name) < 2 else (1.0,)))
            axis.set_minor_formatter(NullFormatter())
        axis.set_major_formatter(EngFormatter(sep=""))
    if not plot["log_y"]:
        axes.set_ylim(bottom=min(0.0, axes.get_ylim()[0]))
    axes.set_xlabel(plot["x"])
    axes.set_ylabel(plot["y"])
    axes.grid(visible=True, color="#dddddd", linewidth=0.6)
    if len(plot["series"]) > 1:
        axes.legend(frameon=False, fontsize=9)


def draw_samples(axes: Any, plot: dict[str, Any]) -> None:
    """Draw every sample as a point in its contestant's row, the median as a line through it."""
    names = list(plot["samples"])
    for row, name in enumerate(names):
        values, colour = plot["samples"][name], COLOURS[row % len(COLOURS)]
        # Spread over the row by rank, the same each time: points of one value would hide one another.
        rows = [row + 0.5 * ((7 * number) % 11 / 10 - 0.5) for number in range(len(values))]
        axes.plot(values, rows, ".", color=colour, markersize=5, alpha=0.6)
        axes.plot([plot["medians"][name]] * 2, [row - 0.36, row + 0.36], color=colour, linewidth=2.4)
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.5, -0.5)
    values = [value for name in names for value in plot["samples"][name]]
    if min(values) > 0 and max(values) / min(values) > 30:
        axes.set_xscale("log")
        axes.xaxis.set_minor_formatter(NullFormatter())
    else:
        axes.set_xlim(left=min(0.0, min(values)))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
    axes.set_xlabel(plot["x"])
    axes.grid(visible=True, axis="x", color="#dddddd", linewidth=0.6)


def save(figure: Any, path: Path) -> None:
    """Write a PNG of some ten kilobytes, the same for the same plot."""
    drawn = io.BytesIO()
    figure.savefig(drawn, format="png", dpi=DOTS_PER_INCH, metadata={"Software": None})
    with Image.open(drawn) as image:
        # A palette takes a third of the bytes. Chosen to cover the colours, not the pixels, which are nearly all white.
        image.convert("RGB").quantize(256, method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE).save(
            path, optimize=True
        )


def _decades(plot: dict[str, Any], name: str) -> float:
    place = "xy".index(name)
    values = [point[place] for points in plot["series"].values() for point in points if point[place] > 0]
    return len(str(int(max(values) / min(values)))) - 1 if values else 0


if __name__ == "__main__":
    main(Path(sys.argv[1]))
