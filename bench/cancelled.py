"""Memory over many streams that their clients cancel: half of them before the first token, half in the middle.

gRPC's Python leaks both (grpc #43360, #43462) where they are not ended as `services/chassis/unbroken.py` says. A client
that cancels looks like one whose line broke, so that each answer goes on for a second without a reader, is then
stopped, and its generation aborted.
"""

from __future__ import annotations

import asyncio
import re
import statistics
import tempfile
import time
import urllib.request
from pathlib import Path
from typing import Any

from bench.measuring import Curve, Table
from bench.streaming import Way, relayed
from services.stack.ports import free_ports
from sourcier.gateway.v1 import answer_pb2

STREAMS, STREAMS_QUICK = 100_000, 1_000
SECONDS_MAX = 660.0
CALL_SECONDS = 600
"""Never reached: what ends a call is its client."""
CLIENTS = 48
SAMPLES = 100
WARM_SHARE = 0.3
"""The first part, in which caches and arenas fill."""
GROWTH_MB_MAX = 1.0
EMPTY_SECONDS_MAX = 20.0
RULES = [
    {"pattern": "waiting$", "text": "mot " * 500, "first_token_seconds": 600},
    {"pattern": "running$", "text": "mot " * 500, "tokens_per_second": 20},
]
IN_HAND = {"generate": "sourcier_generations_in_hand", "gateway": "sourcier_answers_in_hand"}


async def run(*, quick: bool) -> list[Table]:
    """Cancel as many streams as fit into the time, then wait until nothing is in hand."""
    table = Table("cancelled streams, growth of memory", "MB for 10,000 streams", higher_is_better=False)
    left = Table("cancelled streams, in hand afterwards", "calls", higher_is_better=False)
    ports = dict(zip(IN_HAND, free_ports(len(IN_HAND)), strict=True))
    variables = {f"SOURCIER_{name.upper()}_METRICS_LISTEN": f"127.0.0.1:{port}" for name, port in ports.items()}
    with tempfile.TemporaryDirectory(prefix="sourcier-bench-") as folder:
        async with relayed(Path(folder), tokens=8, rules=RULES, variables=variables) as way:
            started = time.monotonic()
            series = await _cancel(way, STREAMS_QUICK if quick else STREAMS)
            seconds = time.monotonic() - started
            for name, port in ports.items():
                left.add(name, await _in_hand(port, IN_HAND[name]))
                left.limit(name, at_most=0)
    for name in ports:
        table.add(name, growth(series[name]))
        streams = series[name][-1][0]
        table.notes[name] = (f"{streams:,.0f} streams in {seconds:.0f} s, {series[name][0][1]:.0f} MB at first, "
                             f"{series[name][-1][1]:.0f} MB at last")
        if not quick:
            table.limit(name, at_most=GROWTH_MB_MAX)
    table.curves.append(Curve("Memory over cancelled streams", "streams", "MB resident", series))
    return [table, left]


async def _cancel(way: Way, streams: int) -> dict[str, list[tuple[float, float]]]:
    """Open and cancel so many streams, or as many as fit; return the memory of each process by streams so far."""
    series: dict[str, list[tuple[float, float]]] = {}
    ends_at = time.monotonic() + SECONDS_MAX
    done = 0

    async def client() -> None:
        nonlocal done
        while done < streams and time.monotonic() < ends_at:
            number = done = done + 1
            await _one(way, runs=bool(number % 2))
            if number % max(streams // SAMPLES, 1) == 0:
                for name, memory in way.processes.memory_mb().items():
                    series.setdefault(name, []).append((number, memory))

    await asyncio.gather(*(client() for _ in range(CLIENTS)))
    return {name: sorted(points) for name, points in series.items()}


async def _one(way: Way, *, runs: bool) -> None:
    call: Any = way.method(answer_pb2.AskRequest(question="running" if runs else "waiting"), timeout=CALL_SECONDS)
    if runs:
        for _ in range(2):
            await call.read()
    else:
        await asyncio.sleep(0.01)
    call.cancel()


def growth(points: list[tuple[float, float]]) -> float:
    """Return how many MB 10,000 streams added, by a line through the points after the warm part."""
    warm = points[int(len(points) * WARM_SHARE):]
    return 10_000 * statistics.linear_regression([at for at, _ in warm], [memory for _, memory in warm]).slope


async def _in_hand(port: int, gauge: str) -> float:
    """Return what is in hand once that is nothing, or after so long."""
    ends_at = time.monotonic() + EMPTY_SECONDS_MAX
    while True:
        value = await asyncio.to_thread(_read, port, gauge)
        if value == 0 or time.monotonic() > ends_at:
            return value
        await asyncio.sleep(0.5)


def _read(port: int, gauge: str) -> float:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as response:
        found = re.search(rf"^{gauge} (\S+)$", response.read().decode(), re.MULTILINE)
    assert found is not None, gauge
    return float(found[1])
