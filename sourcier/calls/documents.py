"""The calls that bring documents in, list them and delete them."""

from __future__ import annotations

import asyncio
import errno
import io
import os
import stat
from collections.abc import AsyncGenerator
from contextlib import aclosing
from pathlib import Path
from typing import BinaryIO, Unpack

from sourcier.calls.base import Calls, pages
from sourcier.connection.upload import UPLOAD_ATTEMPTS, send
from sourcier.filters import Filter, condition
from sourcier.gateway.v1 import knowledge_pb2
from sourcier.options import DocumentOptions, DocumentOrderName, chosen, document_header
from sourcier.results import UploadResult


class DocumentCalls(Calls):
    """Documents."""

    async def upload(
        self, content: str | os.PathLike[str] | bytes | BinaryIO, *, filename: str = "", source: str = "",
        timeout_seconds: float = 600.0, attempts: int = UPLOAD_ATTEMPTS, **document: Unpack[DocumentOptions],
    ) -> UploadResult:
        """Upload a file by its path, or bytes with a `filename`; the file is never held in memory as a whole.

        `source` identifies the document in its collection (the file's name when left out): the same source again is a
        new version. The job goes on behind the answer; `wait_for_job` waits for it. A refusal that may pass
        (RESOURCE_EXHAUSTED, UNAVAILABLE) is tried again, which is safe: the same content changes nothing. Raises
        OSError when the file cannot be read, and for a pipe or a device: what comes out of one can be given as an open
        file.

        >>> async with Client("localhost:8080") as client:
        ...     upload = await client.upload(b"# Charte\\n\\nDeux jours par semaine.", filename="charte.md")
        ...     job = await client.wait_for_job(upload.job_id)
        >>> job.stage, job.percentage, job.chunk_count
        ('done', 100, 3)
        """
        async def attempt(file: BinaryIO, name: str) -> UploadResult:
            header = document_header(document, filename=filename or name, source=source)
            return await send(self._channel, header, file, attempts=attempts, timeout_seconds=timeout_seconds)

        if isinstance(content, bytes):
            return await attempt(io.BytesIO(content), filename)
        if isinstance(content, (str, os.PathLike)):
            path = Path(content)
            with await asyncio.to_thread(_opened, path) as file:
                return await attempt(file, path.name)
        return await attempt(content, filename)

    async def ingest_text(
        self, text: str, *, source: str, filename: str = "", timeout_seconds: float = 300.0,
        **document: Unpack[DocumentOptions],
    ) -> knowledge_pb2.IngestTextResponse:
        """Ingest plain text without a file, and return once it can be found.

        >>> async with Client("localhost:8080") as client:
        ...     done = await client.ingest_text("Le mardi est le jour de présence.", source="notes/mardi")
        >>> done.document.source, done.job.chunk_count
        ('notes/mardi', 1)
        """
        header = document_header(document, filename=filename, source=source)
        request = knowledge_pb2.IngestTextRequest(header=header, text=text)
        return await self._unary(self._knowledge.IngestText, request, timeout_seconds)

    async def get_document(self, document_id: str, *, timeout_seconds: float | None = None) -> knowledge_pb2.Document:
        """Return one document."""
        request = knowledge_pb2.GetDocumentRequest(document_id=document_id)
        return (await self._unary(self._knowledge.GetDocument, request, timeout_seconds)).document

    async def document_text(
        self, document_id: str, *, timeout_seconds: float = 600.0
    ) -> AsyncGenerator[knowledge_pb2.GetDocumentTextResponse, None]:
        """Yield what was read of a document, as Markdown in pieces, each of which continues the one before it."""
        request = knowledge_pb2.GetDocumentTextRequest(document_id=document_id)
        async with aclosing(self._channel.stream(
            self._knowledge.GetDocumentText, request, lambda response: response, timeout_seconds=timeout_seconds
        )) as pieces:
            async for piece in pieces:
                yield piece

    async def documents(
        self, *, collection: str = "", filter: Filter | None = None, name: str = "",
        order: DocumentOrderName | None = None, page_size: int = 200,
    ) -> AsyncGenerator[knowledge_pb2.Document, None]:
        """Yield the documents of a collection, or of all, in the order in which they came, or in another `order`.

        `filter` is a condition as in `search`; `name` is a part of a title, a file's name or a source.

        >>> async with Client("localhost:8080") as client:
        ...     print([document.source async for document in client.documents()])
        ['charte.pdf', 'frais.docx', 'securite.html']
        """
        request = knowledge_pb2.ListDocumentsRequest(
            collection=collection, page_size=page_size, name=name,
            order=chosen(knowledge_pb2.DocumentOrder, order, DocumentOrderName, field="order"),
            where=None if filter is None else condition(filter),
        )

        async def page(token: str) -> knowledge_pb2.ListDocumentsResponse:
            request.page_token = token
            return await self._unary(self._knowledge.ListDocuments, request, None)

        async for response in pages(page):
            for document in response.documents:
                yield document

    async def coverage(
        self, collection: str = "", *, examples: int = 0, timeout_seconds: float | None = None
    ) -> knowledge_pb2.GetCoverageResponse:
        """Account for every document of a collection: read whole, read in part, under way or given up, and why.

        `examples` documents are named for each reason: 1 to 20, and 3 when left out.

        >>> async with Client("localhost:8080") as client:
        ...     told = await client.coverage()
        >>> told.document_count, told.whole_count, [(gap.reason, gap.document_count) for gap in told.unread]
        (4, 2, [('pages_without_text', 1)])
        """
        request = knowledge_pb2.GetCoverageRequest(collection=collection, examples=examples)
        return await self._unary(self._knowledge.GetCoverage, request, timeout_seconds)

    async def delete_document(self, document_id: str, *, timeout_seconds: float | None = None) -> bool:
        """Delete a document with all its versions; return whether it existed."""
        request = knowledge_pb2.DeleteDocumentRequest(document_id=document_id)
        return (await self._unary(self._knowledge.DeleteDocument, request, timeout_seconds)).existed


def _opened(path: Path) -> BinaryIO:
    """Open a file; a pipe is refused, since opening one waits for its writer, and nothing could interrupt that."""
    mode = path.stat().st_mode
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        raise OSError(errno.EINVAL, "neither a file nor a folder; give what comes out of it as an open file", str(path))
    return path.open("rb")
