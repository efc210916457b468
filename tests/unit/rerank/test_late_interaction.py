"""Late interaction: the fast arithmetic on bits equals the definition, and edge cases have their scores."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sourcier.services.chassis.errors import InvalidArgument
from sourcier.services.chassis.tokens.late_interaction import BLOCK_ROWS, NO_OVERLAP
from sourcier.services.rerank.late_interaction import LateInteractionRanker
from sourcier.services.rerank.ranker import Candidate, FloatArray, Question

RANKER = LateInteractionRanker()


def question(rows: int, dimension: int, seed: int, weights: Sequence[float] | None = None) -> Question:
    vectors = np.random.default_rng(seed).normal(size=(rows, dimension)).astype(np.float32)
    vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    values = np.random.default_rng(seed + 1).uniform(0, 5, rows) if weights is None else np.array(weights)
    return Question("", vectors, values.astype(np.float32))


def candidate(rows: int, dimension: int, seed: int) -> Candidate:
    return Candidate(f"c{seed}", "", np.random.default_rng(seed).bytes(rows * dimension // 8))


def reference(asked: Question, passage: Candidate) -> float:
    """Compute the definition, one cosine at a time."""
    dimension = asked.vectors.shape[1]
    if not passage.token_codes or asked.weights.sum() <= 0:
        return NO_OVERLAP
    bits = np.unpackbits(np.frombuffer(passage.token_codes, np.uint8).reshape(-1, dimension // 8), axis=1)
    signs: FloatArray = (bits * 2.0 - 1.0).astype(np.float32)
    total = 0.0
    for vector, weight in zip(asked.vectors, asked.weights, strict=True):
        best = max(float(vector @ sign) / (np.linalg.norm(vector) * np.linalg.norm(sign)) for sign in signs)
        total += float(weight) * best
    return total / float(asked.weights.sum())


@settings(max_examples=60)
@given(
    rows=st.integers(1, 6), dimension=st.sampled_from([8, 16, 64, 384]),
    lengths=st.lists(st.integers(0, 7), min_size=1, max_size=8), seed=st.integers(0, 10_000),
)
def test_scores_equal_the_definition(rows: int, dimension: int, lengths: list[int], seed: int) -> None:
    asked = question(rows, dimension, seed)
    candidates = [candidate(length, dimension, seed + place) for place, length in enumerate(lengths)]
    expected = [reference(asked, entry) for entry in candidates]
    np.testing.assert_allclose(RANKER.score(asked, candidates), expected, atol=1e-5)


@settings(max_examples=30)
@given(seed=st.integers(0, 10_000), others=st.integers(0, 6))
def test_a_score_does_not_depend_on_the_other_candidates(seed: int, others: int) -> None:
    asked, one = question(4, 32, seed), candidate(5, 32, seed)
    crowd = [candidate(number % 4, 32, seed + 1 + number) for number in range(others)]
    assert RANKER.score(asked, [*crowd, one])[-1] == pytest.approx(RANKER.score(asked, [one])[0], abs=1e-6)


def test_the_same_signs_score_one_and_the_opposite_minus_one() -> None:
    signs = np.sign(np.random.default_rng(1).normal(size=(3, 64))).astype(np.float32)
    asked = Question("", signs / 8.0, np.ones(3, np.float32))
    same, opposite = (np.packbits(rows > 0, axis=1).tobytes() for rows in (signs, -signs))
    single = Question("", signs[:1] / 8.0, np.ones(1, np.float32))
    assert RANKER.score(asked, [Candidate("a", "", same)])[0] == pytest.approx(1, abs=1e-6)
    assert RANKER.score(single, [Candidate("a", "", opposite[:8])])[0] == pytest.approx(-1, abs=1e-6)


def test_a_token_of_no_weight_does_not_count() -> None:
    asked = question(2, 64, 3, weights=[1.0, 0.0])
    alone = Question("", asked.vectors[:1], asked.weights[:1])
    passages = [candidate(4, 64, 9)]
    np.testing.assert_allclose(RANKER.score(asked, passages), RANKER.score(alone, passages), atol=1e-6)


def test_a_passage_without_codes_comes_last() -> None:
    asked = question(3, 64, 5)
    scores = RANKER.score(asked, [candidate(0, 64, 1), candidate(4, 64, 2), candidate(0, 64, 3)])
    assert scores[0] == scores[2] == NO_OVERLAP < scores[1]
    assert RANKER.score(asked, [candidate(0, 64, 1)]).tolist() == [NO_OVERLAP]


def test_a_question_without_informative_tokens_ranks_nothing() -> None:
    empty = Question("et", np.empty((0, 8), np.float32), np.empty(0, np.float32))
    assert RANKER.score(empty, [candidate(4, 64, 1)]).tolist() == [NO_OVERLAP]
    assert RANKER.score(question(2, 64, 1, weights=[0, 0]), [candidate(4, 64, 1)]).tolist() == [NO_OVERLAP]


def test_codes_that_are_no_rows_of_the_space_are_refused() -> None:
    broken = Candidate("c7", "", b"\x00" * 9)
    with pytest.raises(InvalidArgument, match="token codes of c7 are 9 bytes, not rows of 8") as refused:
        RANKER.score(question(2, 64, 1), [candidate(3, 64, 2), broken])
    assert refused.value.field == "candidates.token_codes"


@pytest.mark.parametrize("tokens", [1, 4, 11, 17])
@pytest.mark.parametrize("rows", [1, 20, 300])
def test_equal_passages_have_equal_scores(tokens: int, rows: int) -> None:
    asked, one, empty = question(tokens, 384, 8), candidate(rows, 384, 8), candidate(0, 384, 8)
    others = [candidate(count, 384, count) for count in (21, 2, 37, BLOCK_ROWS)]
    scores = RANKER.score(asked, [one, *others[:2], one, empty, *others[2:], one])
    assert scores[0] == scores[3] == scores[-1]
    expected = [reference(asked, entry) for entry in (one, *others)]
    np.testing.assert_allclose(scores[[0, 1, 2, 5, 6]], expected, atol=1e-5)
    assert scores[4] == NO_OVERLAP


def test_a_passage_is_scored_over_all_blocks_that_it_reaches_into() -> None:
    asked = question(3, 16, 5)
    candidates = [candidate(rows, 16, rows) for rows in (BLOCK_ROWS - 1, 2 * BLOCK_ROWS + 3, 1)]
    expected = [reference(asked, entry) for entry in candidates]
    np.testing.assert_allclose(RANKER.score(asked, candidates), expected, atol=1e-5)
