"""When streams pause between their messages, and for how long."""

from __future__ import annotations

import pytest

from services.generate.gathering import PAUSE_SECONDS_MAX, Gathering


class _Clock:
    def __init__(self) -> None:
        self.now = 50.0

    def __call__(self) -> float:
        return self.now


def _rate(gathering: Gathering, clock: _Clock, *, per_second: int, streams: int, seconds: float = 1.0) -> set[float]:
    """Send for so long at an even rate; return the pauses that were told."""
    pauses = set()
    for _ in range(int(per_second * seconds)):
        clock.now += 1 / per_second
        pauses.add(gathering.sent(streams=streams))
    return pauses


def test_streams_at_ease_never_wait() -> None:
    clock = _Clock()
    gathering = Gathering(messages_per_second_max=5_000, clock=clock)
    assert _rate(gathering, clock, per_second=50, streams=1) == {0.0}
    assert _rate(gathering, clock, per_second=4_900, streams=98) == {0.0}


def test_too_many_messages_make_streams_wait_for_their_share() -> None:
    clock = _Clock()
    gathering = Gathering(messages_per_second_max=5_000, clock=clock)
    _rate(gathering, clock, per_second=10_000, streams=200, seconds=0.2)
    assert gathering.sent(streams=200) == pytest.approx(0.04)
    # Gathered into just the most that is allowed, they go on being gathered.
    assert sorted(_rate(gathering, clock, per_second=5_000, streams=200)) == pytest.approx([0.04])
    assert gathering.sent(streams=100_000) == PAUSE_SECONDS_MAX


def test_streams_write_at_once_again_when_there_are_fewer() -> None:
    clock = _Clock()
    gathering = Gathering(messages_per_second_max=5_000, clock=clock)
    _rate(gathering, clock, per_second=10_000, streams=200, seconds=0.2)
    _rate(gathering, clock, per_second=2_000, streams=40, seconds=0.3)
    assert gathering.sent(streams=40) == 0.0
