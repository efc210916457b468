"""The stack in the foreground: from the lock on the data folder to the last process stopped."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from pathlib import Path

from sourcier.services.stack import language_models, programs, statefile
from sourcier.services.stack.compose import Composition, compose
from sourcier.services.stack.processes import leftovers
from sourcier.services.stack.processes.parent import Parent
from sourcier.services.stack.processes.supervisor import Supervisor
from sourcier.services.stack.settings import StackSettings
from sourcier.services.stack.status import StackStatus
from sourcier.services.stack.terminal.display import Display, connection


def run(settings: StackSettings, display: Display, *, parent: Parent | None = None) -> None:
    """Run until a signal or the parent's end.

    Raise `AlreadyExists` where a stack runs on the folder, or why this one cannot.
    """
    folder = settings.folder
    statefile.open_folder(folder)
    with statefile.locked(folder):
        if left := statefile.read(folder):
            for pid in leftovers.stop_leftovers(left):
                display.say(f"stopped process {pid}, left by a stack that was killed")
        if settings.serves_model:
            programs.require_vllm(settings.stack_generate_python)
        composition = compose(settings)
        with display:
            _tell_language_model(settings, composition, display)
            asyncio.run(_run(composition, display, parent))
        statefile.remove(folder)


def _tell_language_model(settings: StackSettings, composition: Composition, display: Display) -> None:
    """Say which model was taken, where nobody asked for it and it may not be what they expect."""
    if settings.serves_model and not settings.generate_model:
        model = composition.settings.generate_model
        if notice := language_models.notice(model, models_root=settings.models_root):
            display.say(notice)


async def _run(composition: Composition, display: Display, parent: Parent | None) -> None:
    folder, started = composition.settings.folder, time.time()
    announced, kept = False, KeptStatus(folder, display)

    def changed() -> None:
        nonlocal announced
        now = StackStatus(
            pid=os.getpid(), started=started, folder=str(folder), components=supervisor.statuses,
            environment=composition.environment(), external=composition.external,
        )
        kept.write(now)
        display.show(now)
        if now.ready and not announced:
            announced = True
            display.say(f"Sourcier is ready in {time.time() - started:.1f} s. {connection(now)} Ctrl-C stops it.")

    supervisor = Supervisor(servers=composition.servers, services=composition.services, on_change=changed)
    changed()
    stopping = _stop_on_signals(supervisor, display)
    async with asyncio.TaskGroup() as tasks:
        watching = tasks.create_task(_stop_without(parent, stopping, display), name="parent")
        await supervisor.run(stopping)
        watching.cancel()


class KeptStatus:
    """The state file of a stack that runs: a disk that is full by then ends no part of it."""

    def __init__(self, folder: Path, display: Display, *, again_seconds: float = 5.0) -> None:
        """Write nothing yet."""
        self._folder = folder
        self._display = display
        self._again_seconds = again_seconds
        self._again: asyncio.TimerHandle | None = None
        self._begun = False

    def write(self, now: StackStatus) -> None:
        """Keep the status, later where that fails; raise OSError where not even the first can be kept."""
        if self._again is not None:
            self._again.cancel()
        try:
            statefile.write(self._folder, now)
        except OSError as error:
            if not self._begun:
                raise
            if self._again is None:
                self._display.say(f"the state file cannot be written now ({error.strerror}): `status` is late")
            self._again = asyncio.get_running_loop().call_later(self._again_seconds, self.write, now)
        else:
            self._begun, self._again = True, None


def _stop_on_signals(supervisor: Supervisor, display: Display) -> asyncio.Event:
    stopping = asyncio.Event()

    def stop() -> None:
        if stopping.is_set():
            display.say("ending everything at once")
            supervisor.kill()
            os._exit(130)
        display.say("stopping; once more to end at once")
        stopping.set()

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(number, stop)
    return stopping


async def _stop_without(parent: Parent | None, stopping: asyncio.Event, display: Display) -> None:
    if parent is None:
        return
    await parent.end()
    display.say(f"stopping: process {parent.pid}, which started the stack for itself, is gone")
    stopping.set()
