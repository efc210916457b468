"""The set of questions that name a time."""

from __future__ import annotations

from collections import Counter

from eval.times.asked_set import asked_times_set


def test_halves_have_documents_of_their_own_and_enough_questions_of_both_kinds() -> None:
    tuned, held = (asked_times_set(half) for half in ("tuned", "held"))
    for half in (tuned, held):
        known = {each.passage_id for each in half.passages}
        assert all(known.issuperset(each.relevant) for each in half.questions)
    assert {each.passage_id for each in tuned.passages}.isdisjoint(each.passage_id for each in held.passages)
    forms = Counter(each.form for half in (tuned, held) for each in half.questions)
    assert forms["time"] >= 80
    assert forms["plain"] >= 40
