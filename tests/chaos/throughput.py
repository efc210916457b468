"""F-R8, how fast: two hundred good documents alone, and the same number with one poison of each kind among them.

The real model embeds, with the limits of a service as it is shipped: an endless loop keeps its place for all of
`parse_seconds_max`. Documents are read as plain lines, so that what the poison does can be chosen.
"""

from __future__ import annotations

import asyncio
import os
import random
import statistics
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import grpc
import grpc.aio

from sourcier.ingest.v1 import ingest_pb2, ingest_pb2_grpc
from sourcier.services.chassis.grpc.channels import open_channel
from sourcier.services.chassis.models.store import root_of
from tests.chaos.checker import Finding
from tests.chaos.cluster import Cluster, Servers
from tests.chaos.generator import WORDS
from tests.chaos.keeper import Plan
from tests.chaos.trial import Outcome

MODEL = "multilingual-e5-small"
POISONS = ("crash", "hang", "memory", "bomb", "encrypted", "damaged")
PARAGRAPHS, WORDS_EACH = 4, 120
ROUNDS = 2
SENDERS = 16
RATIO_MIN = 0.95
AGAIN_SECONDS = 0.5
JOB_SECONDS_MAX = 400.0
METADATA = (("sourcier-tenant", "acme"),)
Answer = TypeVar("Answer")
FINISHED = (ingest_pb2.JOB_STATUS_COMPLETED, ingest_pb2.JOB_STATUS_FAILED)


async def run(servers: Servers, seed: int, good: int) -> Outcome:
    """Send, in turns, good documents alone and good ones with poison among them; compare the good ones' rates."""
    model = {
        "SOURCIER_EMBED_MODEL": MODEL,
        "SOURCIER_MODELS_DIR": str(root_of(os.environ)),
    }
    limits = {
        "SOURCIER_INGEST_PARSE_SECONDS_MAX": "120",
        "SOURCIER_INGEST_PARSE_MEMORY_BYTES_MAX": str(1536 * 1024 * 1024),
    }
    cluster = Cluster(servers, seed=seed, options={"plain_reader": True}, plans=(
        Plan(settings=model | limits), Plan(service="embed", settings=model),
    ))
    rates: dict[str, list[float]] = {"clean": [], "poisoned": []}
    reasons: dict[str, str] = {}
    findings: list[Finding] = []
    async with cluster.running():
        channel = open_channel(cluster.entrance)
        try:
            run = _Run(ingest_pb2_grpc.IngestServiceStub(channel), random.Random(f"throughput {seed}"))
            await run.prepare()
            await run.rate(20, poisons=())  # what is loaded at the first use is not measured
            for _ in range(ROUNDS):
                for kind, poisons in (("clean", ()), ("poisoned", POISONS)):
                    rates[kind].append(await run.rate(good, poisons=poisons))
                reasons.update(await run.reasons())
        finally:
            await channel.close()
    ratio = statistics.median(rates["poisoned"]) / statistics.median(rates["clean"])
    if ratio < RATIO_MIN:
        findings.append(Finding("F-I6", "unfinished", f"good documents at {ratio:.2f} of their rate without poison"))
    findings += [Finding("F-I1", "lost", f"{name} has no reason") for name in POISONS if not reasons.get(name)]
    findings += [Finding("F-I1", "lost", text) for text in run.lost]
    return Outcome(
        scenario="throughput", seed=seed, events=ROUNDS * (2 * good + len(POISONS)),
        faults=Counter(dict.fromkeys(POISONS, ROUNDS)), findings=tuple(findings), recovery_seconds=0.0,
        letters=ROUNDS * len(POISONS), figures={
            **{f"good documents a second, {kind}": ", ".join(f"{rate:.2f}" for rate in found)
               for kind, found in rates.items()},
            "ratio of the medians": f"{ratio:.3f}",
            **{f"reason of {name}": reason for name, reason in reasons.items()},
        },
    )


class _Run:
    """Sends documents and waits for their jobs."""

    def __init__(self, stub: Any, chance: random.Random) -> None:
        self.lost: list[str] = []
        self._stub, self._chance = stub, chance
        self._poisoned: dict[str, str] = {}
        self._number = 0

    async def prepare(self) -> None:
        """Make a collection with chunks of the usual size."""
        await self._stub.CreateCollection(
            ingest_pb2.CreateCollectionRequest(name="usual"), timeout=30, metadata=METADATA
        )

    async def rate(self, good: int, *, poisons: tuple[str, ...]) -> float:
        """Send so many good documents with the poison among them; return good documents indexed a second."""
        places = set(self._chance.sample(range(good // 2), len(poisons)))
        waiting = list(poisons)
        slots = asyncio.Semaphore(SENDERS)
        began = time.monotonic()
        async with asyncio.TaskGroup() as group:
            for place in range(good):
                if place in places:
                    name = waiting.pop()
                    self._poisoned[name] = await self._send(slots, f"{name}.md", f"!{name} {self._next()}")
                group.create_task(self._through(slots), name=f"document {place}")
        return good / (time.monotonic() - began)

    async def reasons(self) -> dict[str, str]:
        """Wait for the poison's jobs; return what each says."""
        said = {}
        for name, job_id in self._poisoned.items():
            job = await self._ended(job_id)
            said[name] = job.error.reason if job.status == ingest_pb2.JOB_STATUS_FAILED else ""
        return said

    async def _through(self, slots: asyncio.Semaphore) -> None:
        paragraphs = (" ".join(self._chance.choices(WORDS, k=WORDS_EACH)) for _ in range(PARAGRAPHS))
        body = f"{self._next()}\n\n" + "\n\n".join(paragraphs)
        job = await self._ended(await self._send(slots, f"good-{self._number}.txt", body))
        if job.status != ingest_pb2.JOB_STATUS_COMPLETED:
            self.lost.append(f"a good document was given up: {job.error.message}")

    async def _send(self, slots: asyncio.Semaphore, filename: str, body: str) -> str:
        async def submit() -> str:
            submitted = await self._stub.Submit(iter((
                ingest_pb2.SubmitRequest(header=ingest_pb2.DocumentHeader(filename=filename, collection="usual")),
                ingest_pb2.SubmitRequest(data=body.encode()),
            )), timeout=60, metadata=METADATA)
            return str(submitted.job.job_id)

        async with slots:
            return await _until_there_is_room(submit)

    async def _ended(self, job_id: str) -> ingest_pb2.Job:
        async def watch() -> ingest_pb2.Job:
            job = ingest_pb2.Job()
            async for response in self._stub.WatchJob(
                ingest_pb2.WatchJobRequest(job_id=job_id), timeout=JOB_SECONDS_MAX, metadata=METADATA
            ):
                job = response.job
            return job

        return await _until_there_is_room(watch)

    def _next(self) -> int:
        self._number += 1
        return self._number


async def _until_there_is_room(call: Callable[[], Awaitable[Answer]]) -> Answer:
    """Call again while it is refused for want of a database connection: on a slow machine, 200 watch at once."""
    ends_at = time.monotonic() + JOB_SECONDS_MAX
    while True:
        try:
            return await call()
        except grpc.aio.AioRpcError as error:
            if error.code() is not grpc.StatusCode.RESOURCE_EXHAUSTED or time.monotonic() > ends_at:
                raise
            await asyncio.sleep(AGAIN_SECONDS)
