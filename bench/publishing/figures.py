"""Results as Markdown: each benchmark's tables, and the one table of what was to be reached and what was."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from bench.measuring import Table, percentile
from bench.results import Outcome, Result
from eval.reporting.blocks import markdown_table

REACHED, MISSED = "reached", "**missed**"


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """One figure that has to be kept, as the summary shows it."""

    figure: str
    target: str
    measured: str
    reached: bool


def targets_of(result: Result) -> list[Target]:
    """Return a benchmark's targets: ratios first, then figures of one contestant."""
    found = []
    for table in result.tables:
        sign = "≥" if table.higher_is_better else "≤"
        found += [
            Target(figure=f"{table.name}: {entry['ours']} / {entry['theirs']}", target=f"{sign} {entry['target']:g} ×",
                   measured=f"{number(entry['ratio'])} ×", reached=bool(entry["reached"]))
            for entry in table.ratios if entry["target"] is not None
        ]
        found += [
            Target(figure=f"{table.name}: {entry['contestant']}", target=f"{_bounds(entry)} {table.unit}",
                   measured=f"{number(entry['value'])} {table.unit}", reached=bool(entry["reached"]))
            for entry in table.limits
        ]
    return found


def summary(rows: Iterable[tuple[str, Sequence[Mapping[str, Any]], str]]) -> str:
    """Return the table of targets; each row is a benchmark, its targets as mappings, and why it has none measured."""
    cells: list[tuple[str, ...]] = [("benchmark", "figure", "target", "measured", "")]
    for benchmark, targets, reason in rows:
        if reason:
            cells.append((benchmark, reason, "", "", "**did not finish**"))
        cells += [(benchmark, each["figure"], each["target"], each["measured"], REACHED if each["reached"] else MISSED)
                  for each in targets]
    if len(cells) == 1:
        return "No benchmark here has a target."
    return markdown_table([[escaped(cell) for cell in row] for row in cells])


def body(result: Result, images: Sequence[tuple[str, str]]) -> str:
    """Return a benchmark's tables and plots, each plot as its title and address, with where they come from."""
    parts = [provenance(result)]
    if result.outcome is not Outcome.FINISHED:
        parts.append(f"**{failure(result)}** What it had measured until then:" if result.tables
                     else f"**{failure(result)}**")
    shown = dict(images)
    for table in result.tables:
        parts.append(table_text(table))
        parts += [f"![{title}]({shown[title]})" for title in (table.name, *(curve.title for curve in table.curves))
                  if title in shown]
    return "\n\n".join(parts)


def failure(result: Result) -> str:
    """Return how a benchmark ended that did not finish."""
    told = f": {result.reason}" if result.reason else ""
    return f"{result.outcome.capitalize()} after {result.seconds:.0f} s{told}."


def provenance(result: Result) -> str:
    """Return the line that says what was measured, where, when and how."""
    quick = " QUICK=1" if result.run.quick else ""
    told = "".join(f"{name}={value} " for name, value in result.run.settings.items())
    note = " · **a quick run: fewer texts and rounds**" if result.run.quick else ""
    return (f"{day(result.run.started)} · {described(result.run.machine)} · {result.seconds:.0f} s · "
            f"`{told}make bench ONLY={result.benchmark}{quick}`{note}")


def described(machine: Mapping[str, Any]) -> str:
    """Return a machine in one line."""
    flags = f" ({', '.join(machine['flags'])})" if machine.get("flags") else ""
    versions = ", ".join(f"{name} {version}" for name, version in machine.get("versions", {}).items())
    memory = f", {machine['memory_gib']} GiB" if "memory_gib" in machine else ""
    processor = f", {machine['processor']}" if machine.get("processor") else ""
    return (f"{machine.get('architecture', '?')}{processor}, {machine.get('cores', '?')} cores{flags}{memory} · "
            f"{versions} · commit {machine.get('commit', 'unknown')}")


def day(started: str) -> str:
    """Return the day of a time as the result file has it."""
    return f"{datetime.fromisoformat(started.replace('Z', '+00:00')):%-d %B %Y}"


def table_text(table: Table) -> str:
    """Return a table: what each contestant reached, then how they compare."""
    better = "higher is better" if table.higher_is_better else "lower is better"
    rows: list[tuple[str, ...]] = [("", f"median, {table.unit}", "5 % to 95 %", "samples", "")]
    for contestant, values in table.samples.items():
        note = table.notes.get(contestant, "")
        if not values:
            rows.append((contestant, "–", "–", "0", note))
            continue
        spread = f"{number(percentile(values, 0.05))} to {number(percentile(values, 0.95))}" if len(values) > 1 else "–"
        rows.append((contestant, number(table.median(contestant)), spread, f"{len(values):,}", note))
    if not any(row[-1] for row in rows):
        rows = [row[:-1] for row in rows]
    parts = [f"**{table.name}** ({better})", markdown_table([[escaped(cell) for cell in row] for row in rows])]
    # Such as a contestant that could not run, and why.
    parts += [f"{name}: {note}" for name, note in table.notes.items() if name not in table.samples]
    if compared := _comparisons(table):
        parts.append(markdown_table([[escaped(cell) for cell in row] for row in compared]))
    return "\n\n".join(parts)


def number(value: float) -> str:
    """Return a figure with three digits that count, and thousands apart."""
    if not math.isfinite(value):
        return str(value)
    if value == 0 or abs(value) >= 100:
        return f"{value:,.0f}"
    decimals = 2 - math.floor(math.log10(abs(value)))
    return f"{value:.{min(decimals, 6)}f}"


def escaped(text: str) -> str:
    """Return text that stays in its cell of a table."""
    return " ".join(text.split()).replace("|", "\\|")


def _comparisons(table: Table) -> list[tuple[str, ...]]:
    sign = "≥" if table.higher_is_better else "≤"
    rows: list[tuple[str, ...]] = []
    for entry in table.ratios:
        target = "–" if entry["target"] is None else f"{sign} {entry['target']:g}"
        verdict = "" if entry["reached"] is None else REACHED if entry["reached"] else MISSED
        rows.append((f"{entry['ours']} / {entry['theirs']}", number(entry["ratio"]), target, verdict))
    for entry in table.limits:
        rows.append((entry["contestant"], f"{number(entry['value'])} {table.unit}", _bounds(entry),
                     REACHED if entry["reached"] else MISSED))
    return [("compared", "measured", "target", ""), *rows] if rows else []


def _bounds(entry: Mapping[str, Any]) -> str:
    return " and ".join(f"{sign} {entry[key]:g}" for key, sign in (("at_least", "≥"), ("at_most", "≤"))
                        if entry[key] is not None)
