"""A log for each subject of a stream: appended to under a fence, read by direct get, followed as it grows.

No consumer is made: a stream refuses more than 1,000, and a reader stays for seconds. Whoever follows listens first and
reads afterwards, so that nothing falls between the two.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Generic, TypeVar

import nats.js.errors
from nats.aio.msg import Msg
from nats.js.api import Header

from sourcier.services.chassis.errors import TooLarge, Unavailable
from sourcier.services.chassis.queue import subjects
from sourcier.services.chassis.queue.appends import Appends
from sourcier.services.chassis.queue.broker_errors import BROKER_ERRORS, quietly
from sourcier.services.chassis.queue.jetstream import JetStream
from sourcier.services.chassis.queue.subjects import Payload, Subject

M = TypeVar("M", bound=Payload)

APPEND_SECONDS = 2.0
READ_SECONDS = 5.0
READ_MESSAGES = 64
"""Messages asked for at once."""
FOLLOWED_MESSAGES_MAX = 64
"""What a slow follower leaves unread; beyond it messages are dropped, and read again from the log."""

_WRONG_LAST_SEQUENCE = 10071
"""JetStream's code for a message that expected another one before it."""
_SEQUENCE = "Nats-Sequence"


@dataclass(frozen=True, slots=True)
class Entry(Generic[M]):
    """A message of a log and its place in the stream, which grows along each subject."""

    sequence: int
    message: M


class Followed(Generic[M]):
    """What is stored under one subject from now on."""

    def __init__(self, message: type[M]) -> None:
        self._message = message
        self._entries: asyncio.Queue[Entry[M]] = asyncio.Queue(FOLLOWED_MESSAGES_MAX)

    async def heard(self, message: Msg) -> None:
        """Keep what was stored; say that there is a reader to who asks."""
        if message.reply:
            await message.respond(b"")
        elif not self._entries.full():
            place = int((message.headers or {}).get(_SEQUENCE, "0"))
            self._entries.put_nowait(Entry(place, self._message.FromString(message.data)))

    async def next(self, *, seconds: float) -> Entry[M] | None:
        """Return the next entry; None when there was none for so long."""
        try:
            async with asyncio.timeout(seconds):
                return await self._entries.get()
        except TimeoutError:
            return None


