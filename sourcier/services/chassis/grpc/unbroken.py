"""What a library has begun is seen to its end, even by a task that is cancelled meanwhile.

grpc.aio keeps the memory of an operation whose waiter was cancelled: 80 bytes, and its message (grpc #43360).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Generator
from typing import Any, Generic, TypeVar

R = TypeVar("R")

LET_GO_SECONDS = 1.0
"""How long what was cancelled may still take; after that it is broken off, and leaks."""


class Unbroken(Generic[R]):
    """An awaitable of grpc.aio; a cancellation is raised once its operation has ended.

    It costs no task and no turn of the event loop, as a shield would for every message of a stream.
    """

    def __init__(self, awaitable: Awaitable[R], *, on_cancel: Callable[[], object] | None = None) -> None:
        """`on_cancel` makes the operation end soon; without it that is the peer's to do, as it is for a dead call."""
        self._awaitable = awaitable
        self._on_cancel = on_cancel

    def __await__(self) -> Generator[Any, Any, R]:
        steps = self._awaitable.__await__()
        cancelled: asyncio.CancelledError | None = None
        while True:
            try:
                held = _Held(steps.send(None), self._on_cancel)
            except StopIteration as ended:
                if cancelled is not None:
                    raise cancelled from None
                return ended.value  # type: ignore[no-any-return]  # the return value of a generator is untyped
            except BaseException:
                if cancelled is not None:
                    raise cancelled from None
                raise
            if cancelled is not None:
                held.cancel()
            try:
                yield held
            except asyncio.CancelledError as error:
                # Else it is the future that was cancelled, which the awaitable finds out itself.
                if held.asked:
                    cancelled = error
            except GeneratorExit:
                steps.close()
                raise
            except Exception:  # noqa: S110 - the future's own, raised again where the awaitable asks for its result
                pass


class _Held:
    """Stands between a future and the task that waits for it, which cancels this; asyncio takes what is like a future.

    The task then gets its CancelledError when the future is done.
    """

    __slots__ = ("_asyncio_future_blocking", "_future", "_on_cancel", "add_done_callback", "asked", "get_loop")

    def __init__(self, future: asyncio.Future[Any], on_cancel: Callable[[], object] | None) -> None:
        # A future says so to the task that it was handed to, and is handed to none.
        future._asyncio_future_blocking = False
        self._asyncio_future_blocking = True
        self._future = future
        self._on_cancel = on_cancel
        # The future's own, for a method here would be one more call for each message.
        self.add_done_callback = future.add_done_callback
        self.get_loop = future.get_loop
        self.asked = False
        """Whether the task was cancelled."""

    def cancel(self, msg: object = None) -> bool:
        """Leave the future alone, and have the task notice when it is done."""
        if not self.asked:
            self.asked = True
            self.get_loop().call_later(LET_GO_SECONDS, self._future.cancel)
            if self._on_cancel is not None:
                self._on_cancel()
        return False
