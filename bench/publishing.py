"""Figures in the documentation: each benchmark's on its page between markers, every target in one table.

What is published stays until its benchmark is published again. The targets of all are kept as JSON beside the pages, so
that a run of one benchmark changes its rows of the table alone.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from bench import figures
from bench.catalogue import BENCHMARKS
from bench.plots import NoPlots, draw, plots_of
from bench.results import Outcome, Result
from eval.blocks import markdown_table, write_block

DOCS = Path(__file__).parents[1] / "docs"
MAIN, PAGES, KEPT = "PERFORMANCE.md", "performance", "targets.json"


def publish(results: Sequence[Result], *, docs: Path = DOCS) -> list[Path]:
    """Write pages, plots and the table of targets; return what was written. Interrupted benchmarks are left out."""
    written = []
    folder = docs / PAGES
    ended = [result for result in results if result.outcome is not Outcome.INTERRUPTED]
    for result in ended:
        page = folder / f"{page_of(result.benchmark)}.md"
        write_block(page, f"bench-{result.benchmark}", _section(result, folder), title=page.stem.capitalize())
        written.append(page)
    _write_targets(ended, docs)
    return [*dict.fromkeys(written), docs / MAIN]


def page_of(benchmark: str) -> str:
    """Return the page that a benchmark is published on; one that the catalogue does not know has its own."""
    return BENCHMARKS[benchmark].page if benchmark in BENCHMARKS else benchmark


def _section(result: Result, folder: Path) -> str:
    plots = plots_of(result)
    for stale in folder.glob(f"{result.benchmark}-*.png"):
        if _belongs(stale.name, result.benchmark):
            stale.unlink()
    try:
        draw(plots, folder)
    except NoPlots as error:
        return f"{figures.body(result, ())}\n\nWithout plots: {error}"
    return figures.body(result, [(plot["title"], plot["file"]) for plot in plots])


def _belongs(file: str, benchmark: str) -> bool:
    """Whether a plot is this benchmark's and not one's whose longer name begins alike."""
    longer = [name for name in BENCHMARKS if name.startswith(f"{benchmark}-")]
    return not any(file.startswith(f"{name}-") for name in longer)


def _write_targets(results: Sequence[Result], docs: Path) -> None:
    path = docs / PAGES / KEPT
    kept: dict[str, Any] = json.loads(path.read_text("utf-8")) if path.exists() else {}
    for result in results:
        kept[result.benchmark] = {
            "date": figures.day(result.run.started), "machine": figures.described(result.run.machine),
            "quick": result.run.quick,
            "failed": "" if result.outcome is Outcome.FINISHED else figures.failure(result),
            "targets": [asdict(target) for target in figures.targets_of(result)],
        }
    order = [*BENCHMARKS, *sorted(set(kept) - set(BENCHMARKS))]
    kept = {name: kept[name] for name in order if name in kept}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n", "utf-8")
    write_block(docs / MAIN, "bench-targets", _targets(kept), title="Performance")


def _targets(kept: Mapping[str, Any]) -> str:
    linked = [(f"[{name}]({PAGES}/{page_of(name)}.md)", entry["targets"], entry["failed"])
              for name, entry in kept.items()]
    sources = [("benchmark", "measured", "on"), *(
        (name, entry["date"] + (", a quick run" if entry["quick"] else ""), entry["machine"])
        for name, entry in kept.items()
    )]
    targets = [each for entry in kept.values() for each in entry["targets"]]
    reached = sum(each["reached"] for each in targets)
    failed = sum(bool(entry["failed"]) for entry in kept.values())
    count = f"{reached} of {len(targets)} targets reached{f'; benchmarks that failed: {failed}' if failed else ''}."
    return "\n\n".join([count, figures.summary(linked), "<details><summary>When and on what</summary>",
                        markdown_table([[figures.escaped(cell) for cell in row] for row in sources]), "</details>"])
