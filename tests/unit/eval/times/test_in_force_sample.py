"""A sample of the questions on what holds, by words alone: the gate of the rules, with its noise."""

from __future__ import annotations

from dataclasses import replace

import pytest

from eval.retrieval.measures import estimate
from eval.times.deciding import Shown, shown
from eval.times.families import half
from eval.times.searching import by_words

EVERY = 3
"""One question of so many is asked; a second for both halves."""
ANSWERED = 0.96
"""Share of the sample that is answered right or by the clause that holds, as it was when this was written."""
TOLD = 0.93
"""Share of the conflicts of the sample that are told."""


@pytest.fixture(scope="module")
def answers() -> list[Shown]:
    found: list[Shown] = []
    for name in ("tuned", "held"):
        whole = half(name)
        rank = by_words(whole)
        sample = replace(whole, questions=whole.questions[::EVERY])
        found += shown(sample, lambda number, rank=rank: rank(number * EVERY))  # type: ignore[misc]
    return found


def test_nothing_is_said_to_hold_that_does_not(answers: list[Shown]) -> None:
    assert [each.asked.question for each in answers if each.outcome == "false"] == []


def test_what_holds_answers_and_what_disagrees_is_told(answers: list[Shown]) -> None:
    answered = estimate([each.outcome in ("right", "quoted") for each in answers])
    told = estimate([each.conflict == "told" for each in answers if each.asked.conflict])
    assert answered.high >= ANSWERED, answered
    assert told.high >= TOLD, told


def test_families_without_a_conflict_are_told_of_none(answers: list[Shown]) -> None:
    controls = [each for each in answers if each.asked.kind == "control"]
    assert [each.asked.question for each in controls if each.conflict == "needless"] == []
