"""The answers in the making: owned by this process, so that they outlive the calls that read them, and bounded."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from types import TracebackType
from typing import Self

from prometheus_client import Counter, Gauge

from sourcier.gateway.v1 import answer_pb2
from sourcier.services.chassis.errors import ResourceExhausted, ServiceError, Unavailable
from sourcier.services.chassis.ids import new_id
from sourcier.services.chassis.queue.room import Room
from sourcier.services.gateway.contract.answers import is_terminal
from sourcier.services.gateway.dialogue.dialogue import STORE_SECONDS_MAX
from sourcier.services.gateway.events import Event, Outcome
from sourcier.services.gateway.live.copied_answer import CopiedAnswer, not_found
from sourcier.services.gateway.live.copying import BEAT_SECONDS, AnswerCopy, pause_among
from sourcier.services.gateway.live.live_answer import LiveAnswer, owner_of_call
from sourcier.services.gateway.live.log import AnswerLog
from sourcier.services.gateway.ticker import Beats

logger = logging.getLogger(__name__)

Make = Callable[[str], AsyncGenerator[Event, None]]
"""Makes an answer under an id."""

LOOK_SECONDS = 1.0
"""How often the readers of an answer are looked for."""
CANCEL_AGAIN_SECONDS = STORE_SECONDS_MAX + LOOK_SECONDS
"""After so long an answer that was stopped is stopped again: what it said is written down first."""
LINGER_SECONDS_MIN = 1.0
CLOSING_SHARE = 0.2
"""The part of the grace that is kept for telling the end of what is not whole by then."""
CLOSING_SECONDS_MAX = 2.0

_in_hand = Gauge("sourcier_answers_in_hand", "Answers being made or copied by this gateway.")
_stopped_total = Counter("sourcier_answers_stopped_total", "Answers that ended before they were whole.", ["why"])
_resumed_total = Counter("sourcier_answers_resumed_total", "Readings of answers that were resumed, by source.",
                         ["source"])


class Answers:
    """All answers of this process, and the way to those of others; use it as an async context manager."""

    name = "answers"

    def __init__(
        self, log: AnswerLog | None, *, linger_seconds: float, answers_max: int, grace_seconds: float
    ) -> None:
        """Without a log, answers can be resumed here alone."""
        self._log = log
        self._linger_seconds = max(linger_seconds, LINGER_SECONDS_MIN)
        self._answers_max = answers_max
        self._grace_seconds = grace_seconds
        self._closing = asyncio.Event()
        self._emptied = asyncio.Event()
        self._live: dict[tuple[str, str], LiveAnswer] = {}
        self._group = asyncio.TaskGroup()
        self._beats = Beats(seconds=BEAT_SECONDS)

    async def __aenter__(self) -> Self:
        await self._group.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop_all()
        # The group would wrap an error of the block, which is none of its tasks'.
        await self._group.__aexit__(*((kind, error, trace) if kind is asyncio.CancelledError else (None, None, None)))

    @property
    def broker_room(self) -> Callable[[], Awaitable[Room]] | None:
        """What tells how full the broker is; None where none is known."""
        return None if self._log is None else self._log.room

    def start(self, make: Make, *, tenant: str) -> LiveAnswer:
        """Begin to make an answer; raise ResourceExhausted when as many as allowed are made and read."""
        self._make_room()
        answer = LiveAnswer(tenant=tenant, answer_id=new_id())
        self._live[tenant, answer.answer_id] = answer
        _in_hand.set(len(self._live))
        self._group.create_task(self._keep(answer, make), name=f"answer {answer.answer_id}")
        return answer

    async def resume(
        self, *, tenant: str, answer_id: str, after_sequence: int
    ) -> AsyncGenerator[answer_pb2.AskEvent, None]:
        """Yield the events of an answer after one, here or anywhere made; errors as in `CopiedAnswer.read`."""
        answer = self._own(tenant, answer_id)
        if answer is not None:
            _resumed_total.labels("memory").inc()
            events = answer.read(after_sequence=after_sequence)
        elif self._log is not None:
            _resumed_total.labels("log").inc()
            events = CopiedAnswer(
                self._log, tenant=tenant, answer_id=answer_id, after_sequence=after_sequence
            ).read()
        else:
            raise not_found(answer_id)
        async with aclosing(events):
            async for event in events:
                yield event

    async def cancel(self, *, tenant: str, answer_id: str) -> bool:
        """Stop an answer wherever it is made; return whether it had not ended before."""
        answer = self._own(tenant, answer_id)
        if answer is not None:
            return self._stop(answer, Outcome.CANCELLED)
        if self._log is None:
            raise not_found(answer_id)
        try:
            state = await self._log.inquire(tenant=tenant, answer_id=answer_id, cancel=True)
        except Unavailable:
            # It may have ended while the inquiry was on its way: whoever made it then no longer listens.
            last = await self._log.last(tenant=tenant, answer_id=answer_id)
            if last is None or not is_terminal(last.message.events[-1]):
                raise
            return False
        if state is not None:
            return state.cancelled
        last = await self._log.last(tenant=tenant, answer_id=answer_id)
        if last is None:
            raise not_found(answer_id)
        if not is_terminal(last.message.events[-1]):
            # Its gateway is dead: reading to the end is what ends it.
            async with aclosing(self.resume(tenant=tenant, answer_id=answer_id, after_sequence=0)) as events:
                async for _ in events:
                    pass
        return False

    def _own(self, tenant: str, answer_id: str) -> LiveAnswer | None:
        """Return an answer that is made here, if it is the caller's; another's is not there, as in the log."""
        answer = self._live.get((tenant, answer_id))
        return answer if answer is not None and answer.owner == owner_of_call() else None

    async def run(self, stopping: asyncio.Event) -> None:
        """Wait for the end of the process; let answers become whole within the grace, and tell the end of the rest."""
        await stopping.wait()
        closing_seconds = min(self._grace_seconds * CLOSING_SHARE, CLOSING_SECONDS_MAX)
        await self._wait_until_empty(self._grace_seconds - closing_seconds)
        self._stop_all()
        await self._wait_until_empty(closing_seconds)

    async def _wait_until_empty(self, seconds: float) -> None:
        ends_at = time.monotonic() + seconds
        while self._live and (left := ends_at - time.monotonic()) > 0:
            self._emptied.clear()
            try:
                async with asyncio.timeout(left):
                    await self._emptied.wait()
            except TimeoutError:
                return

    def _stop_all(self) -> None:
        for answer in self._live.values():
            if answer.stop_with(Unavailable("the gateway was stopped before the answer was whole; ask again")):
                _stopped_total.labels("shutdown").inc()
        self._closing.set()

    def _stop(self, answer: LiveAnswer, outcome: Outcome) -> bool:
        stopped = answer.stop(outcome)
        if stopped:
            _stopped_total.labels(outcome.value).inc()
        return stopped

    def _make_room(self) -> None:
        """Give up the answer that has not been read for longest, rather than refuse a question."""
        made = [answer for answer in self._live.values() if not answer.turned.is_set()]
        if len(made) < self._answers_max:
            return
        unread = [answer for answer in made if not answer.readers and not answer.read_elsewhere]
        if not unread:
            raise ResourceExhausted(
                f"{len(made)} answers are being made, as many as SOURCIER_GATEWAY_ANSWERS_MAX allows; "
                "ask again in a moment"
            )
        self._stop(min(unread, key=lambda answer: answer.unread_since), Outcome.ABANDONED)

    def _crowded(self) -> bool:
        """Return whether answers that have ended wait for the broker in too great a number."""
        return len(self._live) > 2 * self._answers_max

    async def _keep(self, answer: LiveAnswer, make: Make) -> None:
        """Make an answer, copy it, look after its readers, and see to its end."""
        copy: AnswerCopy | None = None
        try:
            async with asyncio.TaskGroup() as group:
                making = group.create_task(_make(answer, make), name=f"making {answer.answer_id}")
                if self._log is not None:
                    copy = AnswerCopy(
                        self._log, answer, closing=self._closing, crowded=self._crowded,
                        pause=lambda: pause_among(len(self._live)), beats=self._beats,
                    )
                    group.create_task(_copy(copy, answer), name=f"copying {answer.answer_id}")
                while not answer.turned.is_set():
                    await self._look_after(answer)
                # Asked again: a library below that swallows a cancellation would keep the answer in hand for ever.
                while not making.done():
                    making.cancel()
                    await asyncio.wait((making,), timeout=CANCEL_AGAIN_SECONDS)
                answer.close()
                if copy is not None:
                    copy.hurry()
        finally:
            del self._live[answer.tenant, answer.answer_id]
            _in_hand.set(len(self._live))
            self._emptied.set()

    async def _look_after(self, answer: LiveAnswer) -> None:
        """Wait a little; ask for the end of an answer that nobody has read for too long."""
        left = LOOK_SECONDS
        if not answer.readers:
            left = self._linger_seconds - (time.monotonic() - answer.unread_since)
        await answer.wait_turned(seconds=min(max(left, 0.0), LOOK_SECONDS))
        if answer.turned.is_set() or answer.readers:
            return
        answer.read_elsewhere = self._log is not None and await self._log.is_read(
            tenant=answer.tenant, answer_id=answer.answer_id
        )
        if answer.read_elsewhere:
            answer.unread_since = time.monotonic()
        elif not answer.readers and time.monotonic() - answer.unread_since >= self._linger_seconds:
            logger.info("nobody reads the answer any more", extra={"answer_id": answer.answer_id})
            self._stop(answer, Outcome.ABANDONED)


async def _make(answer: LiveAnswer, make: Make) -> None:
    try:
        async with aclosing(make(answer.answer_id)) as events:
            async for event in events:
                answer.append(event)
        if not answer.ended:
            raise ServiceError("the answer ended without saying how")
    except Exception as error:  # outermost of the answer: it ends with exactly one terminal event, bug or not
        if not isinstance(error, ServiceError):
            logger.exception("an answer failed", extra={"answer_id": answer.answer_id})
        answer.fail(error if isinstance(error, ServiceError) else ServiceError())


async def _copy(copy: AnswerCopy, answer: LiveAnswer) -> None:
    try:
        await copy.run()
    except Exception:  # outermost of the copy: the answer itself goes on
        logger.exception("the copy of an answer failed", extra={"answer_id": answer.answer_id})
        answer.uncopied_reason = "an internal error occurred"
