"""What one tenant that asks twenty times as often as the others costs them."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Callable, Coroutine
from contextlib import AsyncExitStack, suppress
from functools import partial
from typing import Any

from bench.environment import running_stack
from bench.ingestion.ingestion import load
from bench.measuring import Table, interleave, percentile
from bench.texts import questions, sheets
from sourcier.client import Client
from sourcier.errors import SourcierError

RATIO_MAX = 1.5
TENANTS, RATE, LOAD = 6, 0.5, 20
"""Those who ask, how often each a second, and how many times as often the busy one does."""
ALIKE, BUSY = "all ask alike", f"one asks {LOAD} times as often"


async def run(*, quick: bool) -> list[Table]:
    """Time the searches of the others, in rounds with and without the busy one, whether answers have come or not."""
    files, _ = sheets()
    asked = itertools.cycle(questions(2_000))
    rounds, seconds = (1, 8.0) if quick else (6, 30.0)
    table = Table("Search of the others, p95 of a round", "ms", higher_is_better=False)
    async with (
        running_stack(SOURCIER_STACK_SERVICES="ingest,embed,rerank,gateway") as addresses, AsyncExitStack() as opened
    ):
        clients = [
            await opened.enter_async_context(Client(addresses["SOURCIER_GATEWAY_URL"], tenant=f"tenant-{number}"))
            for number in range(TENANTS)
        ]
        for client in clients:
            await load(client, files[:2], collection="default")

        async def ask(client: Client, taken: list[float]) -> None:
            started = time.perf_counter()
            await client.search(next(asked))
            taken.append(1000 * (time.perf_counter() - started))

        async def ask_much() -> None:
            with suppress(SourcierError):  # that it is refused for its share is its own affair
                await clients[0].search(next(asked))

        async def of(rate: float) -> float:
            taken = list[float]()
            async with asyncio.TaskGroup() as group:
                ends_at = time.monotonic() + seconds
                group.create_task(_paced(ask_much, rate, ends_at))
                for client in clients[1:]:
                    group.create_task(_paced(partial(ask, client, taken), RATE, ends_at))
            return percentile(taken, 0.95)

        await interleave(table, {ALIKE: partial(of, RATE), BUSY: partial(of, RATE * LOAD)}, rounds=rounds)
    table.ratio(BUSY, ALIKE, target=RATIO_MAX)
    table.notes[ALIKE] = f"{TENANTS} tenants, each {RATE:g} times a second, {seconds:g} s a round"
    return [table]


async def _paced(ask: Callable[[], Coroutine[Any, Any, None]], rate: float, ends_at: float) -> None:
    """Ask so many times a second, whether the answers have come or not."""
    async with asyncio.TaskGroup() as group:
        while time.monotonic() < ends_at:
            group.create_task(ask())
            await asyncio.sleep(1 / rate)
