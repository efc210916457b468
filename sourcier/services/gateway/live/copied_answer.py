"""Reads an answer that another gateway makes, or made, from its copy; tells its end where that gateway is dead."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncGenerator

from sourcier.gateway.v1 import answer_pb2
from sourcier.services.chassis.errors import FailedPrecondition, GatewayLost, NotFound, Unavailable
from sourcier.services.chassis.ids import age_seconds
from sourcier.services.chassis.queue.journal import Entry, Followed
from sourcier.services.gateway.contract.answers import failed_event, is_terminal
from sourcier.services.gateway.live.live_answer import check_read
from sourcier.services.gateway.live.log import AnswerLog, Record

logger = logging.getLogger(__name__)

LOOK_SECONDS = 1.0
"""After so long without an event, the answer's gateway is asked whether it is there."""
LEASE_SECONDS = 5.0
"""A gateway that has not said that it is for so long has lost the answer; reconnecting to NATS takes one or two."""
GAP_SECONDS = 5.0
"""How long an event may be missing: copies of the stream on other servers are a little behind."""
BROKER_SECONDS_MAX = 30.0
"""How long a reader waits for the broker."""
KEPT_MINUTES = 15
YOUNG_SECONDS = 2.0
"""An answer that was begun so lately may not be known to the broker yet."""
CLOCKS_SECONDS = 5.0
"""How far the clocks of two gateways may be apart; an identifier from further in the future is none of ours."""


