"""What one tenant that asks twenty times as often as the others costs them."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Callable, Coroutine
from contextlib import AsyncExitStack, suppress
from functools import partial
from typing import Any

from bench.doors.gateways import beside
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
ALIKE_FREE, BUSY_FREE = f"{ALIKE}, without turns", f"{BUSY}, without turns"
"""Through a gateway where as many search at once as ask."""


async def run(*, quick: bool) -> list[Table]:
    """Time the searches of the others, in rounds with and without the busy one, whether answers have come or not."""
    files, _ = sheets()
    asked = itertools.cycle(questions(2_000))
    rounds, seconds = (1, 8.0) if quick else (6, 15.0)
    table = Table("Search of the others, p95 of a round", "ms", higher_is_better=False)
    async with (
        running_stack(SOURCIER_STACK_SERVICES="ingest,embed,rerank,gateway") as addresses,
        beside(addresses) as turns, beside(addresses, SOURCIER_GATEWAY_SEARCHES_AT_ONCE="200") as free,
        AsyncExitStack() as opened,
    ):
        async def clients(address: str) -> list[Client]:
            return [await opened.enter_async_context(Client(address, tenant=f"tenant-{number}"))
                    for number in range(TENANTS)]

        for client in await clients(addresses["SOURCIER_GATEWAY_URL"]):
            await load(client, files[:2], collection="default")
        in_turn, at_once = await clients(turns.address), await clients(free.address)

        async def ask(client: Client, taken: list[float]) -> None:
            started = time.perf_counter()
            await client.search(next(asked))
            taken.append(1000 * (time.perf_counter() - started))

        async def ask_much(client: Client) -> None:
            with suppress(SourcierError):  # that it is refused for its share is its own affair
                await client.search(next(asked))

        async def of(asking: list[Client], rate: float) -> float:
            taken = list[float]()
            async with asyncio.TaskGroup() as group:
                ends_at = time.monotonic() + seconds
                group.create_task(_paced(partial(ask_much, asking[0]), rate, ends_at))
                for client in asking[1:]:
                    group.create_task(_paced(partial(ask, client, taken), RATE, ends_at))
            return percentile(taken, 0.95)

        await interleave(table, {
            ALIKE: partial(of, in_turn, RATE), BUSY: partial(of, in_turn, RATE * LOAD),
            ALIKE_FREE: partial(of, at_once, RATE), BUSY_FREE: partial(of, at_once, RATE * LOAD),
        }, rounds=rounds)
    table.ratio(BUSY, ALIKE, target=RATIO_MAX)
    table.ratio(BUSY_FREE, ALIKE_FREE)
    table.notes[ALIKE] = f"{TENANTS} tenants, each {RATE:g} times a second, {seconds:g} s a round"
    return [table]


async def _paced(ask: Callable[[], Coroutine[Any, Any, None]], rate: float, ends_at: float) -> None:
    """Ask so many times a second, whether the answers have come or not."""
    async with asyncio.TaskGroup() as group:
        while time.monotonic() < ends_at:
            group.create_task(ask())
            await asyncio.sleep(1 / rate)
