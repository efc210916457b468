"""A small HTTP server that speaks Chat Completions as its test tells it to."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

Reply = Callable[["Exchange"], Awaitable[None]]


@dataclass
class Exchange:
    """One request and the way to answer it."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]
    writer: asyncio.StreamWriter

    async def begin(self, status: str = "200 OK", kind: str = "text/event-stream", **headers: str) -> None:
        """Send the head of the answer."""
        lines = [f"HTTP/1.1 {status}", f"content-type: {kind}", "connection: close"]
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        await self.send("\r\n".join(lines) + "\r\n\r\n")

    async def send(self, text: str) -> None:
        """Send a part of the body."""
        self.writer.write(text.encode())
        await self.writer.drain()

    async def say(self, text: str | None = None, *, reason: str | None = None) -> None:
        """Send one chunk of a completion."""
        chunk = {"choices": [{"index": 0, "delta": {"content": text} if text else {}, "finish_reason": reason}]}
        await self.send(f"data: {json.dumps(chunk)}\n\n")

    async def finish(self) -> None:
        """Send the end of a completion that stopped by itself, with its usage."""
        await self.say(reason="stop")
        usage = {"prompt_tokens": 7, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 4}}
        await self.send(f"data: {json.dumps({'choices': [], 'usage': usage})}\n\ndata: [DONE]\n\n")


@dataclass
class HttpEndpoint:
    """What the server saw."""

    url: str = ""
    exchanges: list[Exchange] = field(default_factory=list)
    closed_early: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when a client went away before its answer was whole."""


@asynccontextmanager
async def http_endpoint(reply: Reply) -> AsyncIterator[HttpEndpoint]:
    """Serve on a free port."""
    endpoint = HttpEndpoint()

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            exchange = await _read(reader, writer)
            endpoint.exchanges.append(exchange)
            answering = asyncio.ensure_future(reply(exchange))
            leaving = asyncio.ensure_future(reader.read(1))
            await asyncio.wait({answering, leaving}, return_when=asyncio.FIRST_COMPLETED)
            if not answering.done():
                endpoint.closed_early.set()
            for task in (answering, leaving):
                task.cancel()
            await asyncio.gather(answering, leaving, return_exceptions=True)
        finally:
            writer.close()

    server = await asyncio.start_server(handle, "127.0.0.1", 0)
    endpoint.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    async with server:
        yield endpoint


async def _read(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> Exchange:
    head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:] if line)}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Exchange(head[0].split(" ")[1], headers, json.loads(body), writer)
