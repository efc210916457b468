"""Messages that JetStream acknowledges, many at a time: all acknowledgements come on one inbox.

A request of the library has a random address, a task's time-out and a copy of the acknowledgement of its own; for a
record ten times a second and answer that was most of what keeping answers resumable cost.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Mapping

from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.js.api import Header

_NO_RESPONDERS = "503"


class Appends:
    """What one connection has sent to streams and what they have not acknowledged yet."""

    def __init__(self, client: Client) -> None:
        """Take a connection; the inbox is opened with the first message."""
        self._client = client
        self._inbox = ""
        self._opening = asyncio.Lock()
        self._numbers = itertools.count(1)
        self._waiting: dict[str, asyncio.Future[bytes | None]] = {}

    async def send(
        self, address: str, payload: bytes, *, headers: Mapping[str, str], seconds: float
    ) -> bytes | None:
        """Send a message and return what the stream answers; None where no stream takes the address.

        Raise TimeoutError after so many seconds without an answer, and what the library raises.
        """
        if not self._inbox:
            await self._open()
        number = str(next(self._numbers))
        answered: asyncio.Future[bytes | None] = asyncio.get_running_loop().create_future()
        self._waiting[number] = answered
        try:
            async with asyncio.timeout(seconds):
                # What is published before the loop turns goes to the socket in one piece.
                await self._client.publish(address, payload, reply=f"{self._inbox}.{number}", headers=dict(headers))
                return await answered
        finally:
            del self._waiting[number]

    async def _open(self) -> None:
        async with self._opening:
            if not self._inbox:
                inbox = self._client.new_inbox()
                # The library subscribes again after a lost connection, and ends it with the connection.
                await self._client.subscribe(f"{inbox}.*", cb=self._heard)
                self._inbox = inbox

    async def _heard(self, message: Msg) -> None:
        answered = self._waiting.get(message.subject[len(self._inbox) + 1:])
        # An answer that comes too late finds nobody.
        if answered is not None and not answered.done():
            refused = message.headers is not None and message.headers.get(Header.STATUS) == _NO_RESPONDERS
            answered.set_result(None if refused else message.data)
