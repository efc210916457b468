"""Does what the generator says at the real entrances, and tells of it as badly as stores and networks do."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import AsyncIterator
from dataclasses import dataclass

import grpc.aio
import nats.errors
import nats.js.errors
import obstore

from sourcier.ingest.v1 import ingest_pb2, ingest_pb2_grpc
from sourcier.services.chassis.grpc.channels import open_channel
from sourcier.services.chassis.queue import subjects
from tests.chaos.cluster import COLLECTION, Cluster
from tests.chaos.generator import Step
from tests.chaos.history import History

SUBMIT_SECONDS = 8.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Telling:
    """How notifications go wrong."""

    dropped: float = 0.15
    doubled: float = 0.3
    late: float = 0.3
    """Overtaken by later ones."""
    late_seconds_max: float = 2.0
    lies: float = 0.1
    """Of an object that never was, or of the end of one that is there."""
    replays: int = 10
    """Old ones told once more at the end; the broker takes them for new."""


class Senders:
    """Uploads and buckets."""

    def __init__(self, cluster: Cluster, history: History, seed: int, telling: Telling) -> None:
        """Prepare; the seed decides what is dropped, doubled and late."""
        self._cluster = cluster
        self._history = history
        self._random = random.Random(f"telling {seed}")
        self._telling = telling
        self._store = cluster.servers.s3.store(cluster.source_bucket)
        self._told: list[tuple[str, str]] = []
        self.untold = 0
        """Notifications that never arrived, because they were dropped or the broker was away."""

    @property
    def last_was_accepted(self) -> bool:
        """Whether what was done last is known to have arrived."""
        return self._history.steps[-1][1] == "accepted"

    async def perform(self, step: Step, group: asyncio.TaskGroup) -> None:
        """Do one step and record what came of it; late notifications become tasks of the group."""
        if step.kind == "submit":
            self._history.record(step, "accepted" if await self._submit(step) else "unknown")
            return
        if step.kind == "put":
            await obstore.put_async(self._store, step.name, step.body)
        else:
            await obstore.delete_async(self._store, step.name)
        self._history.record(step, "accepted")
        self._tell(step, group)

    async def replay(self) -> None:
        """Tell old news again, in any order: the broker has new ids for them, so its own memory is no help."""
        count = min(self._telling.replays, len(self._told))
        for name, event in self._random.sample(self._told, count):
            await self._publish(name, event)

    def _tell(self, step: Step, group: asyncio.TaskGroup) -> None:
        telling, chance = self._telling, self._random
        event = "s3:ObjectCreated:Put" if step.kind == "put" else "s3:ObjectRemoved:Delete"
        self._told.append((step.name, event))
        told = [(step.name, event)] * (1 + (chance.random() < telling.doubled))
        if chance.random() < telling.dropped:
            told = []
            self.untold += 1
        if chance.random() < telling.lies:
            lie = ("acme/never was.md", event) if chance.random() < 0.5 else (step.name, "s3:ObjectRemoved:Delete")
            told.append(lie)
        for name, what in told:
            delay = chance.uniform(0, telling.late_seconds_max) if chance.random() < telling.late else 0.0
            group.create_task(self._publish(name, what, delay_seconds=delay), name="notification")

    async def _publish(self, name: str, event: str, *, delay_seconds: float = 0.0) -> None:
        await asyncio.sleep(delay_seconds)  # what makes it late, not a wait for something
        bucket = self._cluster.source_bucket
        body = {"EventName": event, "Key": f"{bucket}/{name}", "Records": [
            {"eventName": event, "s3": {"bucket": {"name": bucket}, "object": {"key": name}}}
        ]}
        address = subjects.BUCKET_NOTIFICATION.address(self._cluster.prefix, tenant="")
        self._history.notifications += 1
        try:
            await self._cluster.jetstream.context.publish(address, json.dumps(body).encode(), timeout=2)
        except (TimeoutError, nats.errors.Error, nats.js.errors.Error):
            self.untold += 1  # stores try once, and forget

    async def _submit(self, step: Step) -> bool:
        async def requests() -> AsyncIterator[ingest_pb2.SubmitRequest]:
            yield ingest_pb2.SubmitRequest(header=ingest_pb2.DocumentHeader(filename=step.name, collection=COLLECTION))
            yield ingest_pb2.SubmitRequest(data=step.body)

        channel = open_channel(self._cluster.entrance)
        try:
            stub = ingest_pb2_grpc.IngestServiceStub(channel)
            await stub.Submit(requests(), timeout=SUBMIT_SECONDS, metadata=(("sourcier-tenant", step.tenant),))
        except grpc.aio.AioRpcError:
            return False  # it may have arrived all the same
        finally:
            await channel.close()
        return True
