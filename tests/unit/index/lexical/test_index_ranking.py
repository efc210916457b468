"""BM25, fusion, candidates and pages: the arithmetic of searches."""

from __future__ import annotations

import math
import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sourcier.services.chassis.errors import InvalidArgument
from sourcier.services.index import pagination
from sourcier.services.index.language.analyser import Analysis
from sourcier.services.index.lexical.bm25 import AVERAGE_LENGTH, K1, B, dimension, passage_weights, question_weights
from sourcier.services.index.lexical.entries import candidates_query
from sourcier.services.index.search.fusion import fuse
from sourcier.services.index.search.lexical import candidate_groups


def test_the_inner_product_is_the_bm25_score() -> None:
    analysis = Analysis("fr", {"contrat": 3, "travail": 1}, length=80)
    passage = passage_weights(analysis)
    question = question_weights(["contrat", "absent"], passages=1_000, frequencies={"contrat": 10})
    score = sum(weight * passage.get(index, 0.0) for index, weight in question.items())
    inverse = math.log(1 + (1_000 - 10 + 0.5) / (10 + 0.5))
    saturated = 3 * (K1 + 1) / (3 + K1 * (1 - B + B * 80 / AVERAGE_LENGTH))
    assert score == pytest.approx(inverse * saturated)


def test_weights_are_positive_before_any_refresh_and_for_stems_that_are_everywhere() -> None:
    assert all(weight > 0 for weight in question_weights(["a"], passages=0, frequencies={}).values())
    assert all(weight > 0 for weight in question_weights(["a"], passages=10, frequencies={"a": 12}).values())


@given(st.lists(st.text(min_size=1, max_size=12), unique=True, max_size=200))
def test_dimensions_are_in_range(stems: list[str]) -> None:
    assert all(0 <= dimension(stem) < 1 << 29 for stem in stems)


def test_fusion_prefers_what_both_rankings_hold() -> None:
    fused = fuse([["a", "b", "c"], ["b", "d"]], limit=3)
    assert [each for each, _ in fused] == ["b", "a", "d"]
    assert fused[0][1] == pytest.approx(1 / 62 + 1 / 61)
    assert fuse([[], []], limit=5) == []


@given(st.lists(st.lists(st.integers(0, 30).map(str), unique=True, max_size=20), max_size=3), st.integers(1, 40))
def test_fusion_loses_and_doubles_nothing(rankings: list[list[str]], limit: int) -> None:
    fused = [each for each, _ in fuse(rankings, limit=limit)]
    expected = {each for ranking in rankings for each in ranking}
    assert len(fused) == len(set(fused)) == min(limit, len(expected))
    assert set(fused) <= expected


def test_what_is_first_in_one_list_alone_is_among_the_candidates() -> None:
    # Forty that are mediocre in both lists have larger sums than the one that only full text knows, and knows best.
    crowd = [f"crowd-{number}" for number in range(40)]
    rankings = [crowd, ["rare", *crowd]]
    assert "rare" not in dict(fuse(rankings, limit=20))
    kept = fuse(rankings, limit=20, heads=3)
    assert "rare" in dict(kept)
    assert len(kept) == 20
    assert [score for _, score in kept] == sorted((score for _, score in kept), reverse=True)
    # Without room for all of them the best sums stand, as without heads.
    assert fuse(rankings, limit=2, heads=3) == fuse(rankings, limit=2)


def test_the_rarest_stems_fill_the_budget() -> None:
    frequencies = {"a": 5_000, "b": 10, "c": 400}
    assert groups(["a", "b", "c"], frequencies) == [("b",), ("c",)]
    assert groups(["a"], frequencies) == []
    assert groups(["new", "a"], frequencies) == [("new",)]


def test_commoner_stems_fill_what_is_left_of_the_budget_two_by_two() -> None:
    frequencies = {"rare": 400, "a": 5_000, "b": 6_000, "c": 60_000}
    # By chance, a and b are together in 30 of a million passages, a and c in 300, b and c in 360.
    assert groups(["c", "b", "a", "rare"], frequencies) == [("rare",), ("a", "b")]
    assert groups(["c", "b", "a"], frequencies, candidates_max=3_000) == [("a", "b"), ("a", "c"), ("b", "c")]


@given(
    st.dictionaries(st.text("abcdef", min_size=1, max_size=3), st.integers(0, 100_000), min_size=1, max_size=12),
    st.integers(1, 10_000),
)
def test_groups_stay_within_the_budget_and_name_known_stems(frequencies: dict[str, int], budget: int) -> None:
    found = groups(list(frequencies), frequencies, candidates_max=budget)
    assert sum(frequencies[group[0]] for group in found if len(group) == 1) <= budget
    assert len(set(found)) == len(found)
    alone = {group[0] for group in found if len(group) == 1}
    assert all(alone.isdisjoint(group) for group in found if len(group) == 2), "they are candidates already"


def groups(stems: list[str], frequencies: dict[str, int], *, candidates_max: int = 1_000) -> list[tuple[str, ...]]:
    return candidate_groups(stems, frequencies=frequencies, passages=1_000_000, candidates_max=candidates_max)


def test_stems_are_quoted_in_the_candidates_query() -> None:
    assert candidates_query([("a'b",), ("c\\d", "e")], collection_numbers=[7]) == r"'7:a''b'|'7:c\\d'&'7:e'"
    assert candidates_query([("a",), ("b", "c")], collection_numbers=[1, 2]) == (
        "'1:a'|'2:a'|'1:b'&'1:c'|'2:b'&'2:c'"
    )


@given(st.lists(st.uuids(), max_size=30, unique=True), st.integers(1, 10))
def test_pages_are_cut_and_go_on_where_they_ended(identifiers: list[uuid.UUID], page_size: int) -> None:
    keys = sorted(str(identifier) for identifier in identifiers)
    seen: list[str] = []
    token = ""
    while True:
        after = pagination.read_page_token(token, start=pagination.FIRST_KEY)
        following = [key for key in keys if key > after][: page_size + 1]
        page = pagination.make_page(following, page_size=page_size, key=lambda key: key)
        seen += page.items
        token = page.next_page_token
        if not token:
            break
    assert seen == [key for key in keys if key > pagination.FIRST_KEY]


@pytest.mark.parametrize("token", ["x", "forged!", "é", "AAAA"])
def test_forged_page_tokens_are_refused(token: str) -> None:
    with pytest.raises(InvalidArgument):
        pagination.read_page_token(token, start=pagination.FIRST_KEY)
