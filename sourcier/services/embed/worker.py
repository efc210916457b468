"""`chunks.ready` → vectors → `chunks.embedded`. Owns no table, so: work, publish, acknowledge."""

from __future__ import annotations

import numpy as np

from sourcier.events.v1 import events_pb2
from sourcier.services.chassis.errors import SpaceMismatch
from sourcier.services.chassis.failpoints import failpoint
from sourcier.services.chassis.queue import subjects
from sourcier.services.chassis.queue.consuming import Consumer, Delivery
from sourcier.services.chassis.queue.jetstream import JetStream
from sourcier.services.embed.batcher import Batcher, Priority

STAGE = "embed"
APART_ATTEMPT = 3
"""From this delivery on the texts of a batch are run one by one. A text that hangs the model, or is too long for its
time limit beside others, does so alone then, and what was beside it before is no dead letter for its sake."""

_PRIORITIES = {"interactive": Priority.INTERACTIVE, "bulk": Priority.BULK}


def embed_consumer(
    jetstream: JetStream, batcher: Batcher, *, interactive: int, bulk: int
) -> Consumer[events_pb2.ChunksReady]:
    """Return the consumer of batches of chunks, with slots reserved for the interactive lane."""

    async def handle(ready: events_pb2.ChunksReady, delivery: Delivery) -> None:
        await embed_batch(jetstream, batcher, ready, delivery)

    return Consumer(
        jetstream, subjects.CHUNKS_READY, stage=STAGE, concurrency={"interactive": interactive, "bulk": bulk},
        handle=handle, suffix=subjects.space_token(batcher.encoder.model.space_id),
    )


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
    encoded = await batcher.embed(
        [chunk.embedding_text or chunk.text for chunk in ready.chunks],
        prefix=model.manifest.passage_prefix, priority=_PRIORITIES[delivery.lane], wait=True, field="chunks",
        keeps_hidden=False, apart=delivery.attempt >= APART_ATTEMPT,
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
