"""A TCP proxy between the services and the broker that can be slow, deaf or half-open."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Literal

from sourcier.services.stack.processes import ports

Mode = Literal["open", "slow", "blackhole", "half-open", "refuse"]
SLOW_SECONDS = 0.5
READ_BYTES = 64 * 1024


@dataclass
class Proxy:
    """Passes bytes on, as its mode says."""

    target_port: int
    port: int = field(default_factory=lambda: ports.free_ports(1)[0])
    mode: Mode = "open"
    """`blackhole` loses bytes both ways, `half-open` only the server's; connections stay up. `refuse` cuts them."""
    _writers: set[asyncio.StreamWriter] = field(default_factory=set)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Listen for the block."""
        server = await asyncio.start_server(self._serve, ports.HOST, self.port)
        try:
            yield
        finally:
            server.close()
            self._cut()

    def become(self, mode: Mode) -> None:
        """Behave so from now on. Lost bytes cannot be made up: leaving a deaf mode cuts what lived through it."""
        if mode == "refuse" or self.mode in ("blackhole", "half-open"):
            self._cut()
        self.mode = mode

    def _cut(self) -> None:
        for writer in list(self._writers):
            writer.transport.abort()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self.mode == "refuse":
            writer.transport.abort()
            return
        try:
            far_reader, far_writer = await asyncio.open_connection(ports.HOST, self.target_port)
        except OSError:
            writer.transport.abort()
            return
        self._writers |= {writer, far_writer}
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._pass(reader, far_writer, from_server=False), name="to the server")
                group.create_task(self._pass(far_reader, writer, from_server=True), name="from the server")
        finally:
            for each in (writer, far_writer):
                self._writers.discard(each)
                each.transport.abort()

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, from_server: bool) -> None:
        with suppress(OSError):
            while read := await reader.read(READ_BYTES):
                if self.mode == "slow":
                    await asyncio.sleep(SLOW_SECONDS)
                if self.mode == "blackhole" or (self.mode == "half-open" and from_server):
                    continue
                writer.write(read)
                await writer.drain()
        writer.transport.abort()
