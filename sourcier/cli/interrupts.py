"""Runs a command's coroutine so that Ctrl-C always ends it."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


def run_interruptible(work: Coroutine[Any, Any, T]) -> T:
    """Run to the end, or cancel at Ctrl-C and raise KeyboardInterrupt; a second one ends at once."""
    return asyncio.run(interruptible(work))


async def interruptible(work: Coroutine[Any, Any, T]) -> T:
    """Do the work; Ctrl-C cancels it, and KeyboardInterrupt is raised.

    `asyncio.run` alone leaves a gap: a signal that comes between the last look at signals and the wait for events is
    noticed when the next event comes, and an answer that hangs has none. The loop's own handler also wakes the loop.
    """
    task = asyncio.current_task()
    loop = asyncio.get_running_loop()
    assert task is not None

    interrupted = False

    def interrupt() -> None:
        nonlocal interrupted
        interrupted = True
        loop.remove_signal_handler(signal.SIGINT)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        task.cancel()

    try:
        loop.add_signal_handler(signal.SIGINT, interrupt)
    except (NotImplementedError, RuntimeError):  # Windows; a thread other than the main one
        return await work
    try:
        return await work
    except asyncio.CancelledError:
        if interrupted:
            raise KeyboardInterrupt from None
        raise
    finally:
        loop.remove_signal_handler(signal.SIGINT)
