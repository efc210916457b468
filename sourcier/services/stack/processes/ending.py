"""The end of a process, as the system tells it: to look for it twenty times a second keeps a processor awake."""

from __future__ import annotations

import asyncio
import os


async def end_of(pid: int, *, look_seconds: float) -> None:
    """Return once a process has ended; after a moment, ended or not, where the system tells of no end.

    A child that ended and was not waited for counts as ended.
    """
    try:
        descriptor = os.pidfd_open(pid)
    except (AttributeError, OSError):  # gone already; or another system than Linux, an old one, one that forbids it
        await asyncio.sleep(look_seconds)
        return
    loop, ended = asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(descriptor, ended.set)
    try:
        await ended.wait()
    finally:
        loop.remove_reader(descriptor)
        os.close(descriptor)
