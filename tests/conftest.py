"""What every test stands on: a marker by folder, and the fixtures of the real servers."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import settings

pytest_plugins = [
    "tests.sharing", "tests.reports", "tests.fix_servers", "tests.fix_shared_sets", "tests.fix_stack",
    "tests.fix_browser",
]

TESTS = Path(__file__).parent
KINDS = ("unit", "integration", "e2e", "chaos")

# Timings never decide a test.
settings.register_profile("sourcier", deadline=None)
settings.load_profile("sourcier")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark each test with the folder it lies in, so that `-m unit` needs no marker in the files."""
    for item in items:
        if not item.path.is_relative_to(TESTS):
            continue
        kind = item.path.relative_to(TESTS).parts[0]
        if kind in KINDS:
            item.add_marker(kind)
