"""`chunks.embedded` → staged; the last batch of a version makes it visible in one transaction."""

from __future__ import annotations

import asyncio
import logging
from datetime import UTC

from sourcier.events.v1 import events_pb2
from sourcier.services.chassis import telemetry
from sourcier.services.chassis.failpoints import failpoint
from sourcier.services.chassis.ids import age_seconds
from sourcier.services.chassis.postgres.database import Database
from sourcier.services.chassis.queue import subjects
from sourcier.services.chassis.queue.consuming import Consumer, Delivery
from sourcier.services.chassis.queue.jetstream import JetStream
from sourcier.services.index.moves import rebuilding
from sourcier.services.index.moves.rebuilding import ChunkVectors
from sourcier.services.index.pipeline import batches, outbox
from sourcier.services.index.pipeline.batches import Batch, Cut, IndexedChunk, Staging
from sourcier.services.index.pipeline.outbox import OutboxMessage
from sourcier.services.ingest.messages import version_reference
from sourcier.services.ingest.progress import EMBEDDED, Progress
from sourcier.services.ingest.relay import Relay

logger = logging.getLogger(__name__)

STAGE = "index"
NUMBERS_MAX = 10_000
"""Collections whose numbers are remembered."""


class IndexStage:
    """Writes batches: one transaction with rows, job and outbox, then the acknowledgement."""

    def __init__(self, jetstream: JetStream, database: Database, progress: Progress, relay: Relay) -> None:
        self._jetstream = jetstream
        self._database = database
        self._progress = progress
        self._relay = relay
        self._numbers: dict[tuple[str, str], int] = {}

    def consumer(self, *, slots: int) -> Consumer[events_pb2.ChunksEmbedded]:
        """Return the consumer, with slots for each lane."""
        return Consumer(
            self._jetstream,
            subjects.CHUNKS_EMBEDDED,
            stage=STAGE,
            concurrency=dict.fromkeys(subjects.LANES, slots),
            handle=self.handle,
        )

    async def handle(self, embedded: events_pb2.ChunksEmbedded, delivery: Delivery) -> None:
        """Stage one batch, and commit its version if it was the last one missing; or add vectors to a stored one."""
        version = embedded.version
        if embedded.rebuild:
            await self._add_vectors(embedded)
            return
        batch = _batch(embedded)
        number = await self._collection_number(version)
        # Analysing the text is most of the work; no transaction is open meanwhile, and the loop stays free.
        prepared = await asyncio.to_thread(batches.prepare, batch, collection_number=number)
        async with self._database.transaction(tenant=version.tenant, by_key=True) as connection:
            staging = await batches.stage_batch(
                connection, prepared, stage_ages=self._progress.ages(version.job_id),
                # Noted on another connection while the commit works: until its end it does not touch the job.
                all_there=lambda: self._progress.advance(version, EMBEDDED),
            )
            if staging.outcome == "committed":
                await outbox.put(connection, self._indexed(version, staging))
            await failpoint("index.before-commit")
        await failpoint("index.after-commit")
        if staging.outcome == "staged":
            # Those who watch are told once the job has moved.
            self._progress.count_batch(version, staged=staging.staged, batch_count=embedded.batch_count)
            return
        if staging.outcome == "committed":
            logger.info("indexed", extra={"document_id": version.document_id, "chunks": staging.chunk_count})
            self._progress.forget(version.job_id)
            telemetry.freshness_seconds.labels(version.lane).observe(max(age_seconds(version.version_id), 0.0))
            # Its place in the pipeline is free for the next document.
            self._relay.wake()
        await self._progress.tell(
            tenant=version.tenant, job_id=version.job_id, finished=staging.outcome == "committed"
        )

    async def _collection_number(self, version: events_pb2.VersionReference) -> int:
        """Return what marks the collection's lexemes; it never changes, and a deleted collection has no document."""
        key = (version.tenant, version.collection_id)
        if key not in self._numbers:
            async with self._database.transaction(tenant=version.tenant, read_only=True) as connection:
                number = await batches.collection_number(
                    connection, tenant=version.tenant, collection_id=version.collection_id
                )
            if len(self._numbers) >= NUMBERS_MAX:
                self._numbers.clear()
            self._numbers[key] = number
        return self._numbers[key]

    async def _add_vectors(self, embedded: events_pb2.ChunksEmbedded) -> None:
        chunks = [
            ChunkVectors(entry.chunk.chunk_id, entry.vector, entry.token_codes) for entry in embedded.chunks
        ]
        async with self._database.transaction(tenant=embedded.version.tenant) as connection:
            await rebuilding.write_vectors(
                connection, version=version_reference(embedded.version), space_id=embedded.space_id, chunks=chunks
            )
            await failpoint("index.before-commit")
        await failpoint("index.after-commit")

    def _indexed(self, version: events_pb2.VersionReference, staging: Staging) -> OutboxMessage:
        indexed = events_pb2.DocumentIndexed(version=version, chunk_count=staging.chunk_count)
        indexed.indexed_at.GetCurrentTime()
        return OutboxMessage(
            tenant=version.tenant,
            subject=subjects.DOCUMENT_INDEXED.address(self._jetstream.prefix, tenant=version.tenant),
            payload=indexed.SerializeToString(),
            message_id=f"{version.version_id}-indexed",
        )


def _batch(embedded: events_pb2.ChunksEmbedded) -> Batch:
    return Batch(
        version=version_reference(embedded.version),
        space_id=embedded.space_id,
        batch_no=embedded.batch_no,
        batch_count=embedded.batch_count,
        title=embedded.title,
        method=embedded.chunking.method,
        chunks=tuple(_chunk(entry) for entry in embedded.chunks),
        cut=Cut(embedded.cut, embedded.cut_at.ToDatetime(tzinfo=UTC)) if embedded.cut else None,
        parser_version=embedded.version.parser_version,
        reading_warnings=embedded.version.reading_warnings,
    )


def _chunk(entry: events_pb2.EmbeddedChunk) -> IndexedChunk:
    chunk = entry.chunk
    return IndexedChunk(
        chunk_id=chunk.chunk_id,
        index=chunk.index,
        text=chunk.text,
        start_character=chunk.start_character,
        end_character=chunk.end_character,
        token_count=chunk.token_count,
        vector=entry.vector,
        token_codes=entry.token_codes,
        page=chunk.page,
        place_map=chunk.place_map,
        heading_path=tuple(chunk.heading_path),
        language=chunk.language,
    )
