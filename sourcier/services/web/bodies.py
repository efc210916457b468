"""Bodies in and answers out over ASGI: read within bounds, ended when the client is gone."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Coroutine
from typing import Any, TypeVar

from starlette.requests import ClientDisconnect, Request
from starlette.types import Receive, Send

from sourcier.services.chassis.errors import DeadlineExceeded, InvalidArgument, TooLarge

R = TypeVar("R")

JSON_HERE_BYTES_MAX = 64 * 1024
"""Larger bodies are read in a thread: the event loop serves everybody."""


class ClientGone(Exception):
    """The client closed the connection."""


async def read_body(request: Request, *, bytes_max: int, seconds_max: float) -> bytes:
    """Return a body; raise TooLarge or DeadlineExceeded at the bounds, ClientGone where it breaks off."""
    chunks, size = [], 0
    declared = request.headers.get("content-length", "")
    if declared.isdecimal() and int(declared) > bytes_max:
        raise _too_large(bytes_max)
    try:
        async with asyncio.timeout(seconds_max):
            async for chunk in request.stream():
                size += len(chunk)
                if size > bytes_max:
                    raise _too_large(bytes_max)
                chunks.append(chunk)
    except TimeoutError as error:
        raise DeadlineExceeded(f"the body did not arrive within {seconds_max:g} s") from error
    except ClientDisconnect as error:
        raise ClientGone from error
    return b"".join(chunks)


def _too_large(bytes_max: int) -> TooLarge:
    return TooLarge(f"the body is over {bytes_max:,} bytes; send less, or raise SOURCIER_WEB_BODY_BYTES_MAX",
                    field="body")


async def read_object(request: Request, *, bytes_max: int, seconds_max: float) -> dict[str, Any]:
    """Return a body that is a JSON object."""
    body = await read_body(request, bytes_max=bytes_max, seconds_max=seconds_max)
    try:
        here = len(body) <= JSON_HERE_BYTES_MAX
        found = parsed(body.decode()) if here else await asyncio.to_thread(lambda: parsed(body.decode()))
    except (ValueError, RecursionError) as error:
        raise InvalidArgument(f"the body is not JSON: {str(error)[:200]}", field="body") from error
    if not isinstance(found, dict):
        raise InvalidArgument(f"the body is a JSON {type(found).__name__}; send an object", field="body")
    return found


def parsed(text: str) -> Any:
    """Return what JSON says; raise ValueError for halves of characters, too, which no message of the contract holds."""
    found = json.loads(text)
    if "\\ud" in text.lower():
        json.dumps(found, ensure_ascii=False).encode()
    return found


async def while_connected(receive: Receive, work: Coroutine[Any, Any, R]) -> R:
    """Return what the work comes to; cancel it, and raise ClientGone, once the client closes the connection.

    The request's body has to be read before: what comes next then is the news of the end.
    """
    working = asyncio.ensure_future(work)
    leaving = asyncio.ensure_future(_closed(receive))
    try:
        await asyncio.wait((working, leaving), return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise ClientGone
        return working.result()
    finally:
        leaving.cancel()
        if not working.done():
            working.cancel()
            await asyncio.wait((working,))


async def _closed(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def send_whole(send: Send, *, status: int, headers: dict[str, str], body: bytes) -> None:
    """Send a response in one piece."""
    headers = {**headers, "content-length": str(len(body))}
    await _send_start(send, status=status, headers=headers)
    await send({"type": "http.response.body", "body": body})


async def _send_start(send: Send, *, status: int, headers: dict[str, str]) -> None:
    """Begin a response."""
    encoded = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": status, "headers": encoded})


class Stream:
    """A response in pieces, which begins with the first of them: until then it can be another one."""

    def __init__(self, send: Send, *, content_type: str) -> None:
        """Keep where it goes, and what it is."""
        self._send = send
        self._content_type = content_type
        self.begun = False

    async def begin(self) -> None:
        """Send its head, unless that was done."""
        if not self.begun:
            self.begun = True
            await _send_start(self._send, status=200, headers={"content-type": self._content_type})

    async def piece(self, body: bytes) -> None:
        """Send the next piece."""
        await self.begin()
        await self._send({"type": "http.response.body", "body": body, "more_body": True})

    async def end(self) -> None:
        """End it, without any piece where none came."""
        await self.begin()
        await self._send({"type": "http.response.body", "body": b""})
