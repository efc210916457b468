"""Figures in the documentation: each benchmark's on its page between markers, every target in one table.

What is published stays until its benchmark is published again. The targets of all are kept as JSON beside the pages, so
that a run of one benchmark changes its rows of the table alone. Processors without VNNI have a page of their own: they
run other engines, the targets were not set for them, and their figures must not take the place of others'.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bench.catalogue import BENCHMARKS
from bench.publishing import figures
from bench.publishing.plots import NoPlots, draw, plots_of
from bench.results import Outcome, Result
from eval.reporting.blocks import markdown_table, write_block
from sourcier.services.chassis.models.processor import without_int8_products

DOCS = Path(__file__).parents[2] / "docs"
MAIN, PAGES, KEPT = "PERFORMANCE.md", "performance", "targets.json"


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where the figures of one kind of processor are, all of it below docs/."""

    main: str
    """The page with the targets."""
    plots: str
    """The folder of the plots, and of the targets as JSON."""
    together: bool
    """Whether the benchmarks are on the main page, too, and not each on its own."""

    def page(self, benchmark: str) -> str:
        """Return the page that a benchmark is on."""
        return self.main if self.together else f"{PAGES}/{page_of(benchmark)}.md"


USUAL = Place(main=MAIN, plots=PAGES, together=False)
WITHOUT_VNNI = Place(main=f"{PAGES}/without-vnni.md", plots=f"{PAGES}/without-vnni", together=True)


def publish(results: Sequence[Result], *, docs: Path = DOCS) -> list[Path]:
    """Write pages, plots and the table of targets; return what was written. Interrupted benchmarks are left out."""
    written = []
    for place in (USUAL, WITHOUT_VNNI):
        ended = [result for result in results
                 if result.outcome is not Outcome.INTERRUPTED and place_of(result.run.machine) is place]
        for result in ended:
            page = docs / place.page(result.benchmark)
            write_block(page, f"bench-{result.benchmark}", _section(result, docs / place.plots, seen_from=page.parent),
                        title=page.stem.capitalize())
            written.append(page)
        if ended:
            _write_targets(ended, docs, place)
            written.append(docs / place.main)
    return list(dict.fromkeys(written))


def page_of(benchmark: str) -> str:
    """Return the page that a benchmark is published on; one that the catalogue does not know has its own."""
    return BENCHMARKS[benchmark].page if benchmark in BENCHMARKS else benchmark


def place_of(machine: Mapping[str, Any]) -> Place:
    """Return where figures of such a machine (`bench.environment.machine`) are published."""
    without = without_int8_products(machine.get("flags", ()), architecture=machine.get("architecture", ""))
    return WITHOUT_VNNI if without else USUAL


def _section(result: Result, folder: Path, *, seen_from: Path) -> str:
    plots = plots_of(result)
    for stale in folder.glob(f"{result.benchmark}-*.png"):
        if _belongs(stale.name, result.benchmark):
            stale.unlink()
    try:
        draw(plots, folder)
    except NoPlots as error:
        return f"{figures.body(result, ())}\n\nWithout plots: {error}"
    return figures.body(result, [(plot["title"], str((folder / plot["file"]).relative_to(seen_from)))
                                 for plot in plots])


def _belongs(file: str, benchmark: str) -> bool:
    """Whether a plot is this benchmark's and not one's whose longer name begins alike."""
    longer = [name for name in BENCHMARKS if name.startswith(f"{benchmark}-")]
    return not any(file.startswith(f"{name}-") for name in longer)


def _write_targets(results: Sequence[Result], docs: Path, place: Place) -> None:
    path = docs / place.plots / KEPT
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
    write_block(docs / place.main, "bench-targets", _targets(kept, place), title="Performance")


def _targets(kept: Mapping[str, Any], place: Place) -> str:
    named = [(name if place.together else f"[{name}]({place.page(name)})", entry["targets"], entry["failed"])
             for name, entry in kept.items()]
    sources = [("benchmark", "measured", "on"), *(
        (name, entry["date"] + (", a quick run" if entry["quick"] else ""), entry["machine"])
        for name, entry in kept.items()
    )]
    targets = [each for entry in kept.values() for each in entry["targets"]]
    reached = sum(each["reached"] for each in targets)
    failed = sum(bool(entry["failed"]) for entry in kept.values())
    count = f"{reached} of {len(targets)} targets reached{f'; benchmarks that failed: {failed}' if failed else ''}."
    return "\n\n".join([count, figures.summary(named), "<details><summary>When and on what</summary>",
                        markdown_table([[figures.escaped(cell) for cell in row] for row in sources]), "</details>"])
