"""What the report draws: one plot for each curve, and one of the samples of each table that compares."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import unicodedata
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.measuring import Curve, Table
from bench.results import Result

ROOT = Path(__file__).parents[2]
PYTHON = ROOT / ".venv" / "report" / "bin" / "python"
DRAW_SECONDS_MAX = 300.0
CONTESTANTS_MAX = 14
"""More than these are no comparison, and no plot that one can read."""
POINTS_MAX = 120
"""Samples of a contestant that are drawn; the table counts them all."""


class NoPlots(Exception):
    """The plots could not be drawn; the text says why."""


def plots_of(result: Result) -> list[dict[str, Any]]:
    """Return what to draw of a benchmark, each with the name of its file."""
    plots = []
    for table in result.tables:
        if 2 <= len(table.samples) <= CONTESTANTS_MAX:
            plots.append({"file": f"{slug(result.benchmark, table.name)}.png", **_samples(table)})
        plots += [{"file": f"{slug(result.benchmark, curve.title)}.png", **_curve(curve)} for curve in table.curves]
    return plots


def draw(plots: Sequence[dict[str, Any]], folder: Path) -> None:
    """Draw into a folder, in the environment that has the library for it; raise `NoPlots`."""
    if not plots:
        return
    installed = subprocess.run((sys.executable, str(ROOT / "requirements" / "install.py"), "report"), cwd=ROOT,
                               capture_output=True, text=True, check=False)
    if installed.returncode:
        raise NoPlots(f"the environment for plots could not be made: {installed.stderr.strip()}")
    folder.mkdir(parents=True, exist_ok=True)
    try:
        drawn = subprocess.run(
            (str(PYTHON), str(ROOT / "bench" / "publishing" / "drawing.py"), str(folder)), input=json.dumps(plots),
            capture_output=True, text=True, timeout=DRAW_SECONDS_MAX, check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise NoPlots(f"bench/publishing/drawing.py had not ended after {DRAW_SECONDS_MAX:.0f} s") from error
    if drawn.returncode:
        raise NoPlots(f"bench/publishing/drawing.py failed: {drawn.stderr.strip()[-400:]}")


def slug(*parts: str) -> str:
    """Return a file name of letters, digits and dashes: the same for the same parts, whenever it is asked for."""
    text = unicodedata.normalize("NFKD", " ".join(dict.fromkeys(parts))).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9]+", "-", text).strip("-")[:80].rstrip("-")


def _samples(table: Table) -> dict[str, Any]:
    better = "higher is better" if table.higher_is_better else "lower is better"
    return {
        "kind": "samples", "title": table.name, "x": f"{table.unit} ({better})",
        "samples": {name: _thinned(values) for name, values in table.samples.items() if values},
        "medians": {name: table.median(name) for name, values in table.samples.items() if values},
    }


def _thinned(values: Sequence[float]) -> list[float]:
    """Return the smallest, the largest, and evenly many between them."""
    ordered = sorted(values)
    if len(ordered) <= POINTS_MAX:
        return ordered
    return [ordered[round(number * (len(ordered) - 1) / (POINTS_MAX - 1))] for number in range(POINTS_MAX)]


def _curve(curve: Curve) -> dict[str, Any]:
    return {"kind": "curve", "title": curve.title, "x": curve.x, "y": curve.y, "log_x": curve.log_x,
            "log_y": curve.log_y, "series": {name: list(points) for name, points in curve.series.items()}}
