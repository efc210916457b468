"""The simulated ingest keeps its promises on every seed, and breaks them as soon as one rule is left out."""

from __future__ import annotations

import pytest

from tests.chaos.simulated import RULES
from tests.chaos.simulation import Simulation, search

SEEDS = range(600)
"""A rule that is left out is missed within the first few; `make chaos` has more."""


@pytest.mark.slow
def test_every_seed_keeps_every_promise() -> None:
    assert search(SEEDS) is None


@pytest.mark.parametrize("rule", RULES)
def test_a_rule_that_is_left_out_is_missed_within_a_thousand_seeds(rule: str) -> None:
    failure = search(range(1_000), without=rule)
    assert failure is not None
    # The seed and the number of operations are all that it takes to see it again.
    rules = [kept for kept in RULES if kept != rule]
    again = [Simulation(failure.seed, rules=rules, operations=failure.operations).run() for _ in range(2)]
    assert again == [failure.what, failure.what]
