"""A report of a failed test is made although forgotten things die meanwhile."""

from __future__ import annotations

import ast
import gc
from collections.abc import Iterator

import pytest

from tests.reports import pytest_runtest_makereport

SOURCE = "\n".join(f"def f{number}(a, b):\n    return [a, (b, {{a: b}})]" for number in range(200))


class Forgotten:
    """Part of a cycle, whose end is logged with a traceback: that parses source."""

    def __init__(self) -> None:
        self.cycle = self

    def __del__(self) -> None:
        ast.parse("(((((1)))))")


@pytest.fixture(autouse=True)
def collecting_often() -> Iterator[None]:
    before = gc.get_threshold()
    gc.set_threshold(5, 1, 1)
    yield
    gc.set_threshold(*before)


def test_a_report_is_made_while_forgotten_things_die() -> None:
    for _ in range(20):
        Forgotten()
        report = pytest_runtest_makereport(None, None)  # type: ignore[arg-type]
        next(report)
        assert len(ast.parse(SOURCE).body) == 200
        with pytest.raises(StopIteration):
            next(report)
    assert gc.isenabled()
