"""A stage that reads documents part by part: `document.scanned`, for example, to itself, at last `document.parsed`.

A part takes seconds, so such documents have queues and slots of their own: no text document waits for them. A turn is
a few parts; then the document goes to the end of the queue, so that a long one lets short ones in between. The results
of parts are in the object store: a worker that takes over reads only the parts that are not there. Reading them within
the parse stage was the alternative: it would hold a slot of the parsers for a quarter of an hour, and lose all of it at
a crash.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

from prometheus_client import Counter

from sourcier.events.v1 import events_pb2
from sourcier.services.chassis.errors import NotFound, Superseded
from sourcier.services.chassis.failpoints import failpoint
from sourcier.services.chassis.objects import ObjectStore
from sourcier.services.chassis.postgres.database import Database
from sourcier.services.chassis.queue import subjects
from sourcier.services.chassis.queue.consuming import Consumer, Delivery
from sourcier.services.chassis.queue.jetstream import JetStream
from sourcier.services.index.collections import versions
from sourcier.services.ingest.parsing.parts import part_file
from sourcier.services.ingest.progress import LOCATED, PARSED, Progress
from sourcier.services.ingest.stages.by_parts.readers import PartReaders, PartResult, ReadPart
from sourcier.services.ingest.stages.parse import artefact_key, publish_parsed


class PartsStage:
    """Reads documents part by part. Owns no table: store, publish, then acknowledge."""

    stage: str
    subject: subjects.Subject[events_pb2.DocumentScanned]
    parts_of_turn: int
    total: Counter
    """Parts by outcome: `read` or `failed`."""

    def __init__(
        self, jetstream: JetStream, database: Database, objects: ObjectStore, readers: PartReaders, progress: Progress
    ) -> None:
        self._jetstream = jetstream
        self._database = database
        self._objects = objects
        self._readers = readers
        self._progress = progress

    def consumer(self, *, slots: int) -> Consumer[events_pb2.DocumentScanned]:
        """Return the consumer, with slots for each lane; the pool bounds the processes of both."""
        return Consumer(
            self._jetstream,
            self.subject,
            stage=self.stage,
            concurrency=dict.fromkeys(subjects.LANES, slots),
            handle=self.handle,
        )

    def key(self, scanned: events_pb2.DocumentScanned, number: int) -> str:
        """Return where the result of a part is kept: it belongs to the content."""
        raise NotImplementedError

    async def counted(self, scanned: events_pb2.DocumentScanned, path: Path) -> events_pb2.DocumentScanned:
        """Return the message with the parts of the document, where the parse stage could not tell them."""
        return scanned

    async def look_further(
        self, scanned: events_pb2.DocumentScanned, path: Path, turn: Sequence[int], delivery: Delivery
    ) -> None:
        """Make more of the parts that were read than their results."""

    async def add_further(self, scanned: events_pb2.DocumentScanned, folder: Path) -> None:
        """Put what was made of the parts beside their results."""

    async def handle(self, scanned: events_pb2.DocumentScanned, delivery: Delivery) -> None:
        """Read the next few parts; after the last of them, the document."""
        await self._refuse_ended(scanned.version)
        received = scanned.received
        async with self._readers.working_folder() as folder:
            path = folder / "original"
            body = await self._objects.get(received.original.key, sha256=received.original.sha256)
            await asyncio.to_thread(path.write_bytes, body)
            scanned = await self.counted(scanned, path)
            turn = scanned.pages[scanned.pages_done : scanned.pages_done + self.parts_of_turn]
            await self._read_turn(scanned, path, turn, delivery)
            await self.look_further(scanned, path, turn, delivery)
            await failpoint(f"{self.stage}.after-work")
            done = scanned.pages_done + len(turn)
            if done < len(scanned.pages):
                await self._publish_rest(scanned, done, delivery)
            elif not await self._publish_parsed(scanned, path, delivery):
                # The first turns were read under other settings, or by another version: theirs is kept elsewhere.
                await self._publish_rest(scanned, 0, delivery)
        await failpoint(f"{self.stage}.after-publish")

    async def _read_turn(
        self, scanned: events_pb2.DocumentScanned, path: Path, turn: Sequence[int], delivery: Delivery
    ) -> None:
        known = await asyncio.gather(*(self._known(scanned, number) for number in turn))
        # What failed is tried again only where somebody asked for the document to be read again.
        missing = [
            number for number, part in zip(turn, known, strict=True)
            if part is None or (part.error and scanned.received.parse_again and delivery.attempt == 1)
        ]
        async for part in self._readers.read(
            path, filename=scanned.received.filename, content_type=scanned.received.content_type, parts=missing,
            attempt=delivery.attempt,
        ):
            await self._store(scanned, part)
            await failpoint(f"{self.stage}.after-page")

    async def _store(self, scanned: events_pb2.DocumentScanned, part: ReadPart) -> None:
        await self._objects.put(self.key(scanned, part.number), part.content)
        self.total.labels("failed" if part.failed else "read").inc()
        share = (list(scanned.pages).index(part.number) + 1) / len(scanned.pages)
        percentage = LOCATED[1] + int((PARSED[1] - LOCATED[1] - 1) * share)
        self._progress.advance(scanned.version, (LOCATED[0], percentage), arrived=False)

    async def _known(self, scanned: events_pb2.DocumentScanned, number: int) -> PartResult | None:
        try:
            return self._readers.result.from_bytes(await self._objects.get(self.key(scanned, number)))
        except NotFound:
            return None

    async def _publish_rest(self, scanned: events_pb2.DocumentScanned, done: int, delivery: Delivery) -> None:
        rest = events_pb2.DocumentScanned()
        rest.CopyFrom(scanned)
        rest.pages_done = done
        await self._jetstream.publish(
            self.subject, rest, tenant=scanned.version.tenant, lane=scanned.version.lane,
            message_id=f"{scanned.version.version_id}-scanned-{done}-{delivery.identity}",
        )

    async def _publish_parsed(self, scanned: events_pb2.DocumentScanned, path: Path, delivery: Delivery) -> bool:
        """Publish the document; tell whether the results of all its parts were there."""
        received = scanned.received
        async with self._readers.working_folder() as folder:
            for number in scanned.pages:
                try:
                    part = await self._objects.get(self.key(scanned, number))
                except NotFound:
                    return False
                await asyncio.to_thread(part_file(folder, number).write_bytes, part)
            await self.add_further(scanned, folder)
            artefact = await self._readers.assemble(
                path, folder, filename=received.filename, content_type=received.content_type
            )
        key = artefact_key(received, choices=self._readers.choices)
        await self._objects.put(key, artefact)
        await publish_parsed(
            self._jetstream, self._progress, received, key=key, artefact=artefact,
            identity=f"recognised-{delivery.identity}",
        )
        return True

    async def _refuse_ended(self, version: events_pb2.VersionReference) -> None:
        """Raise `Superseded` for a version that was deleted or overtaken: a long one is given up at its next turn."""
        async with self._database.transaction(tenant=version.tenant, read_only=True) as connection:
            if await versions.has_ended(connection, tenant=version.tenant, version_id=version.version_id):
                raise Superseded("The version was deleted, or a newer one took its place.")
