"""One scenario, once: send, harm, wait until all is well or the limit is reached, and say what was found."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path

import nats.errors
import nats.js.errors

from sourcier.ingest.v1 import ingest_pb2, ingest_pb2_grpc
from sourcier.services.chassis.errors import ServiceError
from sourcier.services.chassis.grpc.channels import open_channel
from sourcier.services.stack.processes.ports import HOST
from tests.chaos import checker
from tests.chaos.checker import Finding
from tests.chaos.cluster import Cluster, Servers, serving
from tests.chaos.generator import TENANTS, Generator
from tests.chaos.history import History
from tests.chaos.injector import Injector
from tests.chaos.nursery import Nursery
from tests.chaos.observer import Observer
from tests.chaos.proxy import Proxy
from tests.chaos.scenarios import Scenario
from tests.chaos.senders import Senders
from tests.chaos.state import read_state, waiting_messages

RECOVERY_SECONDS_MAX = 180.0
"""It decides no test that converges: three runs at once on two cores need longer than one on a quiet machine."""
FAULTS_SECONDS_MAX = 240.0
LOOK_SECONDS = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a trial showed."""

    scenario: str
    seed: int
    events: int
    faults: Counter[str]
    findings: tuple[Finding, ...]
    recovery_seconds: float
    """From the end of the last fault until every invariant held; the limit where it never did."""
    documents: int = 0
    letters: int = 0
    notes: tuple[str, ...] = ()
    figures: dict[str, str] = field(default_factory=dict)

    def count(self, *kinds: str) -> int:
        """Return how many findings there are of these kinds."""
        return sum(finding.kind in kinds for finding in self.findings)


async def run(
    scenario: Scenario, *, seed: int, folder: Path, servers: Servers | None = None, rounds: int = 1, broken: str = "",
    limit_seconds: float = RECOVERY_SECONDS_MAX, nursery: Nursery | None = None,
) -> Outcome:
    """Run a scenario on the servers given, or on its own; `rounds` repeats its faults, `broken` names a broken rule."""
    async with AsyncExitStack() as opened:
        if servers is None or scenario.own_servers:
            servers = await opened.enter_async_context(serving(folder / f"{scenario.name}-{seed}"))
        proxy = None
        nats_url = ""
        if scenario.proxied:
            proxy = Proxy(servers.nats.ports["nats"])
            await opened.enter_async_context(proxy.running())
            nats_url = servers.nats.url.replace(f"{HOST}:{proxy.target_port}", f"{HOST}:{proxy.port}")
        cluster = Cluster(
            servers, plans=scenario.plans, options={**scenario.options, "broken": broken}, seed=seed, nats_url=nats_url,
            nursery=nursery,
        )
        await opened.enter_async_context(cluster.running())
        trial = Trial(scenario, cluster, seed, proxy, rounds=rounds)
        return await trial.run(limit_seconds)


