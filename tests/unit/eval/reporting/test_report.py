"""Figures and the block they are written into."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from eval.reporting import report
from eval.retrieval import searching
from eval.retrieval.searching import MODES, Ranking
from eval.sets.datasets import Dataset, Passage, Question
from sourcier.options import SearchModeName


def _rankings(question: str, orders: Mapping[SearchModeName, tuple[str, ...]]) -> list[Ranking]:
    return [Ranking(question, mode, orders[mode], tuple(1.0 for _ in orders[mode]), (), {}) for mode in MODES]


def test_the_gain_is_reranked_less_fused_on_the_same_questions() -> None:
    dataset = Dataset("set", (Passage("a", "", "x"), Passage("b", "", "y")), (Question("q", "?", {"a": 1}),))
    orders: dict[SearchModeName, tuple[str, ...]] = {**dict.fromkeys(MODES, ("b", "a")), "reranked": ("a", "b")}
    figures = report.figures(dataset, _rankings("q", orders))
    assert figures.gain.mean == pytest.approx(1 - 0.6309, abs=1e-4)
    table = report.table(figures)
    assert "| re-ranked | 1.0000 ±0.000 |" in table
    assert "| full text | 0.6309 ±0.000 |" in table


def test_a_question_that_was_not_asked_is_an_error_and_not_a_smaller_mean() -> None:
    dataset = Dataset("set", (), (Question("q", "?", {"a": 1}), Question("r", "?", {"a": 1})))
    with pytest.raises(KeyError):
        report.figures(dataset, _rankings("q", dict.fromkeys(MODES, ("a",))))


def test_a_block_is_replaced_and_what_stands_around_it_stays(tmp_path: Path) -> None:
    document = tmp_path / "quality.md"
    document.write_text("# Quality\n\nBefore.\n", "utf-8")
    report.write_block(document, "one", r"first \1")
    report.write_block(document, "two", "other")
    report.write_block(document, "one", r"second \1")
    text = document.read_text("utf-8")
    assert "first" not in text
    assert text.index("Before.") < text.index(r"second \1") < text.index("other")


def test_rankings_are_read_as_they_were_written(tmp_path: Path) -> None:
    path = tmp_path / "raw.jsonl"
    assert list(searching.read(path)) == []
    path.write_text(
        '{"question": "q", "mode": "dense", "passages": ["a"], "scores": [0.5], "rerank_scores": [],'
        ' "durations": {"total": 0.01}}\n',
        "utf-8",
    )
    assert list(searching.read(path)) == [Ranking("q", "dense", ("a",), (0.5,), (), {"total": 0.01})]
