"""What comes in pieces and is needed whole: kept in memory while it is little, and on the disk beyond.

So nothing that others wait for, such as a database connection, is held while a sender takes its time.
"""

from __future__ import annotations

import asyncio
import tempfile
import threading
from collections.abc import AsyncGenerator
from types import TracebackType
from typing import IO, Self

from sourcier.services.chassis.errors import ResourceExhausted, TooLarge

MEMORY_BYTES_MAX = 4 * 1024**2
"""Nearly every document is less, and touches no disk."""
LENGTH_BYTES = 4


class Spool:
    """Pieces in the order they came, read as often as needed; open it as an async context manager."""

    def __init__(self, *, name: str, bytes_max: int) -> None:
        """`name` is whose pieces they are, as errors tell it."""
        self._name = name
        self._bytes_max = bytes_max
        self._bytes = 0
        self._in_memory: list[bytes] = []
        self._file: IO[bytes] | None = None
        self._closed = False
        # A write that its task no longer waits for goes on in its thread, beside the closing.
        self._lock = threading.Lock()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bytes > MEMORY_BYTES_MAX:
            await asyncio.shield(asyncio.to_thread(self._close))

    async def put(self, piece: bytes) -> None:
        """Keep a piece; raise `TooLarge` over the limit, `ResourceExhausted` where the disk takes no more."""
        if self._bytes + len(piece) > self._bytes_max:
            raise TooLarge(
                f"{self._name} is over {self._bytes_max:,} bytes with its passages and vectors; "
                "raise SOURCIER_INGEST_IMPORT_DOCUMENT_BYTES_MAX", field="chunks", bytes_max=self._bytes_max,
            )
        self._bytes += len(piece)
        if self._bytes <= MEMORY_BYTES_MAX:
            self._in_memory.append(piece)
        else:
            await asyncio.to_thread(self._write, piece)

    async def pieces(self) -> AsyncGenerator[bytes, None]:
        """Yield all pieces from the first one on."""
        for piece in self._in_memory:
            yield piece
        if self._file is None:
            return
        await asyncio.to_thread(self._file.seek, 0)
        while (read := await asyncio.to_thread(self._read)) is not None:
            yield read

    def _write(self, piece: bytes) -> None:
        with self._lock:
            if self._closed:
                return
            try:
                if self._file is None:
                    # It has no name on the disk, and so goes with the process, however that ends.
                    self._file = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115 - `_close` closes it
                rest = memoryview(len(piece).to_bytes(LENGTH_BYTES) + piece)
                while rest:
                    rest = rest[self._file.write(rest):]
            except OSError as error:
                raise ResourceExhausted(
                    f"{self._name} finds no room in the temporary folder: {error.strerror}; try again later"
                ) from error

    def _read(self) -> bytes | None:
        assert self._file is not None
        length = self._file.read(LENGTH_BYTES)
        return self._file.read(int.from_bytes(length)) if length else None

    def _close(self) -> None:
        with self._lock:
            self._closed = True
            if self._file is not None:
                self._file.close()
