"""Two releases side by side on one database, one broker and one store, while documents come and questions are asked.

The services of the earlier release run first. Each is joined by its successor, both serve for a while, and the earlier
one is asked to end, until all are new; then the same way back, to the earlier release on the newer schema, which holds
what both wrote. Nothing may be lost or doubled, and no question may fail beyond the client's own retries.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from sourcier import Client, SourcierError
from sourcier.services.stack.processes.ports import HOST, free_ports
from tests.chaos.checker import Finding
from tests.chaos.cluster import COLLECTION, Cluster, Servers
from tests.chaos.converging import converged
from tests.chaos.generator import TENANTS, Generator, Habits, Step
from tests.chaos.history import History
from tests.chaos.keeper import REPOSITORY, Keeper, Plan
from tests.chaos.nursery import Nursery
from tests.chaos.observer import Observer
from tests.chaos.senders import Senders, Telling
from tests.chaos.state import read_state
from tests.chaos.trial import Outcome

Direction = Literal["services first", "gateway first"]
ORDERS: dict[Direction, tuple[str, ...]] = {
    "services first": ("ingest", "embed", "generate", "gateway"),
    "gateway first": ("gateway", "generate", "embed", "ingest"),
}
TENANT = TENANTS[0]
ANCHORS = 3
"""Documents that are there before anything changes, and that questions are about."""
ANCHOR_VERSIONS = 90_000
OPTIONS = {"hurried": 3.0, "plain_reader": True, "arithmetic_model": True}
HABITS = Habits(names=16, large_share=0.2)
PACE_SECONDS = 0.15
TOGETHER_QUESTIONS = 4
"""So many are answered while both versions of a service run, and again before the next one changes."""
STEP_SECONDS_MAX = 300.0
CONVERGE_SECONDS_MAX = 180.0
ANSWER_SECONDS_MAX = 60.0
# What people are refused is no concern of this: any passage found answers.
LENIENT = {
    "SOURCIER_GATEWAY_ANSWERABILITY_THRESHOLD": "0", "SOURCIER_GATEWAY_REFUSAL_THRESHOLD": "-1",
    "SOURCIER_GATEWAY_REFUSAL_SIMILARITY": "-1", "SOURCIER_GATEWAY_RESULT_THRESHOLD": "-1",
    "SOURCIER_GATEWAY_SUPPORT_THRESHOLD": "-1", "SOURCIER_GATEWAY_SUPPORT_VECTORS_THRESHOLD": "-1",
    "SOURCIER_GATEWAY_SUPPORT_SHARE_THRESHOLD": "0",
}
SCRIPT = {"tokens_per_second": 12, "rules": [{"pattern": ".", "text": "{passage:1} [1]"}]}


@dataclass
class Questions:
    """Questions about the anchors, one after the other, as a client asks them that knows both gateways."""

    address: str
    answered: int = 0
    failures: list[str] = field(default_factory=list)
    conversations: dict[str, int] = field(default_factory=dict)
    """How many questions each was asked."""

    @property
    def ended(self) -> int:
        """How many were answered, or failed."""
        return self.answered + len(self.failures)

    async def run(self, *, offset: int) -> None:
        """Ask until cancelled; each question in the conversation of its asker."""
        async with Client(self.address, tenant=TENANT) as client:
            conversation = await client.create_conversation(title=f"asker {offset}")
            number = offset
            while True:
                number += 1
                await self.ask(client, number % ANCHORS, conversation.conversation_id)
                await asyncio.sleep(0.1)

    async def look_back(self) -> None:
        """Note conversations that lack a question or an answer, or have one twice; the last may have been cut off."""
        async with Client(self.address, tenant=TENANT) as client:
            for conversation_id, asked in self.conversations.items():
                kept = [message async for message in client.messages(conversation_id)]
                if not 2 * asked <= len(kept) <= 2 * asked + 2:
                    self.failures.append(f"a conversation of {asked} questions has {len(kept)} messages")

    async def ask(self, client: Client, anchor: int, conversation_id: str) -> None:
        try:
            answer = await client.answer(
                question(anchor), collection=COLLECTION, conversation_id=conversation_id,
                timeout_seconds=ANSWER_SECONDS_MAX,
            )
        except SourcierError as error:
            self.failures.append(f"{question(anchor)} failed: {error.code} {error.message}")
            return
        self.conversations[conversation_id] = self.conversations.get(conversation_id, 0) + 1
        if mark(anchor) in answer.text:
            self.answered += 1
        else:
            self.failures.append(f"{question(anchor)} was answered: {answer.text!r} refused={answer.refused}")


def mark(anchor: int) -> str:
    """Return the mark of an anchor's only paragraph."""
    return f"mk{ANCHOR_VERSIONS + anchor}p000of001"


