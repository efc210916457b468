"""`document.received` → read the document in a process of its own → `document.parsed`, `scanned` or `recorded`.

A document with pages that are pictures goes to OCR instead, and a recording to speech recognition; they read it anew
with what they found: nothing is kept of it before.

What a mail or an archive holds is recorded before the message goes on: each file in it is a document of its own.

Small plain text is read here, and cut at once where this process cuts documents, too: a message, an artefact and a
process less, which would cost several times the work. Nothing rests on the artefact, which is made of the original.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path

from sourcier.events.v1 import events_pb2
from sourcier.services.chassis.errors import NotFound
from sourcier.services.chassis.failpoints import failpoint
from sourcier.services.chassis.objects import ObjectStore
from sourcier.services.chassis.queue import subjects
from sourcier.services.chassis.queue.consuming import Consumer, Delivery
from sourcier.services.chassis.queue.jetstream import JetStream
from sourcier.services.ingest.documents import Member, ParsedDocument
from sourcier.services.ingest.intake.members import Members
from sourcier.services.ingest.intake.recent import RecentOriginals
from sourcier.services.ingest.parsing.text.light import may_be_light, read_light
from sourcier.services.ingest.progress import LOCATED, METADATA, PARSED, Progress
from sourcier.services.ingest.stages.chunk import ChunkStage
from sourcier.services.ingest.stages.sandbox import ParsedArtefact, ParserPool
from sourcier.services.ingest.stages.slots import long_places
from sourcier.services.ingest.storage import PARSER_AND_ARTEFACT_VERSION, parsed_key

STAGE = "parse"
_UNPACKED = "unpacked"


class ParseStage:
    """Fetches the original, has it read, stores the artefact. Owns no table: publish, then acknowledge."""

    def __init__(
        self, jetstream: JetStream, objects: ObjectStore, parsers: ParserPool, progress: Progress, *,
        recent: RecentOriginals, members: Members, chunk: ChunkStage | None = None, ocr: bool = False,
        ocr_pages_max: int = 0, speech: bool = False,
    ) -> None:
        """With a chunk stage, documents that are read here are cut here.

        With `ocr`, pages that are pictures are left to it, `ocr_pages_max` of a document at most; with `speech`,
        recordings are left to speech recognition.
        """
        self._jetstream = jetstream
        self._objects = objects
        self._parsers = parsers
        self._progress = progress
        self._recent = recent
        self._members = members
        self._chunk = chunk
        self._ocr = ocr
        self._ocr_pages_max = ocr_pages_max
        self._speech = speech

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
        self._progress.advance(version, LOCATED)
        body = self._recent.take(received.original.key)
        document = None
        # Chunks that are stored are embedded again as they are.
        if received.start_stage != "embed" and may_be_light(received.filename, received.original.size_bytes):
            body = body if body is not None else await self._original(received)
            document = await asyncio.to_thread(
                read_light, body, filename=received.filename, limits=self._parsers.limits
            )
        if document is not None:
            await self._members.record_none(received)
        if document is not None and self._chunk is not None:
            await failpoint("parse.after-work")
            await self._cut(received, document, self._chunk, delivery)
            return
        key = artefact_key(received, choices=self._parsers.limits.choices)
        if document is not None:
            artefact = await asyncio.to_thread(document.to_bytes)
            await self._objects.put(key, artefact)
        else:
            read = await self._artefact(received, key, body, delivery.attempt)
            if read.scanned or read.recorded:
                await failpoint("parse.after-work")
                await self._publish_unread(received, read, delivery)
                return
            artefact = read.content
        await failpoint("parse.after-work")
        await self._publish(received, key, artefact, delivery)

    async def _cut(
        self, received: events_pb2.DocumentReceived, document: ParsedDocument, chunk: ChunkStage, delivery: Delivery
    ) -> None:
        """Cut a document that was read here, without a message between."""
        self._progress.advance(received.version, PARSED, METADATA)
        # Its batches' ids must not be those of a cut document whose message has the same number in another stream.
        await chunk.cut(parsed_message(received), document, identity=f"received-{delivery.identity}")
        await failpoint("parse.after-publish")

    async def _artefact(
        self, received: events_pb2.DocumentReceived, key: str, body: bytes | None, attempt: int
    ) -> ParsedArtefact:
        """Return the artefact of a content, read unless it was read before; what is inside it is recorded.

        With it come the pages that are left to OCR: where there are any, nothing is kept of what was read.
        """
        known = None if received.parse_again else await self._known(key)
        if known is not None:
            document = await asyncio.to_thread(ParsedDocument.from_bytes, known)
            if not document.members or not await self._members.is_due(received):
                await self._tell(received, document.metadata, (), Path())
                return ParsedArtefact(known, 0)
        # What is inside is not kept with the artefact: it is unpacked for whom it is due.
        async with self._parsers.working_folder() as folder:
            artefact = await self._read(received, body, attempt, folder)
            if not (artefact.scanned or artefact.recorded):
                await self._objects.put(key, artefact.content)
            await self._tell(received, artefact.metadata, artefact.members, folder / _UNPACKED)
        return artefact

    async def _tell(
        self, received: events_pb2.DocumentReceived, metadata: Mapping[str, str], members: Sequence[Member],
        unpacked: Path,
    ) -> None:
        """Have the index know what a document says of itself, and what is inside it now."""
        if metadata:
            await self._members.describe(received.version, metadata)
        if members:
            await self._members.record(received, members, unpacked)
        else:
            await self._members.record_none(received)

    async def _publish(
        self, received: events_pb2.DocumentReceived, key: str, artefact: bytes, delivery: Delivery
    ) -> None:
        await publish_parsed(
            self._jetstream, self._progress, received, key=key, artefact=artefact,
            identity=f"parsed-{delivery.identity}",
        )
        await failpoint("parse.after-publish")

    async def _publish_unread(
        self, received: events_pb2.DocumentReceived, read: ParsedArtefact, delivery: Delivery
    ) -> None:
        """Hand on what this stage cannot read: pages to OCR, a recording to speech recognition."""
        version = received.version
        await self._jetstream.publish(
            subjects.DOCUMENT_RECORDED if read.recorded else subjects.DOCUMENT_SCANNED,
            events_pb2.DocumentScanned(
                version=version, received=received, pages=read.scanned[: self._ocr_pages_max]
            ),
            tenant=version.tenant,
            lane=version.lane,
            message_id=f"{version.version_id}-scanned-{delivery.identity}",
        )
        await failpoint("parse.after-publish")

    async def _known(self, key: str) -> bytes | None:
        try:
            return await self._objects.get(key)
        except NotFound:
            return None

    async def _original(self, received: events_pb2.DocumentReceived) -> bytes:
        return await self._objects.get(received.original.key, sha256=received.original.sha256)

    async def _read(
        self, received: events_pb2.DocumentReceived, body: bytes | None, attempt: int, folder: Path
    ) -> ParsedArtefact:
        body = body if body is not None else await self._original(received)
        path = folder / "original"
        await asyncio.to_thread(path.write_bytes, body)
        # No title: the artefact is the content's, and serves documents that have other ones.
        return await self._parsers.parse_artefact(
            path, filename=received.filename, content_type=received.content_type, attempt=attempt, ocr=self._ocr,
            speech=self._speech, unpack_to=folder / _UNPACKED,
        )


def artefact_key(received: events_pb2.DocumentReceived, *, choices: str) -> str:
    """Return where the artefact of a document is kept that was read under these choices."""
    return parsed_key(
        tenant=received.version.tenant, content_sha256=received.original.sha256, filename=received.filename,
        content_type=received.content_type, choices=choices,
    )


async def publish_parsed(
    jetstream: JetStream, progress: Progress, received: events_pb2.DocumentReceived, *, key: str, artefact: bytes,
    identity: str,
) -> None:
    """Tell the next stage that a document's artefact is there; `identity` tells this message from others of it."""
    version = received.version
    progress.advance(version, PARSED, METADATA)
    parsed = parsed_message(received)
    parsed.artefact.CopyFrom(events_pb2.ObjectReference(
        key=key, sha256=hashlib.sha256(artefact).digest(), size_bytes=len(artefact)
    ))
    await jetstream.publish(
        subjects.DOCUMENT_PARSED, parsed, tenant=version.tenant, lane=version.lane,
        message_id=f"{version.version_id}-{identity}",
    )


def parsed_message(received: events_pb2.DocumentReceived) -> events_pb2.DocumentParsed:
    """Return what the next stage is told, but for where the artefact is."""
    parsed = events_pb2.DocumentParsed(
        version=received.version,
        title=received.title,
        filename=received.filename,
        source=received.source,
        chunking=received.chunking,
        space_id=received.space_id,
        content_sha256=received.original.sha256,
        start_stage=received.start_stage,
        collection=received.collection,
    )
    # Also of an artefact that was there: its key has the version.
    parsed.version.parser_version = PARSER_AND_ARTEFACT_VERSION
    return parsed
