"""Two commands that set up at once: the second one waits, and does not take the first one's folder away."""

from __future__ import annotations

import fcntl
import shutil
import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]


def test_a_second_set_up_waits_for_the_first(tmp_path: Path) -> None:
    (tmp_path / "requirements").mkdir()
    for name in ("install.py", "checkout.py", "page.py"):
        shutil.copy(REPOSITORY / "requirements" / name, tmp_path / "requirements")
    (tmp_path / ".venv").mkdir()
    command = [sys.executable, str(tmp_path / "requirements" / "install.py"), "report"]
    with (tmp_path / ".venv" / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as second:
            assert second.stdout is not None
            assert "waiting" in second.stdout.readline()
            fcntl.flock(lock, fcntl.LOCK_UN)
            # There is no lock file of requirements here: it went on, and says so.
            _, told = second.communicate(timeout=60)
    assert "report.lock is missing" in told
