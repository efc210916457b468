"""The pace of verdicts: on while they are cheap, off once they are not, tried again after a while."""

from __future__ import annotations

import logging

import pytest

from sourcier.services.gateway.evidence.pace import FIRST, RETRY_SECONDS, WINDOW, Pace, judging, median_seconds


class Clock:
    """A clock that a test sets."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


def pace_after(*seconds: float, clock: Clock | None = None) -> Pace:
    pace = Pace(seconds_max=0.3, clock=clock or Clock())
    for each in seconds:
        pace.observe(each)
    return pace


def test_the_first_verdicts_are_asked_for_whatever_they_cost() -> None:
    assert pace_after().allows()
    assert pace_after(*[9.0] * (FIRST - 1)).allows()


@pytest.mark.parametrize(("seconds", "allowed"), [
    ([0.3] * FIRST, True), ([0.31] * FIRST, False), ([0.1, 0.1, 0.1, 9.0, 9.0], True),
    ([0.1, 9.0, 9.0], False),
])
def test_the_median_decides(seconds: list[float], allowed: bool) -> None:
    assert pace_after(*seconds).allows() is allowed
    assert judging._value.get() == allowed
    assert median_seconds._value.get() == sorted(seconds)[len(seconds) // 2]


def test_the_median_moves() -> None:
    pace = pace_after(*[0.1] * WINDOW)
    for _ in range(WINDOW // 2):
        pace.observe(5.0)
        assert pace.allows()
    pace.observe(5.0)
    assert not pace.allows()


def test_one_verdict_is_asked_for_now_and_then_where_they_were_dear() -> None:
    clock = Clock()
    pace = pace_after(*[1.0] * FIRST, clock=clock)
    clock.now += RETRY_SECONDS - 1
    assert not pace.allows()
    clock.now += 1
    assert pace.allows()
    # Whoever comes beside it does not ask.
    assert not pace.allows()
    pace.observe(1.0)
    clock.now += RETRY_SECONDS
    assert pace.allows()
    pace.observe(0.1)
    assert pace.allows()


def test_an_engine_without_probabilities_is_left_alone_for_a_while(caplog: pytest.LogCaptureFixture) -> None:
    clock = Clock()
    pace = pace_after(clock=clock)
    with caplog.at_level(logging.INFO):
        pace.close("the engine does not tell")
    assert not pace.allows()
    assert "the engine does not tell" in caplog.text
    clock.now += RETRY_SECONDS
    assert pace.allows()


def test_what_was_decided_is_told_once_with_what_it_rests_on(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        pace = pace_after(*[1.0] * (FIRST + 3))
        pace.observe(0.2)
    told = [record.getMessage() for record in caplog.records]
    assert len(told) == 2
    assert "off" in told[0]
    assert "1.000 s" in told[0]
    assert "the judge is on" in told[1]
