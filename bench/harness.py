"""Runs benchmarks one after the other, each in a process of its own, and says what is going on."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from types import FrameType
from typing import Any

from bench.catalogue import BENCHMARKS, Benchmark
from bench.results import Outcome, Run, read, write_outcome

ROOT = Path(__file__).parents[1]
INSTALL = ROOT / "requirements" / "install.py"
HEARTBEAT_SECONDS = 30.0
STOP_SECONDS_MAX = 120.0
"""What a benchmark has to stop its stack; the stack gives up its own services after less."""


FOLDER_VARIABLE = "SOURCIER_BENCH_SCALE_DIR"
"""Names the folder in which the grown corpus is kept."""


class PreparationError(Exception):
    """What a benchmark needs could not be made; the text says why."""


class Interrupted(Exception):
    """Somebody wants the run to end."""


def run_all(names: Sequence[str], path: Path, run: Run) -> bool:
    """Run the benchmarks, results into `path`; return whether all were run, else somebody interrupted."""
    started = time.monotonic()
    preparation = Preparation()
    with _interruptible(), corpus_folder(names) as folder:
        for number, name in enumerate(names, start=1):
            benchmark = BENCHMARKS[name]
            expected = benchmark.expected_seconds(quick=run.quick)
            _say(f"\n[{number}/{len(names)}] {name}: {benchmark.about}; takes about {_minutes(expected)}")
            began = time.monotonic()
            try:
                preparation.make(benchmark, quick=run.quick)
                _run_child(name, path, run, folder if benchmark.corpus else {})
            except PreparationError as error:
                _fail(path, name, run, began, str(error))
            except Interrupted:
                _say(f"interrupted; results so far are in {path}")
                return False
            _tell_end(name, path)
    _say(f"\n{len(names)} benchmarks in {_minutes(time.monotonic() - started)}")
    return True


@contextmanager
def corpus_folder(names: Sequence[str]) -> Iterator[dict[str, str]]:
    """Yield the variable of a folder that benchmarks share, where more than one fills it and nobody names another."""
    if os.environ.get(FOLDER_VARIABLE) or sum(BENCHMARKS[name].corpus for name in names) < 2:
        yield {}
        return
    with tempfile.TemporaryDirectory(prefix="sourcier-bench-", ignore_cleanup_errors=True) as folder:
        yield {FOLDER_VARIABLE: folder}


class Preparation:
    """Makes what benchmarks need, each thing once in a run: a store reads weights whole when it is asked for them."""

    def __init__(self) -> None:
        self._done: set[tuple[str, str]] = set()

    def make(self, benchmark: Benchmark, *, quick: bool) -> None:
        """Make the environments and models that a benchmark needs, and no others; raise `PreparationError`."""
        self._make("environment", benchmark.environments, str(INSTALL))
        self._make("model", benchmark.wanted_models(quick=quick), "-m", "sourcier.models", "fetch")

    def _make(self, kind: str, wanted: Sequence[str], *command: str) -> None:
        if missing := [name for name in wanted if (kind, name) not in self._done]:
            with _told_after(HEARTBEAT_SECONDS / 10, f"  making what it needs: {kind} {', '.join(missing)} …"):
                _succeed((sys.executable, *command, *missing))
            self._done.update((kind, name) for name in missing)


@contextmanager
def _told_after(seconds: float, text: str) -> Iterator[None]:
    """Say something once it has taken so long: what was made before takes no time."""
    timer = threading.Timer(seconds, _say, [text])
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _succeed(command: Sequence[str]) -> None:
    ended = subprocess.run(command, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}, text=True,
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    lines = [line.strip() for line in ended.stdout.splitlines() if line.strip()]
    if ended.returncode:
        _say("\n".join(lines))
        said = [line for line in lines if "error" in line.lower()] or lines[-1:] or ["it said nothing"]
        raise PreparationError(f"`{' '.join(Path(part).name for part in command[1:])}` failed: {said[0]}"[:400])


def _run_child(name: str, path: Path, run: Run, variables: Mapping[str, str]) -> None:
    """Run one benchmark to its end, or to the end of its time."""
    benchmark, began = BENCHMARKS[name], time.monotonic()
    seconds_max = benchmark.seconds_max(quick=run.quick)
    # In a group of its own: Ctrl-C is for us, and we ask the benchmark to stop; its servers and peers are its own.
    child = subprocess.Popen(
        (sys.executable, "-m", "bench.child", name, benchmark.module, str(path), json.dumps(asdict(run))), cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1", **variables}, process_group=0,
    )
    try:
        while True:
            try:
                child.wait(HEARTBEAT_SECONDS)
                break
            except subprocess.TimeoutExpired:
                elapsed = time.monotonic() - began
                if elapsed > seconds_max:
                    _stop(child)
                    _fail(path, name, run, began, f"it had not ended after {_minutes(seconds_max)}")
                    return
                expected = benchmark.expected_seconds(quick=run.quick)
                _say(f"  {name}: {_minutes(elapsed)} of about {_minutes(expected)} …")
    except Interrupted:
        _say(f"  stopping {name} and what it started …")
        _stop(child)
        raise
    if not _has_ended(name, path, run):
        _fail(path, name, run, began, _death(child.returncode))


def _stop(child: subprocess.Popen[bytes]) -> None:
    child.send_signal(signal.SIGTERM)
    try:
        child.wait(STOP_SECONDS_MAX)
    except subprocess.TimeoutExpired:
        child.kill()  # its stack looks for it and stops by itself
        child.wait()


def _has_ended(name: str, path: Path, run: Run) -> bool:
    """Whether the benchmark itself has written how it ended."""
    if not path.exists():
        return False
    lines = (json.loads(line) for line in path.read_text("utf-8").splitlines())
    return any(entry["benchmark"] == name and "outcome" in entry for entry in lines)


def _fail(path: Path, name: str, run: Run, began: float, reason: str) -> None:
    write_outcome(path, Outcome.FAILED, benchmark=name, run=run, seconds=time.monotonic() - began, reason=reason)


def _death(code: int) -> str:
    if code < 0:
        killed = " (the system kills processes when memory runs out)" if code == -signal.SIGKILL else ""
        return f"its process was ended by {signal.Signals(-code).name}{killed}"
    return f"its process ended with code {code} and told nothing"


def _tell_end(name: str, path: Path) -> None:
    result = read([path])[name]
    if result.outcome is not Outcome.FINISHED:
        _say(f"  {name}: {result.outcome.upper()} after {_minutes(result.seconds)}: {result.reason}")
        return
    missed = f", {result.missed} target{'s' * (result.missed > 1)} missed" if result.missed else ""
    _say(f"  {name}: {_minutes(result.seconds)}{missed}")


@contextmanager
def _interruptible() -> Iterator[None]:
    """Turn the first Ctrl-C or SIGTERM into `Interrupted`; further ones wait for the stopping they have asked for."""
    previous: dict[signal.Signals, Any] = {}

    def interrupt(number: int, frame: FrameType | None) -> None:
        for asked in previous:
            signal.signal(asked, signal.SIG_IGN)
        raise Interrupted

    for number in (signal.SIGINT, signal.SIGTERM):
        previous[number] = signal.signal(number, interrupt)
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


def _minutes(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.1f} min"


def _say(text: str) -> None:
    print(text, flush=True)
