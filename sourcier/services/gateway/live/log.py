"""What all gateways know of answers: the copies of their events, and who makes and reads them, on NATS.

Answers must not wait for the broker: it is connected to in the background, and whatever needs it fails with Unavailable
until then.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from sourcier.events.v1 import events_pb2
from sourcier.services.chassis.access import current_access
from sourcier.services.chassis.errors import FailedPrecondition, Unavailable
from sourcier.services.chassis.ids import new_id
from sourcier.services.chassis.queue.jetstream import JetStream
from sourcier.services.chassis.queue.journal import Entry, Followed, Journal
from sourcier.services.chassis.queue.room import Room, look
from sourcier.services.chassis.queue.subjects import ANSWER, ANSWER_LIVE, ANSWER_OWNER, QueueLimits
from sourcier.services.chassis.tls.client import ClientTls

logger = logging.getLogger(__name__)

Record = events_pb2.AnswerRecord
Reply = Callable[[events_pb2.AnswerInquiry], events_pb2.AnswerState]

CONNECT_SECONDS = 5.0
"""How long a start waits for the broker; questions are answered without it."""
CONNECT_DELAY_SECONDS, CONNECT_DELAY_SECONDS_MAX = 1.0, 30.0
OWNER_DIGITS = 32
"""Of the owner's hash in the name of a log."""
INQUIRY_SECONDS = 1.0
"""How long a gateway that is there may take to answer for an answer, or for a reader."""


class AnswerLog:
    """The logs of answers, one for each; use it as an async context manager."""

    def __init__(
        self, *, url: str, prefix: str, replicas: int = 1, limits: QueueLimits | None = None,
        credentials: Path | None = None, tls: ClientTls | None = None,
    ) -> None:
        """Keep how to connect."""
        self.owner = new_id()
        """Names this process in what it writes."""
        self._url, self._prefix, self._replicas, self._limits = url, prefix, replicas, limits
        self._credentials, self._tls = credentials, tls
        self._jetstream: JetStream | None = None
        self._journal: Journal[Record] | None = None
        self._tried = asyncio.Event()
        self._group = asyncio.TaskGroup()

    async def __aenter__(self) -> Self:
        await self._group.__aenter__()
        self._connecting = self._group.create_task(self._keep_connected(), name="answer log")
        with suppress(TimeoutError):
            async with asyncio.timeout(CONNECT_SECONDS):
                await self._tried.wait()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._connecting.cancel()
        # The group would wrap an error of the block, which is none of its tasks'.
        await self._group.__aexit__(*((kind, error, trace) if kind is asyncio.CancelledError else (None, None, None)))

    async def _keep_connected(self) -> None:
        delay_seconds = CONNECT_DELAY_SECONDS
        while True:
            try:
                async with JetStream(url=self._url, prefix=self._prefix, replicas=self._replicas, limits=self._limits,
                                     name="gateway answers", credentials=self._credentials, tls=self._tls) as jetstream:
                    self._jetstream = jetstream
                    self._journal = Journal(jetstream, ANSWER, ANSWER_LIVE)
                    self._tried.set()
                    # From here on the library reconnects for as long as it takes.
                    await asyncio.Event().wait()
            except (Unavailable, FailedPrecondition) as error:
                logger.warning("answers cannot be resumed at other gateways: %s", error.message)
            finally:
                self._tried.set()
                self._jetstream = self._journal = None
            await asyncio.sleep(delay_seconds)
            delay_seconds = min(delay_seconds * 2, CONNECT_DELAY_SECONDS_MAX)

    @property
    def connected(self) -> bool:
        """Whether the broker can be reached as far as is known."""
        return self._jetstream is not None and self._jetstream.connected

    async def room(self) -> Room:
        """Return how full the broker is; raise Unavailable where it cannot be asked."""
        if self._jetstream is None:
            raise Unavailable("NATS has not been reached yet")
        return await look(self._jetstream)

    @property
    def _copies(self) -> Journal[Record]:
        if self._journal is None:
            raise Unavailable("NATS has not been reached yet")
        return self._journal

    async def append(self, record: Record, *, tenant: str, answer_id: str, after: int) -> int | None:
        """Store a record behind the one at `after`; None when the log does not end there (see `Journal.append`)."""
        return await self._copies.append(record, tenant=tenant, suffix=_suffix(answer_id), after=after)

    async def last(self, *, tenant: str, answer_id: str) -> Entry[Record] | None:
        """Return an answer's last record."""
        return await self._copies.last(tenant=tenant, suffix=_suffix(answer_id))

    def read(self, *, tenant: str, answer_id: str, after: int) -> AsyncGenerator[Entry[Record], None]:
        """Yield an answer's records behind a place."""
        return self._copies.read(tenant=tenant, suffix=_suffix(answer_id), after=after)

    def follow(self, *, tenant: str, answer_id: str) -> AbstractAsyncContextManager[Followed[Record]]:
        """Listen to an answer's records from now on, and be found by `is_read`."""
        return self._copies.follow(tenant=tenant, suffix=_suffix(answer_id))

    async def inquire(
        self, *, tenant: str, answer_id: str, cancel: bool = False
    ) -> events_pb2.AnswerState | None:
        """Ask the gateway that makes an answer; None when there is none, Unavailable when it says nothing."""
        if self._jetstream is None:
            raise Unavailable("NATS has not been reached yet")
        reply = await self._jetstream.inquire(
            ANSWER_OWNER, events_pb2.AnswerInquiry(cancel=cancel), tenant=tenant, suffix=_suffix(answer_id),
            seconds=INQUIRY_SECONDS,
        )
        return None if reply is None else events_pb2.AnswerState.FromString(reply)

    @asynccontextmanager
    async def replying(self, reply: Reply, *, tenant: str, answer_id: str) -> AsyncIterator[None]:
        """Answer inquiries about an answer for the time of the block."""
        if self._jetstream is None:
            raise Unavailable("NATS has not been reached yet")
        async with self._jetstream.replying(ANSWER_OWNER, reply, tenant=tenant, suffix=_suffix(answer_id)):
            yield

    async def is_read(self, *, tenant: str, answer_id: str) -> bool:
        """Return whether a gateway follows an answer; without the broker none can."""
        if self._jetstream is None:
            return False
        try:
            return await self._jetstream.inquire(
                ANSWER_LIVE, Record(), tenant=tenant, suffix=_suffix(answer_id), seconds=INQUIRY_SECONDS
            ) is not None
        except Unavailable:
            return False


def _suffix(answer_id: str) -> str:
    """Return the name of the caller's log of an answer: of another's answer, nobody finds one.

    Whoever works on an answer, at whatever gateway, does it for a call of its owner, and has its access.
    """
    access = current_access()
    if access is None:
        return answer_id
    return f"{answer_id}-{hashlib.sha256(access.name.encode()).hexdigest()[:OWNER_DIGITS]}"
