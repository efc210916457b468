"""Memory over many streams that their clients cancel: before the first token and in the middle, in turn; then as many
while the engine has no room for them.

gRPC's Python leaks both (grpc #43360, #43462) where they are not ended as
`sourcier/services/chassis/grpc/unbroken.py` says. A client
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
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from bench.measuring import Curve, Table
from bench.streaming.streaming import Way, relayed
from sourcier.gateway.v1 import answer_pb2
from sourcier.services.stack.processes.ports import free_ports

STREAMS, STREAMS_QUICK = 100_000, 1_000
SECONDS_MAX = 330.0
CALL_SECONDS = 600
"""Never reached: what ends a call is its client."""
CLIENTS = 48
SAMPLES = 100
WARM_SHARE = 0.3
"""The first part, in which caches and arenas fill."""
GROWTH_MB_MAX = 1.0
EMPTY_SECONDS_MAX = 20.0
WAITING, RUNNING, QUEUED, TAKING = "waiting", "running", "queued", "taking"
RULES = [
    # The one that takes the engine's place goes on slowly: an engine without a token for a minute is taken for dead.
    {"pattern": f"{TAKING}$", "text": "mot " * 5_000, "tokens_per_second": 5},
    {"pattern": f"({WAITING}|{QUEUED})$", "text": "mot " * 500, "first_token_seconds": 600},
    {"pattern": f"{RUNNING}$", "text": "mot " * 500, "tokens_per_second": 20},
]
IN_HAND = {"generate": "sourcier_generations_in_hand", "gateway": "sourcier_answers_in_hand"}
IN_QUEUE = 'sourcier_engine_requests{state="waiting"}'


async def run(*, quick: bool) -> list[Table]:
    """Cancel as many streams as fit into the time, then wait until nothing is in hand."""
    table = Table("cancelled streams, growth of memory", "MB for 10,000 streams", higher_is_better=False)
    left = Table("cancelled streams, in hand afterwards", "calls", higher_is_better=False)
    curves: dict[str, list[tuple[float, float]]] = {}
    for kinds, limits in (((RUNNING, WAITING), {}), ((QUEUED,), {"SOURCIER_GENERATE_SEQUENCES_MAX": "1"})):
        ports = dict(zip(IN_HAND, free_ports(len(IN_HAND)), strict=True))
        variables = limits | {
            f"SOURCIER_{name.upper()}_METRICS_LISTEN": f"127.0.0.1:{port}" for name, port in ports.items()
        }
        with tempfile.TemporaryDirectory(prefix="sourcier-bench-") as folder:
            async with relayed(Path(folder), tokens=8, rules=RULES, variables=variables) as way:
                started = time.monotonic()
                async with _engine_taken(way, ports["generate"], taken=QUEUED in kinds):
                    series = await _cancel(way, STREAMS_QUICK if quick else STREAMS, kinds)
                seconds = time.monotonic() - started
                for name, port in ports.items():
                    label = f"{name}, {' and '.join(kinds)}"
                    left.add(label, await _in_hand(port, IN_HAND[name]))
                    left.limit(label, at_most=0)
                    curves[label] = series[name]
                    table.add(label, growth(series[name]))
                    table.notes[label] = (f"{series[name][-1][0]:,.0f} streams in {seconds:.0f} s, "
                                          f"{series[name][0][1]:.0f} MB at first, {series[name][-1][1]:.0f} MB at last")
                    if not quick:
                        table.limit(label, at_most=GROWTH_MB_MAX)
    table.curves.append(Curve("Memory over cancelled streams", "streams", "MB resident", curves))
    return [table, left]


@asynccontextmanager
async def _engine_taken(way: Way, port: int, *, taken: bool) -> AsyncIterator[None]:
    """Let one stream take the engine's only place, where it is to be; prove that another one then waits."""
    if not taken:
        yield
        return
    calls: list[Any] = []
    try:
        for question in (TAKING, QUEUED):
            calls.append(way.method(answer_pb2.AskRequest(question=question), timeout=CALL_SECONDS))
            await calls[-1].initial_metadata()
            await asyncio.sleep(0.5)
        async with asyncio.timeout(EMPTY_SECONDS_MAX):
            while not await asyncio.to_thread(_read, port, IN_QUEUE):  # noqa: ASYNC110 - metrics tell when asked
                await asyncio.sleep(0.1)
        yield
    finally:
        for call in calls:
            call.cancel()


async def _cancel(way: Way, streams: int, kinds: Sequence[str]) -> dict[str, list[tuple[float, float]]]:
    """Open and cancel so many streams, or as many as fit; return the memory of each process by streams so far."""
    series: dict[str, list[tuple[float, float]]] = {}
    ends_at = time.monotonic() + SECONDS_MAX
    done = 0

    async def client() -> None:
        nonlocal done
        while done < streams and time.monotonic() < ends_at:
            number = done = done + 1
            await _one(way, kinds[number % len(kinds)])
            if number % max(streams // SAMPLES, 1) == 0:
                for name, memory in way.processes.memory_mb().items():
                    series.setdefault(name, []).append((number, memory))

    await asyncio.gather(*(client() for _ in range(CLIENTS)))
    return {name: sorted(points) for name, points in series.items()}


async def _one(way: Way, kind: str) -> None:
    call: Any = way.method(answer_pb2.AskRequest(question=kind), timeout=CALL_SECONDS)
    if kind == RUNNING:
        for _ in range(2):
            await call.read()
    else:
        # Once it is known to be at the gateway, as long again as its way to the engine takes.
        await call.initial_metadata()
        await asyncio.sleep(0.02)
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
        found = re.search(rf"^{re.escape(gauge)} (\S+)$", response.read().decode(), re.MULTILINE)
    assert found is not None, gauge
    return float(found[1])
