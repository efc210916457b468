"""The gate on questions in parts: one half of the set, answered by the gateway's own code without a model."""

from __future__ import annotations

from eval.answers import in_parts

PARTS_MIN, COLLECTION_MIN = 0.9, 0.95


def test_wanted_parts_are_found_and_cited_and_questions_on_collections_are_exact() -> None:
    after = in_parts.shown(half="held")
    outcomes = [each.outcome(part) for each in after if each.is_of_parts for part in each.entry["parts"]]
    exact = [each.is_exact for each in after if not each.is_of_parts]
    assert len(outcomes) > 50
    assert len(exact) > 15
    found = sum(outcome in ("cited", "told") for outcome in outcomes)
    assert found >= PARTS_MIN * len(outcomes), in_parts.errors(after)
    assert sum(exact) >= COLLECTION_MIN * len(exact), in_parts.errors(after)


def test_without_parts_less_is_found() -> None:
    before = in_parts.shown(half="held", in_parts=False)
    assert not any(each.outcome(part) == "told" for each in before if each.is_of_parts for part in each.entry["parts"])
