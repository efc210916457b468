"""How many workers share a machine, and that whoever says so decides."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.costs import Costs, folders
from tests.sharing import WORKERS_MAX, WORKERS_MIN, pytest_xdist_auto_num_workers, workers

ROOT = Path(__file__).parents[2]
GIB = 2**30


@pytest.mark.parametrize(("cores", "gib", "expected"), [
    (2, 22, 4), (2, 13, 3), (4, 13, 3), (1, 4, WORKERS_MIN), (2, 1, WORKERS_MIN), (64, 500, WORKERS_MAX),
])
def test_workers_keep_the_cores_busy_and_fit_into_the_memory(cores: int, gib: int, expected: int) -> None:
    assert workers(cores=cores, memory_bytes=gib * GIB) == expected


def test_whoever_says_how_many_decides(monkeypatch: pytest.MonkeyPatch, pytestconfig: pytest.Config) -> None:
    monkeypatch.delenv("PYTEST_XDIST_AUTO_NUM_WORKERS", raising=False)
    assert pytest_xdist_auto_num_workers(pytestconfig) in range(WORKERS_MIN, WORKERS_MAX + 1)
    monkeypatch.setenv("PYTEST_XDIST_AUTO_NUM_WORKERS", "1")
    assert pytest_xdist_auto_num_workers(pytestconfig) is None
    planned = [subprocess.run(["make", "-n", "test", *arguments], cwd=ROOT, capture_output=True, text=True, timeout=60,
                              check=True).stdout for arguments in ([], ["WORKERS=3"])]
    assert [" -n auto " in planned[0], " -n 3 " in planned[1]] == [True, True]


def test_the_seconds_of_processes_below_count_for_the_file_that_started_them() -> None:
    costs = Costs()
    subprocess.run([sys.executable, "-c", "import time\nwhile time.process_time() < 0.2: pass"], check=True, timeout=60)
    costs.end("tests/e2e/test_busy.py")
    assert costs.files["tests/e2e/test_busy.py"] >= 0.15


def test_folders_are_told_two_below_the_tests() -> None:
    told = folders({"tests/unit/test_a.py": 1.0, "tests/integration/ingest/parsing/pdf/test_b.py": 2.0,
                    "tests/integration/ingest/test_c.py": 1.5})
    assert told == [("tests/integration/ingest", 3.5), ("tests/unit", 1.0)]
