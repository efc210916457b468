"""Thresholds from scores, and the scores from rankings."""

from __future__ import annotations

import pytest

from eval.calibration import Scored, calibrate, is_reported, report_on
from eval.datasets import Dataset, Passage, Question
from eval.refusal import ARTICLE_REMOVED, PASSAGE_REMOVED, refusal_scores
from eval.searching import Ranking
from eval.sentence_sets import verbatim

SETTING = next(name for name in map(str, range(99)) if not is_reported(name))
REPORTING = next(name for name in map(str, range(99)) if is_reported(name))


def _scored(article: str, scores: list[float]) -> list[Scored]:
    return [Scored(article, score) for score in scores]


def test_a_threshold_is_set_on_one_half_and_reported_on_the_other() -> None:
    kept = _scored(SETTING, [number / 100 for number in range(101)]) + _scored(REPORTING, [0.005, 0.5, 0.6, 0.7])
    calibration = calibrate(kept, {"wrong": _scored(REPORTING, [0.0, 0.01, 0.65]) + _scored(SETTING, [9.0])},
                            lost_max=0.02)
    assert calibration.threshold == pytest.approx(0.02)
    assert (calibration.lost, calibration.kept_count) == (0.25, 4)
    assert calibration.contrasts["wrong"].stopped == pytest.approx(2 / 3)
    assert calibration.contrasts["wrong"].auroc == pytest.approx((1 + 2 + 2 + 3) / 12)


def test_a_threshold_that_stands_is_reported_as_it_is() -> None:
    calibration = report_on(_scored(REPORTING, [0.2, 0.4]), {"wrong": _scored(REPORTING, [0.1])}, threshold=0.3)
    assert (calibration.threshold, calibration.lost, calibration.contrasts["wrong"].stopped) == (0.3, 0.5, 1.0)


def test_taking_a_passage_or_its_article_away_leaves_the_best_of_the_others() -> None:
    dataset = Dataset(
        "set", (Passage("a1", "A", "x"), Passage("a2", "A", "y"), Passage("b1", "B", "z")),
        (Question("q", "?", {"a1": 1}),),
    )
    rankings = [
        Ranking("q", "reranked", ("a2", "a1", "b1"), (0.95, 0.9, 0.3), (0.6, 0.9, 0.3), {}),
        Ranking("q", "dense", ("b1",), (0.8,), (), {}), Ranking("unknown", "reranked", ("a1",), (1.0,), (1.0,), {}),
    ]
    scores = refusal_scores(dataset, rankings, mode="reranked")
    assert scores.present == [Scored("A", 0.9)]
    assert scores.absent == {PASSAGE_REMOVED: [Scored("A", 0.6)], ARTICLE_REMOVED: [Scored("A", 0.3)]}


def test_sentences_are_cut_around_the_answer_and_not_at_its_point() -> None:
    text = "Elle naît en 1900. Le prix est de 14.5 euros par jour ! Puis rien."
    question = Question("q", "Quel est le prix ?", {"p": 1}, ("14.5 euros",))
    dataset = Dataset("set", (Passage("p", "T", text),), (question,))
    assert verbatim(dataset) == {"q": "Le prix est de 14.5 euros par jour !"}
