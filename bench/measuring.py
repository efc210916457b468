"""Interleaved rounds: what is compared takes turns, so that a drift of the machine's speed hits all alike."""

from __future__ import annotations

import statistics
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Curve:
    """A plot of the report: named series of points, and what the axes show."""

    title: str
    x: str
    y: str
    series: Mapping[str, Sequence[tuple[float, float]]]
    log_x: bool = False
    log_y: bool = False


@dataclass
class Table:
    """What one benchmark found: raw samples by contestant, and the ratios that follow from them."""

    name: str
    unit: str
    higher_is_better: bool = True
    samples: dict[str, list[float]] = field(default_factory=dict)
    notes: dict[str, str] = field(default_factory=dict)
    ratios: list[dict[str, Any]] = field(default_factory=list)
    limits: list[dict[str, Any]] = field(default_factory=list)
    curves: list[Curve] = field(default_factory=list)

    def add(self, contestant: str, value: float) -> None:
        """Keep one sample."""
        self.samples.setdefault(contestant, []).append(value)

    def median(self, contestant: str) -> float:
        """Return the median of a contestant's samples."""
        return statistics.median(self.samples[contestant])

    def ratio(self, ours: str, theirs: str, *, target: float | None = None) -> float:
        """Record the median of the rounds' ratios ours/theirs, and whether it reaches the target."""
        rounds = [a / b for a, b in zip(self.samples[ours], self.samples[theirs], strict=True)]
        value = statistics.median(rounds)
        reached = None if target is None else (value >= target if self.higher_is_better else value <= target)
        self.ratios.append({"ours": ours, "theirs": theirs, "ratio": value, "target": target, "reached": reached,
                            "rounds": rounds})
        return value

    def limit(
        self, contestant: str, *, at_most: float | None = None, at_least: float | None = None, share: float = 0.5
    ) -> float:
        """Record a percentile of a contestant's samples, by default the median, beside a figure it has to keep."""
        value = self.median(contestant) if share == 0.5 else percentile(self.samples[contestant], share)
        reached = (at_most is None or value <= at_most) and (at_least is None or value >= at_least)
        named = contestant if share == 0.5 else f"{contestant}, p{100 * share:g}"
        self.limits.append({"contestant": named, "value": value, "at_most": at_most, "at_least": at_least,
                            "reached": reached})
        return value

    @property
    def missed(self) -> int:
        """How many targets and limits were not reached."""
        return sum(entry["reached"] is False for entry in (*self.ratios, *self.limits))

    def lines(self) -> list[str]:
        """Return the table as text."""
        width = max(map(len, self.samples), default=0)
        lines = [f"{self.name} ({self.unit}, median of {len(next(iter(self.samples.values()), []))} rounds)"]
        for contestant, values in self.samples.items():
            note = f"   {self.notes[contestant]}" if contestant in self.notes else ""
            spread = f"{min(values):.4g} … {max(values):.4g}"
            lines.append(f"  {contestant:{width}}  {statistics.median(values):10.4g}   [{spread}]{note}")
        for entry in self.ratios:
            target = "" if entry["target"] is None else (
                f"   target {'≥' if self.higher_is_better else '≤'} {entry['target']:g}: "
                f"{'reached' if entry['reached'] else 'MISSED'}"
            )
            lines.append(f"  {entry['ours']} / {entry['theirs']} = {entry['ratio']:.3f}{target}")
        for entry in self.limits:
            bounds = [f"{sign} {entry[key]:g}" for key, sign in (("at_least", "≥"), ("at_most", "≤"))
                      if entry[key] is not None]
            lines.append(f"  {entry['contestant']}: {entry['value']:.4g}   target {' and '.join(bounds)}: "
                         f"{'reached' if entry['reached'] else 'MISSED'}")
        return lines


async def interleave(
    table: Table, contestants: Mapping[str, Callable[[], Awaitable[float]]], *, rounds: int, warmed: bool = False
) -> None:
    """Run each contestant once a round, in turn, after one round that does not count where none was `warmed` before."""
    for number in range(1 if warmed else 0, rounds + 1):
        # Who goes first changes, so that nobody always runs on caches that another has warmed or cooled.
        names = list(contestants)
        names = names[number % len(names):] + names[: number % len(names)]
        for name in names:
            value = await contestants[name]()
            if number > 0:
                table.add(name, value)


def percentile(values: Sequence[float], share: float) -> float:
    """Return the value below which a share of the values lies."""
    ordered = sorted(values)
    return ordered[min(int(share * len(ordered)), len(ordered) - 1)]
