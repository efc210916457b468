"""What KEDA would see and do: the rendered triggers against the monitoring port of a real broker, by KEDA's arithmetic.

The autoscaler asks for as many replicas as the largest quotient of lag and threshold. KEDA's prometheus scaler asks a
query: here the figure is taken from where ingest's comes from, `depths`. Real processes of ingest that come and go by
this, at the autoscaler's pace, are in tests/chaos/scaling.py.
"""

from __future__ import annotations

import asyncio
import math
import re
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from sourcier.events.v1 import events_pb2
from sourcier.services.chassis.queue import subjects
from sourcier.services.chassis.queue.consuming import Delivery
from sourcier.services.chassis.queue.durables import durables
from sourcier.services.chassis.queue.fair_consuming import FairConsumer
from sourcier.services.chassis.queue.jetstream import JetStream
from sourcier.services.stack.servers.nats import NatsServerSettings
from tests.integration.chassis.fix_jetstream import ready
from tests.keda import Monitored, scalers

PREFIX = subjects.DEFAULT_PREFIX
SPACE = "multilingual-e5-small-ff671f68"
TOKEN = subjects.space_token(SPACE)
LOAD = 200


class Scaler:
    """KEDA's scaler and the autoscaler's rule, over what the broker tells."""

    def __init__(self, server: Monitored, specification: dict[str, Any]) -> None:
        self._server = server
        self._specification = specification

    async def replicas(self, jetstream: JetStream) -> int:
        """Return how many replicas would be asked for now."""
        asked = [
            await self._asked(trigger["metadata"]) if trigger["type"] == "nats-jetstream"
            else await self._told(trigger["metadata"], jetstream)
            for trigger in self._specification["triggers"]
        ]
        return max(self._specification["minReplicaCount"], min(max(asked), self._specification["maxReplicaCount"]))

    async def _asked(self, trigger: dict[str, str]) -> int:
        [lag] = await self._server.lags([trigger])
        return math.ceil(lag / int(trigger["lagThreshold"]))

    @staticmethod
    async def _told(trigger: dict[str, str], jetstream: JetStream) -> int:
        if "sourcier_queue_messages" not in trigger["query"]:
            return 0
        [label] = re.findall(r'consumer="([a-z0-9_]+)"', trigger["query"])
        return math.ceil((await jetstream.queues.depths()).get(label, 0) / int(trigger["threshold"]))


@asynccontextmanager
async def broker(folder: Path) -> AsyncIterator[tuple[Monitored, JetStream]]:
    """Run a broker with every queue and consumer that the services make."""
    settings = NatsServerSettings(folder=folder / "nats", log=folder / "nats.log")
    async with (
        Monitored(settings) as server, JetStream(url=server.url, prefix=PREFIX, name="test") as jetstream,
    ):
        by_stage = {"parse": subjects.DOCUMENT_RECEIVED, "ocr": subjects.DOCUMENT_SCANNED,
                    "speech": subjects.DOCUMENT_RECORDED, "chunk": subjects.DOCUMENT_PARSED,
                    "index": subjects.CHUNKS_EMBEDDED, "enrich": subjects.CHUNKS_ENRICH}
        for stage, subject in by_stage.items():
            for lane in subjects.LANES:
                await jetstream.ensure_durable(subject, stage=stage, lane=lane)
        yield server, jetstream


async def send(jetstream: JetStream, count: int, *, to: str = "ingest-parse", tenants: int = 1) -> None:
    """Put messages on the queue of a stage."""
    for number in range(count):
        tenant = f"tenant-{number % tenants}"
        if to == "embed":
            await jetstream.publish(subjects.CHUNKS_READY, ready(number), tenant=tenant, lane="bulk", suffix=TOKEN,
                                    message_id=f"bulk-{number}")
        else:
            version = events_pb2.VersionReference(tenant=tenant, document_id=str(number))
            await jetstream.publish(subjects.DOCUMENT_RECEIVED, events_pb2.DocumentReceived(version=version),
                                    tenant=tenant, lane="bulk", message_id=f"bulk-{number}")


async def test_every_trigger_finds_its_queue_on_the_broker_and_asks_for_the_least_where_it_is_empty(
    tmp_path: Path,
) -> None:
    async with broker(tmp_path) as (server, jetstream):
        found = {name: await Scaler(server, each).replicas(jetstream) for name, each in scalers().items()}
        wanted = {name: each["minReplicaCount"] for name, each in scalers().items()}
    assert found == wanted
    assert found.keys() == {f"sourcier-{name}" for name in (
        "ingest-parse", "ingest-ocr", "ingest-index", "embed", "generate")}
    named = {trigger["metadata"]["consumer"] for each in scalers().values() for trigger in each["triggers"]
             if trigger["type"] == "nats-jetstream"}
    assert named <= {each.name for each in durables(PREFIX)}


@pytest.mark.parametrize("stage", ["ingest-parse", "embed"])
@pytest.mark.parametrize(("waiting", "replicas"), [(0, 1), (4, 1), (5, 2), (22, 6), (100, 8)])
async def test_replicas_follow_what_waits(tmp_path: Path, stage: str, waiting: int, replicas: int) -> None:
    async with broker(tmp_path) as (server, jetstream):
        await send(jetstream, waiting, to=stage, tenants=3)
        assert await Scaler(server, scalers()[f"sourcier-{stage}"]).replicas(jetstream) == replicas


async def test_a_load_of_embed_is_worked_off_by_replicas_that_come_and_go_and_each_message_is_done_once(
    tmp_path: Path,
) -> None:
    done: Counter[str] = Counter()
    counts: list[int] = []

    async def embed(message: events_pb2.ChunksReady, delivery: Delivery) -> None:
        await asyncio.sleep(0.02)
        done[str(message.batch_no)] += 1

    def replica(jetstream: JetStream) -> FairConsumer[events_pb2.ChunksReady]:
        return FairConsumer(
            jetstream, subjects.CHUNKS_READY, told=subjects.CHUNKS_TOLD, stage="embed", suffix=TOKEN, handle=embed,
            concurrency={"interactive": 1, "bulk": 1}, cost=lambda message: 1.0,
        )

    async with broker(tmp_path) as (server, jetstream), AsyncExitStack() as ended:
        scaler = Scaler(server, scalers()["sourcier-embed"])
        replicas: list[tuple[asyncio.Event, asyncio.Task[None]]] = []

        async def scale(wanted: int) -> None:
            while len(replicas) < wanted:
                stopping = asyncio.Event()
                replicas.append(
                    (stopping, asyncio.create_task(replica(jetstream).run(stopping), name="replica"))
                )
            while len(replicas) > wanted:
                # As SIGTERM does: what is in hand is finished, the rest is left to the others.
                stopping, task = replicas.pop()
                stopping.set()
                await task

        ended.push_async_callback(scale, 0)
        await send(jetstream, LOAD, to="embed", tenants=4)
        async with asyncio.timeout(90):
            while len(done) < LOAD or counts[-1] > 1:
                wanted = await scaler.replicas(jetstream)
                # Down by one at a time, as the rendered policy says.
                counts.append(max(wanted, counts[-1] - 1) if counts else wanted)
                await scale(counts[-1])
                await asyncio.sleep(0.05)
    assert set(done.values()) == {1}
    assert max(counts) == 8
    assert counts[-1] == 1
    # Up once and down once: no flapping.
    turns = [after - before for before, after in pairwise(counts) if after != before]
    assert all(step < 0 for step in turns)
