"""The measures, against values worked out by hand."""

from __future__ import annotations

import math

import pytest

from eval.retrieval.measures import auroc, estimate, measure, ndcg


def test_a_single_relevant_passage_scores_by_its_rank() -> None:
    measured = measure(["b", "c", "a"], {"a": 1})
    assert measured["ndcg@10"] == pytest.approx(1 / math.log2(4))
    assert measured["mrr@20"] == pytest.approx(1 / 3)
    assert (measured["recall@1"], measured["recall@5"]) == (0.0, 1.0)


def test_grades_are_gains_and_the_ideal_order_is_one() -> None:
    relevant = {"a": 3, "b": 1}
    assert ndcg(["a", "b"], relevant, depth=10) == pytest.approx(1.0)
    swapped = (1 + 3 / math.log2(3)) / (3 + 1 / math.log2(3))
    assert ndcg(["b", "a"], relevant, depth=10) == pytest.approx(swapped)


def test_the_ideal_is_cut_at_the_depth() -> None:
    relevant = {str(number): 1 for number in range(30)}
    assert ndcg([str(number) for number in range(10)], relevant, depth=10) == pytest.approx(1.0)
    assert measure([str(number) for number in range(20)], relevant)["recall@20"] == pytest.approx(20 / 30)


def test_what_is_not_found_is_zero() -> None:
    assert set(measure(["x"], {"a": 1}).values()) == {0.0}


def test_the_interval_holds_the_mean_and_is_the_same_each_time() -> None:
    values = [0.0, 1.0] * 50
    first = estimate(values)
    assert first == estimate(values)
    assert first.low < first.mean == 0.5 < first.high
    assert first.high - first.low == pytest.approx(4 * 0.5 / 10, rel=0.2)


@pytest.mark.parametrize(
    ("positive", "negative", "expected"),
    [([2.0, 3.0], [0.0, 1.0], 1.0), ([0.0], [1.0], 0.0), ([1.0, 1.0], [1.0], 0.5), ([1.0, 3.0], [2.0], 0.5)],
)
def test_auroc_counts_pairs(positive: list[float], negative: list[float], expected: float) -> None:
    assert auroc(positive, negative) == pytest.approx(expected)
