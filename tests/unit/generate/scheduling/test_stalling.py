"""An engine that hangs is told from one that gets too little of the processor."""

from __future__ import annotations

import subprocess
import sys

import pytest

from sourcier.services.generate.scheduling.stalling import STARVED_TIMES_MAX, children_seconds, is_stalled


@pytest.mark.parametrize(
    ("waited", "worked", "stalled"),
    [
        (59.0, 0.0, False),  # within its time
        (61.0, 0.0, True),  # waits for ever
        (61.0, 2.0, True),
        (61.0, 61.0, True),  # runs in circles, with a processor to itself
        (61.0, 120.0, True),
        (61.0, 10.0, False),  # starved
        (200.0, 30.0, False),
        (200.0, 60.0, True),  # has worked as long as one that has a processor to itself
        (STARVED_TIMES_MAX * 60.0 + 1, 30.0, True),  # bounded
    ],
)
def test_an_engine_hangs_when_it_waits_for_ever_or_works_for_nothing(
    waited: float, worked: float, stalled: bool
) -> None:
    assert is_stalled(waited=waited, worked=worked, limit=60.0) is stalled


def test_the_work_of_children_is_counted() -> None:
    before = children_seconds()
    busy = "import time\nwhile time.process_time() < 0.2: pass\nprint('done', flush=True)\ninput()"
    with subprocess.Popen((sys.executable, "-c", busy), stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"done\n"
        assert children_seconds() >= before + 0.15
        child.communicate(b"\n")
