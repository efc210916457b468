"""Gates: figures that must not fall by more than their noise under those that were recorded.

Every evaluation keeps what it measured in `results/figures.json`; `baseline.json` is what was measured when the code
was last judged good. A figure has fallen when its whole interval lies under the recorded value, and its value under
the recorded interval: two runs of the same code do that less than once in forty.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import click

from eval.reporting import report
from eval.retrieval.measures import Estimate

BASELINE = Path(__file__).parent / "baseline.json"
FIGURES = Path(__file__).parent / "results" / "figures.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """Something measured, greater is better."""

    value: float
    low: float
    """Of its bootstrap interval at 95 %."""
    high: float
    count: int
    """Of what it was measured on: questions, sentences, attacks."""
    command: str = ""

    @classmethod
    def of(cls, estimate: Estimate, *, count: int, command: str = "") -> Figure:
        """Return an estimate as a figure."""
        return cls(value=estimate.mean, low=estimate.low, high=estimate.high, count=count, command=command)


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """A figure beside the one that was recorded."""

    name: str
    recorded: Figure
    measured: Figure

    @property
    def fell(self) -> bool:
        """Whether it fell by more than its noise."""
        return self.measured.high < self.recorded.value and self.measured.value < self.recorded.low


def read(path: Path) -> dict[str, Figure]:
    """Return the figures of a file by name; none where there is no file."""
    if not path.exists():
        return {}
    return {name: Figure(**row) for name, row in json.loads(path.read_text("utf-8")).items()}


def keep(figures: Mapping[str, Figure], *, path: Path = FIGURES) -> None:
    """Put figures beside those that a file has, in the place of those of the same name."""
    path.parent.mkdir(parents=True, exist_ok=True)
    known = read(path) | {name: _rounded(figure) for name, figure in figures.items()}
    rows = {name: asdict(known[name]) for name in sorted(known)}
    path.write_text(json.dumps(rows, indent=1, ensure_ascii=False) + "\n", "utf-8")


def compare(measured: Mapping[str, Figure], recorded: Mapping[str, Figure]) -> list[Comparison]:
    """Return what can be compared, by name."""
    return [
        Comparison(name=name, recorded=recorded[name], measured=measured[name])
        for name in sorted(recorded.keys() & measured.keys())
    ]


def check(*, record: bool) -> None:
    """Print every figure beside its baseline; raise `ClickException` where one fell, or where there is none.

    With `record`, what was measured becomes the baseline instead.
    """
    measured = read(FIGURES)
    if not measured:
        raise click.ClickException("nothing was measured yet: run `python -m eval refusals`, `answers` or `attacks`")
    if record:
        keep(measured, path=BASELINE)
        click.echo(f"{len(measured)} figures recorded in {BASELINE.name}")
        return
    compared = compare(measured, read(BASELINE))
    click.echo(table(compared))
    fallen = [comparison.name for comparison in compared if comparison.fell]
    if fallen or not compared:
        raise click.ClickException(
            f"{len(fallen)} of {len(compared)} figures fell by more than their noise: "
            f"{', '.join(fallen) or 'none known'}"
        )


def table(compared: list[Comparison]) -> str:
    """Return comparisons as a Markdown table."""
    rows = [("figure", "recorded", "measured", "on", "")]
    rows += [
        (each.name, _cell(each.recorded), _cell(each.measured), f"{each.measured.count:,}",
         "fell" if each.fell else "holds")
        for each in compared
    ]
    return report.markdown_table(rows)


def _cell(figure: Figure) -> str:
    return f"{figure.value:.3f} ({figure.low:.3f} to {figure.high:.3f})"


def _rounded(figure: Figure) -> Figure:
    return Figure(
        value=round(figure.value, 4), low=round(figure.low, 4), high=round(figure.high, 4), count=figure.count,
        command=figure.command,
    )
