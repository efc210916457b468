"""An answer of the gateway, read for a client that cannot resume it: to its end across broken connections, or stopped.

The reading itself is the SDK's; what is not the SDK's is whose rights it has.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing, asynccontextmanager, suppress
from dataclasses import dataclass

from google.rpc import code_pb2

from sourcier import errors
from sourcier.connection.resuming import read_through
from sourcier.gateway.v1 import answer_pb2
from sourcier.services.chassis.errors import ServiceError, Unavailable
from sourcier.services.chassis.grpc.channels import from_reason
from sourcier.services.web.callers import Caller
from sourcier.services.web.contract import Method, named
from sourcier.services.web.gateway import Gateway
from sourcier.services.web.refusals import Refusal, refusal

ASK, RESUME, CANCEL = (named("AnswerService", name) for name in ("Ask", "Resume", "Cancel"))
CANCEL_SECONDS_MAX = 2.0
ENDS = frozenset({"finished", "failed"})
Events = AsyncGenerator[answer_pb2.AskEvent, None]


class Asking:
    """Asks the gateway on behalf of one caller."""

    def __init__(self, gateway: Gateway, caller: Caller, *, seconds_max: float) -> None:
        """Keep who asks, and how long an answer may take."""
        self._gateway = gateway
        self._caller = caller
        self._seconds_max = seconds_max

    @asynccontextmanager
    async def ask(self, request: answer_pb2.AskRequest) -> AsyncGenerator[Events, None]:
        """Open an answer's events; leaving before its end stops the language model. Raises its Refusal."""
        reading = _Reading(self, request)
        events = reading.events()
        try:
            async with aclosing(events):
                yield events
        finally:
            if reading.answer_id and not reading.ended:
                # Shielded: whoever left does not wait for it.
                await asyncio.shield(self._cancel(reading.answer_id))

    def read(self, request: answer_pb2.AskRequest) -> Events:
        """Return an answer's events; leaving before its end leaves it to be resumed."""
        return _Reading(self, request).events()

    def resume(self, answer_id: str, after_sequence: int) -> Events:
        """Return the events of an answer after one, then those to come."""
        return _Reading(self, None, answer_id, after_sequence).events()

    async def _cancel(self, answer_id: str) -> None:
        with suppress(Refusal):
            await self._gateway.call(
                CANCEL, answer_pb2.CancelRequest(answer_id=answer_id), caller=self._caller, seconds=CANCEL_SECONDS_MAX
            )

    async def open(self, method: Method, request: answer_pb2.AskRequest | answer_pb2.ResumeRequest,
                   seconds: float) -> Events:
        """Yield the events of one call, with errors as the SDK's reading knows them."""
        try:
            async with self._gateway.stream(method, request, caller=self._caller, seconds=seconds) as responses:
                async for response in responses:
                    yield response.event
        except Refusal as error:
            if error.code == code_pb2.UNAVAILABLE:
                raise errors.Unavailable(error.message) from error
            raise

    @property
    def seconds_max(self) -> float:
        """How long an answer may take."""
        return self._seconds_max


@dataclass(slots=True)
class _Reading:
    """One answer on its way."""

    asking: Asking
    request: answer_pb2.AskRequest | None
    answer_id: str = ""
    after_sequence: int = 0
    ended: bool = False

    async def events(self) -> Events:
        seconds = self.asking.seconds_max
        opened = (
            self._resume(self.answer_id, self.after_sequence, seconds) if self.request is None
            else self.asking.open(ASK, self.request, seconds)
        )
        through = read_through(
            opened, self._resume, timeout_seconds=seconds, answer_id=self.answer_id, after_sequence=self.after_sequence
        )
        try:
            async with aclosing(through) as events:
                async for event in events:
                    self.answer_id = event.answer_id
                    self.ended = event.WhichOneof("event") in ENDS
                    yield event
        except errors.SourcierError as error:
            raise refusal(Unavailable(f"the answer broke off: {error.message}")) from error

    def _resume(self, answer_id: str, after_sequence: int, seconds: float) -> Events:
        request = answer_pb2.ResumeRequest(answer_id=answer_id, after_sequence=after_sequence)
        return self.asking.open(RESUME, request, seconds)


def failure(failed: answer_pb2.Failed) -> ServiceError:
    """Return why an answer could not be made."""
    return from_reason(failed.reason, failed.message)
