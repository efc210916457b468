"""The order after re-ranking: the re-ranker's scores, and what full text and a title that the question names add."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sourcier.services.gateway.retrieval.ranking_order import (
    LEXICAL_POWER,
    LEXICAL_WEIGHT,
    TITLE_WEIGHT,
    ordered,
    title_shares,
)
from sourcier.services.index.search.search import SearchResult
from tests.unit.gateway.fix_gateway_domain import result

QUESTION = "Quel est le préavis ?"


def _found(number: int, lexical_score: float | None, *, title: str = "") -> SearchResult:
    found = replace(result(number), lexical_score=lexical_score)
    return replace(found, passage=replace(found.passage, title=title))


def _shares(question: str, *titles: str) -> list[float]:
    return title_shares(titles, [question], weight=1.0)


def test_full_text_settles_what_late_interaction_holds_close() -> None:
    results = [_found(1, 5.0), _found(2, 20.0), _found(3, None)]
    ranked = ordered(results, {"chunk-1": 0.52, "chunk-2": 0.50, "chunk-3": 0.51}, question=QUESTION)
    assert [entry.passage.chunk_id for entry in ranked] == ["chunk-2", "chunk-1", "chunk-3"]
    assert [entry.rerank_score for entry in ranked] == [0.50, 0.52, 0.51]
    assert ranked[0].score == pytest.approx(0.50 + LEXICAL_WEIGHT)
    assert ranked[1].score == pytest.approx(0.52 + LEXICAL_WEIGHT / 4**LEXICAL_POWER)


def test_full_text_does_not_outweigh_a_clear_score() -> None:
    ranked = ordered([_found(1, 20.0), _found(2, None)], {"chunk-1": 0.4, "chunk-2": 0.6}, question=QUESTION)
    assert [entry.passage.chunk_id for entry in ranked] == ["chunk-2", "chunk-1"]


def test_a_cross_encoders_score_is_not_late_interactions() -> None:
    (compared,) = ordered([_found(1, None)], {"chunk-1": 0.4}, question=QUESTION)
    (read,) = ordered([_found(1, None)], {"chunk-1": 7.5}, question=QUESTION, by_late_interaction=False)
    assert (compared.rerank_score, compared.late_interaction) == (0.4, 0.4)
    assert (read.rerank_score, read.late_interaction, read.score) == (7.5, None, 7.5)


@pytest.mark.parametrize("lexical_score", [None, 0.0])
def test_without_full_text_the_reranker_decides_alone(lexical_score: float | None) -> None:
    results = [_found(1, lexical_score), _found(2, lexical_score)]
    ranked = ordered(results, {"chunk-1": 0.4, "chunk-2": 0.6}, question=QUESTION)
    assert [entry.score for entry in ranked] == [0.6, 0.4]


def test_a_title_that_the_question_names_comes_before_its_siblings() -> None:
    results = [_found(1, None, title="Bail Martin"), _found(2, None, title="Bail Dupont")]
    ranked = ordered(results, {"chunk-1": 0.52, "chunk-2": 0.50}, question="Le bail Dupont")
    assert [entry.passage.chunk_id for entry in ranked] == ["chunk-2", "chunk-1"]
    assert [entry.title_share for entry in ranked] == pytest.approx([TITLE_WEIGHT, TITLE_WEIGHT / 4])
    assert ranked[0].score == pytest.approx(0.50 + TITLE_WEIGHT)
    unweighed = ordered(
        results, {"chunk-1": 0.52, "chunk-2": 0.50}, question="Le bail Dupont", title_weight=0.0
    )
    assert [entry.score for entry in unweighed] == [0.52, 0.50]


def test_words_count_in_any_form_and_function_words_do_not() -> None:
    assert _shares("les congés payés de l'été", "Congé payé d’été", "De la et des") == pytest.approx([1.0, 1.0])
    assert _shares("congés", "Le préavis")[0] == 0.0
    assert _shares("", "Le préavis") == [0.0]


def test_words_that_only_one_of_both_has_take_from_a_title() -> None:
    exact, longer, other = _shares(
        "abandon de poste", "Abandon de poste", "Abandon de poste du salarié protégé", "Démission"
    )
    assert exact == pytest.approx(1.0)
    assert longer == pytest.approx((2 * 0.5 / 1.5) ** 2)
    assert other == 0.0


@pytest.mark.parametrize("title", ["", "par-F1004", "2024-03-12", "1 / 2"])
def test_a_title_without_words_is_not_put_behind_for_it(title: str) -> None:
    untitled, best, other = _shares("abandon de poste", title, "Abandon", "Démission")
    assert untitled == best > other == 0.0


def test_slips_and_acronyms_are_read_as_they_are_meant() -> None:
    asked = ["abandno de poste", "abandno de poste (abandon)"]
    typed, meant = title_shares(["Abandon de poste"], asked[:1]), title_shares(["Abandon de poste"], asked)
    assert meant[0] > typed[0]
