"""The result file: one JSON line for each table, raw samples included, and one for how each benchmark ended."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from bench.measuring import Curve, Table

RESULTS = Path(__file__).parent / "results"


class Outcome(StrEnum):
    """How a benchmark ended."""

    FINISHED = "finished"
    FAILED = "failed"
    INTERRUPTED = "interrupted"


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """What all lines of one call of `python -m bench` share."""

    started: str
    """UTC, as in 2026-11-22T14:05:09Z; later ones sort after earlier ones."""
    machine: Mapping[str, Any]
    quick: bool = False
    settings: Mapping[str, str] = field(default_factory=dict)
    """The variables `SOURCIER_BENCH_…` that were set; of those that name a folder, that they were."""


@dataclass(frozen=True, kw_only=True)
class Result:
    """One benchmark of one run."""

    benchmark: str
    run: Run
    outcome: Outcome = Outcome.INTERRUPTED
    """A run whose end nobody wrote down was killed."""
    reason: str = ""
    """Why it did not finish."""
    seconds: float = 0.0
    tables: list[Table] = field(default_factory=list)

    @property
    def missed(self) -> int:
        """How many targets were not reached."""
        return sum(table.missed for table in self.tables)


def now() -> str:
    """Return the time as the result file has it."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def write_table(path: Path, table: Table, *, benchmark: str, run: Run) -> None:
    """Append a table."""
    _append(path, {"benchmark": benchmark, "run": asdict(run), "time": now(), "table": asdict(table)})


def write_outcome(
    path: Path, outcome: Outcome, *, benchmark: str, run: Run, seconds: float, reason: str = ""
) -> None:
    """Append how a benchmark ended."""
    _append(path, {"benchmark": benchmark, "run": asdict(run), "time": now(), "outcome": outcome, "reason": reason,
                   "seconds": round(seconds, 1)})


def read(paths: Iterable[Path]) -> dict[str, Result]:
    """Return the latest result of each benchmark in these files; raise ValueError for a line that is none.

    The latest counts even if it failed: a figure of before would hide that. One that somebody interrupted counts only
    where there is no other.
    """
    found: dict[tuple[str, str], Result] = {}
    for path in paths:
        for number, line in enumerate(path.read_text("utf-8").splitlines(), start=1):
            try:
                entry = json.loads(line)
                name, run = entry["benchmark"], Run(**entry["run"])
                known = found.get((name, run.started)) or Result(benchmark=name, run=run)
                found[name, run.started] = _with(known, entry)
            except (KeyError, TypeError, ValueError) as error:
                raise ValueError(f"{path}, line {number}, is no line of a result file: {error!r}") from error
    ordered = sorted(found.values(), key=lambda each: (each.outcome is not Outcome.INTERRUPTED, each.run.started))
    return {result.benchmark: result for result in ordered}


def _with(result: Result, entry: Mapping[str, Any]) -> Result:
    tables = list(result.tables)
    if "table" in entry:
        values = dict(entry["table"])
        curves = [Curve(**curve) for curve in values.pop("curves")]
        tables.append(Table(**values, curves=curves))
    outcome, reason, seconds = result.outcome, result.reason, result.seconds
    if "outcome" in entry:
        outcome, reason, seconds = Outcome(entry["outcome"]), entry["reason"], entry["seconds"]
    return Result(benchmark=result.benchmark, run=result.run, outcome=outcome, reason=reason, seconds=seconds,
                  tables=tables)


def _append(path: Path, entry: Mapping[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(entry, ensure_ascii=False, default=float) + "\n")  # default: NumPy's numbers


def in_order(found: Mapping[str, Result], names: Sequence[str]) -> list[Result]:
    """Return results in the order of these names, those of other names after them."""
    known = [found[name] for name in names if name in found]
    return known + [found[name] for name in sorted(found) if name not in names]
