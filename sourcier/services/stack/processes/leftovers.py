"""Processes of a stack that was killed: known by number and start time, since a number may become another's."""

from __future__ import annotations

import contextlib

import psutil

from sourcier.services.stack.status import StackStatus

LEFTOVER_SECONDS_MAX = 8.0
CLOCK_SECONDS_MAX = 2.0
"""How far the start of a process, which the system counts from its own, and the clock may differ."""


def stop_leftovers(status: StackStatus) -> list[int]:
    """End the processes of a stack that was killed, where the system did not do so; return their ids.

    On Linux they got a signal when the stack died and may be shutting down: they are given the time to.
    """
    leftovers = [process for process in map(_same_process, status.components) if process is not None]
    for process in leftovers:
        with contextlib.suppress(psutil.Error):
            process.terminate()
    _, alive = psutil.wait_procs(leftovers, timeout=LEFTOVER_SECONDS_MAX)
    for process in alive:
        with contextlib.suppress(psutil.Error):
            process.kill()
    psutil.wait_procs(alive, timeout=LEFTOVER_SECONDS_MAX)
    return [process.pid for process in leftovers]


def is_stack(status: StackStatus) -> bool:
    """Tell whether the process that a status names is the stack that kept it, or a later one with its number."""
    return 0.0 < process_created(status.pid) <= status.started + CLOCK_SECONDS_MAX


def process_created(pid: int) -> float:
    """Return when a process was created, 0.0 if it is gone."""
    try:
        return float(psutil.Process(pid).create_time())
    except psutil.Error:
        return 0.0


def _same_process(component: object) -> psutil.Process | None:
    pid, created = getattr(component, "pid", None), getattr(component, "created", 0.0)
    if pid is None or not created or process_created(pid) != created:
        return None
    return psutil.Process(pid)
