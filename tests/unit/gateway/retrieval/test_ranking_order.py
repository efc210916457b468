"""The order after re-ranking: the re-ranker's scores, and a share of full text."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sourcier.services.gateway.retrieval.ranking_order import LEXICAL_POWER, LEXICAL_WEIGHT, ordered
from sourcier.services.index.search.search import SearchResult
from tests.unit.gateway.fix_gateway_domain import result


def _found(number: int, lexical_score: float | None) -> SearchResult:
    return replace(result(number), lexical_score=lexical_score)


def test_full_text_settles_what_late_interaction_holds_close() -> None:
    results = [_found(1, 5.0), _found(2, 20.0), _found(3, None)]
    ranked = ordered(results, {"chunk-1": 0.52, "chunk-2": 0.50, "chunk-3": 0.51})
    assert [entry.passage.chunk_id for entry in ranked] == ["chunk-2", "chunk-1", "chunk-3"]
    assert [entry.rerank_score for entry in ranked] == [0.50, 0.52, 0.51]
    assert ranked[0].score == pytest.approx(0.50 + LEXICAL_WEIGHT)
    assert ranked[1].score == pytest.approx(0.52 + LEXICAL_WEIGHT / 4**LEXICAL_POWER)


def test_full_text_does_not_outweigh_a_clear_score() -> None:
    ranked = ordered([_found(1, 20.0), _found(2, None)], {"chunk-1": 0.4, "chunk-2": 0.6})
    assert [entry.passage.chunk_id for entry in ranked] == ["chunk-2", "chunk-1"]


def test_a_cross_encoders_score_is_not_late_interactions() -> None:
    (compared,) = ordered([_found(1, None)], {"chunk-1": 0.4})
    (read,) = ordered([_found(1, None)], {"chunk-1": 7.5}, by_late_interaction=False)
    assert (compared.rerank_score, compared.late_interaction) == (0.4, 0.4)
    assert (read.rerank_score, read.late_interaction, read.score) == (7.5, None, 7.5)


@pytest.mark.parametrize("lexical_score", [None, 0.0])
def test_without_full_text_the_reranker_decides_alone(lexical_score: float | None) -> None:
    ranked = ordered([_found(1, lexical_score), _found(2, lexical_score)], {"chunk-1": 0.4, "chunk-2": 0.6})
    assert [entry.score for entry in ranked] == [0.6, 0.4]
