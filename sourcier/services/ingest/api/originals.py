"""`OriginalService`: the files of documents as they came, and pictures of their pages."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from pathlib import Path
from typing import Any

import grpc.aio

from sourcier.ingest.v1 import originals_pb2, originals_pb2_grpc
from sourcier.services.chassis.errors import NotFound
from sourcier.services.chassis.grpc.serving import require, tenant_of
from sourcier.services.index.documents.originals import Original, get_original
from sourcier.services.ingest.components import Parts
from sourcier.services.ingest.stages.sandbox import DRAWN_AT_ONCE, PICTURES_DRAWN_AT_ONCE

Context = grpc.aio.ServicerContext[Any, Any]

PIECE_BYTES = 256 * 1024
DPI, DPI_MIN, DPI_MAX = 110, 36, 300
RECTANGLES_MAX = 1_000
TEXT_CHARACTERS_MAX = 20_000


class OriginalServer(originals_pb2_grpc.OriginalServiceServicer):
    """Proto on one side, the index and the object store on the other."""

    def __init__(self, parts: Parts) -> None:
        self._database = parts.database
        self._objects = parts.objects
        self._drawers = parts.drawers
        self._turns = asyncio.Semaphore(DRAWN_AT_ONCE)
        self._picture_turns = asyncio.Semaphore(PICTURES_DRAWN_AT_ONCE)

    async def ReadOriginal(
        self, request: originals_pb2.ReadOriginalRequest, context: Context
    ) -> AsyncIterator[originals_pb2.ReadOriginalResponse]:
        """Stream an original, or a part of it."""
        original = await self._original(request, context)
        require(request.offset <= original.size_bytes,
                f"offset is {request.offset:,}; “{original.filename}” has {original.size_bytes:,} bytes",
                field="offset")
        length = original.size_bytes - request.offset
        length = min(request.length, length) if request.length else length
        yield originals_pb2.ReadOriginalResponse(header=originals_pb2.OriginalHeader(
            version_id=original.version_id, filename=original.filename, content_type=original.content_type,
            size_bytes=original.size_bytes, content_sha256=original.content_sha256.hex(), offset=request.offset,
            length=length,
        ))
        if not length:
            return
        async with aclosing(self._body(original, request.offset, length)) as pieces:
            async for piece in pieces:
                for start in range(0, len(piece), PIECE_BYTES):
                    yield originals_pb2.ReadOriginalResponse(data=piece[start : start + PIECE_BYTES])

    async def DrawPage(
        self, request: originals_pb2.DrawPageRequest, context: Context
    ) -> AsyncIterator[originals_pb2.DrawPageResponse]:
        """Draw a page and stream its picture."""
        dpi = request.dpi or DPI
        require(request.page >= 1, "page is 0; pages are counted from 1", field="page")
        require(DPI_MIN <= dpi <= DPI_MAX, f"dpi is {dpi}; use {DPI_MIN} to {DPI_MAX}", field="dpi")
        require(len(request.rectangles) <= RECTANGLES_MAX,
                f"rectangles has {len(request.rectangles):,}; send at most {RECTANGLES_MAX:,}", field="rectangles")
        original = await self._original(request, context)
        drawing = {
            "page": request.page, "dpi": dpi, "text": request.text[:TEXT_CHARACTERS_MAX],
            "picture": request.picture,
            "rectangles": [[each.left, each.top, each.width, each.height] for each in request.rectangles],
        }
        # Whoever waits for a turn holds no file yet.
        turns = self._picture_turns if request.picture else self._turns
        async with turns, self._drawers.working_folder() as folder:
            path = folder / "original"
            await self._save(original, path)
            picture = await self._drawers.draw(
                path, filename=original.filename, content_type=original.content_type, drawing=drawing
            )
        yield originals_pb2.DrawPageResponse(header=originals_pb2.PictureHeader(
            version_id=original.version_id, size_bytes=len(picture.content), **picture.told
        ))
        for start in range(0, len(picture.content), PIECE_BYTES):
            yield originals_pb2.DrawPageResponse(data=picture.content[start : start + PIECE_BYTES])

    async def _original(
        self, request: originals_pb2.ReadOriginalRequest | originals_pb2.DrawPageRequest, context: Context
    ) -> Original:
        tenant = tenant_of(context)
        async with self._database.transaction(tenant=tenant, read_only=True) as connection:
            return await get_original(
                connection, tenant=tenant, document_id=request.document_id, version_id=request.version_id
            )

    async def _body(self, original: Original, offset: int, length: int) -> AsyncGenerator[bytes, None]:
        try:
            async for piece in self._objects.read_range(original.key, offset=offset, length=length):
                yield piece
        except NotFound as error:
            raise NotFound(
                f"The file of “{original.filename}” is not kept any more; upload it again to see it.",
                field="version_id",
            ) from error

    async def _save(self, original: Original, path: Path) -> None:
        with await asyncio.to_thread(path.open, "wb") as file:
            if original.size_bytes:
                async with aclosing(self._body(original, 0, original.size_bytes)) as pieces:
                    async for piece in pieces:
                        await asyncio.to_thread(file.write, piece)
