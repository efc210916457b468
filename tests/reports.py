"""What a failed test reports comes whole, and costs no worker its life.

Python 3.11 counts the depth of the tree that `ast.parse` makes in one place for all (its issue 106905). The report of
a failed test parses the test's source; a collection of garbage meanwhile may log what a forgotten task died of, whose
traceback is parsed, too; the count is then wrong, and the SystemError ends the worker instead of the test.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

import pytest


@contextmanager
def garbage_kept() -> Iterator[None]:
    """Collect no garbage in the block."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    """Let nothing be parsed while a report is made but the report's own."""
    with garbage_kept():
        return (yield)
