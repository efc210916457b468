"""`TransferService`: exported collections are taken in document by document, each in a transaction of its own.

A document is received whole before its transaction begins: the sender's pace is no reason to hold a connection, locks,
or the oldest snapshot of the database.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from dataclasses import dataclass, replace
from datetime import UTC
from typing import Any
from uuid import UUID

import grpc.aio
import numpy as np

from sourcier.ingest.v1 import transfer_pb2, transfer_pb2_grpc
from sourcier.services.chassis import ids
from sourcier.services.chassis.errors import AlreadyExists, DeadlineExceeded, InvalidArgument, ResourceExhausted
from sourcier.services.chassis.grpc.serving import received, require, tenant_of
from sourcier.services.chassis.ids import is_id
from sourcier.services.chassis.postgres.database import Connection
from sourcier.services.index.collections.collections import Chunking, Collection
from sourcier.services.index.pipeline import batches
from sourcier.services.index.pipeline.batches import Batch, IndexedChunk
from sourcier.services.index.places import encoding
from sourcier.services.index.times import mending
from sourcier.services.index.times.encoding import period_json
from sourcier.services.index.transfer import transfer
from sourcier.services.index.transfer import units as unit_transfer
from sourcier.services.index.transfer.transfer import SaidRelation, TransferredDocument
from sourcier.services.index.transfer.units import TransferredUnit
from sourcier.services.index.units.units import NAME_CHARACTERS_MAX
from sourcier.services.ingest.components import Parts
from sourcier.services.ingest.intake.intake import Header, check_header
from sourcier.services.ingest.intake.spool import Spool

Context = grpc.aio.ServicerContext[Any, Any]

BATCH_CHUNKS = 32
SHA256_BYTES = 32
RETRY_SECONDS = 10.0
"""When an import that found no place should try again."""
VECTOR_BYTES_PER_DIMENSION = 4
COUNT_MAX = 2**31 - 1
"""The most that a column of counts holds; the messages' fields hold twice as much."""


@dataclass(frozen=True)
class _Target:
    """Where an import goes."""

    collection: Collection | None
    """None where there is none: it is made with the first document, and not at all where that one is refused."""
    tenant: str
    name: str
    space_id: str
    chunking: Chunking
    export_id: str
    dimension: int
    unit_methods: tuple[str, ...]

    async def made(self, connection: Connection) -> Collection:
        """Return the collection, made in this transaction where there was none."""
        return self.collection or await transfer.make_target(
            connection, tenant=self.tenant, name=self.name, space_id=self.space_id, chunking=self.chunking,
            export_id=self.export_id,
        )


@dataclass(frozen=True)
class _Passages:
    """The ids of a document's passages, as they would be had it been ingested here: an export chooses none."""

    document: TransferredDocument
    tenant: str
    collection: str

    def id_of(self, chunk: transfer_pb2.TransferChunk) -> str:
        """Return the id of a passage."""
        document = self.document
        return ids.chunk_id(
            tenant=self.tenant, collection=self.collection, source=document.source,
            content_sha256=document.content_sha256, configuration_digest=document.configuration_digest,
            position=chunk.index,
        )


