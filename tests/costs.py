"""Tells where the processor's time of a run goes: seconds of each folder's tests, and the files that take most.

Counted are the worker and all processes that it started, when the tests of a file are over: what a process took that
nobody waited for is not counted. A server that files share counts for the file whose tests it works for.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
from pathlib import PurePosixPath
from typing import Any

import psutil
import pytest

FILES_SHOWN = 15
SECONDS_MIN = 120.0
"""Of a whole run: a shorter one needs no table."""
_KEY = "processor_seconds"


class Costs:
    """Seconds by file: of this process, or, where workers run the tests, of all of them."""

    def __init__(self) -> None:
        """Begin to count."""
        self.files: defaultdict[str, float] = defaultdict(float)
        self._before = _spent()

    def end(self, file: str) -> None:
        """Count for a file what was spent since the one before."""
        now = _spent()
        self.files[file] += max(now - self._before, 0.0)
        self._before = now


_costs = pytest.StashKey[Costs]()


def _spent() -> float:
    """Return the seconds of this process and of those below it, those that ended and were waited for included."""
    own, seconds = psutil.Process(), 0.0
    for process in (own, *own.children(recursive=True)):
        with suppress(psutil.Error):
            times = process.cpu_times()
            seconds += times.user + times.system + times.children_user + times.children_system
    return seconds


def pytest_configure(config: pytest.Config) -> None:
    """Begin to count."""
    config.stash[_costs] = Costs()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> Iterator[None]:
    """Count a file after the last of its tests, and after what its fixtures do at their end."""
    try:
        yield
    finally:
        file = item.nodeid.partition("::")[0]
        if nextitem is None or nextitem.nodeid.partition("::")[0] != file:
            item.config.stash[_costs].end(file)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Hand a worker's seconds over to whoever started it."""
    if (output := getattr(session.config, "workeroutput", None)) is not None:
        output[_KEY] = dict(session.config.stash[_costs].files)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Take a worker's seconds."""
    for file, seconds in getattr(node, "workeroutput", {}).get(_KEY, {}).items():
        node.config.stash[_costs].files[file] += seconds


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Write the table."""
    files = config.stash[_costs].files
    if sum(files.values()) < SECONDS_MIN:
        return
    terminalreporter.section("seconds of processor, by folder and for the dearest files")
    for lines in (folders(files), sorted(files.items(), key=lambda each: -each[1])[:FILES_SHOWN]):
        for name, seconds in lines:
            terminalreporter.write_line(f"{seconds:7.1f}  {name}")


def folders(files: dict[str, float]) -> list[tuple[str, float]]:
    """Return the seconds of each folder, two below `tests` at most, dearest first."""
    summed: defaultdict[str, float] = defaultdict(float)
    for file, seconds in files.items():
        summed["/".join(PurePosixPath(file).parent.parts[:3])] += seconds
    return sorted(summed.items(), key=lambda each: -each[1])
