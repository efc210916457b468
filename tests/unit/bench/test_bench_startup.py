"""What the start's benchmark counts as memory."""

from __future__ import annotations

import subprocess
import sys

import psutil
import pytest

from bench.startup import memory

pytestmark = pytest.mark.unit


def test_shared_pages_count_once_in_all_and_a_process_that_is_gone_holds_nothing() -> None:
    code = "import os\nheld = b'x' * 50_000_000\nprint(flush=True) if os.fork() else None\ninput()"
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        parent.stdout.readline()
        family = [psutil.Process(parent.pid), *psutil.Process(parent.pid).children()]
        held = memory(family)
        parent.kill()
        for process in family:
            process.kill()
    assert held.resident > 100_000_000 > held.proportional > 50_000_000
    assert memory(family[:1]).resident == 0
