"""Tables and plots of result files: `python -m bench.publishing.report RESULTS.jsonl [MORE.jsonl …] [--publish]`.

Of several files, the latest result of each benchmark counts. The report is written beside the first file; `--publish`
also puts each benchmark's tables into its history (docs/measured/history), and a line for each benchmark into
docs/measured/performance.md.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from bench.catalogue import BENCHMARKS
from bench.publishing import figures, publishing
from bench.publishing.plots import NoPlots, draw, plots_of
from bench.results import Outcome, Result, in_order, read
from eval.measured import outdated


def main() -> int:
    """Write the report; 2 where a file cannot be read."""
    parser = argparse.ArgumentParser(prog="bench.publishing.report", description=__doc__)
    parser.add_argument("results", nargs="+", type=Path, metavar="RESULTS.jsonl")
    parser.add_argument("--publish", action="store_true", help="put the figures into the documentation, too")
    arguments = parser.parse_args()
    try:
        make(arguments.results, publish=arguments.publish)
    except (OSError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


def make(paths: Sequence[Path], *, publish: bool = False) -> Path:
    """Write the report beside the first of the result files, as `<name>.md` with its plots in `<name>/`."""
    results = in_order(read(paths), list(BENCHMARKS))
    target = paths[0].with_suffix(".md")
    drawn, problem = _drawn(results, paths[0].with_suffix(""))
    target.write_text(text(results, drawn, problem=problem), "utf-8")
    print(f"report: {target}{f' (without plots: {problem})' if problem else ''}", flush=True)
    if publish:
        for page in publishing.publish(results):
            print(f"published: {page}", flush=True)
        if told := outdated():
            print(told, flush=True)
    return target


def text(results: Sequence[Result], images: Mapping[str, Sequence[tuple[str, str]]], *, problem: str = "") -> str:
    """Return the report; `images` are the plots of each benchmark, as titles and addresses."""
    latest = max((result.run.started for result in results), default="")
    parts = [f"# Benchmarks, {figures.day(latest)}" if latest else "# Benchmarks", figures.summary(
        (result.benchmark, [asdict(each) for each in figures.targets_of(result)],
         "" if result.outcome is Outcome.FINISHED else figures.failure(result)) for result in results
    )]
    if problem:
        parts.append(f"Without plots: {problem}")
    for result in results:
        about = f": {BENCHMARKS[result.benchmark].about}" if result.benchmark in BENCHMARKS else ""
        parts += [f"## {result.benchmark}{about}", figures.body(result, images.get(result.benchmark, ()))]
    return "\n\n".join(parts) + "\n"


def _drawn(results: Sequence[Result], folder: Path) -> tuple[dict[str, list[tuple[str, str]]], str]:
    """Draw all plots into a folder; return their titles and addresses by benchmark, and why there are none."""
    plots = {result.benchmark: plots_of(result) for result in results}
    try:
        draw([plot for each in plots.values() for plot in each], folder)
    except NoPlots as error:
        return {}, str(error)
    return {name: [(plot["title"], f"{folder.name}/{plot['file']}") for plot in each]
            for name, each in plots.items()}, ""


if __name__ == "__main__":
    sys.exit(main())
