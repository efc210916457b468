"""Copies a live answer beside its readers to where every gateway can read it; readers never wait for the copy.

Each record is stored behind the one before it or not at all, so that a log has one author: whoever ended the answer
while its gateway was away has fenced that off. A log that the broker lost is written again from memory.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from contextlib import AsyncExitStack, suppress

from sourcier.events.v1 import events_pb2
from sourcier.gateway.v1 import answer_pb2
from sourcier.services.chassis import telemetry
from sourcier.services.chassis.errors import ServiceError, TooLarge, Unavailable
from sourcier.services.chassis.grpc.channels import from_reason
from sourcier.services.gateway.contract.answers import is_terminal
from sourcier.services.gateway.events import Degradation, Outcome
from sourcier.services.gateway.live.live_answer import LiveAnswer
from sourcier.services.gateway.live.log import AnswerLog
from sourcier.services.gateway.ticker import Beats

logger = logging.getLogger(__name__)

COALESCE_SECONDS, COALESCE_SECONDS_MAX = 0.1, 1.0
"""The least time between two records of an answer: fifty tokens a second make ten records, not fifty. With many
answers it grows, up to the second of these."""
BEAT_SECONDS = 0.04
"""Records of different answers are written together at multiples of this, the first and the last of each included: the
broker and the connection to it are woken once for all of them."""
RECORDS_PER_SECOND_MAX = 250
"""Of all answers of a process, about: each record costs gateway and broker 0.3 ms of CPU, acknowledgement included."""
RECORD_BYTES_MAX = 256 * 1024
RECORD_EVENTS_MAX = 1_000
RETRY_SECONDS = 0.5
CHECK_SECONDS = 2.0
"""After so long without an event the log is looked at."""
AFTERWARDS_SECONDS_MAX = 30.0
"""How long the copy of an answer that has ended may still take, while the broker is away."""


def pause_among(answers: int) -> float:
    """Return the least seconds between two records of one of so many answers."""
    return min(max(answers / RECORDS_PER_SECOND_MAX, COALESCE_SECONDS), COALESCE_SECONDS_MAX)


class AnswerCopy:
    """The copy of one answer."""

    def __init__(
        self, log: AnswerLog, answer: LiveAnswer, *, closing: asyncio.Event, crowded: Callable[[], bool],
        pause: Callable[[], float] = lambda: COALESCE_SECONDS, beats: Beats,
    ) -> None:
        """`closing` is set when there is no time left to wait for the broker, `crowded` tells when there is no room,
        `pause` how many seconds lie between two records at least; they are written at the `beats`."""
        self._log = log
        self._answer = answer
        self._beats = beats
        self._resting: asyncio.Future[None] | None = None
        self._closing = closing
        self._crowded = crowded
        self._pause = pause
        self._copied = 0
        """How many events are stored."""
        self._place = 0
        """Where the last of them lies in the stream."""
        self._give_up_at: float | None = None
        self._degraded = False
        self._finished = False

    async def run(self) -> None:
        """Copy event after event until the terminal one is stored, or the copy has no more sense."""
        async with AsyncExitStack() as opened:
            replying = False
            while not self._finished:
                waiting = await self._events_wait()
                try:
                    if not replying:
                        # Before the first record: a log whose gateway does not reply is taken for that of a dead one.
                        await opened.enter_async_context(self._log.replying(
                            self._reply, tenant=self._answer.tenant, answer_id=self._answer.answer_id
                        ))
                        replying = True
                        await self._beats.after(0)
                    await (self._send() if waiting else self._check_author())
                except TooLarge as error:
                    self._answer.uncopied_reason = error.message
                    self._degrade("TOO_LARGE", error.message)
                    # Whoever waits for the rest elsewhere has to be told.
                    await self._answer.turned.wait()
                    return
                except ServiceError as error:
                    self._degrade("BROKER_UNAVAILABLE", error.message)
                    if not await self._wait_for_broker():
                        logger.warning("the copy of an answer has no end", extra={"answer_id": self._answer.answer_id})
                        return
                else:
                    await self._rest()

    def hurry(self) -> None:
        """Write what there is at the next beat: nothing more will come."""
        if self._resting is not None and not self._resting.done():
            self._resting.set_result(None)

    async def _rest(self) -> None:
        if not self._answer.turned.is_set():
            self._resting = self._beats.after(self._pause())
            await self._resting
        if self._answer.turned.is_set() and not self._finished:
            await self._beats.after(0)

    async def _events_wait(self) -> bool:
        """Wait for events to copy; return whether there are any after so long."""
        if len(self._answer.events) <= self._copied:
            with suppress(TimeoutError):
                async with asyncio.timeout(CHECK_SECONDS):
                    await self._answer.wait_beyond(self._copied)
        return len(self._answer.events) > self._copied

    async def _check_author(self) -> None:
        """Look whether the log still is what this copy made of it; a model that is silent has nothing to append."""
        if not self._copied:
            return
        last = await self._log.last(tenant=self._answer.tenant, answer_id=self._answer.answer_id)
        if last is None or last.sequence != self._place:
            await self._find_end()

    async def _send(self) -> None:
        batch = self._batch()
        place = await self._log.append(
            events_pb2.AnswerRecord(owner=self._log.owner, events=batch), tenant=self._answer.tenant,
            answer_id=self._answer.answer_id, after=self._place,
        )
        if place is None:
            await self._find_end()
            return
        self._place = place
        self._copied += len(batch)
        self._finished = is_terminal(batch[-1])

    def _batch(self) -> list[answer_pb2.AskEvent]:
        """Return the events for the next record: at least one, and no more than fit."""
        waiting = self._answer.events[self._copied : self._copied + RECORD_EVENTS_MAX]
        size, count = 0, 0
        for event in waiting:
            size += event.ByteSize()
            if count and size > RECORD_BYTES_MAX:
                break
            count += 1
        return waiting[:count]

    async def _find_end(self) -> None:
        """Find out why the log does not end where this copy left it."""
        last = await self._log.last(tenant=self._answer.tenant, answer_id=self._answer.answer_id)
        if last is not None and last.message.owner != self._log.owner:
            self._give_way(last.message.events[-1])
            return
        place, copied = (0, 0) if last is None else (last.sequence, last.message.events[-1].sequence)
        if (place, copied) == (self._place, self._copied) != (0, 0):
            raise Unavailable("JetStream refuses a record and does not say why")
        # Either the record before was stored and its acknowledgement lost, or the broker lost the log.
        self._place, self._copied = place, copied
        self._finished = last is not None and is_terminal(last.message.events[-1])

    def _give_way(self, end: answer_pb2.AskEvent) -> None:
        # One answer has one end, and another gateway has told it to its readers.
        logger.warning("another gateway ended the answer", extra={"answer_id": self._answer.answer_id})
        self._answer.stop_with(from_reason(end.failed.reason, end.failed.message))
        self._finished = True

    def _degrade(self, reason: str, message: str) -> None:
        if self._degraded:
            return
        self._degraded = True
        telemetry.degradations_total.labels("resume", reason).inc()
        logger.warning("the answer cannot be resumed at other gateways: %s", message,
                       extra={"answer_id": self._answer.answer_id})
        self._answer.append(Degradation(
            "resume", f"{message}; until that is over, a broken connection can be resumed at the same gateway alone"
        ))

    async def _wait_for_broker(self) -> bool:
        """Wait a little; return whether another try has sense."""
        with suppress(TimeoutError):
            async with asyncio.timeout(RETRY_SECONDS):
                await self._closing.wait()
        if self._answer.ended and self._give_up_at is None:
            self._give_up_at = time.monotonic() + AFTERWARDS_SECONDS_MAX
        late = self._give_up_at is not None and (time.monotonic() > self._give_up_at or self._crowded())
        return not (late or self._closing.is_set())

    def _reply(self, inquiry: events_pb2.AnswerInquiry) -> events_pb2.AnswerState:
        stopped = inquiry.cancel and self._answer.stop(Outcome.CANCELLED)
        return events_pb2.AnswerState(cancelled=stopped, uncopied_reason=self._answer.uncopied_reason)
