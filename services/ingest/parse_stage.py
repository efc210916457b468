"""`document.received` → read the document in a process of its own → `document.parsed`."""

from __future__ import annotations

import hashlib
import tempfile
from pathlib import Path

from services.chassis import subjects
from services.chassis.consuming import Consumer, Delivery
from services.chassis.jetstream import JetStream
from services.chassis.objects import ObjectStore
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
        """Return the consumer; each lane has its slots, the pool bounds the processes of both."""
        return Consumer(
            self._jetstream,
            subjects.DOCUMENT_RECEIVED,
            stage=STAGE,
            concurrency=dict.fromkeys(subjects.LANES, slots),
            handle=self.handle,
        )

    async def handle(self, received: events_pb2.DocumentReceived, delivery: Delivery) -> None:
        """Parse one document."""
        version = received.version
        await self._progress.advance(version, LOCATED)
        body = await self._objects.get(received.original.key, sha256=received.original.sha256)
        with tempfile.TemporaryDirectory(prefix="sourcier-parse-") as folder:
            path = Path(folder) / "original"
            path.write_bytes(body)
            artefact = await self._parsers.parse_artefact(
                path, filename=received.filename, content_type=received.content_type, title=received.title
            )
        key = parsed_key(received.original.key)
        await self._objects.put(key, artefact.content)
        await self._progress.advance(version, PARSED, METADATA)
        parsed = events_pb2.DocumentParsed(
            version=version,
            artefact=events_pb2.ObjectReference(
                key=key, sha256=hashlib.sha256(artefact.content).digest(), size_bytes=len(artefact.content)
            ),
            title=received.title,
            source=received.source,
            chunking=received.chunking,
            space_id=received.space_id,
            content_sha256=received.original.sha256,
        )
        await self._jetstream.publish(
            subjects.DOCUMENT_PARSED,
            parsed,
            tenant=version.tenant,
            lane=version.lane,
            message_id=f"{version.version_id}-parsed-{delivery.attempt}",
        )
