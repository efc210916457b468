"""A child process: started tied to this process, watched without blocking, stopped with everything it started."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from sourcier.services.stack.processes import logfile
from sourcier.services.stack.processes.ending import end_of
from sourcier.services.stack.processes.users import User

LAUNCHER = Path(__file__).with_name("launch.py")
POLL_SECONDS = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """What to run, and how to end it."""

    program: Path
    arguments: tuple[str, ...]
    log: Path
    folder: Path
    environment: Mapping[str, str]
    """All of it: nothing is inherited."""
    stop_signal: signal.Signals = signal.SIGTERM
    user: User | None = None


class Child:
    """One run of a command. It leads a session of its own, so that Ctrl-C reaches the stack alone."""

    def __init__(self, command: Command) -> None:
        """Keep the command; nothing is started yet."""
        self.command = command
        self.log_start_byte = 0
        self._process: subprocess.Popen[bytes] | None = None
        self._swept = False

    @property
    def pid(self) -> int | None:
        """The process id, which stays the same through the launcher's exec."""
        return self._process.pid if self._process else None

    @property
    def exit_code(self) -> int | None:
        """None while running or not started; negative for a signal."""
        return self._process.poll() if self._process else None

    @property
    def running(self) -> bool:
        """Whether the process was started and has not ended."""
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        """Start the process. Call it from the main thread: the death signal follows the thread that forks."""
        command = self.command
        logfile.bound_log(command.log)
        log = logfile.open_log(command.log)
        self.log_start_byte = os.fstat(log).st_size
        uid, gid = (command.user.uid, command.user.gid) if command.user else (-1, -1)
        launcher = (sys.executable, "-I", "-S", str(LAUNCHER))
        tie = (str(os.getpid()), str(int(command.stop_signal)), str(uid), str(gid))
        try:
            self._process = subprocess.Popen(
                (*launcher, *tie, str(command.program), *command.arguments),
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=command.folder,
                env=dict(command.environment), start_new_session=True,
            )
        finally:
            os.close(log)

    async def wait(self) -> int:
        """Wait for the end and return the exit code."""
        while (code := self.exit_code) is None:
            assert self.pid is not None, "nothing was started"
            await end_of(self.pid, look_seconds=POLL_SECONDS)
        return code

    async def stop(self, *, grace_seconds: float) -> None:
        """Ask for the end, insist after the grace, and end whatever the process left behind in its group."""
        if self._process is None:
            return
        try:
            if self.running:
                self._process.send_signal(self.command.stop_signal)
                # Not `asyncio.timeout`: this runs in cancelled tasks, where older Pythons let it cancel once more.
                give_up_at = time.monotonic() + grace_seconds
                while self.running and time.monotonic() < give_up_at:  # noqa: ASYNC110 (not for long)
                    await asyncio.sleep(POLL_SECONDS)
        finally:
            self.kill()

    def kill(self) -> None:
        """End the process and its group at once."""
        if self._process is None:
            return
        # Its group may outlive it; once the group is empty, its number may become somebody else's.
        if not self._swept:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._swept = True

    def log_tail(self, *, lines: int = 12) -> list[str]:
        """Return the last lines that this run wrote."""
        return logfile.tail(self.command.log, lines=lines, since_byte=self.log_start_byte)
