"""A client of a running embed service, on both of its sides."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Self

import grpc.aio
import numpy as np
import numpy.typing as npt

from sourcier.embed.v1 import embed_pb2, embed_pb2_grpc
from sourcier.events.v1 import events_pb2
from sourcier.services.chassis.grpc import channels
from sourcier.services.chassis.grpc.channels import Deadline
from sourcier.services.chassis.ids import new_id
from sourcier.services.chassis.models.store import Model
from sourcier.services.chassis.queue import subjects
from sourcier.services.chassis.queue.jetstream import JetStream

REQUEST_TEXTS, REQUESTS_AT_ONCE, BATCH_CHUNKS = 32, 12, 24
FloatArray = npt.NDArray[np.float32]


def vectors_of(texts: Sequence[str], embedded: Sequence[bytes]) -> FloatArray:
    """Return the vectors that came back over JetStream in the texts' order; each text has to be there once."""
    batches = sorted(map(events_pb2.ChunksEmbedded.FromString, embedded), key=lambda batch: batch.batch_no)
    chunks = [chunk for batch in batches for chunk in batch.chunks]
    assert [chunk.chunk.text for chunk in chunks] == list(texts), "other chunks came back than were sent"
    return np.stack([np.frombuffer(chunk.vector, "<f2").astype(np.float32) for chunk in chunks])


def embed_channel(addresses: Mapping[str, str]) -> grpc.aio.Channel:
    """Open a channel to a running stack's embed service, with the token that it asks for."""
    return channels.open_channel(addresses["SOURCIER_EMBED_URL"], identity=channels.Identity(
        token=addresses["SOURCIER_INTERNAL_TOKEN"]
    ))


async def compiles_for_lengths(addresses: Mapping[str, str]) -> bool:
    """Whether a running service's engine compiles the model for the lengths of a long load, as OpenVINO's does."""
    async with embed_channel(addresses) as channel:
        described = await channels.call(
            embed_pb2_grpc.EmbedServiceStub(channel).Describe, embed_pb2.DescribeRequest(), peer="embed",
            tenant="default", deadline=Deadline.after(10), cap_seconds=10,
        )
    return bool(described.engine.startswith("openvino"))


class EmbedClient:
    """Embeds over gRPC and over JetStream; use it as an async context manager."""

    def __init__(self, addresses: Mapping[str, str], model: Model) -> None:
        self._addresses = addresses
        self._model = model

    async def __aenter__(self) -> Self:
        self._channel = embed_channel(self._addresses)
        self._stub = embed_pb2_grpc.EmbedServiceStub(self._channel)
        self._jetstream = await JetStream(
            url=self._addresses["SOURCIER_NATS_URL"], prefix=subjects.DEFAULT_PREFIX, name="bench"
        ).__aenter__()
        self._subscription = await self._jetstream.context.pull_subscribe(
            subjects.CHUNKS_EMBEDDED.pattern(subjects.DEFAULT_PREFIX, "bulk"), durable="bench"
        )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._jetstream.__aexit__(None, None, None)
        await self._channel.close()

    async def by_grpc(self, texts: Sequence[str]) -> FloatArray:
        """Embed passages over gRPC, a few requests at once; return their vectors, L2 norm 1."""
        slots = asyncio.Semaphore(REQUESTS_AT_ONCE)

        async def request(batch: Sequence[str]) -> embed_pb2.EmbedResponse:
            async with slots:
                return await self._embed(batch, embed_pb2.TEXT_ROLE_PASSAGE)

        batches = [texts[start : start + REQUEST_TEXTS] for start in range(0, len(texts), REQUEST_TEXTS)]
        responses = await asyncio.gather(*map(request, batches))
        return np.stack([np.frombuffer(entry.vector, "<f4") for response in responses for entry in response.embeddings])

    async def one_by_one(self, questions: Sequence[str]) -> tuple[list[float], FloatArray]:
        """Embed questions, one call after the other; return the seconds of each, and their vectors."""
        seconds, vectors = [], []
        for question in questions:
            started = time.perf_counter()
            response = await self._embed([question], embed_pb2.TEXT_ROLE_QUERY)
            seconds.append(time.perf_counter() - started)
            assert response.cache_hits == 0, "the cache answered, the model was not measured"
            vectors.append(np.frombuffer(response.embeddings[0].vector, "<f4"))
        return seconds, np.stack(vectors)

    async def by_jetstream(self, texts: Sequence[str]) -> list[bytes]:
        """Publish batches of chunks and wait until every one comes back embedded; return these messages."""
        version = events_pb2.VersionReference(tenant="bench", version_id=new_id(), lane="bulk")
        starts = range(0, len(texts), BATCH_CHUNKS)
        for batch_no, start in enumerate(starts):
            ready = events_pb2.ChunksReady(
                version=version, space_id=self._model.space_id, batch_no=batch_no, batch_count=len(starts),
                chunks=[events_pb2.Chunk(chunk_id=new_id(), text=text) for text in texts[start : start + BATCH_CHUNKS]],
            )
            await self._jetstream.publish(subjects.CHUNKS_READY, ready, tenant="bench", lane="bulk",
                                          suffix=subjects.space_token(self._model.space_id),
                                          message_id=f"{version.version_id}-{batch_no}")
        embedded = []
        for _ in starts:
            (message,) = await self._subscription.fetch(1, timeout=300)
            await message.ack()
            embedded.append(message.data)
        return embedded

    async def _embed(self, texts: Sequence[str], role: embed_pb2.TextRole.ValueType) -> embed_pb2.EmbedResponse:
        response: embed_pb2.EmbedResponse = await channels.call(
            self._stub.Embed, embed_pb2.EmbedRequest(role=role, texts=texts), peer="embed", tenant="default",
            deadline=Deadline.after(300), cap_seconds=300,
        )
        return response
