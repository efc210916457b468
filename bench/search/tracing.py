"""What traces cost a search: stacks alike but for their traces take turns, and two without any show the noise."""

from __future__ import annotations

import itertools
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial

from aiohttp import web

from bench.environment import running_stack
from bench.ingestion.ingestion import load
from bench.measuring import Table, interleave, percentile
from bench.texts import questions, sheets
from sourcier.client import Client

PLAIN, AGAIN, TRACED = "no traces", "no traces, another stack", "traces, 10 % of the requests"
P95_RATIO_MAX = 1.02
BLOCK = 100
"""Searches in a row of which a p95 is taken; the ratio is the median of those of all blocks."""


class Collector:
    """Takes traces in, as a collector does, and counts what comes."""

    received = 0
    """Batches of spans."""

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[str]:
        """Listen on a port of this machine; yield the address that services are told."""
        application = web.Application(client_max_size=2**26)
        application.router.add_post("/v1/traces", self._take)
        runner = web.AppRunner(application, access_log=None)
        await runner.setup()
        try:
            await web.TCPSite(runner, "127.0.0.1", 0).start()
            [(host, port)] = runner.addresses
            yield f"http://{host}:{port}"
        finally:
            await runner.cleanup()

    async def _take(self, request: web.Request) -> web.Response:
        await request.read()
        self.received += 1
        return web.Response(content_type="application/x-protobuf")


async def run(*, quick: bool) -> list[Table]:
    """Search the same texts in three stacks, one after the other."""
    files, _ = sheets()
    blocks = 1 if quick else 8
    asked = itertools.cycle(questions(2_000))
    collector = Collector()
    async with collector.serving() as url, AsyncExitStack() as opened:
        traced = {"SOURCIER_TRACES_URL": url, "SOURCIER_TRACES_RATIO": "0.1"}
        clients: dict[str, Client] = {}
        for name, variables in ((PLAIN, {}), (AGAIN, {}), (TRACED, traced)):
            addresses = await opened.enter_async_context(
                running_stack(SOURCIER_STACK_SERVICES="ingest,embed,gateway", **variables)
            )
            clients[name] = await opened.enter_async_context(Client(addresses["SOURCIER_GATEWAY_URL"]))
            await load(clients[name], files[:4], collection="default")
        tables = await _searches(clients, asked, count=blocks * BLOCK)
    if not collector.received:
        raise RuntimeError("no trace came to the collector, so nothing was measured")
    return tables


async def _searches(clients: dict[str, Client], asked: Iterator[str], *, count: int) -> list[Table]:
    """Time searches, the same question to each stack; return them, and the p95 of each block of them."""
    table = Table("Search, with and without traces", "ms", higher_is_better=False)
    slow = Table(f"Search, p95 of {BLOCK}, with and without traces", "ms", higher_is_better=False)
    turns = {name: iter(copies) for name, copies in zip(clients, itertools.tee(asked, len(clients)), strict=True)}

    async def of(name: str) -> float:
        started = time.perf_counter()
        await clients[name].search(next(turns[name]), mode="fused")
        return 1000 * (time.perf_counter() - started)

    await interleave(table, {name: partial(of, name) for name in clients}, rounds=count)
    for name, samples in table.samples.items():
        for start in range(0, len(samples), BLOCK):
            slow.add(name, percentile(samples[start : start + BLOCK], 0.95))
        table.notes[name] = f"p95 {percentile(samples, 0.95):.1f} ms"
    slow.ratio(TRACED, PLAIN, target=P95_RATIO_MAX)
    slow.ratio(AGAIN, PLAIN)
    slow.notes[AGAIN] = "what differs between two stacks alike: the noise"
    table.ratio(TRACED, PLAIN)
    table.ratio(AGAIN, PLAIN)
    return [table, slow]
