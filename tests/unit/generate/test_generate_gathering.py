"""When streams pause between their messages, and for how long."""

from __future__ import annotations

from sourcier.services.generate.gathering import PAUSE_SECONDS_MAX, Gathering

WORD = 5
"""Characters of a token."""


class _Clock:
    def __init__(self) -> None:
        self.now = 50.0

    def __call__(self) -> float:
        return self.now


class _Process:
    """Streams that send at an even rate, on a processor that takes so long for a message."""

    def __init__(self, *, messages_per_second_max: int = 5_000, cost: float = 20e-6) -> None:
        self.clock, self.cpu_clock, self.cost = _Clock(), _Clock(), cost
        self.gathering = Gathering(
            messages_per_second_max=messages_per_second_max, clock=self.clock, cpu_clock=self.cpu_clock
        )

    def send(self, *, per_second: int, streams: int, seconds: float = 1.0, tokens: int = 1) -> set[float]:
        """Send messages of so many tokens for so long; return the pauses that were told, in seconds."""
        pauses = set()
        for _ in range(int(per_second * seconds)):
            self.clock.now += 1 / per_second
            self.cpu_clock.now += self.cost
            pauses.add(round(self.gathering.sent(streams=streams, characters=tokens * WORD), 4))
        return pauses


def test_streams_at_ease_never_wait() -> None:
    process = _Process()
    assert process.send(per_second=50, streams=1) == {0.0}
    assert process.send(per_second=4_900, streams=98) == {0.0}


def test_too_many_messages_make_streams_wait_for_their_share() -> None:
    process = _Process()
    process.send(per_second=10_000, streams=200, seconds=0.2)
    assert process.send(per_second=5_000, streams=200, tokens=2) == {0.04}
    assert process.gathering.sent(streams=100_000, characters=WORD) == PAUSE_SECONDS_MAX


def test_gathered_messages_go_on_being_gathered_while_there_is_too_much_text() -> None:
    process = _Process()
    process.send(per_second=10_000, streams=200, seconds=0.2)
    # Far fewer messages than are allowed, since each holds what came meanwhile.
    assert 0.0 not in process.send(per_second=1_000, streams=200, tokens=10)


def test_streams_write_at_once_again_when_there_is_less_text() -> None:
    process = _Process()
    process.send(per_second=10_000, streams=200, seconds=0.2)
    process.send(per_second=3_900, streams=80, seconds=0.3)
    assert process.send(per_second=3_900, streams=80) == {0.0}


def test_a_slower_processor_gathers_sooner() -> None:
    process = _Process(cost=200e-6)
    assert process.send(per_second=2_900, streams=58) == {0.0}
    process.send(per_second=3_100, streams=62, seconds=0.2)
    assert process.send(per_second=2_500, streams=62, tokens=2, seconds=0.5) == {0.0248}


def test_a_burst_is_soon_forgotten() -> None:
    process = _Process(cost=200e-6)
    process.send(per_second=2_300, streams=46)
    assert max(process.send(per_second=5_000, streams=46, seconds=0.2)) > 0
    process.send(per_second=2_300, streams=46, seconds=0.2)
    assert process.send(per_second=2_300, streams=46) == {0.0}


def test_work_beside_the_messages_makes_streams_wait_no_longer_than_four_times_as_long() -> None:
    process = _Process(cost=5e-3)
    assert process.send(per_second=100, streams=2) == {0.0}
    process.send(per_second=1_300, streams=26, seconds=0.2)
    assert process.send(per_second=1_200, streams=26, tokens=2, seconds=0.5) == {0.0208}


def test_what_a_message_takes_at_rest_does_not_count_under_load() -> None:
    process = _Process(cost=2e-3)
    process.send(per_second=50, streams=1, seconds=5)
    process.clock.now += 3600
    process.cpu_clock.now += 60
    process.cost = 50e-6
    assert process.send(per_second=4_000, streams=80, seconds=2) == {0.0}