def question(anchor: int) -> str:
    """Return a question that one anchor answers."""
    return f"Que dit la pièce {mark(anchor)} ?"


class Upgrade:
    """A run on a cluster whose services are all of the earlier release."""

    def __init__(self, cluster: Cluster, fleet: Fleet, *, order: Direction, seed: int, together: int) -> None:
        self._cluster, self._fleet, self._order, self._seed = cluster, fleet, order, seed
        self._together = together
        self._history = History()
        self._senders = Senders(cluster, self._history, seed, Telling(dropped=0.0, lies=0.0))
        self._questions = Questions(fleet.gateways)
        self._changes: Counter[str] = Counter()
        self._exits: list[str] = []

    async def run(self) -> Outcome:
        """Go there and back under load, then wait until all is well."""
        observer = Observer(self._cluster.database)
        loading = asyncio.Event()
        async with asyncio.TaskGroup() as group:
            await send_anchors(self._cluster, self._senders)
            load = [
                group.create_task(self._send(loading), name="senders"),
                *(group.create_task(self._questions.run(offset=number), name=f"asker {number}") for number in range(2)),
                group.create_task(observer.run(), name="observer"),
            ]
            await self._answered(self._together)
            if self._order == "gateway first":
                await asyncio.to_thread(migrate_as_a_job, self._cluster.environment)
            for service in ORDERS[self._order]:
                await self._change(service, to="new")
            for service in reversed(ORDERS[self._order]):
                await self._change(service, to="old")
            loading.set()
            await load[0]
            for task in load[1:]:
                task.cancel()
        began = time.monotonic()
        findings, state = await converged(self._cluster, self._history, seconds_max=CONVERGE_SECONDS_MAX)
        await self._questions.look_back()
        findings += observer.findings
        findings += [Finding("F-I8", "unfinished", each) for each in (*self._questions.failures, *self._exits)]
        return Outcome(
            scenario=f"upgrade, {self._order}", seed=self._seed, events=self._history.events, faults=self._changes,
            findings=tuple(findings), recovery_seconds=time.monotonic() - began,
            documents=len(state.documents), letters=len(state.letters),
            figures={
                "questions answered": str(self._questions.answered),
                "questions failed": str(len(self._questions.failures)),
            },
        )

    async def _change(self, service: str, *, to: str) -> None:
        """Start the other version of a service, let both serve, and end the one before."""
        before = self._fleet.running(service)
        started = self._fleet.start(service, to)
        async with asyncio.timeout(STEP_SECONDS_MAX):
            await self._cluster.become_ready()
        assert started.ready.is_set()
        await self._answered(self._together)
        code = await self._cluster.retire(before)
        self._changes[f"{service} {to}"] += 1
        if code != 0:
            self._exits.append(f"{before.name} ended with {code} when it was asked to")
        await self._answered(self._together)

    async def _answered(self, count: int) -> None:
        """Wait until so many more questions were answered, or failed."""
        wanted = self._questions.ended + count
        async with asyncio.timeout(STEP_SECONDS_MAX):
            while self._questions.ended < wanted:
                await asyncio.sleep(0.1)

    async def _send(self, ending: asyncio.Event) -> None:
        steps = Generator(self._seed, HABITS).steps()
        async with asyncio.TaskGroup() as group:
            while not ending.is_set():
                await self._senders.perform(next(steps), group)
                await asyncio.sleep(PACE_SECONDS)



