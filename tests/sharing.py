"""How the tests share a machine: how many workers there are, and which files have a stack in common.

A stack starts with the first of its files and ends with the last, on one worker. Six services take ten seconds of
processor to start, and a few in a hundred while they idle: so a stack is neither started for each file nor kept for
the whole session.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack
from typing import Any, TypeVar

import psutil
import pytest

from sourcier.services.chassis.models.processor import usable_cores

Opened = TypeVar("Opened")

WORKERS_OF_A_CORE = 2
"""Half of the time that a test of real servers takes it waits: for a start, a lease, an acknowledgement."""
WORKERS_MIN, WORKERS_MAX = 2, 8
"""More would wait for the longest of the files that share a stack, which one worker runs."""
WORKER_BYTES = 4 * 2**30
"""A worker and its servers, with a stack of all services and a small language model, which few have at a time."""

GROUPS: dict[str, tuple[str, ...]] = {
    # The last one kills its services.
    "the stack with a scripted model": (
        "tests/e2e/test_closed_ports.py", "tests/e2e/test_conversation.py", "tests/e2e/test_documentation.py",
        "tests/e2e/test_erasure.py", "tests/e2e/test_foreign_ids.py", "tests/e2e/test_overwrites.py",
        "tests/e2e/test_page.py", "tests/e2e/test_refusing.py", "tests/e2e/test_traces.py",
        "tests/e2e/test_expressions.py",
        "tests/e2e/test_resilience.py",
    ),
    "the stack without a language model": (
        "tests/e2e/test_faq.py", "tests/e2e/test_retrieval_quality.py", "tests/e2e/test_sentence_check.py",
    ),
}
"""Files in the order in which they run."""
GROUP_OF = {file: name for name, files in GROUPS.items() for file in files}


class Shared:
    """What the tests of a group have in common, opened when one first asks for it."""

    def __init__(self) -> None:
        """Begin with nothing open."""
        self._opened: dict[str, Any] = {}
        self._closing = ExitStack()

    def get(self, name: str, opening: AbstractContextManager[Opened]) -> Opened:
        """Return what was opened under this name, and open it the first time."""
        if name not in self._opened:
            self._opened[name] = self._closing.enter_context(opening)
        opened: Opened = self._opened[name]
        return opened

    def close(self) -> None:
        """Close everything."""
        self._opened.clear()
        self._closing.close()


shared = Shared()


def group(nodeid: str) -> str:
    """Return the group of a test: its file, unless that shares with others."""
    file = nodeid.partition("::")[0]
    return GROUP_OF.get(file, file)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the tests of a group behind the first of them."""
    first: dict[str, int] = {}
    for place, item in enumerate(items):
        first.setdefault(group(item.nodeid), place)
    items.sort(key=lambda item: first[group(item.nodeid)])


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> Iterator[None]:
    """End what a group shared, after the last of its tests."""
    try:
        yield
    finally:
        if nextitem is None or group(nextitem.nodeid) != group(item.nodeid):
            shared.close()


def workers(*, cores: int, memory_bytes: int) -> int:
    """Return how many workers keep so many cores busy and fit into so much free memory."""
    return max(WORKERS_MIN, min(WORKERS_MAX, WORKERS_OF_A_CORE * cores, memory_bytes // WORKER_BYTES))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int | None:
    """Tell how many `-n auto` means; None leaves `-n logical` and PYTEST_XDIST_AUTO_NUM_WORKERS to xdist."""
    if config.getoption("numprocesses") == "logical" or "PYTEST_XDIST_AUTO_NUM_WORKERS" in os.environ:
        return None
    return workers(cores=usable_cores(), memory_bytes=psutil.virtual_memory().available)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Give a worker whole files, as `--dist loadfile` does, and those that share a stack all to one."""
    if config.getoption("dist") != "loadfile":
        return None
    from xdist.scheduler.loadfile import LoadFileScheduling

    class Groups(LoadFileScheduling):
        """Gives each worker whole groups, in the order in which they were collected."""

        def _split_scope(self, nodeid: str) -> str:
            return group(nodeid)

    return Groups(config, log)
