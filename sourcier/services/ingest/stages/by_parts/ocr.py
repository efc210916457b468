"""`document.scanned` → its pages read by OCR, a few at each turn; at last `document.parsed`."""

from __future__ import annotations

from prometheus_client import Counter

from sourcier.events.v1 import events_pb2
from sourcier.services.chassis.queue import subjects
from sourcier.services.ingest.stages.by_parts.stage import PartsStage
from sourcier.services.ingest.storage import page_key

PAGES_OF_TURN = 8


class OcrStage(PartsStage):
    """Reads scanned pages."""

    stage = "ocr"
    subject = subjects.DOCUMENT_SCANNED
    parts_of_turn = PAGES_OF_TURN
    total = Counter("sourcier_ocr_pages_total", "Pages that OCR read, by outcome.", ["outcome"])

    def key(self, scanned: events_pb2.DocumentScanned, number: int) -> str:
        """Return where the result of a page is kept."""
        return page_key(
            tenant=scanned.version.tenant, content_sha256=scanned.received.original.sha256, number=number
        )
