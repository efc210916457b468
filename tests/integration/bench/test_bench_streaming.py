"""The streaming benchmark's clients know when each token was due, on both ways."""

from __future__ import annotations

from pathlib import Path

from bench.streaming.streaming import bare, relayed
from bench.streaming.streams import Reading


def test_delays_are_counted_from_when_each_token_was_due() -> None:
    reading = Reading([(100.5, "100.0 mot"), (101.25, " mot mot")])
    assert reading.tokens == 4
    assert reading.delays(2.0) == [0.5, 0.0, 0.25, -0.25]


async def test_both_ways_tell_whole_answers_after_they_were_due(tmp_path: Path) -> None:
    async with bare() as peer, relayed(tmp_path, tokens=8) as sourcier:
        for way in (peer, sourcier):
            readings = await way.read(3, tokens=8)
            delays = [delay for reading in readings for delay in reading.delays(50)]
            # uvloop's clock counts milliseconds.
            assert len(delays) == 24
            assert all(-0.005 <= delay < 5 for delay in delays)
            assert set(way.processes.cpu_seconds()) >= {"client"}
        assert set(sourcier.processes.memory_mb()) == {"client", "generate", "gateway", "nats"}
