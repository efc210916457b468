"""The files of documents, pictures of their pages, and where passages stand on them: what `KnowledgeServer` relays."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator
from typing import Any

import grpc.aio

from sourcier.gateway.v1 import knowledge_pb2
from sourcier.ingest.v1 import originals_pb2
from sourcier.services.chassis import telemetry
from sourcier.services.chassis.errors import InvalidArgument, NotFound
from sourcier.services.chassis.grpc import channels
from sourcier.services.chassis.grpc.channels import Deadline
from sourcier.services.chassis.grpc.serving import require, tenant_of
from sourcier.services.chassis.ids import is_id
from sourcier.services.chassis.postgres.database import Database
from sourcier.services.gateway.contract.places import body_of, place_messages, places_of
from sourcier.services.gateway.peers.services import Peers
from sourcier.services.index.documents.documents import get_document
from sourcier.services.index.places.place import PagePlace, Place, Rectangle
from sourcier.services.index.search.passages import Passage, chunk_at, get_passages

Context = grpc.aio.ServicerContext[Any, Any]

PEER = "ingest"
ORIGINAL_SECONDS_MAX = 600.0
PICTURE_SECONDS_MAX = 60.0
RECTANGLES_MAX = 1_000

_log = logging.getLogger(__name__)


class Originals:
    """Asks ingest for files and pictures, and the index for places."""

    def __init__(self, database: Database, peers: Peers) -> None:
        self._database = database
        self._peers = peers

    async def original(
        self, request: knowledge_pb2.GetOriginalRequest, context: Context
    ) -> AsyncGenerator[knowledge_pb2.GetOriginalResponse, None]:
        """Stream an original, or a part of it."""
        asked = originals_pb2.ReadOriginalRequest(
            document_id=request.document_id, version_id=request.version_id, offset=request.offset,
            length=request.length,
        )
        async with channels.stream(
            self._peers.originals.ReadOriginal, asked, peer=PEER, tenant=tenant_of(context),
            deadline=Deadline.of(context, default_seconds=ORIGINAL_SECONDS_MAX), cap_seconds=ORIGINAL_SECONDS_MAX,
        ) as responses:
            async for response in responses:
                if response.WhichOneof("part") == "data":
                    yield knowledge_pb2.GetOriginalResponse(data=response.data)
                    continue
                header = response.header
                yield knowledge_pb2.GetOriginalResponse(header=knowledge_pb2.OriginalHeader(
                    version_id=header.version_id, filename=header.filename, content_type=header.content_type,
                    size_bytes=header.size_bytes, content_sha256=header.content_sha256, offset=header.offset,
                    length=header.length,
                ))

    async def page_image(
        self, request: knowledge_pb2.GetPageImageRequest, context: Context
    ) -> AsyncGenerator[knowledge_pb2.GetPageImageResponse, None]:
        """Draw a page, and mark a chunk on it."""
        require(len(request.rectangles) <= RECTANGLES_MAX,
                f"rectangles has {len(request.rectangles):,}; send at most {RECTANGLES_MAX:,}", field="rectangles")
        asked = originals_pb2.DrawPageRequest(
            document_id=request.document_id, version_id=request.version_id, page=request.page, dpi=request.dpi,
            picture=request.picture,
            rectangles=[_marked(Rectangle(each.left, each.top, each.width, each.height))
                        for each in request.rectangles],
        )
        marks = request.chunk_id or request.HasField("chunk_index") or request.rectangles
        require(not (request.picture and (marks or request.page)),
                "picture comes with a page or something to mark; ask for one of them", field="picture")
        if request.chunk_id or request.HasField("chunk_index"):
            await self._mark_chunk(request, asked, tenant=tenant_of(context))
        asked.page = asked.page or 1
        exact = bool(asked.rectangles)
        async with channels.stream(
            self._peers.originals.DrawPage, asked, peer=PEER, tenant=tenant_of(context),
            deadline=Deadline.of(context, default_seconds=PICTURE_SECONDS_MAX), cap_seconds=PICTURE_SECONDS_MAX,
        ) as responses:
            async for response in responses:
                if response.WhichOneof("part") == "data":
                    yield knowledge_pb2.GetPageImageResponse(data=response.data)
                else:
                    yield knowledge_pb2.GetPageImageResponse(header=_header(response.header, exact=exact))

    async def locate(
        self, request: knowledge_pb2.LocatePassageRequest, context: Context
    ) -> knowledge_pb2.LocatePassageResponse:
        """Return where a chunk, or a part of its text, stands."""
        passage = await self._passage(request.chunk_id, tenant=tenant_of(context))
        return knowledge_pb2.LocatePassageResponse(
            document_id=passage.document_id, version_id=passage.version_id,
            places=place_messages(_part(passage, request.start, request.end)),
        )

    async def _mark_chunk(
        self, request: knowledge_pb2.GetPageImageRequest, asked: originals_pb2.DrawPageRequest, *, tenant: str
    ) -> None:
        """Have a chunk marked: by its places on the page, or by its text where none are kept."""
        chunk_id = request.chunk_id or await self._chunk_at(request, tenant=tenant)
        passage = await self._passage(chunk_id, tenant=tenant)
        require(passage.document_id == request.document_id,
                f"the chunk {chunk_id} is not of the document {request.document_id}", field="chunk_id")
        require(request.version_id in ("", passage.version_id),
                f"the chunk {chunk_id} is of the version {passage.version_id}", field="version_id")
        asked.version_id = passage.version_id
        pages = [place for place in _part(passage, request.start, request.end) if isinstance(place, PagePlace)]
        asked.page = request.page or next((place.number for place in pages), 1)
        for place in pages:
            if place.number == asked.page:
                asked.rectangles.extend(map(_marked, place.rectangles))
        if not passage.place_map and passage.page in (0, asked.page):
            telemetry.degradations_total.labels("places", "LOOKED_FOR_BY_TEXT").inc()
            _log.info("a chunk without places is looked for by its text", extra={"chunk_id": passage.chunk_id})
            asked.text = passage.text[request.start : request.end or None]

    async def _chunk_at(self, request: knowledge_pb2.GetPageImageRequest, *, tenant: str) -> str:
        async with self._database.transaction(tenant=tenant, read_only=True) as connection:
            document = await get_document(connection, tenant=tenant, document_id=request.document_id)
            chunk_id = await chunk_at(
                connection, tenant=tenant, document_id=request.document_id, chunk_index=request.chunk_index
            )
        if chunk_id is None:
            raise InvalidArgument(
                f"chunk_index is {request.chunk_index}; “{document.title}” has {document.chunk_count} chunks, counted "
                "from 0", field="chunk_index",
            )
        return chunk_id

    async def _passage(self, chunk_id: str, *, tenant: str) -> Passage:
        found = []
        if is_id(chunk_id):
            async with self._database.transaction(tenant=tenant, read_only=True) as connection:
                found = await get_passages(connection, tenant=tenant, chunk_ids=[chunk_id])
        if not found:
            raise NotFound(
                f"There is no chunk {chunk_id[:60]}; its document may have a newer version.", field="chunk_id"
            )
        return found[0]


def _part(passage: Passage, start: int, end: int) -> tuple[Place, ...]:
    length = len(passage.text)
    end = end or length
    require(start <= end <= length,
            f"start and end are {start} and {end}; the chunk has {length} characters", field="end")
    if not start and end == length:
        start, end = body_of(passage)
    return places_of(passage, start, end, words=True)


def _marked(rectangle: Rectangle) -> originals_pb2.MarkedRectangle:
    return originals_pb2.MarkedRectangle(
        left=rectangle.left, top=rectangle.top, width=rectangle.width, height=rectangle.height
    )


def _header(header: originals_pb2.PictureHeader, *, exact: bool) -> knowledge_pb2.PageImageHeader:
    marking = knowledge_pb2.MARKING_UNSPECIFIED
    if header.marked:
        marking = knowledge_pb2.MARKING_PLACES if exact else knowledge_pb2.MARKING_TEXT
    return knowledge_pb2.PageImageHeader(
        version_id=header.version_id, page=header.page, page_count=header.page_count, width=header.width,
        height=header.height, dpi=header.dpi, page_width=header.page_width, page_height=header.page_height,
        size_bytes=header.size_bytes, marking=marking, marked=header.marked,
    )