class TransferServer(transfer_pb2_grpc.TransferServiceServicer):
    """Proto on one side, the commit path on the other."""

    def __init__(self, parts: Parts) -> None:
        self._database = parts.database
        self._settings = parts.settings
        self._under_way = Counter[str]()
        """Imports, by tenant."""

    async def ImportCollection(
        self, request_iterator: AsyncIterator[transfer_pb2.ImportCollectionRequest], context: Context
    ) -> transfer_pb2.ImportCollectionResponse:
        """Take in what is not there yet; in memory is one batch of chunks at a time, or a document that is small."""
        tenant = tenant_of(context)
        self._check_place(tenant)
        self._under_way[tenant] += 1
        try:
            requests = _in_time(received(request_iterator, context), seconds=self._settings.import_idle_seconds)
            async with aclosing(requests):
                return await self._take_all(requests, tenant=tenant)
        finally:
            self._under_way[tenant] -= 1
            if not self._under_way[tenant]:
                del self._under_way[tenant]

    def _check_place(self, tenant: str) -> None:
        """Raise ResourceExhausted where all places are taken, or all that one tenant may have: one is for another."""
        slots, under_way = self._settings.import_slots, self._under_way.total()
        if under_way >= slots:
            raise ResourceExhausted(
                f"{under_way} imports are under way, the most at once; try again in {RETRY_SECONDS:g} s",
                retry_after_seconds=RETRY_SECONDS, limit="imports.service", held=under_way, places=slots,
            )
        if self._under_way[tenant] >= max(slots - 1, 1):
            raise ResourceExhausted(
                f"{self._under_way[tenant]} imports of this tenant are under way, the most for one of several; try "
                f"again in {RETRY_SECONDS:g} s",
                retry_after_seconds=RETRY_SECONDS, limit="imports.tenant", held=self._under_way[tenant], places=slots,
            )

    async def _take_all(
        self, requests: AsyncIterator[transfer_pb2.ImportCollectionRequest], *, tenant: str
    ) -> transfer_pb2.ImportCollectionResponse:
        first = await anext(requests, None)
        if first is None or first.WhichOneof("part") != "header":
            raise InvalidArgument("the first message of an import is its header", field="header")
        target = await self._target(first.header, tenant=tenant)
        response = transfer_pb2.ImportCollectionResponse(collection=target.name)
        async for request in requests:
            if request.WhichOneof("part") != "document":
                raise InvalidArgument("chunks belong to no document; send each document before its chunks",
                                      field="document")
            document = _document(request.document, tenant=tenant)
            async with Spool(
                name=f"“{document.source}”", bytes_max=self._settings.import_document_bytes_max
            ) as spool:
                async with aclosing(_batches(requests, document)) as received_batches:
                    async for batch in received_batches:
                        await spool.put(batch.SerializeToString())
                target, units = await self._take(target, document, spool)
            if units is None:
                response.skipped_count += 1
                continue
            response.document_count += 1
            response.chunk_count += document.chunk_count
            response.unit_count += units
        if target.collection is None:
            async with self._database.transaction(tenant=tenant) as connection:
                await target.made(connection)  # an export without documents is a collection without any
        return response

    async def _target(self, header: transfer_pb2.ImportHeader, *, tenant: str) -> _Target:
        manifest = header.manifest
        require(is_id(manifest.export_id), f"export_id is {manifest.export_id!r}; send an export's manifest",
                field="header.manifest.export_id")
        unit_transfer.check_methods(manifest.unit_methods)
        async with self._database.transaction(tenant=tenant) as connection:
            await transfer.require_live_space(
                connection, space_id=manifest.space_id, model=manifest.model, revision=manifest.revision,
                dimension=manifest.dimension,
            )
            chunking = Chunking(
                method=manifest.chunking_method, unit=manifest.chunking_unit, target=manifest.chunking_target,
                overlap=manifest.chunking_overlap, maximum=manifest.chunking_maximum,
            )
            name = header.collection or manifest.collection
            collection = await transfer.find_target(
                connection, tenant=tenant, name=name, space_id=manifest.space_id, chunking=chunking,
                export_id=manifest.export_id, beside_others=header.beside_others,
            )
        return _Target(
            collection, tenant=tenant, name=collection.name if collection else name, space_id=manifest.space_id,
            chunking=chunking, export_id=manifest.export_id, dimension=manifest.dimension,
            unit_methods=tuple(manifest.unit_methods),
        )

    async def _take(
        self, target: _Target, document: TransferredDocument, spool: Spool
    ) -> tuple[_Target, int | None]:
        """Import one document; return how many of its chunks something is known of, None where it was there before.

        The target that is returned has its collection.
        """
        try:
            return await self._taken(target, document, spool)
        except AlreadyExists as error:
            if error.field is not None:
                raise
            raise AlreadyExists(
                f"“{document.source}” holds a passage twice, or is being imported by somebody else, too; export it "
                "anew, or try again.", field="document_id",
            ) from error

    async def _taken(
        self, target: _Target, document: TransferredDocument, spool: Spool
    ) -> tuple[_Target, int | None]:
        batch_count = max(-(-document.chunk_count // BATCH_CHUNKS), 1)
        async with self._database.transaction(tenant=target.tenant) as connection:
            collection = await target.made(connection)
            target = replace(target, collection=collection)
            version = await transfer.begin_document(
                connection, document, collection=collection, export_id=target.export_id
            )
            if version is None:
                return target, None
            passages = _Passages(document, tenant=collection.tenant, collection=collection.name)
            batch_no, has_units = 0, False
            async with aclosing(_read(spool)) as kept_batches:
                async for kept in kept_batches:
                    has_units = has_units or any(chunk.HasField("unit") for chunk in kept.chunks)
                    chunks = await asyncio.to_thread(_chunks, kept, passages, target.dimension)
                    await transfer.require_new_chunks(
                        connection, tenant=collection.tenant, chunk_ids=[chunk.chunk_id for chunk in chunks]
                    )
                    batch = Batch(
                        version=version, space_id=collection.space_id, batch_no=batch_no, batch_count=batch_count,
                        title=document.title, method=document.method, chunks=chunks,
                    )
                    prepared = await asyncio.to_thread(batches.prepare, batch, collection_number=collection.number)
                    await batches.stage_batch(connection, prepared)
                    batch_no += 1
            if not has_units:
                return target, 0
            async with aclosing(_units(spool, passages)) as units:
                return target, await unit_transfer.take_in(
                    connection, tenant=collection.tenant, collection_id=collection.collection_id,
                    document_id=version.document_id, methods=target.unit_methods, units=units,
                )


async def _in_time(
    requests: AsyncGenerator[transfer_pb2.ImportCollectionRequest, None], *, seconds: float
) -> AsyncGenerator[transfer_pb2.ImportCollectionRequest, None]:
    """Yield what a client sends; raise `DeadlineExceeded` where the next message keeps its place waiting too long."""
    async with aclosing(requests):
        while True:
            try:
                async with asyncio.timeout(seconds):
                    request = await anext(requests, None)
            except TimeoutError as error:
                raise DeadlineExceeded(
                    f"nothing of the import came for {seconds:g} s; send it again: what is there is skipped"
                ) from error
            if request is None:
                return
            yield request


async def _batches(
    requests: AsyncIterator[transfer_pb2.ImportCollectionRequest], document: TransferredDocument
) -> AsyncGenerator[transfer_pb2.TransferChunks, None]:
    """Yield a document's chunks, so many at a time whatever the messages hold; one empty batch where it has none."""
    waiting: list[transfer_pb2.TransferChunk] = []
    missing = document.chunk_count
    if not missing:
        yield transfer_pb2.TransferChunks()
    while missing:
        request = await anext(requests, None)
        if request is None or request.WhichOneof("part") != "chunks" or not request.chunks.chunks:
            raise InvalidArgument(f"“{document.source}” lacks {missing} of its {document.chunk_count} chunks; "
                                  "export it anew", field="chunks")
        missing -= len(request.chunks.chunks)
        if missing < 0:
            raise InvalidArgument(f"“{document.source}” has more than its {document.chunk_count} chunks; "
                                  "export it anew", field="chunks")
        waiting += request.chunks.chunks
        while len(waiting) >= BATCH_CHUNKS or (waiting and not missing):
            yield transfer_pb2.TransferChunks(chunks=waiting[:BATCH_CHUNKS])
            del waiting[:BATCH_CHUNKS]


async def _read(spool: Spool) -> AsyncGenerator[transfer_pb2.TransferChunks, None]:
    async with aclosing(spool.pieces()) as pieces:
        async for piece in pieces:
            yield transfer_pb2.TransferChunks.FromString(piece)


async def _units(spool: Spool, passages: _Passages) -> AsyncGenerator[list[TransferredUnit], None]:
    """Yield what is known of a document's chunks, batch by batch."""
    async with aclosing(_read(spool)) as kept_batches:
        async for kept in kept_batches:
            yield [_unit(chunk, passages.id_of(chunk)) for chunk in kept.chunks if chunk.HasField("unit")]


def _document(message: transfer_pb2.TransferDocument, *, tenant: str) -> TransferredDocument:
    require(is_id(message.document_id), f"document_id is {message.document_id!r}, not an id", field="document_id")
    require(len(message.content_sha256) == SHA256_BYTES,
            f"content_sha256 of “{message.source}” is not of {SHA256_BYTES} bytes", field="content_sha256")
    check_header(Header(
        tenant=tenant, collection="", filename=message.filename, content_type=message.content_type,
        title=message.title, source=message.source, lane="bulk", metadata=dict(message.metadata),
        category=message.category,
    ))
    return TransferredDocument(
        document_id=str(UUID(message.document_id)), source=message.source, title=message.title,
        given_title=message.given_title, filename=message.filename, content_type=message.content_type,
        size_bytes=message.size_bytes, content_sha256=message.content_sha256,
        configuration_digest=message.configuration_digest,
        method=message.method, metadata=dict(message.metadata), category=message.category,
        chunk_count=message.chunk_count, set_dates=_set_dates(message),
        relations=[_relation(each, message.source) for each in message.relations],
    )


def _set_dates(message: transfer_pb2.TransferDocument) -> dict[str, Any]:
    return {mending.kind_of(kind).value: period_json(mending.period_of(text))
            for kind, text in message.set_dates.items()}


def _relation(message: transfer_pb2.TransferRelation, source: str) -> SaidRelation:
    require(is_id(message.other_id), f"a relation of “{source}” names {message.other_id!r}, not an id",
            field="relations")
    return SaidRelation(str(UUID(message.other_id)), message.is_replaced, message.denied)


def _chunks(
    batch: transfer_pb2.TransferChunks, passages: _Passages, dimension: int
) -> tuple[IndexedChunk, ...]:
    return tuple(_chunk(chunk, passages, dimension) for chunk in batch.chunks)


def _chunk(message: transfer_pb2.TransferChunk, passages: _Passages, dimension: int) -> IndexedChunk:
    name = f"the chunk {message.chunk_id!r}"
    require(is_id(message.chunk_id), f"{name} has no id", field="chunk_id")
    for field in ("index", "start_character", "end_character", "token_count", "page"):
        value = getattr(message, field)
        require(value <= COUNT_MAX, f"{name} has {field} {value}, more than {COUNT_MAX}; export the collection anew",
                field=field)
    require("\x00" not in message.text, f"{name} holds NUL", field="text")
    require(len(message.vector) == dimension * VECTOR_BYTES_PER_DIMENSION,
            f"{name} has a vector of {len(message.vector)} bytes; {dimension} float32 are needed", field="vector")
    require(len(message.token_codes) * 8 % dimension == 0, f"{name} has codes that are cut off", field="token_codes")
    with np.errstate(over="ignore"):
        vector = np.frombuffer(message.vector, "<f4").astype("<f2")
    require(bool(np.isfinite(vector).all()), f"{name} has a vector that is not finite", field="vector")
    return IndexedChunk(
        chunk_id=passages.id_of(message), index=message.index, text=message.text,
        start_character=message.start_character, end_character=message.end_character,
        token_count=message.token_count, vector=vector.tobytes(),
        token_codes=message.token_codes, page=message.page, heading_path=tuple(message.heading_path),
        language=message.language, kind=message.kind or "text", place_map=_place_map(message, name),
    )


def _place_map(message: transfer_pb2.TransferChunk, name: str) -> bytes:
    try:
        return encoding.encode_bounded(encoding.decode(message.place_map[: encoding.CHUNK_BYTES_MAX + 1]))
    except ValueError as error:
        raise InvalidArgument(
            f"{name} has a place_map that cannot be read: {error}; export the collection anew", field="place_map"
        ) from error


def _unit(chunk: transfer_pb2.TransferChunk, chunk_id: str) -> TransferredUnit:
    unit = chunk.unit
    texts = [unit.reason, unit.edited_by, unit.model, *(pair.edited_by for pair in unit.pairs)]
    require(all(len(text) <= NAME_CHARACTERS_MAX and "\x00" not in text for text in texts),
            f"what is known of the chunk {chunk.chunk_id!r} holds NUL or a name of more than {NAME_CHARACTERS_MAX} "
            "characters", field="unit")
    return TransferredUnit(
        chunk_id=chunk_id, category=unit.category, summary=unit.summary, keywords=tuple(unit.keywords),
        usefulness=unit.usefulness, reason=unit.reason, edited_by=unit.edited_by,
        edited_at=unit.edited_at.ToDatetime(tzinfo=UTC) if unit.HasField("edited_at") else None, model=unit.model,
        prompt_tokens=unit.prompt_tokens, completion_tokens=unit.completion_tokens,
        pairs=tuple((pair.question, pair.answer, pair.edited_by) for pair in unit.pairs),
    )
