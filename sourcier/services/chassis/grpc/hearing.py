"""What a caller sends, and how long it may take: a call whose caller says nothing is ended, and its place is free.

What a refused sender still sends is read and dropped, so that it sees the refusal and not a broken call.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any, Self

import grpc
import grpc.aio
from google.protobuf.message import DecodeError
from prometheus_client import Counter

from sourcier.services.chassis.errors import DeadlineExceeded, InvalidArgument
from sourcier.services.chassis.grpc.limits import ServingLimits
from sourcier.services.chassis.grpc.statuses import aborted_with
from sourcier.services.chassis.grpc.unbroken import Unbroken

LINGER_SECONDS, LINGER_IDLE_SECONDS = 30.0, 0.5
"""How long what a refused sender still sends is read and dropped, in all and while nothing comes."""

silences_total = Counter(
    "sourcier_silences_total", "Calls ended because their callers sent nothing, or too little, by limit.", ["limit"]
)


class Heard:
    """The messages of one call, as an asynchronous iterator.

    A read is never cancelled, because grpc.aio would not free it (grpc #43360). The call is aborted instead, by a
    timer, and the read then ends by itself. The timer is set once for many messages.
    """

    def __init__(
        self, requests: AsyncIterator[Any], context: grpc.aio.ServicerContext[Any, Any], *, limits: ServingLimits
    ) -> None:
        self.silence: DeadlineExceeded | None = None
        """Why the call was ended, if it was."""
        self.first: Any = None
        """The first message; None before it came."""
        self._requests = requests
        self._context = context
        self._limits = limits
        self._loop = asyncio.get_running_loop()
        self._waits_since: float | None = None
        self._waited_seconds = 0.0
        self._count = self._bytes = 0
        self._timer: asyncio.TimerHandle | None = None
        self._ending: asyncio.Task[BaseException] | None = None

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Any:
        since = self._begin_wait()
        try:
            message = await anext(self._requests)
            self.first = message if self.first is None else self.first
        except Exception as error:
            raise self._cause(error) from None
        finally:
            self._waits_since = None
        self._check_pace(message, seconds=self._loop.time() - since)
        return message

    async def only(self) -> Any:
        """Return the one message of a call that sends no more; `grpc.aio.EOF` where there is none."""
        self._begin_wait()
        try:
            message = await Unbroken(self._context.read())
            self.first = None if message is grpc.aio.EOF else message
            return message
        except Exception as error:
            raise self._cause(error) from None
        finally:
            self._waits_since = None
            self.close()

    def close(self) -> None:
        """Forget the timer."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    async def ended(self) -> BaseException:
        """Return what grpc.aio raised when the silent call was aborted, which it wants to see again."""
        assert self._ending is not None
        return await self._ending

    def _cause(self, error: Exception) -> Exception:
        if self.silence is not None:
            return self.silence
        if isinstance(error, DecodeError):
            return InvalidArgument("what was sent cannot be read: it is no message of this method")
        return error

    @property
    def _seconds(self) -> float:
        return self._limits.idle_seconds if self._count else self._limits.first_message_seconds

    def _begin_wait(self) -> float:
        self._waits_since = since = self._loop.time()
        if self._timer is None:
            self._timer = self._loop.call_later(self._seconds, self._look)
        return since

    def _check_pace(self, message: Any, *, seconds: float) -> None:
        self._waited_seconds += seconds
        if not self._count:
            self.close()  # the limit is another one from here on
        self._count += 1
        self._bytes += message.ByteSize()
        limits = self._limits
        expected = self._waited_seconds * limits.bytes_per_second_min
        if self._waited_seconds > limits.idle_seconds and self._bytes < expected:
            silences_total.labels("pace").inc()
            raise DeadlineExceeded(
                f"{self._bytes:,} bytes came in the {self._waited_seconds:,.0f} s for which the server waited for "
                f"them, less than {limits.bytes_per_second_min:g} a second; send it again on a faster line",
                limit="pace",
            )

    def _look(self) -> None:
        """End the call if it waited too long; look again otherwise."""
        self._timer = None
        if self._waits_since is None:
            return  # the next wait sets the timer
        left = self._waits_since + self._seconds - self._loop.time()
        if left > 0:
            self._timer = self._loop.call_later(left, self._look)
            return
        limit = "idle" if self._count else "first_message"
        silences_total.labels(limit).inc()
        what = "nothing more of the call" if self._count else "no message of the call"
        self.silence = DeadlineExceeded(
            f"{what} came for {self._seconds:g} s, the most that its place is kept; send it again", limit=limit
        )
        self._ending = self._loop.create_task(aborted_with(self._context, self.silence), name="end-silent-call")


async def drain(requests: AsyncIterator[Any]) -> None:
    """Read and drop what comes, for a while."""
    iterator = aiter(requests)
    with suppress(TimeoutError, StopAsyncIteration):
        async with asyncio.timeout(LINGER_SECONDS):
            while True:
                async with asyncio.timeout(LINGER_IDLE_SECONDS):
                    await _next(iterator)


async def _next(iterator: AsyncIterator[Any]) -> None:
    while True:
        try:
            await anext(iterator)
            return
        except RuntimeError:
            # A relay whose own call was refused still waits for the sender's next message: two cannot read at once.
            await asyncio.sleep(0.01)
