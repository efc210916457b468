"""The embed service as a process of its own, with an engine that never comes back."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import grpc.aio
import pytest
import pytest_asyncio
from grpc_health.v1 import health_pb2, health_pb2_grpc

from sourcier.events.v1 import events_pb2
from sourcier.services.chassis.ids import new_id
from sourcier.services.chassis.models.store import ModelStore
from sourcier.services.chassis.queue import subjects
from sourcier.services.chassis.queue.jetstream import JetStream
from sourcier.services.chassis.queue.subjects import CHUNKS_READY
from tests.chaos.cluster import MODEL, write_model_store
from tests.integration.chassis.fix_jetstream import connected, stream_messages
from tests.integration.chassis.fix_process import started
from tests.waiting import eventually

MODULE = "tests.integration.embed.hanging_process"
WORD = "télétravail"


@pytest_asyncio.fixture(loop_scope="session")
async def jetstream(nats_url: str, subject_prefix: str) -> AsyncIterator[JetStream]:
    async with connected(nats_url, subject_prefix) as opened:
        yield opened


@pytest.fixture
def environment(nats_url: str, subject_prefix: str, tmp_path: Path) -> dict[str, str]:
    """Return what the service is told; its limit is far above what the arithmetic takes on a busy machine."""
    write_model_store(tmp_path)
    return {
        "SOURCIER_NATS_URL": nats_url, "SOURCIER_SUBJECT_PREFIX": subject_prefix, "SOURCIER_MODELS_DIR": str(tmp_path),
        "SOURCIER_EMBED_MODEL": MODEL, "SOURCIER_EMBED_BATCH_SECONDS_MAX": "2",
    }


async def test_a_service_whose_engine_hangs_ends_and_the_next_one_embeds_what_it_held(
    jetstream: JetStream, environment: dict[str, str], tmp_path: Path
) -> None:
    space_id = ModelStore(tmp_path).load(MODEL).space_id
    sent = events_pb2.ChunksReady(
        version=events_pb2.VersionReference(tenant="acme", version_id="v1", lane="bulk"), batch_count=1,
        space_id=space_id, chunks=[events_pb2.Chunk(chunk_id=new_id(), text=WORD)],
    )
    async with started(MODULE, WORD, **environment) as service:
        ready = await service.heard("ready")
        async with grpc.aio.insecure_channel(f"127.0.0.1:{ready['port']}") as channel:
            health: Any = health_pb2_grpc.HealthStub(channel)
            watch = health.Watch(health_pb2.HealthCheckRequest())
            async with asyncio.timeout(60):
                assert (await watch.read()).status == health_pb2.HealthCheckResponse.SERVING
                await jetstream.publish(CHUNKS_READY, sent, tenant="acme", lane="bulk", message_id=new_id(),
                                        suffix=subjects.space_token(space_id))
                assert (await watch.read()).status == health_pb2.HealthCheckResponse.NOT_SERVING
            watch.cancel()
        assert await service.code() == 1
    (overrun,) = [line for line in service.lines if line.get("level") == "ERROR"
                  and line["message"].endswith("this process ends, for another one to be started")]
    assert overrun["reason"] == "DEADLINE_EXCEEDED"
    assert service.messages[-1].startswith("embed cannot run: the embedding model took over 2 s for a batch of ")

    async def embedded() -> bool:
        return await stream_messages(jetstream, subjects.EMBEDDED) == 1

    async with started(MODULE, **environment) as service:
        await service.heard("ready")
        await eventually(embedded, seconds=60)


async def test_an_engine_that_hangs_while_it_warms_up_ends_the_service_too(environment: dict[str, str]) -> None:
    async with started(MODULE, "mot", **environment) as service:
        assert await service.code() == 1
    assert "ready" not in service.messages
    assert service.messages[-1].startswith("embed cannot run: the embedding model took over 2 s for a batch of ")
