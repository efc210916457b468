"""Sets written for this project in two halves: rules are tuned on one, the other is held apart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import date
from pathlib import Path
from typing import Any

from eval.sets.json_lines import read_rows

TODAY = date(2026, 11, 28)
"""The day on which the documents were written: what they plan is to come."""


def rows_of(path: Path, *, half: str = "") -> Iterator[dict[str, Any]]:
    """Give the rows of a set, or those of one half of it."""
    return (row for row in read_rows(path) if half in ("", row["half"]))


def outcome_table(outcomes: Iterable[tuple[str, str, str]], *, key: str, kinds: Sequence[str]) -> str:
    """Return how often each kind of outcome came, as Markdown; an outcome is its half, its key and its kind."""
    counted = Counter(outcomes)
    lines = [f"| half | {key} | questions | {' | '.join(kinds)} |", "|---|---|---|" + "---|" * len(kinds)]
    for half, value in sorted({outcome[:2] for outcome in counted}):
        counts = [counted[half, value, kind] for kind in kinds]
        lines.append(f"| {half} | {value} | {sum(counts)} | {' | '.join(map(str, counts))} |")
    return "\n".join(lines)
