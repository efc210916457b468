"""The supervisor with small real processes: order, restarts, failures that heal, and an end that leaves nothing."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

from sourcier.services.stack.processes.ports import free_ports
from sourcier.services.stack.processes.supervisor import Patience, Supervisor
from sourcier.services.stack.service import Service, ServiceSettings
from sourcier.services.stack.status import ComponentStatus, State

FAKE = Path(__file__).parents[2] / "fix_fake_service.py"
PATIENCE = Patience(
    backoff_first=0.1, backoff_max=0.4, healthy_after=60.0, probe_interval=0.2, unresponsive_max=0.5
)


@dataclass
class Fake:
    """A fake service, and the files that spoil it."""

    service: Service
    broken: Path
    deaf: Path


def fake(name: str, folder: Path, *, start_seconds_max: float = 20.0) -> Fake:
    broken, deaf, port = folder / f"{name}.broken", folder / f"{name}.deaf", free_ports(1)[0]
    environment = {"FAKE_LISTEN": f"127.0.0.1:{port}", "FAKE_BROKEN": str(broken), "FAKE_DEAF": str(deaf)}
    settings = ServiceSettings(
        name=name, interpreter=Path(sys.executable), port=port, log=folder / f"{name}.log", arguments=(str(FAKE),),
        import_root=folder, environment=lambda: environment, start_seconds_max=start_seconds_max, grace_seconds=1,
    )
    return Fake(Service(settings), broken, deaf)


class Run:
    """A supervisor at work, and everything it said."""

    def __init__(self, *, servers: list[Fake], services: list[Fake]) -> None:
        self.history: list[ComponentStatus] = []
        self.stopping = asyncio.Event()
        self.fails_on: State | None = None
        self._changed = asyncio.Event()
        self.supervisor = Supervisor(
            servers=[server.service for server in servers], services=[service.service for service in services],
            on_change=self._on_change, patience=PATIENCE,
        )

    def status(self, name: str) -> ComponentStatus:
        return next(status for status in self.supervisor.statuses if status.name == name)

    def states(self) -> list[tuple[str, State]]:
        return [(status.name, status.state) for status in self.history]

    async def until(self, reached: Callable[[], bool], *, seconds: float = 20.0) -> None:
        async with asyncio.timeout(seconds):
            while not reached():
                self._changed.clear()
                await self._changed.wait()

    def _on_change(self) -> None:
        for status in self.supervisor.statuses:
            if status not in self.history and status.since:
                self.history.append(status)
                if status.state is self.fails_on:
                    raise OSError("who hears of it cannot write it down")
        self._changed.set()


@asynccontextmanager
async def running(*, servers: list[Fake], services: list[Fake]) -> AsyncIterator[Run]:
    run = Run(servers=servers, services=services)
    async with asyncio.TaskGroup() as group:
        group.create_task(run.supervisor.run(run.stopping), name="supervisor")
        try:
            yield run
        finally:
            run.stopping.set()


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


async def test_servers_come_first_and_go_last(tmp_path: Path) -> None:
    server, service = fake("broker", tmp_path), fake("embed", tmp_path)
    async with running(servers=[server], services=[service]) as run:
        await run.until(lambda: run.status("embed").state is State.READY)
        pids = [status.pid for status in run.supervisor.statuses]
    states = run.states()
    assert states.index(("broker", State.READY)) < states.index(("embed", State.STARTING))
    assert states.index(("embed", State.STOPPED)) < states.index(("broker", State.STOPPING))
    assert all(pid is not None and not alive(pid) for pid in pids)


async def test_a_dead_child_is_restarted_on_its_port(tmp_path: Path) -> None:
    embed = fake("embed", tmp_path)
    async with running(servers=[], services=[embed]) as run:
        await run.until(lambda: run.status("embed").state is State.READY)
        first = run.status("embed")
        assert first.pid is not None
        os.kill(first.pid, signal.SIGKILL)
        await run.until(lambda: run.status("embed").state is State.READY and run.status("embed").pid != first.pid)
        second = run.status("embed")
    assert (second.restarts, second.ports) == (1, first.ports)
    assert any(status.state is State.RESTARTING and "signal 9" in status.message for status in run.history)


async def test_a_start_that_fails_says_why_and_is_tried_until_it_works(tmp_path: Path) -> None:
    embed = fake("embed", tmp_path)
    embed.broken.touch()
    async with running(servers=[], services=[embed]) as run:
        failures: Callable[[], int] = lambda: sum(status.state is State.FAILED for status in run.history)  # noqa: E731
        await run.until(lambda: failures() >= 2)
        failed = next(status for status in run.history if status.state is State.FAILED)
        embed.broken.unlink()
        await run.until(lambda: run.status("embed").state is State.READY)
    assert "code 3" in failed.message
    assert "next try in" in failed.message
    assert any("the model is missing" in line for line in failed.log_lines)
    assert str(tmp_path / "embed.log") in failed.way_out


async def test_a_child_that_never_answers_is_stopped(tmp_path: Path) -> None:
    embed = fake("embed", tmp_path, start_seconds_max=1.0)
    embed.deaf.touch()
    async with running(servers=[], services=[embed]) as run:
        await run.until(lambda: run.status("embed").state is State.FAILED)
        assert "not ready after 1 s" in run.status("embed").message
        assert run.status("embed").pid is None


async def test_a_child_that_hangs_is_restarted(tmp_path: Path) -> None:
    embed = fake("embed", tmp_path)
    async with running(servers=[], services=[embed]) as run:
        await run.until(lambda: run.status("embed").state is State.READY)
        first = run.status("embed").pid
        assert first is not None
        os.kill(first, signal.SIGSTOP)
        await run.until(lambda: run.status("embed").state is State.READY and run.status("embed").pid != first)
        assert not alive(first)
    states = [state for name, state in run.states()]
    assert State.UNRESPONSIVE in states


async def test_every_part_is_stopped_though_nobody_can_be_told(tmp_path: Path) -> None:
    server, service = fake("broker", tmp_path), fake("embed", tmp_path)
    run = Run(servers=[server], services=[service])
    keeping = asyncio.create_task(run.supervisor.run(run.stopping))
    await run.until(lambda: run.status("embed").state is State.READY)
    children = [psutil.Process(status.pid) for status in run.supervisor.statuses]
    run.fails_on = State.STOPPING
    run.stopping.set()
    with pytest.raises(ExceptionGroup):
        await keeping
    assert not [child for child in children if child.is_running()]
