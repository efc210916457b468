"""The process that a stack was started for: once it is gone, however it ended, the stack has to stop.

Watched from outside, not by a death signal: a detached stack is no child of it, and such a signal follows a thread.
"""

from __future__ import annotations

import psutil

from sourcier.services.chassis.errors import FailedPrecondition
from sourcier.services.stack.processes.ending import end_of

POLL_SECONDS = 0.5


class Parent:
    """A process, known by its start as well: its number may become another's."""

    def __init__(self, pid: int) -> None:
        """Keep the process with this number; raise `FailedPrecondition` where there is none any more."""
        self.pid = pid
        try:
            self._process = psutil.Process(pid)
        except psutil.NoSuchProcess as error:
            raise FailedPrecondition(
                f"Process {pid} (SOURCIER_STACK_PARENT), which the stack shall not outlive, is gone; name a running "
                "one, or leave it unset."
            ) from error

    @property
    def alive(self) -> bool:
        """Whether it still runs. One that nobody has waited for yet has ended all the same."""
        try:
            return bool(self._process.is_running() and self._process.status() != psutil.STATUS_ZOMBIE)
        except psutil.NoSuchProcess:
            return False

    async def end(self) -> None:
        """Wait until it is gone."""
        while self.alive:
            await end_of(self.pid, look_seconds=POLL_SECONDS)
