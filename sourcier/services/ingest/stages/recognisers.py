"""Reads pages by OCR in processes of their own, a few pages each: one that crashes or hangs costs itself alone."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from sourcier.services.chassis.errors import DocumentRejected, Unavailable
from sourcier.services.ingest.parsing.limits import ParsingLimits
from sourcier.services.ingest.parsing.scans.pages import page_file
from sourcier.services.ingest.parsing.scans.recognised import RecognisedPage
from sourcier.services.ingest.parsing.zygote import ARTEFACT
from sourcier.services.ingest.recognising.zygote import FOLDER, PAGES, THREADS
from sourcier.services.ingest.stages.sandbox import ParserPool

PAGES_OF_CHILD = 4
"""A process loads the models once for so many pages; more would be lost with it."""
OUTSIDE_ATTEMPTS = 3
"""How often a page is tried whose process was ended from outside: memory may have been short because of it."""
_PROGRAM = "sourcier.services.ingest.recognising.zygote"
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ReadPage:
    """The result of a page, as it is kept."""

    number: int
    content: bytes
    failed: bool = False


class Recognisers:
    """A pool of OCR processes."""

    def __init__(
        self, *, concurrency: int, threads: int, limits: ParsingLimits, parent_directory: Path | None = None
    ) -> None:
        """Each of `concurrency` processes has `threads`; `limits` hold for a process and its pages together."""
        self._threads = threads
        # What takes long keeps its slot: two at once would take twice the memory.
        self._pool = ParserPool(
            concurrency=concurrency, limits=limits, parent_directory=parent_directory, program=_PROGRAM, long=False,
            # Many installations never see a scan, and its libraries take 150 MB.
            started=False,
        )

    async def __aenter__(self) -> Self:
        """Prepare; the process that others are forked from starts with the first scan."""
        await self._pool.__aenter__()
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """End all of them."""
        await self._pool.__aexit__(exc_type, exc, traceback)

    def working_folder(self) -> AbstractAsyncContextManager[Path]:
        """Lend an empty folder."""
        return self._pool.working_folder()

    async def read(
        self, path: Path, *, filename: str, content_type: str, pages: Sequence[int], attempt: int
    ) -> AsyncIterator[ReadPage]:
        """Yield the result of each page; raise Unavailable where processes are ended from outside."""
        left = list(pages)
        while left:
            async with self.working_folder() as folder:
                source = self._source(path, filename, content_type) | {PAGES: left[:PAGES_OF_CHILD]}
                error = await self._tried(folder, source, attempt)
                done = 0
                while done < len(source[PAGES]) and (file := page_file(folder, left[done])).exists():
                    content = await asyncio.to_thread(file.read_bytes)
                    failed = bool(RecognisedPage.from_bytes(content).error)
                    yield ReadPage(left[done], content, failed)
                    done += 1
            if error is not None and done == 0:
                if isinstance(error, Unavailable) and attempt < OUTSIDE_ATTEMPTS:
                    raise error
                # It was the first of its process, so it is what ended it.
                _log.warning("page %d of %r was not read: %s", left[0], filename, error)
                yield ReadPage(left[0], RecognisedPage(left[0], error=_reason(error)).to_bytes(), failed=True)
                done = 1
            left = left[done:]

    async def assemble(self, path: Path, recognised: Path, *, filename: str, content_type: str) -> bytes:
        """Return the artefact of a document of which all pages were read."""
        async with self.working_folder() as folder:
            source = self._source(path, filename, content_type) | {FOLDER: str(recognised)}
            await self._pool.in_child(folder, source, attempt=1)
            return await asyncio.to_thread((folder / ARTEFACT).read_bytes)

    async def _tried(self, folder: Path, source: dict[str, Any], attempt: int) -> DocumentRejected | Unavailable | None:
        try:
            await self._pool.in_child(folder, source, attempt=attempt)
        except (DocumentRejected, Unavailable) as error:
            return error
        return None

    def _source(self, path: Path, filename: str, content_type: str) -> dict[str, Any]:
        return {"path": str(path), "filename": filename, "content_type": content_type, THREADS: self._threads}


def _reason(error: DocumentRejected | Unavailable) -> str:
    return "it takes more time or memory than is allowed, or its picture is damaged" if isinstance(
        error, DocumentRejected
    ) else "its process was ended from outside again and again"
