"""`chunks.ready` → vectors → `chunks.embedded`. Owns no table, so: work, publish, acknowledge.

Batches cost by their tokens, so tenants get by turns what costs as much. One of a version that was deleted, or
overtaken, while it waited is dropped before it costs anything.
"""

from __future__ import annotations

import numpy as np

from sourcier.events.v1 import events_pb2
from sourcier.services.chassis.errors import SpaceMismatch
from sourcier.services.chassis.failpoints import failpoint
from sourcier.services.chassis.queue import subjects
from sourcier.services.chassis.queue.consuming import Delivery
from sourcier.services.chassis.queue.fair_consuming import FairConsumer
from sourcier.services.chassis.queue.jetstream import JetStream
from sourcier.services.embed.batcher import TEXT_TOKENS_MIN, Batcher, Priority
from sourcier.services.embed.standing import Standing

STAGE = "embed"
APART_ATTEMPT = 3
"""From this delivery on the texts of a batch are run one by one. A text that hangs the model, or is too long for its
time limit beside others, does so alone then, and what was beside it before is no dead letter for its sake."""

_PRIORITIES = {"interactive": Priority.INTERACTIVE, "bulk": Priority.BULK}


def embed_consumer(
    jetstream: JetStream, batcher: Batcher, *, interactive: int, bulk: int
) -> FairConsumer[events_pb2.ChunksReady]:
    """Return the consumer of batches of chunks, with slots reserved for the interactive lane."""
    standing = Standing(jetstream)

    async def handle(ready: events_pb2.ChunksReady, delivery: Delivery) -> None:
        await standing.refuse_ended(ready.version)
        await failpoint("embed.before-work")
        await embed_batch(jetstream, batcher, ready, delivery)

    return FairConsumer(
        jetstream, subjects.CHUNKS_READY, told=subjects.CHUNKS_TOLD, stage=STAGE,
        concurrency={"interactive": interactive, "bulk": bulk}, handle=handle, cost=tokens_of,
        suffix=subjects.space_token(batcher.encoder.model.space_id),
    )


def tokens_of(ready: events_pb2.ChunksReady) -> float:
    """Return what a batch costs: its tokens, and no text less than a batch of the model takes it for."""
    return float(sum(max(chunk.token_count, TEXT_TOKENS_MIN) for chunk in ready.chunks))


async def embed_batch(
    jetstream: JetStream, batcher: Batcher, ready: events_pb2.ChunksReady, delivery: Delivery
) -> None:
    """Embed one batch and publish it; raise SpaceMismatch when it belongs to another model's space."""
    model = batcher.encoder.model
    if ready.space_id != model.space_id:
        raise SpaceMismatch(
            f"the batch belongs to the space {ready.space_id}, this worker embeds into {model.space_id}; start an "
            "embed service with the space's model, then replay"
        )
    texts = [chunk.embedding_text or chunk.text for chunk in ready.chunks]
    with batcher.step(texts):
        encoded = await batcher.embed(
            texts, prefix=model.manifest.passage_prefix, priority=_PRIORITIES[delivery.lane], wait=True, field="chunks",
            keeps_hidden=False, apart=delivery.attempt >= APART_ATTEMPT, tenant=ready.version.tenant,
        )
    embedded = events_pb2.ChunksEmbedded(
        version=ready.version, space_id=ready.space_id, batch_no=ready.batch_no, batch_count=ready.batch_count,
        title=ready.title, source=ready.source, chunking=ready.chunking, rebuild=ready.rebuild,
        cut=ready.cut, cut_at=ready.cut_at if ready.HasField("cut_at") else None,
        chunks=[
            events_pb2.EmbeddedChunk(
                chunk=chunk, vector=entry.vector.astype(np.float16).tobytes(), token_codes=entry.token_codes
            )
            for chunk, entry in zip(ready.chunks, encoded, strict=True)
        ],
    )
    await failpoint("embed.after-work")
    await jetstream.publish(
        subjects.CHUNKS_EMBEDDED, embedded, tenant=ready.version.tenant, lane=delivery.lane,
        message_id=f"{ready.version.version_id}-embedded-{ready.batch_no}-{delivery.identity}",
    )
    await failpoint("embed.after-publish")
