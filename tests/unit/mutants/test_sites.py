"""The changes that mutants make: what is changed, what is left alone, and that each is written where it belongs."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.mutants.sites import mutants

ROOT = Path(__file__).parents[3]


def changed(source: str) -> set[str]:
    return {mutant.apply(source) for mutant in mutants("a.py", source)}


@pytest.mark.parametrize(("before", "after"), [
    ("x = a < b", "x = a <= b"), ("x = (a) not in b", "x = (a) in b"), ("x = a is not b", "x = a is b"),
    ("x = a and (b or c)", "x = a or (b or c)"), ("x = a and (b or c)", "x = a and (b and c)"),
    ("x = not a", "x = bool(a)"), ("x = 'é' + f(3)", "x = 'é' + f(4)"), ("x = 0.5", "x = 1.0"),
    ("x = True", "x = False"), ("x = min(a, b)", "x = max(a, b)"), ("f(x=3)", "pass"),
    ("async def f():\n    await g()", "async def f():\n    pass"),
    ("def f():\n    return a", "def f():\n    return None"), ("def f():\n    raise E('x')", "def f():\n    pass"),
    ("if a == b:\n    f()", "if (not (a == b)):\n    f()"), ("for x in y:\n    continue", "for x in y:\n    break"),
    ("x += a", "pass"), ("def f(a: int = 3): g", "def f(a: int = 4): g"),
])
def test_what_is_changed(before: str, after: str) -> None:
    assert after in changed(before)


@pytest.mark.parametrize("source", [
    '"""A text: 3 and 4."""', "x: tuple[int, 3]", "def f(a: Literal[3]): g", "x = f'{a + 3}'",
    "logger.info('%d', 3 + 4)",
    "assert a == 3", "@dataclass(frozen=True, slots=True)\nclass A: x", "while True:\n    x", "x = 'text'",
])
def test_what_is_left_alone(source: str) -> None:
    assert changed(source) == set()


def test_a_change_knows_its_function_and_its_line() -> None:
    source = "X = 3\nclass A:\n  y = 4\n  def f(self):\n    def g():\n      return 5 < z\n    return g\n"
    found = {(mutant.line, mutant.function) for mutant in mutants("a.py", source)}
    assert found == {(1, ""), (3, ""), (6, "A.f.g"), (7, "A.f")}


def test_every_change_of_a_real_module_is_python() -> None:
    file = ROOT / "sourcier/services/chassis/grpc/places.py"
    source = file.read_text(encoding="utf-8")
    found = mutants("places.py", source)
    assert len(found) > 20
    for mutant in found:
        ast.parse(mutant.apply(source))
