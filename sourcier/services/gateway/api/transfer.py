"""`TransferService`: it reads what is exported itself, page by page, and relays what is imported to ingest."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict
from typing import Any

import grpc.aio
import numpy as np

from sourcier.gateway.v1 import transfer_pb2, transfer_pb2_grpc
from sourcier.ingest.v1 import transfer_pb2 as internal_pb2
from sourcier.ingest.v1 import transfer_pb2_grpc as internal_grpc
from sourcier.services.chassis.errors import FailedPrecondition, InvalidArgument, ServiceError
from sourcier.services.chassis.grpc import channels
from sourcier.services.chassis.grpc.channels import Deadline
from sourcier.services.chassis.grpc.serving import received, require, tenant_of
from sourcier.services.chassis.ids import new_id
from sourcier.services.chassis.postgres.database import Database
from sourcier.services.gateway.contract.knowledge import timestamp
from sourcier.services.gateway.contract.points import points_response, wanted_points
from sourcier.services.gateway.points.importing import Line, PointImporter
from sourcier.services.index import pagination
from sourcier.services.index.collections import build_manifest as manifests
from sourcier.services.index.collections import collections
from sourcier.services.index.collections.build_manifest import BuildManifest
from sourcier.services.index.pipeline.batches import IndexedChunk
from sourcier.services.index.spaces import spaces
from sourcier.services.index.times.encoding import set_dates_from
from sourcier.services.index.times.mending import period_text
from sourcier.services.index.transfer import transfer
from sourcier.services.index.transfer import units as unit_transfer
from sourcier.services.index.transfer.transfer import TransferredDocument
from sourcier.services.index.transfer.units import TransferredUnit

Context = grpc.aio.ServicerContext[Any, Any]
_Queue = asyncio.Queue[Any]
"""Of a client's messages, then None, or the error that ended them."""

PEER = "ingest"
IMPORT_SECONDS_MAX = 24 * 3600.0
PART_BYTES_MAX = 3 * 1024**2


class TransferServer(transfer_pb2_grpc.TransferServiceServicer):
    """The public face of exports and imports."""

    def __init__(
        self, database: Database, ingest: internal_grpc.TransferServiceStub, points: PointImporter | None = None
    ) -> None:
        self._database = database
        self._ingest = ingest
        self._points = points

    async def ExportCollection(
        self, request: transfer_pb2.ExportCollectionRequest, context: Context
    ) -> AsyncIterator[transfer_pb2.ExportCollectionResponse]:
        """Stream a collection; no transaction is open while the client reads."""
        require(bool(request.collection), "collection is empty; name the collection", field="collection")
        tenant = tenant_of(context)
        async with self._database.transaction(tenant=tenant, read_only=True) as connection:
            collection = await collections.get_collection(connection, tenant=tenant, name=request.collection)
            manifest = await manifests.get_manifest(connection, tenant=tenant, collection=request.collection)
            space = await spaces.get_space(connection, manifest.space_id)
            methods = await unit_transfer.live_methods(
                connection, tenant=tenant, collection_id=collection.collection_id
            )
        yield transfer_pb2.ExportCollectionResponse(manifest=_manifest_message(manifest, unit_methods=methods))
        after = pagination.FIRST_KEY
        while True:
            async with self._database.transaction(tenant=tenant, read_only=True) as connection:
                documents = await transfer.documents_after(
                    connection, tenant=tenant, collection_id=collection.collection_id, after=after
                )
            for document in documents:
                yield transfer_pb2.ExportCollectionResponse(document=_document_message(document))
                async for chunks in self._chunks(document, tenant=tenant, vectors_table=space.vectors_table):
                    for part in parted(chunks):
                        yield transfer_pb2.ExportCollectionResponse(chunks=transfer_pb2.TransferChunks(chunks=part))
                after = document.document_id
            if not documents:
                return

    async def ImportCollection(
        self, request_iterator: AsyncIterator[transfer_pb2.ImportCollectionRequest], context: Context
    ) -> transfer_pb2.ImportCollectionResponse:
        """Relay an import to ingest."""
        requests = received(request_iterator, context)
        first = await anext(requests, None)
        if first is None or first.WhichOneof("part") != "header":
            raise InvalidArgument("the first message of an import is its header", field="header")

        async with _reading(requests) as following:
            response: internal_pb2.ImportCollectionResponse = await channels.upload(
                self._ingest.ImportCollection, _relayed(first, following), peer=PEER, tenant=tenant_of(context),
                deadline=Deadline.of(context, default_seconds=IMPORT_SECONDS_MAX),
                cap_seconds=IMPORT_SECONDS_MAX,
            )
        return transfer_pb2.ImportCollectionResponse.FromString(response.SerializeToString())

    async def ImportPoints(
        self, request_iterator: AsyncIterator[transfer_pb2.ImportPointsRequest], context: Context
    ) -> transfer_pb2.ImportPointsResponse:
        """Take in the points of another system's index."""
        requests = received(request_iterator, context)
        first = await anext(requests, None)
        if first is None or first.WhichOneof("part") != "header":
            raise InvalidArgument("the first message of an import of points is its header", field="header")
        if self._points is None:
            raise FailedPrecondition("this gateway has no embed service to read points with")
        wanted = wanted_points(first.header)
        async with _reading(requests) as following:
            imported = await self._points.run(
                wanted, _lines(following), tenant=tenant_of(context), cap_seconds=IMPORT_SECONDS_MAX,
                deadline=Deadline.of(context, default_seconds=IMPORT_SECONDS_MAX),
            )
        return points_response(wanted, imported)

    async def _chunks(
        self, document: TransferredDocument, *, tenant: str, vectors_table: str
    ) -> AsyncIterator[list[transfer_pb2.TransferChunk]]:
        read, after = 0, -1
        while read < document.chunk_count:
            async with self._database.transaction(tenant=tenant, read_only=True) as connection:
                chunks = await transfer.chunks_after(
                    connection, document, tenant=tenant, vectors_table=vectors_table, after=after
                )
                units = await unit_transfer.units_of_chunks(
                    connection, tenant=tenant, chunk_ids=[chunk.chunk_id for chunk in chunks]
                )
            yield [_chunk_message(chunk, units.get(chunk.chunk_id)) for chunk in chunks]
            read, after = read + len(chunks), chunks[-1].index


