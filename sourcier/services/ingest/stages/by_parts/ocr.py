"""`document.scanned` → its pages and pictures read by OCR, a few at each turn; at last `document.parsed`.

Where there is a vision endpoint, the pictures of a turn are described by it, too.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path

from prometheus_client import Counter

from sourcier.events.v1 import events_pb2
from sourcier.services.chassis.objects import ObjectStore
from sourcier.services.chassis.postgres.database import Database
from sourcier.services.chassis.queue import subjects
from sourcier.services.chassis.queue.consuming import Delivery
from sourcier.services.chassis.queue.jetstream import JetStream
from sourcier.services.ingest.parsing.scans.recognised import RecognisedPage, recognised_pages
from sourcier.services.ingest.progress import Progress
from sourcier.services.ingest.stages.by_parts.describing import Describing
from sourcier.services.ingest.stages.by_parts.recognisers import Recognisers
from sourcier.services.ingest.stages.by_parts.stage import PartsStage
from sourcier.services.ingest.storage import page_key

PAGES_OF_TURN = 8


class OcrStage(PartsStage):
    """Reads scanned pages, and the pictures of documents."""

    stage = "ocr"
    subject = subjects.DOCUMENT_SCANNED
    parts_of_turn = PAGES_OF_TURN
    total = Counter("sourcier_ocr_pages_total", "Pages that OCR read, by outcome.", ["outcome"])

    def __init__(
        self, jetstream: JetStream, database: Database, objects: ObjectStore, recognisers: Recognisers,
        progress: Progress, *, picture_limits: Mapping[str, float], describing: Describing | None = None,
    ) -> None:
        """The `picture_limits` decide which pictures are parts; without `describing` they have their text alone."""
        super().__init__(jetstream, database, objects, recognisers, progress)
        self._picture_limits = picture_limits
        self._describing = describing

    def key(self, scanned: events_pb2.DocumentScanned, number: int) -> str:
        """Return where the result of a page is kept."""
        return page_key(
            tenant=scanned.version.tenant, content_sha256=scanned.received.original.sha256,
            limits=self._picture_limits, number=number,
        )

    async def look_further(
        self, scanned: events_pb2.DocumentScanned, path: Path, turn: Sequence[int], delivery: Delivery
    ) -> None:
        """Have the pictures described that stand on pages, or are the parts themselves."""
        if self._describing is not None:
            stored = await asyncio.gather(*(self._objects.get(self.key(scanned, number)) for number in turn))
            parts = [RecognisedPage.from_bytes(part) for part in stored]
            await self._describing.describe(scanned, path, parts, attempt=delivery.attempt)

    async def add_further(self, scanned: events_pb2.DocumentScanned, folder: Path) -> None:
        """Put the descriptions beside the results."""
        if self._describing is not None:
            parts = await asyncio.to_thread(lambda: list(recognised_pages(folder)))
            await self._describing.collect(scanned, folder, parts)