async def send_anchors(cluster: Cluster, senders: Senders) -> None:
    """Send the documents that questions are about, and wait until they answer."""
    async with asyncio.timeout(CONVERGE_SECONDS_MAX), asyncio.TaskGroup() as group:
        for anchor in range(ANCHORS):
            step = Step(
                kind="submit", tenant=TENANT, name=f"anchor-{anchor}.txt", version=ANCHOR_VERSIONS + anchor,
                body=f"{mark(anchor)} le chat dort, le chien mange".encode(),
            )
            await senders.perform(step, group)
            while not senders.last_was_accepted:
                await senders.perform(step, group)
        while len((await read_state(cluster.database, TENANTS)).committed) < ANCHORS:
            await asyncio.sleep(0.2)


def migrate_as_a_job(environment: dict[str, str]) -> None:
    """Bring the schema up to date before any new service starts, as the chart's Job does."""
    url = environment["SOURCIER_POSTGRES_URL"]
    done = subprocess.run(
        [sys.executable, "-P", "-m", "sourcier.services.index.migrations"], check=False, capture_output=True, text=True,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY), "SOURCIER_POSTGRES_URL": url},
    )
    assert done.returncode == 0, done.stderr


class Fleet:
    """One process of each service in each version, at ports that are known before any starts."""

    def __init__(self, cluster: Cluster, *, earlier: Path, script: Path, nurseries: Mapping[str, Nursery]) -> None:
        self._roots = {"old": earlier, "new": REPOSITORY}
        self._nurseries = nurseries
        services = ORDERS["services first"]
        chosen = iter(free_ports(len(services) * 2))
        self._ports = {(service, version): next(chosen) for service in services for version in self._roots}
        self._script = script
        self._running: dict[str, Keeper] = {}
        self.cluster = cluster

    @property
    def gateways(self) -> str:
        """Both gateways, for gRPC."""
        return self._both("gateway")

    def start(self, service: str, version: str) -> Keeper:
        """Start a service of a version."""
        plan = Plan(
            service=service, root=self._roots[version], port=self._ports[service, version], settings={
                **LENIENT, "SOURCIER_INGEST_URL": self._both("ingest"), "SOURCIER_GENERATE_URL": self._both("generate"),
                "SOURCIER_EMBED_URL": self._both("embed").removeprefix("ipv4:"), "SOURCIER_RERANK_URL": f"{HOST}:9",
                "SOURCIER_GENERATE_ENGINE": "scripted", "SOURCIER_GENERATE_SCRIPT_FILE": str(self._script),
                "SOURCIER_GATEWAY_PROMPT_SECRET": "the same for all gateways",
            },
        )
        self._running[service] = self.cluster.start(plan, nursery=self._nurseries.get(version))
        return self._running[service]

    def running(self, service: str) -> Keeper:
        """Return the process of a service that was started last."""
        return self._running[service]

    def _both(self, service: str) -> str:
        return "ipv4:" + ",".join(f"{HOST}:{self._ports[service, version]}" for version in self._roots)


async def run(
    servers: Servers, *, seed: int, earlier: Path, order: Direction, nurseries: Mapping[str, Nursery] | None = None,
    together: int = TOGETHER_QUESTIONS,
) -> Outcome:
    """Run the release of a checkout and this one side by side, in one order."""
    async with fleet_on(servers, seed=seed, earlier=earlier, nurseries=nurseries or {}) as fleet:
        for service in ORDERS["services first"]:
            fleet.start(service, "old")
        await fleet.cluster.become_ready()
        await fleet.cluster.create_collections()
        return await Upgrade(fleet.cluster, fleet, order=order, seed=seed, together=together).run()


@asynccontextmanager
async def fleet_on(
    servers: Servers, *, seed: int, earlier: Path, nurseries: Mapping[str, Nursery]
) -> AsyncIterator[Fleet]:
    """Make a database, buckets and what starts services on them; none is started yet."""
    script = servers.folder / "upgrade.json"
    await asyncio.to_thread(script.write_text, json.dumps(SCRIPT))
    fleet = Fleet(
        Cluster(servers, plans=(), options=OPTIONS, seed=seed), earlier=earlier, script=script, nurseries=nurseries,
    )
    async with fleet.cluster.running(collections=False):
        yield fleet
