"""Who has a say in how passages are searched for, in which order, and what cannot be said."""

from __future__ import annotations

from typing import Any

import pytest

from sourcier.services.chassis.errors import InvalidArgument
from sourcier.services.index.search.settings import RetrievalSettings, first_said


def test_the_place_nearest_to_the_question_wins_setting_by_setting() -> None:
    request = RetrievalSettings(candidates=50, exact=False)
    collection = RetrievalSettings(candidates=30, exact=True, neighbours=2, result_threshold=0.0)
    service = RetrievalSettings(limit=5, candidates=20, neighbours=0, result_threshold=0.5)
    settings = first_said(request, collection, service)
    assert settings.said == {"candidates": 50, "exact": False, "neighbours": 2, "result_threshold": 0.0, "limit": 5}


@pytest.mark.parametrize(("places", "expected"), [
    ([{"rerank": False}, {"mode": "dense"}], "fused"),
    ([{}, {"mode": "dense"}, {"rerank": True}], "dense"),
    ([{"rerank": True}, {"mode": "lexical"}], "reranked"),
    ([{"mode": "lexical"}, {"rerank": True}], "lexical"),
    ([{}, {"rerank": False}], "fused"),
    ([{}, {}], None),
])
def test_mode_and_rerank_are_one_word(places: list[dict[str, Any]], expected: str | None) -> None:
    settings = first_said(*(RetrievalSettings(**place) for place in places))
    assert (settings.mode, settings.rerank) == (expected, None)


@pytest.mark.parametrize(("values", "field", "way_out"), [
    ({"limit": 0}, "limit", "use 1 to 100"), ({"passages": 21}, "passages", "use 1 to 20"),
    ({"candidates": 101}, "candidates", "use 1 to 100"), ({"result_threshold": 1.5}, "result_threshold", "use -1 to 1"),
    ({"result_threshold": float("nan")}, "result_threshold", "cannot be nan"),
    ({"neighbours": 6}, "neighbours", "use 0 to 5"), ({"neighbour_tokens": 0}, "neighbour_tokens", "use 1 to 8,000"),
    ({"mode": "best"}, "mode", "use one of dense, lexical, fused, reranked"),
    ({"mode": "dense", "rerank": True}, "rerank", "the mode dense says otherwise"),
    ({"limit": 30, "candidates": 20}, "candidates", "use at least as many as are returned, 30"),
])
def test_what_cannot_be_is_told_with_its_field_and_the_way_out(
    values: dict[str, Any], field: str, way_out: str
) -> None:
    with pytest.raises(InvalidArgument, match=way_out) as told:
        RetrievalSettings(**values).checked(prefix="retrieval.")
    assert told.value.field == f"retrieval.{field}"


def test_a_change_leaves_what_it_does_not_name() -> None:
    held = RetrievalSettings(limit=8, mode="dense", neighbours=1)
    assert held.changed(RetrievalSettings(rerank=True)).said == {"limit": 8, "rerank": True, "neighbours": 1}
    assert held.changed(RetrievalSettings(), reset=["limit", "mode"]).said == {"neighbours": 1}
    assert held.changed(RetrievalSettings(limit=3), reset=["neighbours"]).said == {"limit": 3, "mode": "dense"}
    with pytest.raises(InvalidArgument, match="to be reset, too"):
        held.changed(RetrievalSettings(limit=3), reset=["limit"])
    with pytest.raises(InvalidArgument, match="no retrieval setting 'depth'"):
        held.changed(RetrievalSettings(), reset=["depth"])


def test_what_a_newer_version_stored_says_nothing_to_this_one() -> None:
    assert RetrievalSettings.stored({"limit": 3, "colour": "blue"}).said == {"limit": 3}
