"""`up` and `down`: what the command line does, each returning its exit code."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time

from rich.console import Console

from sourcier.installation import own_environment
from sourcier.services.chassis.errors import AlreadyExists, ServiceError
from sourcier.services.stack import programs, statefile
from sourcier.services.stack.processes import leftovers, logfile
from sourcier.services.stack.processes.parent import Parent
from sourcier.services.stack.settings import StackSettings, inherited_environment
from sourcier.services.stack.status import StackStatus, State
from sourcier.services.stack.terminal.display import Display, connection
from sourcier.services.stack.terminal.standing import EXIT_NOT_READY, EXIT_OK, EXIT_REFUSED

FAILED_STARTS_MAX = 3
"""How often a part may fail while a detached stack starts, before the start is given up."""
POLL_SECONDS = 0.2
DOWN_SECONDS_MAX = 90.0


def up(settings: StackSettings, *, parent_pid: int | None = None, console: Console | None = None) -> int:
    """Run the stack in the foreground until Ctrl-C or SIGTERM, or until the process `parent_pid` is gone."""
    # Here, so that `down`, and a start in the background, do not wait for database drivers to load.
    from sourcier.services.stack.terminal.foreground import run

    display = Display(console)
    try:
        run(settings, display, parent=Parent(parent_pid) if parent_pid else None)
    except AlreadyExists:
        return _already_running(settings, display)
    except ServiceError as error:
        display.say(f"error: {error}")
        return EXIT_REFUSED
    display.say("stopped; the data stay in " + str(settings.folder))
    return EXIT_OK


def up_detached(settings: StackSettings, *, parent_pid: int | None = None, console: Console | None = None) -> int:
    """Start the stack in the background, wait until it is ready, and leave it running; stop it if it cannot start.

    It stops by itself once the process `parent_pid` is gone.
    """
    display, folder = Display(console), settings.folder
    try:
        statefile.open_folder(folder)
        if statefile.is_locked(folder):
            return _already_running(settings, display)
        if settings.serves_model:
            programs.require_vllm(settings.stack_generate_python)
    except ServiceError as error:
        display.say(f"error: {error}")
        return EXIT_REFUSED
    log = folder / "logs" / "stack.log"
    logfile.bound_log(log)
    descriptor = logfile.open_log(log)
    start_byte = os.fstat(descriptor).st_size
    environment = {**own_environment(inherited_environment()), "SOURCIER_DATA_DIR": str(folder)}
    tie = ("--parent", str(parent_pid)) if parent_pid else ()
    process = subprocess.Popen(
        (sys.executable, "-P", "-m", "sourcier.services.stack", "up", *tie),
        stdin=subprocess.DEVNULL, stdout=descriptor,
        stderr=descriptor, start_new_session=True, env=environment,
    )
    os.close(descriptor)
    try:
        with display:
            problem = _wait_until_ready(settings, process, display)
    except KeyboardInterrupt:
        problem = "interrupted"
    if problem:
        lines = logfile.tail(log, since_byte=start_byte) if process.poll() is not None else []
        display.say("\n".join([f"error: {problem}", *lines, f"The whole log is {log}."]))
        _end(process)
        return EXIT_NOT_READY
    display.say(_how_to_connect(settings))
    return EXIT_OK


def down(settings: StackSettings, *, console: Console | None = None) -> int:
    """Stop the stack of the data folder; it is no error if none runs, and one if it only starts yet."""
    display, folder = Display(console), settings.folder
    if not statefile.is_locked(folder):
        display.say(f"nothing runs on {folder}")
        return EXIT_OK
    status = statefile.read(folder)
    if status is None or not _signal(status, signal.SIGTERM):
        # Who holds the folder has not said yet which process it is; the number kept may be a stranger's by now.
        display.say(f"the stack on {folder} is starting; try again")
        return EXIT_NOT_READY
    display.say(f"stopping process {status.pid} …")
    give_up_at = time.monotonic() + DOWN_SECONDS_MAX
    while statefile.is_locked(folder):
        if time.monotonic() > give_up_at:
            _signal(status, signal.SIGKILL)
            leftovers.stop_leftovers(status)
            display.say(f"it did not stop within {DOWN_SECONDS_MAX:.0f} s and was killed")
            break
        time.sleep(POLL_SECONDS)
    display.say("stopped; the data stay in " + str(folder))
    return EXIT_OK


def _signal(status: StackStatus, number: signal.Signals) -> bool:
    """Send a signal to the stack that kept the status; return False, sending none, where it is gone."""
    if not leftovers.is_stack(status):
        return False
    with contextlib.suppress(ProcessLookupError):  # gone this instant
        os.kill(status.pid, number)
    return True


def _wait_until_ready(settings: StackSettings, process: subprocess.Popen[bytes], display: Display) -> str:
    failed_starts: dict[str, float] = {}
    failures: dict[str, int] = {}
    while process.poll() is None:
        found = statefile.read(settings.folder)
        if found is not None and found.pid == process.pid:
            display.show(found)
            if found.ready:
                return ""
            for part in found.components:
                if part.state is State.FAILED and failed_starts.get(part.name) != part.since:
                    failed_starts[part.name] = part.since
                    failures[part.name] = failures.get(part.name, 0) + 1
                if failures.get(part.name, 0) >= FAILED_STARTS_MAX:
                    return f"{part.name} does not start"
        time.sleep(POLL_SECONDS)
    return f"the stack ended with code {process.returncode} while starting"


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(DOWN_SECONDS_MAX)
    except subprocess.TimeoutExpired:
        process.kill()  # its children end with it


def _already_running(settings: StackSettings, display: Display) -> int:
    display.say(f"A stack runs on {settings.folder} already. {_how_to_connect(settings)}")
    return EXIT_OK


def _how_to_connect(settings: StackSettings) -> str:
    found = statefile.read(settings.folder)
    where = connection(found) if found else ""
    return f"{where} `sourcier status` shows it, `sourcier down` stops it.".strip()
