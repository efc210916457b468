"""The waits for an engine of one piece of work: each is given up at the same deadline, or when somebody says so."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Self, TypeVar

T = TypeVar("T")


class EngineWait:
    """`asyncio.timeout_at` for one wait after another, with one timer of the loop for all; use it as a context manager.

    A generation waits once for each token, and a timer set and unset each time costs more than the wait.
    """

    def __init__(self, *, deadline: float) -> None:
        """Take the deadline in seconds of the event loop's clock."""
        self._deadline = deadline
        self._given_up = False
        self._task: asyncio.Task[object] | None = None
        """Who waits just now."""
        self._cancelled = False
        """Whether that task was cancelled from here."""

    def __enter__(self) -> Self:
        self._timer = asyncio.get_running_loop().call_at(self._deadline, self.give_up)
        return self

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()

    def give_up(self) -> None:
        """End the wait of this moment and those to come with TimeoutError."""
        self._given_up = True
        if self._task is not None and not self._cancelled:
            self._cancelled = True
            self._task.cancel()

    async def wait_for(self, work: Callable[[], Awaitable[T]]) -> T:
        """Return what the work comes to, not begun where it was given up before; raise TimeoutError once it is."""
        if self._given_up:
            raise TimeoutError
        task = asyncio.current_task()
        assert task is not None
        cancelling = task.cancelling()
        self._task = task
        try:
            return await work()
        except asyncio.CancelledError as error:
            # Whoever else cancelled the task meanwhile is obeyed first.
            if self._cancelled and task.uncancel() <= cancelling:
                raise TimeoutError from error
            raise
        finally:
            self._task, self._cancelled = None, False
