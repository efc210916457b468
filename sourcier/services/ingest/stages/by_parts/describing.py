"""Has the pictures of a document described by a vision endpoint; without it nothing is lost but the descriptions."""

from __future__ import annotations

import asyncio
import base64
import json
import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from prometheus_client import Counter

from sourcier.events.v1 import events_pb2
from sourcier.services.chassis.errors import DocumentRejected, NotFound, Unavailable, told_to_logs
from sourcier.services.chassis.failpoints import failpoint
from sourcier.services.chassis.objects import ObjectStore
from sourcier.services.ingest.parsing.parts import PICTURES
from sourcier.services.ingest.parsing.pdf.pictures import OF_PAGE_MAX
from sourcier.services.ingest.parsing.pictures.described import Description, description_file
from sourcier.services.ingest.parsing.scans.recognised import RecognisedPage
from sourcier.services.ingest.stages.by_parts.readers import OUTSIDE_ATTEMPTS
from sourcier.services.ingest.stages.by_parts.recognisers import Recognisers
from sourcier.services.ingest.storage import description_key

if TYPE_CHECKING:
    # With it comes an HTTP client, which a service without an endpoint does not load.
    from sourcier.services.ingest.stages.by_parts.vision_endpoint import VisionEndpoint

described_total = Counter(
    "sourcier_vision_pictures_total", "Pictures that the vision endpoint was asked to describe, by outcome.",
    ["outcome"],
)
_FINGERPRINT_CHARACTERS_MAX = 64
_NOT_TAKEN_OUT = "it could not be taken out of the document again"
_log = logging.getLogger(__name__)


class Describing:
    """Descriptions of pictures, each kept by its picture: copies of a file, and logos, are described once."""

    def __init__(self, endpoint: VisionEndpoint, recognisers: Recognisers, objects: ObjectStore) -> None:
        self._endpoint = endpoint
        self._recognisers = recognisers
        self._objects = objects
        self._not_taken_out: set[str] = set()
        """Keys of descriptions that are not there because processes were ended from outside."""

    async def describe(
        self, scanned: events_pb2.DocumentScanned, path: Path, parts: Sequence[RecognisedPage], *, attempt: int
    ) -> None:
        """Have those described of which nothing is kept; raise Unavailable where another try may help."""
        missing: dict[str, int] = {}
        for part in parts:
            for fingerprint in _fingerprints([part]):
                if fingerprint not in missing and await self._is_wanted(scanned, fingerprint, attempt=attempt):
                    missing[fingerprint] = part.number
        if missing and not self._endpoint.is_left_alone:
            await self._describe_missing(scanned, path, missing, attempt=attempt)

    async def collect(
        self, scanned: events_pb2.DocumentScanned, folder: Path, parts: Sequence[RecognisedPage]
    ) -> None:
        """Write the descriptions beside the results of parts, and for what has none why that is."""
        for fingerprint in _fingerprints(parts):
            found = await self._known(scanned, fingerprint)
            if found is None:
                key = self._key(scanned, fingerprint)
                found = Description(error=_NOT_TAKEN_OUT if key in self._not_taken_out else self._endpoint.trouble)
                self._not_taken_out.discard(key)
            await asyncio.to_thread(description_file(folder, fingerprint).write_bytes, found.to_bytes())

    async def _describe_missing(
        self, scanned: events_pb2.DocumentScanned, path: Path, missing: Mapping[str, int], *, attempt: int
    ) -> None:
        """Have pictures described, which are told with the numbers of their parts."""
        # One process for all of them: of what is no PDF it reads the whole document.
        files = await self._files(scanned, path, list(dict.fromkeys(missing.values())), attempt=attempt)
        if files is None:
            self._not_taken_out.update(self._key(scanned, fingerprint) for fingerprint in missing)
            return
        # They are let run to their end: what was described is kept, whatever becomes of the others.
        outcomes = await asyncio.gather(
            *(self._describe(scanned, fingerprint, files.get(fingerprint, b"")) for fingerprint in missing),
            return_exceptions=True,
        )
        errors = [outcome for outcome in outcomes if isinstance(outcome, BaseException)]
        unforeseen = next((error for error in errors if not isinstance(error, Unavailable)), None)
        if unforeseen is not None:
            raise unforeseen
        if errors and attempt < OUTSIDE_ATTEMPTS and not self._endpoint.is_left_alone:
            raise errors[0]
        if errors:
            described_total.labels("failed").inc(len(errors))
            _log.warning("%d pictures are not described: %s", len(errors), self._endpoint.trouble)
            self._endpoint.leave_alone()

    async def _describe(self, scanned: events_pb2.DocumentScanned, fingerprint: str, picture: bytes) -> None:
        found = await self._endpoint.describe(picture) if picture else Description(error=_NOT_TAKEN_OUT)
        await self._objects.put(self._key(scanned, fingerprint), found.to_bytes())
        outcome = "refused" if found.error else "decorative" if found.decorative else "described"
        described_total.labels(outcome).inc()
        await failpoint("ocr.after-description")

    async def _files(
        self, scanned: events_pb2.DocumentScanned, path: Path, numbers: Sequence[int], *, attempt: int
    ) -> dict[str, bytes] | None:
        """Return the pictures that can be taken out of parts; None where another reading of them may do that."""
        received = scanned.received
        try:
            made = await self._recognisers.made(
                path, filename=received.filename, content_type=received.content_type, told={PICTURES: list(numbers)}
            )
        except (DocumentRejected, Unavailable) as error:
            if isinstance(error, Unavailable) and attempt < OUTSIDE_ATTEMPTS:
                raise
            if isinstance(error, DocumentRejected) and len(numbers) > 1:
                # One of them ended the process, or all together were too much: alone they cost themselves alone.
                alone = [await self._files(scanned, path, [number], attempt=attempt) for number in numbers]
                return None if None in alone else {name: made[name] for made in alone if made for name in made}
            # OCR read them a moment ago: it costs the descriptions alone.
            _log.warning("the pictures of parts %s were not taken out: %s", list(numbers), told_to_logs(error))
            return None if isinstance(error, Unavailable) else {}
        return {name: base64.b64decode(content) for name, content in json.loads(made).items()}

    async def _is_wanted(self, scanned: events_pb2.DocumentScanned, fingerprint: str, *, attempt: int) -> bool:
        known = await self._known(scanned, fingerprint)
        # What was refused is tried again only where somebody asked for the document to be read again.
        return known is None or bool(known.error and scanned.received.parse_again and attempt == 1)

    async def _known(self, scanned: events_pb2.DocumentScanned, fingerprint: str) -> Description | None:
        try:
            return Description.from_bytes(await self._objects.get(self._key(scanned, fingerprint)))
        except NotFound:
            return None

    def _key(self, scanned: events_pb2.DocumentScanned, fingerprint: str) -> str:
        return description_key(
            tenant=scanned.version.tenant, content_sha256=scanned.received.original.sha256,
            model=self._endpoint.identity, fingerprint=fingerprint,
        )


def _fingerprints(parts: Sequence[RecognisedPage]) -> list[str]:
    return list(dict.fromkeys(
        picture.fingerprint for part in parts for picture in part.pictures[:OF_PAGE_MAX]
        if not picture.error and _is_name(picture.fingerprint)
    ))


def _is_name(fingerprint: str) -> bool:
    """Tell whether a fingerprint may name a file and an object: a process wrote it that had read a stranger's file."""
    return fingerprint.isascii() and fingerprint.isalnum() and len(fingerprint) <= _FINGERPRINT_CHARACTERS_MAX
