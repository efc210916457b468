"""Ingest grows and shrinks by what waits, under a small load; `make chaos SCENARIO=scaling` sends 5,000 documents."""

from __future__ import annotations

import pytest

from tests.chaos import report, scaling
from tests.chaos.cluster import Servers
from tests.chaos.nursery import Nursery
from tests.keda import SYNC_SECONDS, Autoscaler, scalers

LOAD = scaling.Load(documents=200, speed=40.0, grown=2, real=False)
SEED = 38
GROWN_LOOKS = 12
"""After so many looks at a lag that lasts there are four replicas."""


@pytest.mark.slow
@pytest.mark.timeout(240)
async def test_replicas_of_ingest_come_and_go_by_what_waits_and_lose_and_double_nothing(
    servers: Servers, nursery: Nursery
) -> None:
    outcome = await scaling.run(servers, seed=SEED, load=LOAD, nursery=nursery)
    print(f"{' '.join(report.row(outcome))}\n{report.details(outcome)}")  # noqa: T201 - `-s` shows the figures
    assert not outcome.findings, report.details(outcome)
    assert outcome.documents == LOAD.documents


def looked(lags: list[int]) -> list[int]:
    """Return how many replicas of parse there are to be at each look of the autoscaler."""
    autoscaler = Autoscaler(scalers()["sourcier-ingest-parse"], replicas_max=4)
    return [autoscaler.look(SYNC_SECONDS * number, [(lag, 4)]) for number, lag in enumerate(lags)]


def test_the_autoscaler_grows_once_a_lag_has_lasted_and_then_doubles_each_quarter_of_a_minute() -> None:
    assert looked([100] * GROWN_LOOKS) == [*(1,) * 8, 2, 4, 4, 4]


def test_a_lag_that_comes_and_goes_moves_nothing() -> None:
    assert looked([0, 100, 100, 0] * 12) == [1] * 48
    assert looked([*(100,) * GROWN_LOOKS, *(0, 30) * 12])[GROWN_LOOKS:] == [4] * 24


def test_replicas_go_one_a_minute_once_the_cooldown_is_over() -> None:
    counts = looked([*(100,) * GROWN_LOOKS, *(0,) * 40])
    assert [counts[GROWN_LOOKS:].count(number) for number in (3, 2)] == [4, 4]
    assert counts[-1] == 1
    assert counts[GROWN_LOOKS:].index(3) == 19  # 20 looks of 15 s after the last that asked for four
    assert scaling.turns([1, 2, 4, 3, 2, 1]) == 1
    assert scaling.turns([1, 2, 1, 2]) == 2
