"""`document.parsed` → cut into chunks, in batches that stay within one message once embedded → `chunks.ready`."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from google.protobuf.timestamp_pb2 import Timestamp

from sourcier.events.v1 import events_pb2
from sourcier.services.chassis import ids
from sourcier.services.chassis.errors import InvalidArgument, Superseded
from sourcier.services.chassis.failpoints import failpoint
from sourcier.services.chassis.objects import ObjectStore
from sourcier.services.chassis.postgres.database import Database
from sourcier.services.chassis.queue import subjects
from sourcier.services.chassis.queue.consuming import Consumer, Delivery
from sourcier.services.chassis.queue.jetstream import JetStream
from sourcier.services.index.collections import versions
from sourcier.services.index.language.recognition import detect
from sourcier.services.index.moves import stored_chunks
from sourcier.services.index.moves.stored_chunks import StoredChunk, StoredDocument
from sourcier.services.ingest import reading_warnings
from sourcier.services.ingest.chunking.chunks import Chunk
from sourcier.services.ingest.chunking.cutting import Contexts, CuttingLimits, cut
from sourcier.services.ingest.counted_spaces import CountedSpace, CountedSpaces
from sourcier.services.ingest.documents import ParsedDocument
from sourcier.services.ingest.messages import chunking_configuration
from sourcier.services.ingest.progress import CHUNKED, Progress
from sourcier.services.ingest.tokens import Tokens

STAGE = "chunk"

BATCH_CHUNKS_MAX = 32
BATCHES_BETWEEN_LOOKS = 16
"""A document that is deleted while its batches are published leaves so many more of them at most."""
BATCH_BYTES_MAX = subjects.BODY_BYTES_MAX * 3 // 4
"""A quarter is left for ids, headings and the frame of the message."""


@dataclass(frozen=True, slots=True)
class _CutDocument:
    """A document in batches."""

    title: str
    batches: list[list[Chunk]]
    digest: str

    @classmethod
    def of(cls, title: str, chunks: Sequence[Chunk], space: CountedSpace) -> _CutDocument:
        batches = list(batched(chunks, dimension=space.dimension))
        return cls(title, batches, cut_digest(batches))


class ChunkStage:
    """Cuts documents. Owns no table: publish, then acknowledge; the same document gives the same batches again."""

    def __init__(
        self,
        jetstream: JetStream,
        database: Database,
        objects: ObjectStore,
        progress: Progress,
        *,
        spaces: CountedSpaces,
        limits: CuttingLimits | None = None,
    ) -> None:
        self._jetstream = jetstream
        self._database = database
        self._objects = objects
        self._progress = progress
        self._spaces = spaces
        self._limits = limits

    def consumer(self, *, slots: int) -> Consumer[events_pb2.DocumentParsed]:
        """Return the consumer, with slots for each lane."""
        return Consumer(
            self._jetstream,
            subjects.DOCUMENT_PARSED,
            stage=STAGE,
            concurrency=dict.fromkeys(subjects.LANES, slots),
            handle=self.handle,
        )

    async def handle(self, parsed: events_pb2.DocumentParsed, delivery: Delivery) -> None:
        """Cut one document and publish its batches."""
        await self._refuse_ended(parsed.version)
        await self._publish(parsed, await self._cut_parsed(parsed), identity=delivery.identity)

    async def cut(self, parsed: events_pb2.DocumentParsed, document: ParsedDocument, *, identity: str) -> None:
        """Cut a document that was read in this process; `identity` tells its batches from those of other messages."""
        made = await asyncio.to_thread(_cut, document, parsed, self._spaces.of(parsed.space_id), self._limits)
        _tell(document, parsed)
        await self._publish(parsed, made, identity=identity)

    async def _publish(self, parsed: events_pb2.DocumentParsed, made: _CutDocument, *, identity: str) -> None:
        version = parsed.version
        cut_at = Timestamp()
        cut_at.GetCurrentTime()
        await failpoint("chunk.after-work")
        self._progress.advance(version, CHUNKED)
        configuration_digest = chunking_configuration(parsed.chunking).digest()
        for batch_no, batch in enumerate(made.batches):
            if batch_no and batch_no % BATCHES_BETWEEN_LOOKS == 0:
                await self._refuse_ended(version)
            ready = events_pb2.ChunksReady(
                version=version,
                space_id=parsed.space_id,
                batch_no=batch_no,
                batch_count=len(made.batches),
                title=made.title,
                source=parsed.source,
                chunking=parsed.chunking,
                chunks=[_message(chunk, parsed, configuration_digest) for chunk in batch],
                cut=made.digest,
                cut_at=cut_at,
            )
            await self._jetstream.publish(
                subjects.CHUNKS_READY,
                ready,
                tenant=version.tenant,
                lane=version.lane,
                suffix=subjects.space_token(parsed.space_id),
                message_id=f"{version.version_id}-ready-{batch_no}-{identity}",
            )
            await failpoint("chunk.between-batches")

    async def _refuse_ended(self, version: events_pb2.VersionReference) -> None:
        """Raise `Superseded` for a version that was deleted or overtaken: what is not begun costs nothing."""
        async with self._database.transaction(tenant=version.tenant, read_only=True) as connection:
            if await versions.has_ended(connection, tenant=version.tenant, version_id=version.version_id):
                raise Superseded("The version was deleted, or a newer one took its place.")

    async def _cut_parsed(self, parsed: events_pb2.DocumentParsed) -> _CutDocument:
        space = self._spaces.of(parsed.space_id)
        stored = await self._stored(parsed) if parsed.start_stage == "embed" else None
        if stored is not None and stored.chunks:
            # The text is theirs, whatever has read the original since.
            parsed.version.parser_version = stored.parser_version
            parsed.version.reading_warnings = stored.reading_warnings
            return await asyncio.to_thread(_cut_before, stored, space)
        artefact = await self._objects.get(parsed.artefact.key, sha256=parsed.artefact.sha256)
        document = await asyncio.to_thread(ParsedDocument.from_bytes, artefact)
        made = await asyncio.to_thread(_cut, document, parsed, space, self._limits)
        _tell(document, parsed)
        return made

    async def _stored(self, parsed: events_pb2.DocumentParsed) -> StoredDocument | None:
        version = parsed.version
        async with self._database.transaction(tenant=version.tenant, read_only=True) as connection:
            return await stored_chunks.of_document(
                connection, tenant=version.tenant, document_id=version.document_id,
                content_sha256=parsed.content_sha256,
                configuration_digest=chunking_configuration(parsed.chunking).digest(),
            )


def with_contexts(title: str, stored: Sequence[StoredChunk], tokens: Tokens) -> list[Chunk]:
    """Return stored chunks ready to be embedded, measured by the space's own tokens: they may be another model's.

    Raise InvalidArgument for one that the model cannot read whole.
    """
    contexts = Contexts(title, tokens)
    chunks = []
    for chunk in stored:
        token_count = tokens.count(chunk.text)
        if token_count > tokens.passage_limit:
            raise InvalidArgument(
                f"the passage {chunk.chunk_id} of “{title}” has {token_count} tokens, the space's model reads "
                f"{tokens.passage_limit}; cut the collection's documents shorter first (`sourcier collections update`, "
                "then `sourcier reprocess --from chunk`)", field="chunking.maximum",
            )
        embedding_text, embedding_token_count = contexts.embedding_text(
            chunk.text, heading_path=tuple(chunk.heading_path), token_count=token_count
        )
        chunks.append(Chunk(
            index=chunk.chunk_index, text=chunk.text, start_character=chunk.start_character,
            end_character=chunk.end_character, token_count=token_count, page=chunk.page,
            heading_path=tuple(chunk.heading_path), language=chunk.language, embedding_text=embedding_text,
            embedding_token_count=embedding_token_count, place_map=chunk.place_map,
        ))
    return chunks


def _cut(
    document: ParsedDocument, parsed: events_pb2.DocumentParsed, space: CountedSpace, limits: CuttingLimits | None
) -> _CutDocument:
    document = document.named(title=parsed.title, filename=parsed.filename)
    chunks = cut(
        document, chunking_configuration(parsed.chunking), space.tokens, detect_language=detect, limits=limits
    )
    return _CutDocument.of(document.title, chunks, space)


def _tell(document: ParsedDocument, parsed: events_pb2.DocumentParsed) -> None:
    """Have a version's messages say what was not read of it."""
    reading_warnings.count(document.warnings)
    parsed.version.reading_warnings = reading_warnings.as_json(document.warnings)


