"""Results of long runs: kept as they come, and never taken for those of another run."""

from __future__ import annotations

from pathlib import Path

import click
import pytest

from eval.kept import Kept


def test_a_run_that_was_cut_off_goes_on_from_its_last_whole_line(tmp_path: Path) -> None:
    path = tmp_path / "results" / "answers.jsonl"
    first = Kept(path, run_of="a")
    first.add("one", {"text": "été"})
    first.add("two", {"text": "b"})
    path.write_bytes(path.read_bytes()[:-4])
    second = Kept(path, run_of="a")
    assert (second.get("one"), second.get("two")) == ({"text": "été"}, None)
    second.add("two", {"text": "c"})
    assert Kept(path, run_of="a").get("two") == {"text": "c"}
    assert Kept(path, run_of="a").get("one") == {"text": "été"}


def test_what_was_added_last_counts(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    Kept(path, run_of="a").add("one", {"text": "failed"})
    Kept(path, run_of="a").add("one", {"text": "right"})
    assert Kept(path, run_of="a").get("one") == {"text": "right"}


def test_results_of_something_else_are_refused_until_they_are_forgotten(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    Kept(path, run_of="a").add("one", {})
    with pytest.raises(click.ClickException, match="--again"):
        Kept(path, run_of="b")
    assert Kept(path, run_of="b", again=True).get("one") is None
    assert Kept(path, run_of="b").get("one") is None
