"""Benchmarks run apart: one that fails, hangs or is interrupted takes nothing of the others with it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from bench import __main__ as command
from bench import harness
from bench.catalogue import BENCHMARKS, QWEN, SMOLLM2, Benchmark
from bench.results import Outcome, Run, read

ROOT = Path(__file__).parents[3]
RUN = Run(started="2026-11-22T10:00:00Z", machine={"cores": 2})


def _benchmark(module: str, **settings: tuple[str, ...]) -> Benchmark:
    return Benchmark(module=f"tests.unit.bench.{module}", about="", page="test", **{"models": (), **settings})  # type: ignore[arg-type]


def test_what_fails_is_told_with_its_reason_and_the_others_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(harness, "BENCHMARKS", {
        "fails": _benchmark("benchmark_that_fails"), "missing": _benchmark("no_such_module"),
        "unprepared": _benchmark("benchmark_that_ends", environments=("no-such-environment",)),
        "ends": _benchmark("benchmark_that_ends"),
    })
    path = tmp_path / "results.jsonl"
    assert harness.run_all(["fails", "missing", "unprepared", "ends"], path, RUN)
    found = read([path])
    assert [found[name].outcome for name in ("fails", "missing", "unprepared")] == [Outcome.FAILED] * 3
    assert found["fails"].reason == "RuntimeError: the peer cannot be imported"
    assert "no_such_module" in found["missing"].reason
    assert "no-such-environment" in found["unprepared"].reason
    assert found["ends"].outcome is Outcome.FINISHED
    assert found["ends"].missed == 1
    told = capfd.readouterr().out
    assert "fails: FAILED" in told
    assert "1 target missed" in told


def test_what_several_need_is_made_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install, asked = tmp_path / "install.py", tmp_path / "asked"
    install.write_text(f"import sys; print(*sys.argv[1:], file=open({str(asked)!r}, 'a'))")
    monkeypatch.setattr(harness, "INSTALL", install)
    monkeypatch.setattr(harness, "BENCHMARKS", {
        "first": _benchmark("benchmark_that_ends", environments=("a", "b")),
        "second": _benchmark("benchmark_that_ends", environments=("b", "c")),
        "third": _benchmark("benchmark_that_ends", environments=("a", "c")),
    })
    assert harness.run_all(["first", "second", "third"], tmp_path / "results.jsonl", RUN)
    assert asked.read_text().splitlines() == ["a b", "c"]


def test_a_quick_run_fetches_no_model_that_it_does_not_run(monkeypatch: pytest.MonkeyPatch) -> None:
    commands: list[tuple[str, ...]] = []
    monkeypatch.setattr(harness, "_succeed", lambda command: commands.append(tuple(command)))
    settings = BENCHMARKS["generation-settings"]
    for quick in (True, False):
        harness.Preparation().make(settings, quick=quick)
    assert [command[-1] for command in commands if "fetch" in command] == [SMOLLM2, QWEN]


def test_an_endless_one_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(harness, "BENCHMARKS", {"waits": _benchmark("benchmark_that_waits")})
    monkeypatch.setattr(harness, "HEARTBEAT_SECONDS", 0.1)
    monkeypatch.setattr(Benchmark, "seconds_max", lambda self, quick: 1.0)
    monkeypatch.setenv("SOURCIER_TEST_FOLDER", str(tmp_path))
    path = tmp_path / "results.jsonl"
    assert harness.run_all(["waits"], path, RUN)
    assert read([path])["waits"].reason == "it had not ended after 1 s"


def test_an_interrupt_stops_what_was_started_and_keeps_what_was_measured(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    script = (
        "from pathlib import Path\n"
        "from bench import harness\n"
        "from tests.unit.bench.test_harness import RUN, _benchmark\n"
        "modules = {'ends': 'that_ends', 'waits': 'that_waits', 'never': 'that_ends'}\n"
        "harness.BENCHMARKS = {name: _benchmark(f'benchmark_{module}') for name, module in modules.items()}\n"
        f"raise SystemExit(7 if not harness.run_all(['ends', 'waits', 'never'], Path({str(path)!r}), RUN) else 0)\n"
    )
    process = subprocess.Popen(
        (sys.executable, "-c", script), cwd=ROOT, start_new_session=True,
        env={**os.environ, "PYTHONPATH": str(ROOT), "SOURCIER_TEST_FOLDER": str(tmp_path)},
    )
    try:
        _wait_for(tmp_path / "started")
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 7
    finally:
        process.kill()
    assert (tmp_path / "stopped").exists()
    found = read([path])
    assert found["ends"].outcome is Outcome.FINISHED
    assert found["waits"].outcome is Outcome.INTERRUPTED
    assert "never" not in found


def test_an_unknown_name_gives_the_names(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["bench", "--only", "embedding,nonesuch"])
    with pytest.raises(SystemExit) as ended:
        command.main()
    assert ended.value.code == 2
    told = capsys.readouterr().err
    assert "unknown: nonesuch" in told
    assert all(name in told for name in BENCHMARKS)


def test_quick_runs_of_all_take_less_than_twelve_minutes() -> None:
    assert sum(each.quick_seconds for each in BENCHMARKS.values()) < 690


def test_no_module_hides_one_of_the_standard_library() -> None:
    # Peers run as scripts of this folder, which then comes first among the places that they and theirs import from.
    assert {path.stem for path in (ROOT / "bench").glob("*.py")} & sys.stdlib_module_names == set()


def _wait_for(path: Path) -> None:
    give_up_at = time.monotonic() + 30
    while not path.exists():
        assert time.monotonic() < give_up_at, f"{path.name} did not appear"
        time.sleep(0.05)