def _cut_before(stored: StoredDocument, space: CountedSpace) -> _CutDocument:
    return _CutDocument.of(stored.title, with_contexts(stored.title, stored.chunks, space.tokens), space)


def cut_digest(batches: Sequence[Sequence[Chunk]]) -> str:
    """Return 32 hex digits that differ wherever a batch would hold other passages, or would be embedded otherwise."""
    digest = hashlib.sha256()
    for batch in batches:
        digest.update(f"{len(batch)}\n".encode())
        for chunk in batch:
            digest.update("\0".join((
                f"{chunk.start_character}-{chunk.end_character}-{chunk.page}", *chunk.heading_path, chunk.text,
                chunk.embedding_text, "",
            )).encode())
    return digest.hexdigest()[:32]


def batched(chunks: Sequence[Chunk], *, dimension: int) -> Iterator[list[Chunk]]:
    """Yield runs of chunks whose message, vectors and codes included, stays within the limit of a message."""
    batch: list[Chunk] = []
    batch_bytes = 0
    for chunk in chunks:
        chunk_bytes = embedded_bytes(chunk, dimension=dimension)
        if batch and (len(batch) == BATCH_CHUNKS_MAX or batch_bytes + chunk_bytes > BATCH_BYTES_MAX):
            yield batch
            batch, batch_bytes = [], 0
        batch.append(chunk)
        batch_bytes += chunk_bytes
    if batch:
        yield batch


def embedded_bytes(chunk: Chunk, *, dimension: int) -> int:
    """Return an upper bound of the bytes a chunk takes once it is embedded."""
    texts = len(chunk.text.encode()) + len(chunk.embedding_text.encode()) + sum(map(len, chunk.heading_path)) * 4
    # A row of codes for each token that the model reads.
    return texts + len(chunk.place_map) + dimension * 2 + chunk.embedding_token_count * dimension // 8


def _message(chunk: Chunk, parsed: events_pb2.DocumentParsed, configuration_digest: str) -> events_pb2.Chunk:
    return events_pb2.Chunk(
        chunk_id=ids.chunk_id(
            tenant=parsed.version.tenant,
            collection=parsed.collection,
            source=parsed.source,
            content_sha256=parsed.content_sha256,
            configuration_digest=configuration_digest,
            position=chunk.index,
        ),
        index=chunk.index,
        text=chunk.text,
        start_character=chunk.start_character,
        end_character=chunk.end_character,
        token_count=chunk.token_count,
        page=chunk.page,
        heading_path=chunk.heading_path,
        embedding_text="" if chunk.embedding_text == chunk.text else chunk.embedding_text,
        language=chunk.language,
        place_map=chunk.place_map,
    )
