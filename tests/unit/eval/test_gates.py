"""Gates: a figure fails when it fell by more than its noise, and not before."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import click
import numpy as np
import pytest

from eval import gates
from eval.gates import Figure, compare
from eval.refusals.fitting import fit
from eval.reporting import plots, report
from eval.reporting.plots import Axis, Bar
from eval.retrieval.retrieval import gated
from eval.retrieval.searching import MODES, Ranking
from eval.sets.datasets import Dataset, Passage, Question


def _figure(value: float, noise: float = 0.02, count: int = 100) -> Figure:
    return Figure(value=value, low=value - noise, high=value + noise, count=count)


@pytest.mark.parametrize(("measured", "fell"), [
    (_figure(0.90), False), (_figure(0.99), False), (_figure(0.879), True), (_figure(0.881), False),
    # Little was measured: the interval is wide, and says nothing against the recorded figure.
    (_figure(0.80, noise=0.15), False), (_figure(0.5, noise=0.15), True),
])
def test_only_a_fall_beyond_the_noise_counts(measured: Figure, fell: bool) -> None:
    (comparison,) = compare({"recall": measured, "new": measured}, {"recall": _figure(0.90), "old": _figure(0.1)})
    assert (comparison.name, comparison.fell) == ("recall", fell)


def test_what_was_measured_becomes_the_baseline_and_a_fall_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gates, "FIGURES", tmp_path / "results" / "figures.json")
    monkeypatch.setattr(gates, "BASELINE", tmp_path / "baseline.json")
    with pytest.raises(click.ClickException, match="nothing was measured"):
        gates.check(record=False)
    gates.keep({"recall": _figure(0.9), "kept": _figure(0.95)}, path=gates.FIGURES)
    with pytest.raises(click.ClickException, match="none known"):
        gates.check(record=False)
    gates.check(record=True)
    gates.check(record=False)
    gates.keep({"recall": _figure(0.7)}, path=gates.FIGURES)
    with pytest.raises(click.ClickException, match="1 of 2 figures fell by more than their noise: recall"):
        gates.check(record=False)
    assert gates.read(gates.FIGURES)["kept"].value == 0.95


def test_the_baseline_that_is_recorded_can_be_read() -> None:
    recorded = gates.read(gates.BASELINE)
    assert recorded
    assert all(figure.low <= figure.value <= figure.high and figure.count > 0 for figure in recorded.values())


def test_weights_are_found_and_never_speak_against_their_feature() -> None:
    chance = np.random.default_rng(3)
    rows = chance.normal(size=(4_000, 3))
    # The second feature speaks against: it gets no weight. The third says nothing.
    labels = (chance.random(4_000) < 1 / (1 + np.exp(-(2.0 * rows[:, 0] - 1.0 * rows[:, 1] + 0.5)))).astype(float)
    model = fit(rows, labels, np.ones(4_000))
    assert model.weights[0] == pytest.approx(1.75, abs=0.25)
    assert model.weights[1] == 0
    assert 0 <= model.weights[2] < 0.1
    assert model.log_odds(rows)[labels == 1].mean() > model.log_odds(rows)[labels == 0].mean()


def test_plots_are_whole_and_show_what_they_are_given(tmp_path: Path) -> None:
    share = Axis("share <of> questions", 0.0, 1.0, percent=True)
    plots.write_curves(tmp_path / "curve.svg", title="Courbe & co", horizontal=share, vertical=share,
                       curves={"a": [(0.0, 0.0), (1.0, 1.0)], "b": [(0.0, 0.5)]}, line_at=0.05)
    plots.write_bars(tmp_path / "bars.svg", title="Modes", vertical=Axis("nDCG@10", 0.5, 1.0),
                     groups={"PIAF": {"dense": Bar(0.75, 0.7, 0.8), "fused": Bar(0.4, 0.3, 0.5)}})
    curve, bars = (ElementTree.parse(tmp_path / name).getroot() for name in ("curve.svg", "bars.svg"))
    name = "{http://www.w3.org/2000/svg}"
    assert len(curve.findall(f"{name}polyline")) == 2
    rectangles = bars.findall(f"{name}rect")
    heights = [float(each.attrib["height"]) for each in rectangles if each.attrib.get("fill") in plots.COLOURS[:2]]
    # The second bar lies under the axis: nothing is drawn of it.
    assert [height > 11 for height in heights if height != 10] == [True, False]


def test_a_run_of_retrieval_is_gated_by_mode_and_measure() -> None:
    questions = (Question(question_id="q", text="?", relevant={"p": 1}),)
    dataset = Dataset(name="set", passages=(Passage(passage_id="p", text="t", title=""),), questions=questions)
    rankings = [Ranking("q", mode, ("p",) if mode == "reranked" else (), (), (), {}) for mode in MODES]
    found = gated("set-engine", report.figures(dataset, rankings), command="python -m eval retrieval")
    assert {name: figure.value for name, figure in found.items()} == {
        "retrieval set-engine: dense nDCG@10": 0.0, "retrieval set-engine: full text nDCG@10": 0.0,
        "retrieval set-engine: fused nDCG@10": 0.0, "retrieval set-engine: re-ranked nDCG@10": 1.0,
        "retrieval set-engine: re-ranked R@5": 1.0, "retrieval set-engine: re-ranked R@20": 1.0,
    }
    assert all(figure.count == 1 and figure.command for figure in found.values())
