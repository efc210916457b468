"""The page of what is specified has every requirement, counts them rightly, and names tests that there are."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

pytestmark = pytest.mark.unit

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "developing" / "spec-status.md").read_text("utf-8")
ASKED = {"I": 25, "R": 9, "A": 16, "Q": 9, "C": 6, "O": 4, "H": 1}
"""How many requirements there are, by the letter of their codes."""
PROMISES = 20
STATES = ("built", "partly", "not built")
TABLES = [
    [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in PAGE.splitlines() if line.startswith("|")
]
ROWS = [(row[0], row[2], row[4]) for row in TABLES if re.fullmatch(r"[A-Z]\d+", row[0])]


def test_every_requirement_has_one_row_and_a_state() -> None:
    codes = Counter(code for code, _, _ in ROWS)
    assert codes == Counter(f"{letter}{number}" for letter, last in ASKED.items() for number in range(1, last + 1))
    assert {state for _, state, _ in ROWS} <= set(STATES)
    promises = [row for row in TABLES if row[0].isdigit()]
    assert [row[0] for row in promises] == [str(number) for number in range(1, PROMISES + 1)]
    assert [row for row in promises if not row[2].startswith(STATES)] == []


def test_what_is_built_names_a_test() -> None:
    assert [code for code, state, tests in ROWS if state == "built" and ".py" not in tests] == []


def test_the_table_of_counts_adds_up() -> None:
    counted = Counter((code[0], state) for code, state, _ in ROWS)
    told = {row[0].partition(",")[0]: row[1:] for row in TABLES if re.match(r"[A-Z]( and [A-Z])*, ", row[0])}
    assert {letter for letters in told for letter in letters.split(" and ")} == set(ASKED)
    for letters, numbers in told.items():
        assert [sum(counted[letter, state] for letter in letters.split(" and ")) for state in STATES] == [
            int(number) for number in numbers
        ], letters


def test_the_tests_that_it_names_exist() -> None:
    there = {path.name for path in (ROOT / "tests").rglob("test_*.py")}
    assert set(re.findall(r"test_[a-z0-9_]+\.py", PAGE)) - there == set()