class CopiedAnswer:
    """One reading of an answer's copy."""

    def __init__(self, log: AnswerLog, *, tenant: str, answer_id: str, after_sequence: int) -> None:
        """Begin after the event that was read last."""
        self._log = log
        self._tenant = tenant
        self._answer_id = answer_id
        self._after_sequence = after_sequence
        self._next = after_sequence + 1
        """The sequence of the event to come."""
        self._place = 0
        """Up to where the stream was read."""
        self._ended = False
        self._silent_since: float | None = None
        self._unreachable_since: float | None = None
        self._gap_since: float | None = None

    async def read(self) -> AsyncGenerator[answer_pb2.AskEvent, None]:
        """Yield the events after the one named up to the terminal one.

        Raise NotFound when there is no such answer, or part of it is no longer kept; Unavailable when the broker stays
        away; FailedPrecondition when the copy has no rest; InvalidArgument for an event that an ended answer never had.
        """
        if not self._log.connected:
            raise Unavailable(
                f"the answer {self._answer_id} is not made at this gateway, and copies cannot be read: NATS cannot be "
                "reached; try again in a moment"
            )
        async with self._log.follow(tenant=self._tenant, answer_id=self._answer_id) as followed:
            async for event in self._stored():
                yield event
            if not self._place:
                await self._check_exists()
            while not self._ended:
                entry = await self._following(followed)
                events = None if entry is None else self._told(entry)
                if events is not None:
                    for event in events:
                        yield event
                    continue
                async for event in self._stored():
                    yield event

    async def _following(self, followed: Followed[Record]) -> Entry[Record] | None:
        """Return the next record, or None when it is better to look into the log."""
        entry = await followed.next(seconds=LOOK_SECONDS)
        if entry is not None:
            self._silent_since = None
            return entry
        try:
            await self._look()
            self._unreachable_since = None
        except Unavailable:
            self._endure()
        return None

    def _told(self, entry: Entry[Record]) -> list[answer_pb2.AskEvent] | None:
        """Return what is new in a record that was told; None when others are missing before it."""
        events = entry.message.events
        if events[0].sequence > self._next:
            if entry.sequence <= self._place:
                # The broker lost what it had, and counts anew.
                self._place = 0
            return None
        if events[-1].sequence < self._next and not is_terminal(events[-1]):
            # It was in the log before it was told.
            return []
        return self._new(entry)

    async def _stored(self) -> AsyncGenerator[answer_pb2.AskEvent, None]:
        """Yield what the log holds beyond what was read."""
        try:
            async for entry in self._log.read(tenant=self._tenant, answer_id=self._answer_id, after=self._place):
                if entry.message.events[0].sequence > self._next:
                    self._check_gap()
                    return
                self._gap_since = None
                for event in self._new(entry):
                    yield event
        except Unavailable:
            self._endure()

    def _new(self, entry: Entry[Record]) -> list[answer_pb2.AskEvent]:
        """Take a record; return the events of it that were not read yet."""
        events = [event for event in entry.message.events if event.sequence >= self._next]
        self._place = entry.sequence
        if events:
            self._next = events[-1].sequence + 1
        last = entry.message.events[-1]
        if is_terminal(last):
            self._ended = True
            check_read(self._after_sequence, last_sequence=last.sequence)
        return events

    async def _check_exists(self) -> None:
        """Refuse to wait for an answer that nobody makes."""
        asked_at = time.monotonic()
        while await self._is_nobodys():
            # It may have been stored to its end between the two looks.
            if await self._log.last(tenant=self._tenant, answer_id=self._answer_id) is not None:
                return
            young = -CLOCKS_SECONDS <= age_seconds(self._answer_id) <= YOUNG_SECONDS
            # By our own clock, too: the identifier's time is whatever the caller wrote.
            if not young or time.monotonic() - asked_at > YOUNG_SECONDS:
                raise not_found(self._answer_id)
            # Its gateway told its reader first, and the broker a moment later.
            await asyncio.sleep(YOUNG_SECONDS / 10)

    async def _is_nobodys(self) -> bool:
        """Return whether no gateway listens to inquiries about the answer."""
        try:
            return await self._log.inquire(tenant=self._tenant, answer_id=self._answer_id) is None
        except Unavailable:
            if not self._log.connected:
                raise
            # One listens and is too busy to say so: reading on finds out whether it is alive.
            return False

    async def _look(self) -> None:
        """Ask the answer's gateway whether it is there, and end the answer when it has not been for too long."""
        try:
            state = await self._log.inquire(tenant=self._tenant, answer_id=self._answer_id)
        except Unavailable:
            if not self._log.connected:
                self._silent_since = None
                raise
            state = None
        last = await self._log.last(tenant=self._tenant, answer_id=self._answer_id)
        if last is None or last.sequence < self._place:
            self._place = 0
        if last is not None and last.sequence > self._place:
            self._silent_since = None
        elif state is not None:
            self._silent_since = None
            if state.uncopied_reason:
                raise FailedPrecondition(
                    f"the rest of the answer {self._answer_id} can be read at its own gateway alone: "
                    f"{state.uncopied_reason}; ask again", field="answer_id",
                )
        elif self._silent_since is None:
            self._silent_since = time.monotonic()
        elif time.monotonic() - self._silent_since >= LEASE_SECONDS:
            await self._tell_the_end(last)

    async def _tell_the_end(self, last: Entry[Record] | None) -> None:
        """Write the terminal event in the place of a dead gateway; of several that try, the broker takes one."""
        sequence = self._next if last is None else max(last.message.events[-1].sequence + 1, self._next)
        end = failed_event(
            self._answer_id, sequence, reason=GatewayLost.reason,
            message="the gateway that made the answer was lost before the answer was whole; ask again",
        )
        told = await self._log.append(
            Record(owner=self._log.owner, events=[end]), tenant=self._tenant, answer_id=self._answer_id,
            after=0 if last is None else last.sequence,
        )
        if told is not None:
            logger.warning("an answer lost its gateway", extra={"answer_id": self._answer_id})
        self._silent_since = None

    def _check_gap(self) -> None:
        now = time.monotonic()
        self._gap_since = self._gap_since or now
        if now - self._gap_since >= GAP_SECONDS:
            raise NotFound(
                f"event {self._next} of the answer {self._answer_id} is no longer kept; ask again", field="answer_id"
            )

    def _endure(self) -> None:
        """Bear that the broker is away, for a time."""
        now = time.monotonic()
        self._unreachable_since = self._unreachable_since or now
        if now - self._unreachable_since >= BROKER_SECONDS_MAX:
            raise Unavailable(
                f"the copies of answers cannot be read: NATS is away; resume {self._answer_id} after event "
                f"{self._next - 1} in a moment"
            )


def not_found(answer_id: str) -> NotFound:
    """Return the error for an answer that nobody knows."""
    return NotFound(
        f"there is no answer {answer_id}: it never was, or it is older than {KEPT_MINUTES} minutes; ask again",
        field="answer_id",
    )
