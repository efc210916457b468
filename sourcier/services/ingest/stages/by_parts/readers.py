"""Reads parts of documents in processes of their own: a part that crashes or hangs its process costs itself alone."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, Self

from sourcier.services.chassis.errors import DocumentRejected, Unavailable, told_to_logs
from sourcier.services.ingest.parsing.limits import ParsingLimits
from sourcier.services.ingest.parsing.parts import FOLDER, PARTS, part_file
from sourcier.services.ingest.parsing.zygote import ARTEFACT
from sourcier.services.ingest.stages.results import read_result
from sourcier.services.ingest.stages.sandbox import ParserPool

OUTSIDE_ATTEMPTS = 3
"""How often a part is tried whose process was ended from outside: memory may have been short because of it."""
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ReadPart:
    """The result of a part, as it is kept."""

    number: int
    content: bytes
    failed: bool = False


class PartResult(Protocol):
    """What is kept of a part that was read, or could not be."""

    @property
    def error(self) -> str:
        """Why it could not be read; empty otherwise."""
        ...

    def to_bytes(self) -> bytes:
        """Serialise."""
        ...

    @classmethod
    def from_bytes(cls, stored: bytes) -> Self:
        """Read what `to_bytes` wrote."""
        ...

    @classmethod
    def failed(cls, number: int, error: str) -> Self:
        """Return the result of a part that could not be read."""
        ...


class PartReaders:
    """A pool of processes that read parts."""

    result: type[PartResult]
    reason = "it takes more time or memory than is allowed, or it is damaged"
    """Why a part is not read that ended its process."""

    def __init__(
        self, *, program: str, parts_of_child: int, concurrency: int, limits: ParsingLimits,
        options: dict[str, Any], parent_directory: Path | None = None,
    ) -> None:
        """A process of `program` is told the `options` and reads `parts_of_child` parts, within the `limits`."""
        self._parts_of_child = parts_of_child
        self._options = options
        # What takes long keeps its slot: two at once would take twice the memory.
        self._pool = ParserPool(
            concurrency=concurrency, limits=limits, parent_directory=parent_directory, program=program, long=False,
            # Many installations never see such a document, and the libraries take 150 MB.
            started=False,
        )

    async def __aenter__(self) -> Self:
        """Prepare; the process that others are forked from starts with the first document."""
        await self._pool.__aenter__()
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """End all of them."""
        await self._pool.__aexit__(exc_type, exc, traceback)

    @property
    def choices(self) -> str:
        """What else is read of a document than usually: a part of the key of what was read."""
        return self._pool.limits.choices

    def working_folder(self) -> AbstractAsyncContextManager[Path]:
        """Lend an empty folder."""
        return self._pool.working_folder()

    async def read(
        self, path: Path, *, filename: str, content_type: str, parts: Sequence[int], attempt: int
    ) -> AsyncIterator[ReadPart]:
        """Yield the result of each part; raise Unavailable where processes are ended from outside."""
        left = list(parts)
        while left:
            async with self.working_folder() as folder:
                source = self._source(path, filename, content_type) | {PARTS: left[: self._parts_of_child]}
                error = await self._tried(folder, source, attempt)
                done = 0
                while done < len(source[PARTS]) and (file := part_file(folder, left[done])).exists():
                    content = await asyncio.to_thread(read_result, file)
                    failed = bool(self.result.from_bytes(content).error)
                    yield ReadPart(left[done], content, failed)
                    done += 1
            if error is not None and done == 0:
                if isinstance(error, Unavailable) and attempt < OUTSIDE_ATTEMPTS:
                    raise error
                # It was the first of its process, so it is what ended it.
                _log.warning("part %d was not read: %s", left[0], told_to_logs(error))
                yield ReadPart(left[0], self.result.failed(left[0], self._reason(error)).to_bytes(), failed=True)
                done = 1
            left = left[done:]

    async def assemble(self, path: Path, recognised: Path, *, filename: str, content_type: str) -> bytes:
        """Return the artefact of a document of which all parts were read."""
        return await self.made(path, filename=filename, content_type=content_type, told={FOLDER: str(recognised)})

    async def made(self, path: Path, *, filename: str, content_type: str, told: dict[str, Any]) -> bytes:
        """Return the one result of a process that is told something else than parts."""
        async with self.working_folder() as folder:
            source = self._source(path, filename, content_type) | told
            await self._pool.in_child(folder, source, attempt=1)
            return await asyncio.to_thread(read_result, folder / ARTEFACT)

    async def _tried(self, folder: Path, source: dict[str, Any], attempt: int) -> DocumentRejected | Unavailable | None:
        try:
            await self._pool.in_child(folder, source, attempt=attempt)
        except (DocumentRejected, Unavailable) as error:
            return error
        return None

    def _source(self, path: Path, filename: str, content_type: str) -> dict[str, Any]:
        return {"path": str(path), "filename": filename, "content_type": content_type, **self._options}

    def _reason(self, error: DocumentRejected | Unavailable) -> str:
        return self.reason if isinstance(error, DocumentRejected) else (
            "its process was ended from outside again and again"
        )
