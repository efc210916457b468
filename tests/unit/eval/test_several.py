"""Several evaluations in one run: what each is called with, what fails, and what is compared at the end."""

from __future__ import annotations

import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from eval import __main__ as commands
from eval import gates, several
from eval.catalogue import EVALUATIONS, Evaluation
from eval.gates import Figure


@pytest.fixture
def data(tmp_path: Path) -> Path:
    for name in dict.fromkeys(name for each in EVALUATIONS.values() for name in each.wanted):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "corpus.jsonl").touch()
    return tmp_path


@pytest.mark.parametrize("name", EVALUATIONS)
def test_each_evaluation_is_a_command_that_takes_its_options(name: str, data: Path) -> None:
    command, *options = EVALUATIONS[name].command(data, report=False)
    found = commands.main.commands[command]
    assert found.make_context(command, options).params["report"] is False
    written = found.make_context(command, EVALUATIONS[name].command(data, report=True)[1:])
    assert written.params["report"] is True


def test_one_that_fails_is_named_and_keeps_no_other_from_running(
    data: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(several, "EVALUATIONS", {
        "broken": Evaluation(about="nothing", arguments=("nonesuch",), minutes=1),
        "whole": Evaluation(about="a few words", arguments=("{sets}/piaf-shared",), minutes=2),
    })
    started = []

    def run(arguments: list[str]) -> int:
        started.append(arguments)
        return int(arguments[0] == "nonesuch")

    monkeypatch.setattr(several, "_run", run)
    with pytest.raises(click.ClickException, match="1 of 2 evaluations failed: broken"):
        several.run_all(["broken", "whole"], data=data, report=False)
    assert started == [["nonesuch", "--no-report"], [f"{data}/retrieval/piaf-shared", "--no-report"]]
    assert "[2/2] whole: a few words; takes about 2 min" in capfd.readouterr().out


def test_a_figure_that_fell_fails_the_run(data: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(gates, "FIGURES", tmp_path / "figures.json")
    monkeypatch.setattr(gates, "BASELINE", tmp_path / "baseline.json")
    monkeypatch.setattr(several, "_run", lambda arguments: 0)
    gates.keep({"recall": Figure(value=0.9, low=0.88, high=0.92, count=100)}, path=gates.BASELINE)
    gates.keep({"recall": Figure(value=0.5, low=0.48, high=0.52, count=100)}, path=gates.FIGURES)
    with pytest.raises(click.ClickException, match="1 of 1 figures fell by more than their noise: recall"):
        several.run_all(["attacks"], data=data, report=False)


def test_an_evaluation_runs_in_a_process_whose_code_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/false")
    assert several._run(["attacks"]) == 1


@pytest.mark.parametrize(("asked", "said"), [
    (["--only", "atacks"], "unknown: atacks; the evaluations are all, retrieval"),
    (["--only", ","], "unknown: nothing named"),
    (["--data-root", "nowhere"], "nowhere does not hold retrieval/piaf-shared, retrieval/cranfield, "),
    (["--data-root", "nowhere"], "and attacks, attacks-real, tools, analyses need none"),
    (["--data-root", "nowhere", "--only", "codes"], "nowhere does not hold retrieval/piaf-shared (questions on French"),
])
def test_what_is_asked_wrongly_is_told_with_the_way_out(asked: list[str], said: str) -> None:
    result = CliRunner().invoke(commands.main, ["several", *asked])
    assert result.exit_code != 0
    assert said in result.output


def test_what_needs_no_data_runs_without(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gates, "FIGURES", tmp_path / "figures.json")
    monkeypatch.setattr(gates, "BASELINE", tmp_path / "baseline.json")
    for path in (gates.BASELINE, gates.FIGURES):
        gates.keep({"recall": Figure(value=0.9, low=0.88, high=0.92, count=100)}, path=path)
    started: list[list[str]] = []
    monkeypatch.setattr(several, "_run", lambda arguments: started.append(arguments) or 0)
    several.run_all(["attacks"], data=tmp_path / "absent", report=False)
    assert started == [["attacks", "--no-report"]]


@pytest.mark.parametrize(("folder", "said"), [
    ("retrieval/cisi", "does not hold retrieval/cisi (abstracts on libraries, http"),
    ("mine", "is no folder; a retrieval set is a folder with corpus.jsonl, queries.jsonl and qrels.tsv"),
])
def test_a_folder_that_is_not_there_is_told_with_what_belongs_there(tmp_path: Path, folder: str, said: str) -> None:
    result = CliRunner().invoke(commands.main, ["retrieval", "--data", str(tmp_path / folder)])
    assert result.exit_code == 2
    assert said in result.output


def test_names_run_once_and_in_the_catalogues_order(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[list[str]] = []
    monkeypatch.setattr(commands, "run_all", lambda names, **_: asked.append(names))
    for only in ("attacks,sentences,attacks", "all"):
        result = CliRunner().invoke(commands.main, ["several", "--only", only, "--data-root", str(data)])
        assert result.exit_code == 0, result.output
    assert asked == [["sentences", "attacks"], list(EVALUATIONS)]