@asynccontextmanager
async def _reading(requests: AsyncIterator[Any]) -> AsyncIterator[_Queue]:
    """Read what the client sends into a queue of one, and let go of the client's stream on the way out.

    A call that its peer ended goes on waiting for its next message; it must not wait in the client's stream, which is
    read to its end before a refusal is told.
    """
    following: _Queue = asyncio.Queue(maxsize=1)

    async def read() -> None:
        try:
            async for request in requests:
                await following.put(request)
            await following.put(None)
        except ServiceError as error:
            await following.put(error)

    reader = asyncio.create_task(read(), name="import-reader")
    try:
        yield following
    finally:
        reader.cancel()
        await asyncio.wait((reader,))


async def _relayed(
    first: transfer_pb2.ImportCollectionRequest, following: _Queue
) -> AsyncGenerator[internal_pb2.ImportCollectionRequest, None]:
    yield _internal(first)
    async for request in _followed(following):
        yield _internal(request)


async def _followed(following: _Queue) -> AsyncGenerator[Any, None]:
    while (request := await following.get()) is not None:
        if isinstance(request, ServiceError):
            raise request
        yield request


async def _lines(following: _Queue) -> AsyncGenerator[list[Line], None]:
    async for request in _followed(following):
        if request.WhichOneof("part") != "lines":
            raise InvalidArgument("only the first message of an import of points is a header", field="header")
        yield [Line(line.number, line.text) for line in request.lines.lines]


def _internal(request: transfer_pb2.ImportCollectionRequest) -> internal_pb2.ImportCollectionRequest:
    """Return a public message as ingest's: the two are field for field alike, which a test proves."""
    return internal_pb2.ImportCollectionRequest.FromString(request.SerializeToString())


def parted(chunks: Sequence[transfer_pb2.TransferChunk]) -> Iterator[list[transfer_pb2.TransferChunk]]:
    """Yield chunks in parts that a message holds: with what is known of one, it may take most of a megabyte."""
    part: list[transfer_pb2.TransferChunk] = []
    size = 0
    for chunk in chunks:
        own = chunk.ByteSize()
        if part and size + own > PART_BYTES_MAX:
            yield part
            part, size = [], 0
        part.append(chunk)
        size += own
    yield part


def _manifest_message(manifest: BuildManifest, *, unit_methods: Sequence[str]) -> transfer_pb2.TransferManifest:
    fields = asdict(manifest)
    # Of each document an export has its own digest of how it was cut.
    del fields["built_at"], fields["outdated_count"]
    message = transfer_pb2.TransferManifest(export_id=new_id(), unit_methods=unit_methods, **fields)
    message.exported_at.GetCurrentTime()
    return message


def _document_message(document: TransferredDocument) -> transfer_pb2.TransferDocument:
    fields = asdict(document)
    del fields["version_id"]
    fields["metadata"] = {key: str(value) for key, value in document.metadata.items()}
    fields["set_dates"] = {
        kind.value: period_text(period) for kind, period in set_dates_from(document.set_dates).items()
    }
    fields["relations"] = [transfer_pb2.TransferRelation(**each) for each in fields["relations"]]
    return transfer_pb2.TransferDocument(**fields)


def _chunk_message(chunk: IndexedChunk, unit: TransferredUnit | None) -> transfer_pb2.TransferChunk:
    fields = asdict(chunk)
    fields["vector"] = np.frombuffer(chunk.vector, "<f2").astype("<f4").tobytes()
    return transfer_pb2.TransferChunk(**fields, unit=None if unit is None else _unit_message(unit))


def _unit_message(unit: TransferredUnit) -> transfer_pb2.TransferUnit:
    return transfer_pb2.TransferUnit(
        category=unit.category, summary=unit.summary, keywords=unit.keywords, usefulness=unit.usefulness,
        reason=unit.reason, edited_by=unit.edited_by, model=unit.model, prompt_tokens=unit.prompt_tokens,
        completion_tokens=unit.completion_tokens,
        edited_at=None if unit.edited_at is None else timestamp(unit.edited_at),
        pairs=[
            transfer_pb2.TransferPair(question=question, answer=answer, edited_by=edited_by)
            for question, answer, edited_by in unit.pairs
        ],
    )
