"""What is given to `make` reaches the command as it was typed, and what cannot be is told."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def make(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["make", *arguments], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize("word", ["0", "no", "No", "NO", "false", "False", "FALSE", "off", ""])
def test_no_means_no(word: str) -> None:
    planned = make("-n", "bench", f"PUBLISH={word}", f"QUICK={word}")
    assert planned.returncode == 0, planned.stderr
    assert "--publish" not in planned.stdout
    assert "--quick" not in planned.stdout
    assert "--publish" in make("-n", "bench", "PUBLISH=1").stdout


@pytest.mark.parametrize("question", ["Que vaut `id` et $HOME ?", 'dit "oui" \\ $(shell touch pwned)', "l'été $$ #1"])
def test_a_question_and_a_path_arrive_as_they_were_typed(tmp_path: Path, question: str) -> None:
    record = tmp_path / "record"
    record.write_text('#!/bin/sh\nfor each in "$@"; do printf "%s\\n" "$each"; done\n')
    record.chmod(0o755)
    done = make("-s", "demo", "INSTALL=true", f"RUN={record}", f"QUESTION={question}", 'DOCS=a"b')
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-5:] == ["demo/run.py", "--documents", 'a"b', "--question", question]
    assert not (ROOT / "pwned").exists()


def test_what_is_planned_names_no_variable_of_the_shell() -> None:
    planned = make("-n", "demo", "QUESTION=`id` $HOME", 'DOCS=a"b')
    assert (planned.returncode, "id" in planned.stdout.splitlines()[-1]) == (0, False)


def test_an_evaluation_without_its_set_ends_before_anything_is_installed(tmp_path: Path) -> None:
    record, python = tmp_path / "record", tmp_path / "python"
    python.write_text(f'#!/bin/sh\necho "$@" >> {record}\n[ "$2" != eval.shared_sets ]\n')
    python.chmod(0o755)
    assert make("-s", "eval", f"PYTHON={python}", f"RUN={python}").returncode != 0
    assert record.read_text() == "-m eval.shared_sets retrieval/piaf-shared\n"
    for given in ("DATA=mine", "ONLY=attacks", "LIST=1"):
        record.unlink()
        assert make("-s", "eval", f"PYTHON={python}", f"RUN={python}", given).returncode == 0
        assert "eval.shared_sets" not in record.read_text()


@pytest.mark.parametrize("base", ["nope", "", '"; touch pwned; "'])
def test_a_base_that_is_no_commit_is_an_error(base: str) -> None:
    done = make("breaking", "INSTALL=true", "ENVIRONMENT=/nonexistent", f"BASE={base}")
    assert done.returncode != 0
    assert f"error: BASE={base} is not a commit" in done.stderr
    assert "no earlier contracts" not in done.stdout
    assert not (ROOT / "pwned").exists()


def test_a_scenario_that_is_none_is_told_with_those_that_are(monkeypatch: pytest.MonkeyPatch,
                                                            capsys: pytest.CaptureFixture[str]) -> None:
    chaos = pytest.importorskip("tests.chaos.__main__")
    monkeypatch.setattr("sys.argv", ["chaos", "--scenario", "kills,nope"])
    with pytest.raises(SystemExit) as ended:
        chaos._arguments()
    told = capsys.readouterr().err
    assert (ended.value.code, "'nope' is no scenario" in told) == (2, True)
    assert "simulation, bucket, leaks, recovery, scaling, throughput" in told
    monkeypatch.setattr("sys.argv", ["chaos", "--scenario", "kills,bucket"])
    assert chaos._arguments().scenario == "kills,bucket"