class Trial:
    """The run of one scenario on a running cluster."""

    def __init__(self, scenario: Scenario, cluster: Cluster, seed: int, proxy: Proxy | None, *, rounds: int) -> None:
        self._scenario, self._cluster, self._seed, self._rounds = scenario, cluster, seed, rounds
        self._history = History()
        self._senders = Senders(cluster, self._history, seed, scenario.telling)
        self._injector = Injector(cluster, seed, proxy, away_seconds=scenario.away_seconds)
        self._observer = Observer(cluster.database)
        self._faulting = False

    async def run(self, limit_seconds: float) -> Outcome:
        """Send and harm, then wait."""
        for keeper in self._cluster.keepers:
            keeper.arm(self._rounds)
            if keeper.plan.kills:
                keeper.kill()  # a life with a failpoint begins
        observing = asyncio.create_task(self._observer.run(), name="observer")
        try:
            async with asyncio.TaskGroup() as group:
                harming = group.create_task(self._harm(), name="harm")
                await self._send(harming, group)
            await self._senders.replay()
            await self._calm()
            recovered, findings, documents, letters = await self._converge(limit_seconds)
            replayed = 0
            if letters and not findings and self._scenario.letters_allowed:
                replayed = letters
                await self._redrive()
                _, findings, documents, letters = await self._converge(limit_seconds, letters_allowed=frozenset())
        finally:
            observing.cancel()
            await asyncio.gather(observing, return_exceptions=True)
        unasked = [end for keeper in self._cluster.keepers for end in keeper.deaths_unasked]
        faults = self._injector.counts.copy()
        for keeper in self._cluster.keepers:
            faults.update({f"kill at {name}": count for name, count in keeper.fired.items()})
            if lost := keeper.failpoints_passed - keeper.fired.total():
                faults[f"fault at {keeper.plan.failpoints.partition('=')[0] or 'a failpoint'}"] += lost
        faults["notifications that never came"] += self._senders.untold
        notes = [*self._injector.notes, *unasked, *self._not_fired()]
        findings += self._observer.findings
        findings += [Finding("F-I6", "unfinished", note) for note in notes]
        return Outcome(
            scenario=self._scenario.name, seed=self._seed, events=self._history.events, faults=+faults,
            findings=tuple(findings), recovery_seconds=recovered, documents=documents, letters=letters,
            figures={"looks during the faults": str(self._observer.looks), "dead letters replayed": str(replayed)},
        )

    async def _send(self, harming: asyncio.Task[None], group: asyncio.TaskGroup) -> None:
        sent = 0
        steps = Generator(self._seed, self._scenario.habits).steps()
        while sent < self._scenario.steps or (self._scenario.endless and not harming.done()):
            await self._senders.perform(next(steps), group)
            sent += 1
            await asyncio.sleep(self._scenario.pace_seconds)  # the pace of the senders, not a wait for something

    async def _harm(self) -> None:
        async with asyncio.timeout(FAULTS_SECONDS_MAX * self._rounds):
            for _ in range(self._rounds):
                for name in self._scenario.injected:
                    await asyncio.sleep(self._scenario.pause_seconds)  # work has to be under way
                    await self._injector.inject(name)
            while any(keeper.to_fire for keeper in self._cluster.keepers):
                await asyncio.sleep(0.1)

    async def _calm(self) -> None:
        """End the faults: processes that have any are killed once more, and come back without."""
        for keeper in self._cluster.keepers:
            keeper.calm()
            if keeper.plan.kills or keeper.plan.failpoints:
                keeper.kill()
                keeper.ready.clear()
        for keeper in self._cluster.keepers:
            async with asyncio.timeout(RECOVERY_SECONDS_MAX):
                await keeper.ready.wait()

    async def _redrive(self) -> None:
        """Replay every dead letter, twice at once: it has to happen once."""
        channel = open_channel(self._cluster.entrance)
        try:
            stub = ingest_pb2_grpc.IngestServiceStub(channel)
            await asyncio.gather(*(
                stub.ReplayDeadLetters(
                    ingest_pb2.ReplayDeadLettersRequest(), timeout=30, metadata=(("sourcier-tenant", tenant),)
                ) for tenant in TENANTS * 2
            ))
        finally:
            await channel.close()

    async def _converge(
        self, limit_seconds: float, *, letters_allowed: frozenset[str] | None = None
    ) -> tuple[float, list[Finding], int, int]:
        began = time.monotonic()
        findings: list[Finding] = []
        documents = letters = 0
        while time.monotonic() - began < limit_seconds:
            try:
                state = await read_state(self._cluster.database, TENANTS)
                waiting = [*await waiting_messages(self._cluster.jetstream), *await self._cluster.uploads_left()]
            except (ServiceError, TimeoutError, nats.errors.Error, nats.js.errors.Error) as error:
                findings = [Finding("F-I6", "unfinished", f"the servers do not answer: {error}")]
            else:
                findings = checker.check(
                    self._history, state, waiting,
                    letters_allowed=self._scenario.letters_allowed if letters_allowed is None else letters_allowed,
                )
                documents, letters = len(state.documents), len(state.letters)
                if not findings:
                    break
            await asyncio.sleep(LOOK_SECONDS)
        return time.monotonic() - began, findings, documents, letters

    def _not_fired(self) -> list[str]:
        return [
            f"the failpoint {name} of {keeper.name} was never reached"
            for keeper in self._cluster.keepers for name in keeper.plan.kills if not keeper.fired[name]
        ]
