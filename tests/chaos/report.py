"""Outcomes as a table, and what a person needs to see one again."""

from __future__ import annotations

from collections.abc import Sequence

from tests.chaos.trial import Outcome

HEADINGS = ("scenario", "seed", "events", "faults", "lost", "doubled", "half-made", "recovery")
FINDINGS_SHOWN = 12


def row(outcome: Outcome) -> tuple[str, ...]:
    """Return the cells of an outcome."""
    return (
        outcome.scenario, str(outcome.seed), f"{outcome.events:,}", f"{outcome.faults.total():,}",
        str(outcome.count("lost", "unfinished")), str(outcome.count("doubled")),
        str(outcome.count("half-made", "outdated", "foreign")), f"{outcome.recovery_seconds:.1f} s",
    )


def table(outcomes: Sequence[Outcome]) -> str:
    """Return all outcomes, aligned."""
    rows = [HEADINGS, *map(row, outcomes)]
    widths = [max(len(cells[place]) for cells in rows) for place in range(len(HEADINGS))]
    return "\n".join(
        "  ".join(cell.ljust(width) if place == 0 else cell.rjust(width)
                  for place, (cell, width) in enumerate(zip(cells, widths, strict=True)))
        for cells in rows
    )


def details(outcome: Outcome) -> str:
    """Return the faults that happened, the figures, what was found, and how to see it again."""
    lines = [", ".join(f"{count} × {name}" for name, count in sorted(outcome.faults.items()))]
    lines += [f"{name}: {value}" for name, value in outcome.figures.items()]
    lines += [str(finding) for finding in outcome.findings[:FINDINGS_SHOWN]]
    if len(outcome.findings) > FINDINGS_SHOWN:
        lines.append(f"… and {len(outcome.findings) - FINDINGS_SHOWN} more")
    if outcome.findings:
        lines.append(f"again: make chaos SCENARIO={outcome.scenario} SEED={outcome.seed}")
    return "\n".join(f"  {line}" for line in lines if line)
