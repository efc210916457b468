"""Keeps the parts of the stack running: starts them in order, restarts what dies, stops them in reverse."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from sourcier.services.chassis.errors import ServiceError
from sourcier.services.stack.processes import logfile
from sourcier.services.stack.processes.component import Component, StartFailed, describe_exit
from sourcier.services.stack.processes.leftovers import process_created
from sourcier.services.stack.status import ComponentStatus, State


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How often to look and to try again, in seconds."""

    backoff_first: float = 1.0
    backoff_max: float = 30.0
    healthy_after: float = 60.0
    """A process that lived this long starts over with the first back-off."""
    probe_interval: float = 5.0
    unresponsive_max: float = 90.0
    """A process that runs without being healthy is restarted after this long."""

    def backoff(self, failures: int) -> float:
        """Return the wait after one more end in a row, having seen `failures` before: doubling, bounded."""
        return float(min(self.backoff_first * 2.0 ** min(failures, 30), self.backoff_max))


class Supervisor:
    """Runs servers, then services; `on_change` hears of every change of state."""

    def __init__(
        self, *, servers: Sequence[Component], services: Sequence[Component],
        on_change: Callable[[], None], patience: Patience | None = None,
    ) -> None:
        """Keep the parts; nothing is started yet."""
        self.servers, self.services = tuple(servers), tuple(services)
        self._on_change = on_change
        self._patience = patience or Patience()
        self._statuses = {part.name: ComponentStatus(name=part.name) for part in (*self.servers, *self.services)}
        self._servers_ready = {server.name: asyncio.Event() for server in self.servers}

    @property
    def statuses(self) -> tuple[ComponentStatus, ...]:
        """What each part does now, servers first."""
        return tuple(self._statuses.values())

    async def run(self, stopping: asyncio.Event) -> None:
        """Keep everything running until `stopping` is set, then stop the services, then the servers."""
        async with asyncio.TaskGroup() as servers:
            server_tasks = [servers.create_task(self._keep(part), name=part.name) for part in self.servers]
            try:
                async with asyncio.TaskGroup() as services:
                    tasks = [services.create_task(self._keep_service(part), name=part.name) for part in self.services]
                    await stopping.wait()
                    _cancel(tasks)
            finally:
                _cancel(server_tasks)

    def kill(self) -> None:
        """End every process at once."""
        for part in (*self.services, *self.servers):
            if part.child is not None:
                part.child.kill()

    async def _keep_service(self, service: Component) -> None:
        for ready in self._servers_ready.values():
            await ready.wait()
        await self._keep(service)

    async def _keep(self, part: Component) -> None:
        failures = 0
        try:
            while True:
                started = time.monotonic()
                if await self._start(part, failures):
                    await self._watch(part)
                if time.monotonic() - started >= self._patience.healthy_after:
                    failures = 0
                await asyncio.sleep(self._patience.backoff(failures))
                failures += 1
        finally:
            await self._stop(part)

    async def _start(self, part: Component, failures: int) -> bool:
        started = time.monotonic()
        again = f"next try in {self._patience.backoff(failures):.0f} s"
        self._change(part, State.STARTING)
        try:
            await part.launch()
            self._change(part, State.STARTING)  # its process is known now
            await part.become_ready()
        except (ServiceError, OSError) as error:
            lines, way_out = (error.log_lines, error.way_out) if isinstance(error, StartFailed) else ([], "")
            message = f"{error.message if isinstance(error, ServiceError) else error}; {again}"
            self._change(part, State.FAILED, message=message, log_lines=tuple(lines), way_out=way_out)
            return False
        seconds = time.monotonic() - started
        self._change(part, State.READY, ready_seconds=round(seconds, 1), message=part.note)
        if part.name in self._servers_ready:
            self._servers_ready[part.name].set()
        return True

    async def _watch(self, part: Component) -> None:
        """Return when the process has ended, or was stopped because it did not answer."""
        child = part.child
        assert child is not None
        unhealthy_since: float | None = None
        message = "did not answer its health check and was stopped"
        while unhealthy_since is None or time.monotonic() - unhealthy_since < self._patience.unresponsive_max:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._patience.probe_interval):
                    message = f"ended with {describe_exit(await child.wait())}"
                    break
            logfile.bound_log(child.command.log)
            unhealthy_since = await self._check(part, unhealthy_since)
        await part.stop()  # and whatever it left behind in its process group
        lines, restarts = tuple(child.log_tail()), self._statuses[part.name].restarts + 1
        self._change(part, State.RESTARTING, message=message, log_lines=lines, restarts=restarts)

    async def _check(self, part: Component, unhealthy_since: float | None) -> float | None:
        if await part.probe():
            if unhealthy_since is not None:
                self._change(part, State.READY)
            return None
        if unhealthy_since is None:
            self._change(part, State.UNRESPONSIVE, message="runs, but does not answer its health check")
            return time.monotonic()
        return unhealthy_since

    async def _stop(self, part: Component) -> None:
        try:
            self._change(part, State.STOPPING)
        finally:
            await part.stop()
        self._change(part, State.STOPPED)

    def _change(
        self, part: Component, state: State, *, message: str = "", log_lines: tuple[str, ...] = (), way_out: str = "",
        ready_seconds: float | None = None, restarts: int | None = None,
    ) -> None:
        before = self._statuses[part.name]
        pid = part.child.pid if part.child and part.child.running else None
        self._statuses[part.name] = replace(
            before, state=state, since=time.time(), pid=pid, created=process_created(pid) if pid else 0.0,
            ports=part.ports, message=message, log_lines=log_lines, way_out=way_out,
            ready_seconds=before.ready_seconds if ready_seconds is None else ready_seconds,
            restarts=before.restarts if restarts is None else restarts,
        )
        self._on_change()


def _cancel(tasks: Sequence[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
