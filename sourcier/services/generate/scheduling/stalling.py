"""Whether an engine that comes to nothing hangs, or only gets too little of the processor to come to something."""

from __future__ import annotations

import contextlib

import psutil

STARVED_SHARE_MIN = 0.05
"""Of the time that passed, the least processor time of an engine at work: one that waits for ever uses less."""
STARVED_TIMES_MAX = 5
"""An engine is waited for so many times as long as one that has a processor to itself, and no longer."""


def is_stalled(*, waited: float, worked: float, limit: float) -> bool:
    """Return whether an engine without progress for `waited` seconds is taken for dead.

    `worked` is the processor time of its processes since then. On a machine with much other work an engine may have
    had ten seconds of a processor in a minute: to start it again, which takes minutes there, would be the one thing
    that is sure to lose the answers.
    """
    if waited <= limit:
        return False
    if waited > STARVED_TIMES_MAX * limit:
        return True
    return worked >= limit or worked < STARVED_SHARE_MIN * waited


def children_seconds() -> float:
    """Return the processor time of this process's children, and of theirs, in seconds."""
    total = 0.0
    for child in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess, psutil.AccessDenied):
            times = child.cpu_times()
            total += times.user + times.system
    return total
