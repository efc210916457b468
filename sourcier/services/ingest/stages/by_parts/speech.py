"""`document.recorded` → heard, five minutes at a time, a few times each turn; at last `document.parsed`."""

from __future__ import annotations

from pathlib import Path

from prometheus_client import Counter

from sourcier.events.v1 import events_pb2
from sourcier.services.chassis.objects import ObjectStore
from sourcier.services.chassis.postgres.database import Database
from sourcier.services.chassis.queue import subjects
from sourcier.services.chassis.queue.jetstream import JetStream
from sourcier.services.ingest.progress import Progress
from sourcier.services.ingest.stages.by_parts.stage import PartsStage
from sourcier.services.ingest.stages.by_parts.transcribers import Transcribers
from sourcier.services.ingest.storage import transcript_key

PARTS_OF_TURN = 4


class SpeechStage(PartsStage):
    """Hears recordings. Which parts there are is known once the file is opened, which the parse stage does not."""

    stage = "speech"
    subject = subjects.DOCUMENT_RECORDED
    parts_of_turn = PARTS_OF_TURN
    total = Counter(
        "sourcier_speech_parts_total", "Parts of recordings, of five minutes each, that were heard, by outcome.",
        ["outcome"],
    )

    def __init__(
        self, jetstream: JetStream, database: Database, objects: ObjectStore, transcribers: Transcribers,
        progress: Progress,
    ) -> None:
        super().__init__(jetstream, database, objects, transcribers, progress)
        self._transcribers = transcribers

    def key(self, scanned: events_pb2.DocumentScanned, number: int) -> str:
        """Return where the result of a part is kept."""
        return transcript_key(
            tenant=scanned.version.tenant, content_sha256=scanned.received.original.sha256,
            recogniser=self._transcribers.identity, number=number,
        )

    async def counted(self, scanned: events_pb2.DocumentScanned, path: Path) -> events_pb2.DocumentScanned:
        """Return the message with the parts of the recording."""
        if scanned.pages:
            return scanned
        found = events_pb2.DocumentScanned()
        found.CopyFrom(scanned)
        found.pages.extend(await self._transcribers.parts(
            path, filename=scanned.received.filename, content_type=scanned.received.content_type
        ))
        return found
