"""Replicas of ingest come and go by what waits, under a load, with KEDA's and the autoscaler's arithmetic.

The ScaledObjects that are checked in are asked of the monitoring port of a real broker; what they want is done by real
processes: a replica is started, or is sent SIGTERM. The long run keeps the autoscaler's own time; the short one has a
faster clock, since the cool-down alone takes longer than its load. The same load with a fixed number of replicas is the
measure of the time it takes.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import grpc
import grpc.aio

from sourcier.ingest.v1 import ingest_pb2, ingest_pb2_grpc
from sourcier.services.chassis.grpc.channels import open_channel
from sourcier.services.chassis.models.store import root_of
from sourcier.services.chassis.postgres.database import ALL_TENANTS
from sourcier.services.chassis.queue import subjects
from sourcier.services.stack.servers.nats import NatsServerSettings
from tests.chaos.checker import Finding
from tests.chaos.cluster import COLLECTION, Cluster, Servers
from tests.chaos.converging import converged
from tests.chaos.generator import TENANTS, Step
from tests.chaos.history import History
from tests.chaos.keeper import Keeper, Plan
from tests.chaos.nursery import Nursery
from tests.chaos.trial import Outcome
from tests.keda import SYNC_SECONDS, Autoscaler, Monitored, scalers

MODEL = "multilingual-e5-small"
STAGES = {"ingest-parse": "parse", "ingest-index": "chunk,index"}
"""The Deployments of the chart that are scaled here, and what their processes do."""
REPLICAS_MAX = 4
SENDERS = 8
INTERACTIVE_EVERY = 10
"""One document of so many overtakes the others."""
SECONDS_MAX = 3_600.0
SUBMIT_SECONDS_MAX = 60.0
CONVERGE_SECONDS_MAX = 60.0
SENTENCE = "Le règlement du télétravail fixe deux jours par semaine, après accord écrit du responsable de service."
READY = "select count(*) from documents where current_version is not null"
LIMITS = {
    "SOURCIER_INGEST_PARSE_SECONDS_MAX": "120", "SOURCIER_INGEST_PARSE_MEMORY_BYTES_MAX": str(1536 * 1024 * 1024),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """What is sent, and how it is worked off."""

    documents: int
    fixed: int = 0
    """So many replicas all the time; 0 scales."""
    speed: float = 1.0
    """So many seconds pass for the autoscaler in one of ours. A fast clock makes a pause of seconds as long as the
    cool-down, so that growing a second time is no flapping."""
    grown: int = REPLICAS_MAX
    """To so many replicas some stage has to grow: a smaller load shows nothing."""
    real: bool = True
    """Whether the real parsers and the real model work, as they are shipped."""

    @property
    def name(self) -> str:
        """What the run is called."""
        return f"scaling, {self.fixed} fixed" if self.fixed else "scaling, by what waits"


LONG = tuple(Load(documents=5_000, fixed=fixed) for fixed in (0, 1, REPLICAS_MAX))
"""What `make chaos SCENARIO=scaling` runs."""


async def run(servers: Servers, *, seed: int, load: Load, nursery: Nursery | None = None) -> Outcome:
    """Send a load on a broker of its own with its monitoring port open, and work it off."""
    settings = NatsServerSettings(folder=servers.folder / f"monitored-{load.fixed}",
                                  log=servers.folder / f"monitored-{load.fixed}.log")
    async with Monitored(settings) as broker:
        told = {"SOURCIER_EMBED_MODEL": MODEL, "SOURCIER_MODELS_DIR": str(root_of(os.environ))} if load.real else {}
        told |= LIMITS
        cluster = Cluster(
            replace(servers, nats=broker), seed=seed, nursery=nursery,
            options={} if load.real else {"arithmetic_model": True, "plain_reader": True},
            plans=(Plan(stages="accept,collect", settings=told), Plan(service="embed", settings=told)),
        )
        cluster.prefix = subjects.DEFAULT_PREFIX  # the manifests name these streams
        async with cluster.running(collections=False):
            deployments = {name: Deployment(cluster, Plan(stages=stages, settings=told), nursery)
                           for name, stages in STAGES.items()}
            for each in deployments.values():
                await each.scale(load.fixed or 1)
            await cluster.become_ready()
            await cluster.create_collections()
            return await Scaling(cluster, broker, deployments, load, seed).run()


class Deployment:
    """The processes of a Deployment."""

    def __init__(self, cluster: Cluster, plan: Plan, nursery: Nursery | None) -> None:
        self._cluster, self._plan, self._nursery = cluster, plan, nursery
        self._running: list[Keeper] = []
        self._ending: set[asyncio.Task[None]] = set()
        self.counts: list[int] = []
        """How many replicas were wanted, one after another."""
        self.seconds = 0.0
        """Of all replicas together."""
        self.ends_unclean: list[str] = []
        self._counted_at = time.monotonic()

    async def scale(self, wanted: int) -> None:
        """Start what lacks, and ask what is too many to end: the newest first. Nobody waits for either."""
        now = time.monotonic()
        self.seconds += len(self._running) * (now - self._counted_at)
        self._counted_at = now
        if not self.counts or self.counts[-1] != wanted:
            self.counts.append(wanted)
        while len(self._running) < wanted:
            self._running.append(self._cluster.start(self._plan, nursery=self._nursery))
        while len(self._running) > wanted:
            task = asyncio.create_task(self._retire(self._running.pop()), name="retire")
            self._ending.add(task)
            task.add_done_callback(self._ending.discard)

    async def ended(self) -> None:
        """Wait for those that were asked to end."""
        await asyncio.gather(*self._ending)

    async def _retire(self, keeper: Keeper) -> None:
        if (code := await self._cluster.retire(keeper)) != 0:
            self.ends_unclean.append(f"{keeper.name} ended with {code} when it was asked to")


class Scaling:
    """One load on a running cluster."""

    def __init__(
        self, cluster: Cluster, broker: Monitored, deployments: Mapping[str, Deployment], load: Load, seed: int
    ) -> None:
        self._cluster, self._broker, self._deployments = cluster, broker, deployments
        self._load, self._seed = load, seed
        self._history = History()
        scaled = {name: scalers()[f"sourcier-{name}"] for name in deployments}
        self._autoscalers = {name: Autoscaler(each, replicas_max=REPLICAS_MAX) for name, each in scaled.items()}
        self._triggers = {
            name: [trigger["metadata"] for trigger in each["triggers"]] for name, each in scaled.items()
        }
        self._curve: list[str] = []
        self._seen: list[tuple[int, ...]] = []
        self._began = time.monotonic()

    async def run(self) -> Outcome:
        """Send, scale until all is done and the replicas are few again, then look."""
        async with asyncio.timeout(SECONDS_MAX), asyncio.TaskGroup() as group:
            scaling = group.create_task(self._scale(), name="scale")
            sent = group.create_task(self._send(), name="senders")
            await sent
            sent_after = time.monotonic() - self._began
            await self._drained()
            drained_after = time.monotonic() - self._began
            worked = {name: each.seconds for name, each in self._deployments.items()}
            await self._few_again()
            scaling.cancel()
        for each in self._deployments.values():
            await each.ended()
        findings, state = await converged(self._cluster, self._history, seconds_max=CONVERGE_SECONDS_MAX)
        findings += [Finding("F-I6", "unfinished", text) for text in self._wrong()]
        return Outcome(
            scenario=self._load.name, seed=self._seed, events=self._history.events,
            faults=Counter({f"{name} scaled": len(each.counts) - 1 for name, each in self._deployments.items()}),
            findings=tuple(findings), recovery_seconds=drained_after - sent_after,
            documents=len(state.documents), letters=len(state.letters),
            figures={
                "documents": f"{self._load.documents:,}, the last one sent after {sent_after:.0f} s",
                "drained after": f"{drained_after:.0f} s, {self._load.documents / drained_after:.1f} a second",
                "replicas": "; ".join(f"{name} {' → '.join(map(str, each.counts))}"
                                      for name, each in self._deployments.items()),
                "seconds of replicas until then": ", ".join(f"{name} {took:.0f}" for name, took in worked.items()),
                "lag at each look": " ".join("/".join(map(str, each)) for each in self._seen),
                "by time (s: lag of parse, of index)": " | ".join(self._curve),
            },
        )

    async def _scale(self) -> None:
        """Look as often as the autoscaler does, by its own clock."""
        while True:
            await asyncio.sleep(SYNC_SECONDS / self._load.speed)  # its period, not a wait for something
            now = time.monotonic() - self._began
            lags = await self._lags()
            self._seen.append(tuple(max(lag for lag, _ in each) for each in lags.values()))
            for name, deployment in self._deployments.items():
                wanted = self._load.fixed or self._autoscalers[name].look(now * self._load.speed, lags[name])
                before = deployment.counts[-1]
                await deployment.scale(wanted)
                if wanted != before:
                    seen = ", ".join(map(str, self._seen[-1]))
                    self._curve.append(f"{now:.0f} s: {seen}: {name} {before} → {wanted}")

    async def _lags(self) -> dict[str, list[tuple[int, int]]]:
        """Return lag and threshold of each trigger, by Deployment."""
        lags = iter(await self._broker.lags([trigger for each in self._triggers.values() for trigger in each]))
        return {name: [(next(lags), int(trigger["lagThreshold"])) for trigger in each]
                for name, each in self._triggers.items()}

    async def _send(self) -> None:
        numbers = iter(range(1, self._load.documents + 1))
        async with self._stub() as stub, asyncio.TaskGroup() as group:
            for _ in range(SENDERS):
                group.create_task(self._send_each(stub, numbers), name="sender")

    async def _send_each(self, stub: Any, numbers: Any) -> None:
        for number in numbers:
            step = document(number)
            lane = "interactive" if number % INTERACTIVE_EVERY == 0 else "bulk"
            header = ingest_pb2.DocumentHeader(filename=step.name, collection=COLLECTION, lane=lane)
            while True:
                try:
                    await stub.Submit(
                        iter((ingest_pb2.SubmitRequest(header=header), ingest_pb2.SubmitRequest(data=step.body))),
                        timeout=SUBMIT_SECONDS_MAX, metadata=(("sourcier-tenant", step.tenant),),
                    )
                except grpc.aio.AioRpcError as error:
                    if error.code() is not grpc.StatusCode.RESOURCE_EXHAUSTED:
                        raise
                    await asyncio.sleep(0.5)  # what it is told: there is no room now
                else:
                    break
            self._history.record(step, "accepted")

    @asynccontextmanager
    async def _stub(self) -> AsyncIterator[Any]:
        channel = open_channel(self._cluster.entrance)
        try:
            yield ingest_pb2_grpc.IngestServiceStub(channel)
        finally:
            await channel.close()

    async def _drained(self) -> None:
        while True:
            async with self._cluster.database.transaction(tenant=ALL_TENANTS, read_only=True) as connection:
                row = await (await connection.execute(READY)).fetchone()
            if row is not None and row[0] == self._load.documents:
                return
            await asyncio.sleep(0.2)

    async def _few_again(self) -> None:
        while not self._load.fixed and any(each.counts[-1] > 1 for each in self._deployments.values()):
            await asyncio.sleep(0.2)

    def _wrong(self) -> list[str]:
        """Return what the replicas did that they should not."""
        wrong = [text for each in self._deployments.values() for text in each.ends_unclean]
        wrong += [end for keeper in self._cluster.keepers for end in keeper.deaths_unasked]
        for name, each in self._deployments.items():
            if turns(each.counts) > 1 and self._load.speed == 1.0:
                wrong.append(f"{name} flaps: {' → '.join(map(str, each.counts))}")
        if not self._load.fixed and max(max(each.counts) for each in self._deployments.values()) < self._load.grown:
            wrong.append(f"no stage grew to {self._load.grown} replicas: the load was too small to show anything")
        return wrong


def document(number: int) -> Step:
    """Return a small document; every other one goes through the parsers' own processes."""
    name = f"note-{number:05}.{'html' if number % 2 else 'txt'}"
    marks = [f"mk{number:05}p{place:03}of002" for place in range(2)]
    paragraphs = [f"{mark} {SENTENCE}" for mark in marks]
    if name.endswith(".html"):
        paragraphs = [f"<p>{paragraph}</p>" for paragraph in paragraphs]
    return Step(
        kind="submit", tenant=TENANTS[number % len(TENANTS)], name=name, version=number,
        body="\n\n".join(paragraphs).encode(),
    )


def turns(counts: list[int]) -> int:
    """Return how often a series changes between going up and going down."""
    ways = [after > before for before, after in pairwise(counts)]
    return sum(before != after for before, after in pairwise(ways))
