"""The plot of retrieval by mode, drawn from the tables of docs/measured/history/quality.md; it measures nothing."""

from __future__ import annotations

import re
from pathlib import Path

import click

from eval.reporting import plots
from eval.reporting.plots import Axis, Bar
from eval.reporting.report import NAMES

_BLOCK = re.compile(r"<!-- (\S+): begin -->\n### (\S+): .*?\n(.*?)<!-- \1: end -->", re.DOTALL)
_ROW = re.compile(r"^\| ([^|]+?) \| (\d\.\d+) ±(\d\.\d+) \|", re.MULTILINE)
ENGINE = "onnxruntime-fp32"
"""Whose tables are drawn, one a set."""


def plot_retrieval(document: Path) -> Path:
    """Write `quality/retrieval.svg` beside the history's folder; raise `ClickException` where it has no table."""
    groups: dict[str, dict[str, Bar]] = {}
    for name, dataset, body in _BLOCK.findall(document.read_text("utf-8")):
        rows = {mode: Bar(float(value), float(value) - float(half), float(value) + float(half))
                for mode, value, half in _ROW.findall(body)}
        if name.endswith(ENGINE) and rows.keys() >= set(NAMES.values()):
            groups[dataset] = {mode: rows[mode] for mode in NAMES.values()}
    if not groups:
        raise click.ClickException(f"{document} has no table of {ENGINE}; run `python -m eval retrieval` first")
    path = document.parents[1] / "quality" / "retrieval.svg"
    plots.write_bars(path, title="nDCG@10 by mode, with 95 % intervals", vertical=Axis("nDCG@10", 0.0, 1.0),
                     groups=groups)
    return path
