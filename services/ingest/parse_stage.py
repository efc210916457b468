"""`document.received` → read the document in a process of its own → `document.parsed`."""

from __future__ import annotations

import asyncio
import hashlib

from services.chassis import subjects
from services.chassis.consuming import Consumer, Delivery
from services.chassis.errors import NotFound
from services.chassis.failpoints import failpoint
from services.chassis.jetstream import JetStream
from services.chassis.objects import ObjectStore
from services.ingest.places import long_places
from services.ingest.progress import LOCATED, METADATA, PARSED, Progress
from services.ingest.sandbox import ParserPool
from services.ingest.storage import parsed_key
from sourcier.events.v1 import events_pb2

STAGE = "parse"


class ParseStage:
    """Fetches the original, has it read, stores the artefact. Owns no table: publish, then acknowledge."""

    def __init__(self, jetstream: JetStream, objects: ObjectStore, parsers: ParserPool, progress: Progress) -> None:
        self._jetstream = jetstream
        self._objects = objects
        self._parsers = parsers
        self._progress = progress

    def consumer(self, *, slots: int) -> Consumer[events_pb2.DocumentReceived]:
        """Return the consumer: each lane has its slots and the long ones'; the pool bounds the processes of both."""
        return Consumer(
            self._jetstream,
            subjects.DOCUMENT_RECEIVED,
            stage=STAGE,
            concurrency=dict.fromkeys(subjects.LANES, slots + long_places(slots)),
            handle=self.handle,
        )

    async def handle(self, received: events_pb2.DocumentReceived, delivery: Delivery) -> None:
        """Parse one document, unless its content was read before."""
        version = received.version
        await self._progress.advance(version, LOCATED)
        key = parsed_key(
            tenant=version.tenant, content_sha256=received.original.sha256, filename=received.filename,
            content_type=received.content_type,
        )
        artefact = None if received.parse_again else await self._known(key)
        if artefact is None:
            artefact = await self._read(received, delivery.attempt)
            await self._objects.put(key, artefact)
        await failpoint("parse.after-work")
        await self._progress.advance(version, PARSED, METADATA)
        parsed = events_pb2.DocumentParsed(
            version=version,
            artefact=events_pb2.ObjectReference(
                key=key, sha256=hashlib.sha256(artefact).digest(), size_bytes=len(artefact)
            ),
            title=received.title,
            filename=received.filename,
            source=received.source,
            chunking=received.chunking,
            space_id=received.space_id,
            content_sha256=received.original.sha256,
            start_stage=received.start_stage,
            collection=received.collection,
        )
        await self._jetstream.publish(
            subjects.DOCUMENT_PARSED,
            parsed,
            tenant=version.tenant,
            lane=version.lane,
            message_id=f"{version.version_id}-parsed-{delivery.identity}",
        )
        await failpoint("parse.after-publish")

    async def _known(self, key: str) -> bytes | None:
        try:
            return await self._objects.get(key)
        except NotFound:
            return None

    async def _read(self, received: events_pb2.DocumentReceived, attempt: int) -> bytes:
        body = await self._objects.get(received.original.key, sha256=received.original.sha256)
        async with self._parsers.working_folder() as folder:
            path = folder / "original"
            await asyncio.to_thread(path.write_bytes, body)
            # No title: the artefact is the content's, and serves documents that have other ones.
            artefact = await self._parsers.parse_artefact(
                path, filename=received.filename, content_type=received.content_type, attempt=attempt
            )
        return artefact.content