class Journal(Generic[M]):
    """The logs of one subject's stream, one for each tenant and suffix."""

    def __init__(self, jetstream: JetStream, subject: Subject[M], live: Subject[M]) -> None:
        """Take the subject that is stored and the one that the broker tells each stored message on."""
        assert subject.stream is not None
        assert subject.stream.told_on == live.name
        self._jetstream = jetstream
        self._subject = subject
        self._live = live
        self._stream = subjects.stream_name(jetstream.prefix, subject.stream)
        self._appends = Appends(jetstream.client)

    async def append(self, message: M, *, tenant: str, suffix: str, after: int) -> int | None:
        """Store a message behind the one at `after` (0: as the first) and return its place.

        None when the log does not end there: somebody else wrote, or the broker lost what it had. Raise Unavailable
        when it is not known whether the message was stored, TooLarge when it never can be.
        """
        payload = message.SerializeToString()
        address = self._subject.address(self._jetstream.prefix, tenant=tenant, suffix=suffix)
        if len(payload) > subjects.BODY_BYTES_MAX:
            raise TooLarge(f"a message of {len(payload)} bytes for {address} is over {subjects.BODY_BYTES_MAX}")
        self._check_connected()
        try:
            answer = await self._appends.send(
                address, payload, headers={Header.EXPECTED_LAST_SUBJECT_SEQUENCE: str(after)}, seconds=APPEND_SECONDS
            )
        except BROKER_ERRORS as error:
            raise Unavailable(f"JetStream did not take a message: {error or type(error).__name__}") from error
        if answer is None:
            # Kept in memory, the stream went with the server.
            await self._jetstream.ensure_streams()
            return None
        return _stored_at(answer)

    async def last(self, *, tenant: str, suffix: str) -> Entry[M] | None:
        """Return the last entry of a log as the stream's leader knows it; None where there is none."""
        address = self._subject.address(self._jetstream.prefix, tenant=tenant, suffix=suffix)
        self._check_connected()
        try:
            found = await self._jetstream.context.get_msg(self._stream, subject=address)
        except nats.js.errors.NotFoundError:
            return None
        except BROKER_ERRORS as error:
            raise Unavailable(f"JetStream did not read a message: {error or type(error).__name__}") from error
        return Entry(found.seq or 0, self._subject.message.FromString(found.data or b""))

    async def read(self, *, tenant: str, suffix: str, after: int = 0) -> AsyncGenerator[Entry[M], None]:
        """Yield what is stored behind a place, in order; on a cluster the newest may still be missing."""
        address = self._subject.address(self._jetstream.prefix, tenant=tenant, suffix=suffix)
        while True:
            self._check_connected()
            batch = await self._batch(address, after)
            for message in batch:
                after = int((message.headers or {})[_SEQUENCE])
                yield Entry(after, self._subject.message.FromString(message.data))
            if len(batch) < READ_MESSAGES:
                return

    async def _batch(self, address: str, after: int) -> list[Msg]:
        # One round trip for many messages (NATS ADR-31); nats-py knows single gets alone.
        client = self._jetstream.client
        asked = json.dumps({"seq": after + 1, "batch": READ_MESSAGES, "next_by_subj": address})
        found: list[Msg] = []
        ended: asyncio.Future[str] = asyncio.get_running_loop().create_future()

        async def heard(message: Msg) -> None:
            status = (message.headers or {}).get(Header.STATUS)
            if status is None:
                found.append(message)
            elif not ended.done():
                ended.set_result(status)

        try:
            inbox = client.new_inbox()
            subscription = await client.subscribe(inbox, cb=heard)
            try:
                await client.publish(f"$JS.API.DIRECT.GET.{self._stream}", asked.encode(), reply=inbox)
                status = await asyncio.wait_for(ended, READ_SECONDS)
            finally:
                await quietly(subscription.unsubscribe())
        except BROKER_ERRORS as error:
            raise Unavailable(f"JetStream did not read {address}: {error or type(error).__name__}") from error
        if status not in ("204", "404", "503"):  # the end; nothing; no such stream
            raise Unavailable(f"JetStream refused to read {address}: status {status}")
        return found

    @asynccontextmanager
    async def follow(self, *, tenant: str, suffix: str) -> AsyncIterator[Followed[M]]:
        """Listen to what is stored from now on; read what was there before afterwards."""
        followed = Followed(self._live.message)
        self._check_connected()
        try:
            stop = await self._jetstream.listen(self._live, tenant=tenant, suffix=suffix, heard=followed.heard)
        except BROKER_ERRORS as error:
            raise Unavailable(f"NATS took no subscription: {error or type(error).__name__}") from error
        try:
            # Until the broker has the subscription, what is told passes by.
            await self._flush()
            yield followed
        finally:
            await quietly(stop())

    async def _flush(self) -> None:
        try:
            await self._jetstream.client.flush(timeout=int(READ_SECONDS))
        except BROKER_ERRORS as error:
            raise Unavailable(f"NATS did not take a subscription: {error or type(error).__name__}") from error

    def _check_connected(self) -> None:
        # The library would keep the message until the broker is back, and the caller waiting.
        if not self._jetstream.connected:
            raise Unavailable("the connection to NATS is lost")


def _stored_at(answer: bytes) -> int | None:
    """Return the place that JetStream acknowledges; None where the log does not end where it was expected to."""
    told = json.loads(answer)
    if (refusal := told.get("error")) is None:
        return int(told["seq"])
    if refusal.get("err_code") == _WRONG_LAST_SEQUENCE:
        return None
    raise Unavailable(f"JetStream refused a message: {refusal.get('description') or refusal}")
