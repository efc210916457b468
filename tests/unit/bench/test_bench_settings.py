"""What benchmarks are told by variables, and the corpus that two of them share."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from bench.catalogue import BENCHMARKS
from bench.environment import asked_numbers
from bench.harness import FOLDER_VARIABLE, corpus_folder

NAME = "SOURCIER_BENCH_SCALE_SIZES"


def test_numbers_are_those_of_the_variable_else_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(NAME, raising=False)
    assert asked_numbers(NAME, (40, 20)) == (40, 20)
    monkeypatch.setenv(NAME, "100,20")
    assert asked_numbers(NAME, (40,), multiple_of=20) == (100, 20)


@pytest.mark.parametrize("asked", ["abc", "10,", "0", "-20", "30", "nan"])
def test_what_is_no_number_is_named_with_its_variable(monkeypatch: pytest.MonkeyPatch, asked: str) -> None:
    monkeypatch.setenv(NAME, asked)
    with pytest.raises(ValueError, match=f"{NAME}={asked} .*multiples of 20"):
        asked_numbers(NAME, (40,), multiple_of=20)


def test_two_that_search_the_grown_corpus_fill_it_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(FOLDER_VARIABLE, raising=False)
    with corpus_folder(("embedding", "scale")) as variables:
        assert variables == {}
    with corpus_folder(("scale", "embedding", "search-scale")) as variables:
        folder = Path(variables[FOLDER_VARIABLE])
        assert folder.is_dir()
        assert FOLDER_VARIABLE not in os.environ
    assert not folder.exists()
    monkeypatch.setenv(FOLDER_VARIABLE, "/srv/bench")
    with corpus_folder(("scale", "search-scale")) as variables:
        assert variables == {}


@pytest.mark.parametrize(("asked", "more"), [("2400", 2_400), ("", 0), ("abc", 0), ("nan", 0), ("inf", 0)])
def test_a_run_that_is_asked_to_take_longer_is_waited_for(
    monkeypatch: pytest.MonkeyPatch, asked: str, more: int
) -> None:
    growth = BENCHMARKS["growth"]
    monkeypatch.setenv("SOURCIER_BENCH_GROWTH_SECONDS", asked)
    for quick, own in ((False, growth.seconds), (True, growth.quick_seconds)):
        assert growth.expected_seconds(quick=quick) == own + more
    assert growth.seconds_max(quick=False) == 6 * (growth.seconds + more)
