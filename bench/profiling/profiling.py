"""Say where the time goes.

`python -m bench.profiling.profiling query|ingest [--seconds N] [--before FILE] [--publish]`

Runs a stack, works it with one client and then with several, and writes a page with the time by stage, the processor
time by process and what the processes were doing, with a flame graph for each service. `--before` names the
`profile.json` of an earlier run to compare with, and `--publish` puts the page into the documentation, too: into
docs/measured/history/performance.md, or, on a processor without VNNI, into the history of those.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bench.environment import machine
from bench.measuring import percentile
from bench.profiling.figures import FILE_NAME, Figures
from bench.profiling.flames import flame_graph
from bench.profiling.loads import LOADS
from bench.profiling.profiles import Profile, profile
from bench.profiling.sampling import shares
from bench.publishing.figures import day, described, escaped, number
from bench.publishing.publishing import address, place_of
from bench.results import RESULTS, now
from eval.measured import MEASURED
from eval.reporting.blocks import markdown_table, write_block

ROWS_MAX = 14
SHARE_MIN = 0.01
SAMPLES_MIN = 50
"""A process with fewer was asleep; shares of them would say nothing."""


def main() -> int:
    """Measure and write the page."""
    parser = argparse.ArgumentParser(prog="bench.profiling.profiling", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=sorted(LOADS))
    parser.add_argument("--seconds", type=float, default=20.0,
                        help="how long each of three parts takes: one client, several, several watched")
    parser.add_argument("--publish", action="store_true", help="put the profile into the documentation, too")
    parser.add_argument("--before", type=Path, metavar="FILE", help="an earlier run's profile.json, to compare with")
    arguments = parser.parse_args()
    try:
        before = None if arguments.before is None else Figures.read(arguments.before)
    except ValueError as error:
        parser.error(f"--before: {error}")
    if before is not None and before.kind != arguments.kind:
        parser.error(f"--before: {arguments.before} is a profile of {before.kind}, not of {arguments.kind}")
    if not 2 <= arguments.seconds <= 600:
        parser.error(f"--seconds is {arguments.seconds:g}; use 2 to 600")
    on, started = machine(), now()
    print(f"profiling {arguments.kind}: about {3 * arguments.seconds + 40:.0f} s", flush=True)
    try:
        found = asyncio.run(profile(arguments.kind, seconds=arguments.seconds))
    except KeyboardInterrupt:
        print("interrupted; the stack is stopped", file=sys.stderr)
        return 130
    command = f"python -m bench.profiling.profiling {arguments.kind} --seconds {arguments.seconds:g}"
    origin = f"{day(started)} · {described(on)} · `{command}`"
    folder = RESULTS / f"profile-{arguments.kind}-{time.strftime('%Y-%m-%dT%H%M%S')}"
    page = folder / "profile.md"
    write_block(page, f"profile-{arguments.kind}", text(found, origin, _graphs(found, folder), before), title="Profile")
    Figures.of(found, origin).write(folder / FILE_NAME)
    print(page.read_text("utf-8") + f"\nwritten: {folder}")
    if arguments.publish:
        print(f"published: {publish(found, origin, before, on=on)}")
    return 0


def publish(
    found: Profile, origin: str, before: Figures | None = None, *, on: Mapping[str, Any], docs: Path = MEASURED
) -> Path:
    """Put a profile into the history of such machines (`bench.environment.machine`) and return that page."""
    place = place_of(on)
    page, folder = docs / place.history, docs / place.plots
    graphs = {service: address(folder / name, page=page) for service, name in _graphs(found, folder).items()}
    write_block(page, f"profile-{found.kind}", text(found, origin, graphs, before), title="Performance")
    return page


def text(found: Profile, origin: str, graphs: Mapping[str, str], before: Figures | None = None) -> str:
    """Return the profile as Markdown; `graphs` are the addresses of flame graphs by service."""
    alone, busy = (done.units / done.seconds for done in (found.alone, found.busy))
    parts = [
        origin,
        f"Load: {found.described}. {number(alone)} × {found.unit} a second from one client, {number(busy)} "
        f"from {found.clients}.",
        "**Time by stage, as clients see it** (ms)", markdown_table(_stages(found)),
        f"**Time by what the services count, {found.clients} clients.** Stages overlap and wait for each other: these "
        "add up to more than the clock.",
        markdown_table(_spent(found)),
        f"**Processor time, {found.clients} clients** (ms for each {found.unit}, and cores kept busy)",
        markdown_table(_processor(found)),
    ]
    if before is not None:
        rows = Figures.of(found, origin).beside(before)
        parts[2:2] = [f"**Before and after.** Before: {before.origin}", markdown_table(rows)]
    if found.problem:
        parts.append(f"Without stacks: {found.problem}")
    else:
        parts += ["**Whose code runs**, by sampled stacks: innermost, and anywhere on the stack. Time in compiled code "
                  f"counts for the Python that called it. Flame graphs: {_links(graphs)}.", *_shares(found)]
        busiest = max(graphs, key=lambda service: sum(found.stacks[service].values()), default="")
        parts += [f"![{busiest}]({graphs[busiest]})"] if busiest else []
    return "\n\n".join(parts)


def _graphs(found: Profile, folder: Path) -> dict[str, str]:
    """Write the flame graphs; return their file names by service."""
    folder.mkdir(parents=True, exist_ok=True)
    names = {}
    for service, stacks in found.stacks.items():
        if sum(stacks.values()) >= SAMPLES_MIN:
            names[service] = f"profile-{found.kind}-{service}.svg"
            title = f"{service} while {found.clients} clients {found.kind}"
            (folder / names[service]).write_text(flame_graph(stacks, title=title), "utf-8")
    return names


def _links(graphs: Mapping[str, str]) -> str:
    return ", ".join(f"[{service}]({path})" for service, path in graphs.items()) or "none"


def _stages(found: Profile) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = [("stage", "1 client, p50", "p95", f"{found.clients} clients, p50", "p95")]
    for stage, values in found.alone.stages.items():
        busy = found.busy.stages.get(stage, [])
        rows.append((stage, *_spread(values), *_spread(busy)))
    return rows


def _spread(values: list[float]) -> tuple[str, str]:
    return (number(statistics.median(values)), number(percentile(values, 0.95))) if values else ("–", "–")


def _spent(found: Profile) -> list[tuple[str, ...]]:
    each_unit = f"for each {found.unit}"
    rows: list[tuple[str, ...]] = [("service", "what", each_unit, "mean, ms", f"ms {each_unit}")]
    for each in found.spent[:ROWS_MAX]:
        rows.append((each.service, escaped(each.name), number(each.count / found.busy.units),
                     number(1000 * each.seconds / each.count), number(1000 * each.seconds / found.busy.units)))
    return rows


def _processor(found: Profile) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = [("process", f"ms for each {found.unit}", "cores")]
    for name, seconds in sorted(found.processor.items(), key=lambda entry: -entry[1]):
        rows.append((name, number(1000 * seconds / found.busy.units), number(seconds / found.busy.seconds)))
    total = sum(found.processor.values())
    rows.append(("all", number(1000 * total / found.busy.units), number(total / found.busy.seconds)))
    return rows


def _shares(found: Profile) -> list[str]:
    tables = []
    for service, stacks in found.stacks.items():
        samples = sum(stacks.values())
        if samples < SAMPLES_MIN:
            tables.append(f"{service}: {samples} samples, asleep nearly all the time")
            continue
        rows = [(f"{service}, {samples:,} samples", "innermost", "anywhere")]
        rows += [(name, f"{inner:.0%}", f"{anywhere:.0%}") for name, (inner, anywhere) in shares(stacks).items()
                 if inner >= SHARE_MIN][:ROWS_MAX]
        tables.append(markdown_table(rows))
    return tables


if __name__ == "__main__":
    sys.exit(main())
