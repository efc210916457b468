"""What every test stands on: a marker by folder, and the fixtures of the real servers."""

from __future__ import annotations

import gc
from functools import cache
from pathlib import Path

import pytest
from hypothesis import settings

pytest_plugins = [
    "tests.sharing", "tests.costs", "tests.reports", "tests.fix_servers", "tests.fix_shared_sets", "tests.fix_stack",
    "tests.fix_browser", "tests.fix_forkers",
]

TESTS = Path(__file__).parent
KINDS = ("unit", "integration", "e2e", "chaos")

# Timings never decide a test.
settings.register_profile("sourcier", deadline=None)
settings.load_profile("sourcier")


# What is imported and collected lives to the end: looking through it again and again would take a fifth of the time
# that collecting takes, and some of each test's.
gc.disable()


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    """Have what is there by now left out of every search for garbage, and begin to search."""
    gc.freeze()
    gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark each test with the folder it lies in, so that `-m unit` needs no marker in the files."""
    for item in items:
        kind = _kind(item.path)
        if kind in KINDS:
            item.add_marker(kind)


@cache
def _kind(path: Path) -> str:
    return path.relative_to(TESTS).parts[0] if path.is_relative_to(TESTS) else ""
