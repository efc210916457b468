"""The calls that hand out the files of documents, draw their pages, and tell where passages stand."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import BinaryIO

from sourcier.calls.base import Calls
from sourcier.errors import SourcierError
from sourcier.gateway.v1 import knowledge_pb2, place_pb2
from sourcier.results import PageImage


class OriginalCalls(Calls):
    """Originals, pages and places."""

    async def original(
        self, document_id: str, *, version_id: str = "", offset: int = 0, length: int = 0,
        timeout_seconds: float = 600.0,
    ) -> AsyncGenerator[knowledge_pb2.GetOriginalResponse, None]:
        """Yield what a document's file is, then its bytes in pieces; `length` 0 reads to the end.

        Without a version it is the one that answers now.
        """
        request = knowledge_pb2.GetOriginalRequest(
            document_id=document_id, version_id=version_id, offset=offset, length=length
        )
        async with aclosing(self._channel.stream(
            self._knowledge.GetOriginal, request, lambda response: response, timeout_seconds=timeout_seconds
        )) as responses:
            async for response in responses:
                yield response

    async def download(
        self, document_id: str, file: BinaryIO, *, version_id: str = "", timeout_seconds: float = 600.0
    ) -> knowledge_pb2.OriginalHeader:
        """Write a document's file into an open one, and return what it is; raise SourcierError where bytes are wrong.

        >>> from io import BytesIO
        >>> file = BytesIO()
        >>> async with Client("localhost:8080") as client:
        ...     header = await client.download("01a2014e-6684-7caf-8196-79f6c4290a4d", file)
        >>> header.filename, len(file.getvalue())
        ('charte.pdf', 13)
        """
        header = knowledge_pb2.OriginalHeader()
        digest = hashlib.sha256()
        async with aclosing(self.original(
            document_id, version_id=version_id, timeout_seconds=timeout_seconds
        )) as responses:
            async for response in responses:
                if response.WhichOneof("part") == "header":
                    header = response.header
                    continue
                digest.update(response.data)
                await asyncio.to_thread(file.write, response.data)
        if digest.hexdigest() != header.content_sha256:
            raise SourcierError(f"“{header.filename}” did not arrive whole: its SHA-256 differs; get it again")
        return header

    async def page_image(
        self, document_id: str, page: int = 0, *, version_id: str = "", dpi: int = 0, chunk_id: str = "",
        chunk_index: int | None = None, start: int = 0, end: int = 0, rectangles: Sequence[place_pb2.Rectangle] = (),
        picture: int = 0, timeout_seconds: float = 60.0,
    ) -> PageImage:
        """Return a page as PNG, with a chunk, or its characters `start` to `end`, and `rectangles` marked on it.

        Page 0 is the first one that the chunk stands on. With `picture` it is a picture inside the document, of any
        format, by the number that places tell.

        >>> async with Client("localhost:8080") as client:
        ...     image = await client.page_image("01a2014e-6684-7caf-8196-79f6c4290a4d", chunk_index=0)
        >>> image.header.page, image.header.marked, image.matched_by_text
        (1, 6, False)
        """
        request = knowledge_pb2.GetPageImageRequest(
            document_id=document_id, version_id=version_id, page=page, dpi=dpi, chunk_id=chunk_id,
            chunk_index=chunk_index, start=start, end=end, rectangles=rectangles,
            picture=picture,
        )
        header, pieces = knowledge_pb2.PageImageHeader(), list[bytes]()
        async with aclosing(self._channel.stream(
            self._knowledge.GetPageImage, request, lambda response: response, timeout_seconds=timeout_seconds
        )) as responses:
            async for response in responses:
                if response.WhichOneof("part") == "header":
                    header = response.header
                else:
                    pieces.append(response.data)
        return PageImage(b"".join(pieces), header)

    async def locate(
        self, chunk_id: str, *, start: int = 0, end: int = 0, timeout_seconds: float | None = None
    ) -> list[place_pb2.Place]:
        """Return where a chunk stands in its file, or the characters `start` to `end` of its text."""
        request = knowledge_pb2.LocatePassageRequest(chunk_id=chunk_id, start=start, end=end)
        return list((await self._unary(self._knowledge.LocatePassage, request, timeout_seconds)).places)
