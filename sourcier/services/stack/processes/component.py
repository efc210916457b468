"""A part of the stack that runs as a child process: how it is prepared, started, found ready and stopped."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from types import TracebackType
from typing import Self

from sourcier.services.chassis.errors import Unavailable
from sourcier.services.stack.processes.child import Child, Command

PROBE_SECONDS = 0.05
PROBE_SECONDS_MAX = 0.5


class StartFailed(Unavailable):
    """A part of the stack did not start."""

    reason = "START_FAILED"

    def __init__(self, message: str, *, log_lines: list[str] | None = None, way_out: str = "") -> None:
        """Say what failed, with the last lines of its log and what a person can do about it."""
        super().__init__(message)
        self.log_lines = log_lines or []
        self.way_out = way_out

    def __str__(self) -> str:
        """Return the whole story, for logs and failed tests."""
        return "\n".join([self.message, *(f"  {line}" for line in self.log_lines), self.way_out]).rstrip()


class Component(ABC):
    """One child process; use it with `async with`, or `start` and `stop`."""

    name: str = "component"
    start_seconds_max: float = 60.0
    grace_seconds: float = 10.0

    def __init__(self) -> None:
        """Keep nothing but the place of the child."""
        self.child: Child | None = None

    async def prepare(self) -> None:  # noqa: B027 (most services need none)
        """Make what the process needs before it starts. Runs before every start, so it does nothing twice."""

    @abstractmethod
    def command(self) -> Command:
        """Return what to run, once prepared."""

    @abstractmethod
    async def probe(self) -> bool:
        """Tell whether the process answers."""

    async def finish(self) -> None:  # noqa: B027 (most services need none)
        """Set up inside the running process what its users expect. Does nothing twice."""

    @property
    def note(self) -> str:
        """What a person should know about this part, once it is ready; mostly nothing."""
        return ""

    @property
    def ports(self) -> dict[str, int]:
        """The ports the process listens on, by purpose."""
        return {}

    async def start(self) -> None:
        """Start the process and return once it is ready; raise `StartFailed` with its last words, leaving nothing."""
        await self.launch()
        await self.become_ready()

    async def launch(self) -> None:
        """Start the process, and do not wait for it."""
        await self.prepare()
        child = Child(self.command())
        child.start()
        self.child = child

    async def become_ready(self) -> None:
        """Wait until the process is ready; raise `StartFailed` with its last words, leaving nothing."""
        child = self.child
        assert child is not None
        try:
            async with asyncio.timeout(self.start_seconds_max):
                await self._wait_until_ready(child)
                await self.finish()
        except TimeoutError as error:
            lines = child.log_tail()
            await self.stop()
            raise self.failure(f"{self.name} was not ready after {self.start_seconds_max:.0f} s", lines) from error
        except BaseException:
            await self.stop()
            raise

    async def stop(self) -> None:
        """Stop the process and whatever it started."""
        if self.child is not None:
            await self.child.stop(grace_seconds=self.grace_seconds)

    def failure(self, message: str, log_lines: list[str]) -> StartFailed:
        """Return the error that tells why the process is not there."""
        log = self.child.command.log if self.child else None
        return StartFailed(message, log_lines=log_lines, way_out=f"The whole log is {log}." if log else "")

    async def _wait_until_ready(self, child: Child) -> None:
        pause = PROBE_SECONDS
        while not await self.probe():
            if (code := child.exit_code) is not None:
                raise self.failure(f"{self.name} ended with {describe_exit(code)} while starting", child.log_tail())
            await asyncio.sleep(pause)
            # A model may take minutes to load, and should have the processor to itself.
            pause = min(pause * 1.1, PROBE_SECONDS_MAX)

    async def __aenter__(self) -> Self:
        """Start, and wait until ready."""
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop."""
        await self.stop()


def describe_exit(code: int) -> str:
    """Return an exit code in words: `code 1`, or `signal 9`."""
    return f"signal {-code}" if code < 0 else f"code {code}"
