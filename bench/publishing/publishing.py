"""Figures in the documentation: each benchmark's tables in a history, a line for each benchmark on the page in front.

All of it is in docs/measured. People write the pages that are read first (performance.md, performance/<page>.md);
publishing writes between markers, whole tables into the histories beside them (history/<page>.md), and into
performance.md no more than a line a benchmark. What is published stays until its benchmark is published again: the
targets of all are kept as JSON beside the plots, so that a run of one benchmark changes its rows alone. Processors
without VNNI have a page of their own: they run other engines, the targets were not set for them, and their figures must
not take the place of others'.
"""

from __future__ import annotations

import json
import os
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bench.catalogue import BENCHMARKS
from bench.publishing import figures
from bench.publishing.plots import NoPlots, draw, plots_of
from bench.results import Outcome, Result
from eval.measured import HISTORY, MEASURED
from eval.reporting.blocks import markdown_table, write_block
from sourcier.services.chassis.models.processor import without_int8_products

PAGES, KEPT = "performance", "targets.json"
MISSED_SHOWN_MAX = 3
"""How many missed targets of a benchmark a page names, so that no run makes it longer than two screens."""
REASON_CHARACTERS_MAX = 120


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where the figures of one kind of processor are, all of it below docs/measured."""

    main: str
    """The page that has a line for each benchmark."""
    plots: str
    """The folder of the plots, and of the targets as JSON."""
    together: bool
    """Whether all benchmarks are in one history, and not each in its own."""

    @property
    def history(self) -> str:
        """Return the page with every target."""
        return f"{HISTORY}/{Path(self.main).name}"

    def tables(self, benchmark: str) -> str:
        """Return the history that a benchmark's tables are in."""
        return self.history if self.together else f"{HISTORY}/{page_of(benchmark)}.md"


USUAL = Place(main="performance.md", plots=PAGES, together=False)
WITHOUT_VNNI = Place(main=f"{PAGES}/without-vnni.md", plots=f"{PAGES}/without-vnni", together=True)


def publish(results: Sequence[Result], *, docs: Path = MEASURED) -> list[Path]:
    """Write tables, plots and targets; return the pages written. Interrupted benchmarks are left out."""
    written = []
    for place in (USUAL, WITHOUT_VNNI):
        ended = [result for result in results
                 if result.outcome is not Outcome.INTERRUPTED and place_of(result.run.machine) is place]
        for result in ended:
            page = docs / place.tables(result.benchmark)
            write_block(page, f"bench-{result.benchmark}", _section(result, docs / place.plots, page=page),
                        title=f"{page.stem.capitalize()}: history")
            written.append(page)
        if ended:
            written += _write_targets(ended, docs, place)
    return list(dict.fromkeys(written))


def page_of(benchmark: str) -> str:
    """Return the page that a benchmark is published on; one that the catalogue does not know has its own."""
    return BENCHMARKS[benchmark].page if benchmark in BENCHMARKS else benchmark


def place_of(machine: Mapping[str, Any]) -> Place:
    """Return where figures of such a machine (`bench.environment.machine`) are published."""
    without = without_int8_products(machine.get("flags", ()), architecture=machine.get("architecture", ""))
    return WITHOUT_VNNI if without else USUAL


def address(file: Path, *, page: Path) -> str:
    """Return how a page links to a file."""
    return os.path.relpath(file, page.parent)


def _section(result: Result, folder: Path, *, page: Path) -> str:
    plots = plots_of(result)
    for stale in folder.glob(f"{result.benchmark}-*.png"):
        if _belongs(stale.name, result.benchmark):
            stale.unlink()
    try:
        draw(plots, folder)
    except NoPlots as error:
        return f"{figures.body(result, ())}\n\nWithout plots: {error}"
    return figures.body(result, [(plot["title"], address(folder / plot["file"], page=page)) for plot in plots])


def _belongs(file: str, benchmark: str) -> bool:
    """Whether a plot is this benchmark's and not one's whose longer name begins alike."""
    longer = [name for name in BENCHMARKS if name.startswith(f"{benchmark}-")]
    return not any(file.startswith(f"{name}-") for name in longer)


def _write_targets(results: Sequence[Result], docs: Path, place: Place) -> list[Path]:
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
    return write_kept(kept, docs, place)


def write_kept(kept: Mapping[str, Any], docs: Path, place: Place) -> list[Path]:
    """Write every target into the history, and a line for each benchmark on the page in front; return both."""
    main, history = docs / place.main, docs / place.history
    write_block(history, "bench-targets", _targets(kept, place), title="Performance: history")
    write_block(main, "bench-summary", _summary(kept, place, all_of_them=address(history, page=main)),
                title="Performance")
    return [history, main]


def _targets(kept: Mapping[str, Any], place: Place) -> str:
    named = [(name if place.together else f"[{name}]({page_of(name)}.md)", entry["targets"], entry["failed"])
             for name, entry in kept.items()]
    sources = [("benchmark", "measured", "on"), *(
        (name, _day(entry), entry["machine"]) for name, entry in kept.items()
    )]
    return "\n\n".join([_count(kept), figures.summary(named), "<details><summary>When and on what</summary>",
                        markdown_table([[figures.escaped(cell) for cell in row] for row in sources]), "</details>"])


def _summary(kept: Mapping[str, Any], place: Place, *, all_of_them: str) -> str:
    rows = [("benchmark", "measured", "targets reached", "missed"), *(
        (name if place.together else f"[{name}]({PAGES}/{page_of(name)}.md)", _day(entry), _reached(entry),
         _missed(entry))
        for name, entry in kept.items()
    )]
    return (f"{_count(kept)} [All of them]({all_of_them}), with the machine of each.\n\n"
            f"{markdown_table([[figures.escaped(cell) for cell in row] for row in rows])}")


def _count(kept: Mapping[str, Any]) -> str:
    targets = [each for entry in kept.values() for each in entry["targets"]]
    reached = sum(each["reached"] for each in targets)
    failed = sum(bool(entry["failed"]) for entry in kept.values())
    return f"{reached} of {len(targets)} targets reached{f'; benchmarks that failed: {failed}' if failed else ''}."


def _day(entry: Mapping[str, Any]) -> str:
    return f"{entry['date']}{', a quick run' if entry['quick'] else ''}"


def _reached(entry: Mapping[str, Any]) -> str:
    targets = entry["targets"]
    return f"{sum(each['reached'] for each in targets)} of {len(targets)}" if targets else "no target"


def _missed(entry: Mapping[str, Any]) -> str:
    missed = [f"{each['figure']}: {each['measured']}, target {each['target']}"
              for each in entry["targets"] if not each["reached"]]
    reason = textwrap.shorten(entry["failed"], REASON_CHARACTERS_MAX, placeholder=" …")
    more = len(missed) - MISSED_SHOWN_MAX
    shown = [reason, *missed[:MISSED_SHOWN_MAX], f"{more} more" if more > 0 else ""]
    return "; ".join(part for part in shown if part)
