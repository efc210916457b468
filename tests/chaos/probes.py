"""Trouble that needs no whole pipeline: one part of the chassis, worked hard on real servers."""

from __future__ import annotations

import asyncio
import random
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress

from sourcier.services.chassis.errors import ServiceError
from sourcier.services.chassis.grpc.channels import open_channel
from sourcier.services.chassis.ids import new_id
from sourcier.services.chassis.postgres.database import Database, DatabaseSettings
from sourcier.services.chassis.queue import consuming
from sourcier.services.chassis.queue.consuming import Consumer, Delivery
from sourcier.services.chassis.queue.jetstream import JetStream
from sourcier.services.chassis.queue.subjects import BUCKET_NOTIFICATION, RawNotification
from sourcier.services.ingest.stages import sandbox
from sourcier.services.ingest.stages.sandbox import ParserPool
from tests.chaos.checker import Finding
from tests.chaos.cluster import Servers
from tests.chaos.loads import loop_lag
from tests.chaos.trial import Outcome

STUCK_SECONDS = 30.0
WAVE = 60
"""Callers at once: fewer than may wait for a connection."""


async def fetch_stalls(servers: Servers, seed: int, size: int) -> Outcome:
    """F-R6: publish to an idle consumer again and again; no message may wait for a fetch to time out."""
    chance = random.Random(f"stalls {seed}")
    arrived: asyncio.Queue[bytes] = asyncio.Queue()
    waits: list[float] = []

    async def handle(message: RawNotification, delivery: Delivery) -> None:
        arrived.put_nowait(message.body)

    prefix = f"stalls.{new_id()[:13]}."
    async with JetStream(url=servers.nats.url, prefix=prefix, name="stalls") as jetstream:
        consumer = Consumer(jetstream, BUCKET_NOTIFICATION, stage="stalls", concurrency={"": 4}, handle=handle)
        stopping = asyncio.Event()
        address = BUCKET_NOTIFICATION.address(prefix, tenant="")
        async with asyncio.TaskGroup() as group:
            group.create_task(consumer.run(stopping), name="consumer")
            for number in range(size + 1):
                body = str(number).encode()
                began = time.monotonic()
                await jetstream.context.publish(address, body)
                async with asyncio.timeout(STUCK_SECONDS):
                    while await arrived.get() != body:
                        pass
                waits.append(time.monotonic() - began)
                await asyncio.sleep(chance.choice((0, 0, 0.001, 0.01, 0.05)))  # idle for a moment, or not at all
            stopping.set()
    waits = sorted(waits[1:])  # the first one waits for the durable
    stalled = [wait for wait in waits if wait >= consuming.FETCH_SECONDS]
    findings = [Finding("F-I6", "unfinished", f"{len(stalled)} messages waited for a whole fetch")] if stalled else []
    return _outcome("fetch-stalls", seed, size, findings, {
        "from publish to handler": f"p50 {_percentile(waits, 50)}, p99 {_percentile(waits, 99)}, most {_ms(waits[-1])}"
    })


async def pool_storm(servers: Servers, seed: int, size: int) -> Outcome:
    """F-R12: cancel callers of the database at random points; the pool keeps its size and serves the next at once."""
    chance = random.Random(f"pool {seed}")
    name = f"storm_{new_id()[-12:]}"
    settings = DatabaseSettings(
        url=await servers.postgres.create_database(name), connections_min=2, connections_max=4
    )
    findings: list[Finding] = []
    cancelled = 0

    async def use(seconds: float) -> None:
        async with database.transaction(tenant="acme") as connection:
            await connection.execute("select pg_sleep(%s)", (seconds,))

    async with Database(settings) as database:
        for _ in range(0, size, WAVE):
            tasks = [asyncio.create_task(use(chance.uniform(0, 0.004))) for _ in range(WAVE)]
            for task in tasks:
                if chance.random() < 0.5:
                    await asyncio.sleep(chance.uniform(0, 0.002))  # somewhere else in its life each time
                cancelled += task.cancel()
            _, stuck = await asyncio.wait(tasks, timeout=STUCK_SECONDS)
            if stuck:
                findings.append(Finding("F-I6", "unfinished", f"{len(stuck)} cancelled callers never ended"))
                break
        began = time.monotonic()
        with suppress(ServiceError):
            async with asyncio.timeout(STUCK_SECONDS):
                await use(0)
        next_seconds = time.monotonic() - began
        statistics = database.statistics()
    if statistics.get("requests_waiting", 0) or not 1 <= statistics["pool_size"] <= 4 or next_seconds > 5:
        findings.append(Finding("F-I6", "unfinished", f"the pool is {dict(statistics)}, a query took {next_seconds}"))
    await servers.postgres.drop_database(name)
    return _outcome("pool-storm", seed, size, findings, {
        "cancelled": f"{cancelled:,}", "next query": _ms(next_seconds), "connections": str(statistics["pool_size"]),
    })


async def reader_jobs(servers: Servers, seed: int, size: int) -> Outcome:
    """F-R22: documents are read in forked processes while gRPC channels are open in this one; none hangs."""
    folder = servers.folder / "reader"
    await asyncio.to_thread(folder.mkdir, exist_ok=True)
    path = folder / "text.txt"
    await asyncio.to_thread(path.write_text, "mk00001p000of001 le chat dort")
    zygote, sandbox._ZYGOTE = sandbox._ZYGOTE, "tests.chaos.reader"
    channels = [open_channel(f"127.0.0.1:{servers.nats.ports['nats']}") for _ in range(4)]
    try:
        async with ParserPool(concurrency=4) as pool, asyncio.timeout(STUCK_SECONDS + size):
            for start in range(0, size, 50):
                await asyncio.gather(*(
                    pool.parse_artefact(path, filename="text.txt") for _ in range(min(50, size - start))
                ))
    finally:
        sandbox._ZYGOTE = zygote
        for channel in channels:
            await channel.close()
    return _outcome("reader-jobs", seed, size, [], {})


def _outcome(name: str, seed: int, size: int, findings: list[Finding], figures: dict[str, str]) -> Outcome:
    return Outcome(
        scenario=name, seed=seed, events=size, faults=Counter(), findings=tuple(findings), recovery_seconds=0.0,
        figures=figures,
    )


def _percentile(ordered: list[float], percent: int) -> str:
    return _ms(ordered[min(len(ordered) * percent // 100, len(ordered) - 1)])


def _ms(seconds: float) -> str:
    return f"{seconds * 1000:.0f} ms"


PROBES: dict[str, tuple[Callable[[Servers, int, int], Awaitable[Outcome]], int, int]] = {
    "fetch-stalls": (fetch_stalls, 100, 1_000), "pool-storm": (pool_storm, 500, 10_000),
    "reader-jobs": (reader_jobs, 100, 1_000), "loop-lag": (loop_lag, 50, 50),
}
"""By name: the probe, its size in the short run, and in the long one."""
