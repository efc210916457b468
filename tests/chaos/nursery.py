"""Starts services without their imports: a process that has imported them forks one for each start.

A service takes two seconds of a processor to import, and a scenario starts dozens. The short run starts them like this;
`make chaos` starts each as `python -m tests.chaos.process`. The process that forks has one thread, and has run nothing
of the services but their imports; what those read of the environment is read again (`_become`).

One JSON object a line. In: what to start. Out: `{"pid"}` for each start, in order, and `{"pid", "status"}` for each
end, with the wait status. End of input ends everything.
"""

from __future__ import annotations

import ctypes
import gc
import importlib
import json
import os
import selectors
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any, NoReturn

from sourcier.services.stack.processes import logfile
from sourcier.services.stack.processes.child import Child, Command
from sourcier.services.stack.service import Service, ServiceSettings

PR_SET_PDEATHSIG = 1
REPOSITORY = Path(__file__).parents[2]
IMPORTED = (
    "sourcier.services.ingest.__main__", "sourcier.services.embed.__main__", "tests.chaos.process",
    "tests.unit.embed.fix_embedding",
)


class Nursery:
    """The process that forks, as its tests see it."""

    def __init__(self, root: Path = REPOSITORY) -> None:
        """Start it with the code of a checkout; it takes its seconds while the tests go on."""
        # No threads of numeric libraries: they would be missing after the fork.
        environment = {**os.environ, "PYTHONPATH": str(root), "OPENBLAS_NUM_THREADS": "1"}
        self._process = subprocess.Popen(
            (sys.executable, "-P", "-u", "-m", "tests.chaos.nursery"), env=environment, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, start_new_session=True,
        )
        self._statuses: dict[int, int] = {}
        self._started: list[int] = []
        self._buffer = b""

    def start(self, command: Command) -> Forked:
        """Start what the command says, as a process that has imported it already."""
        assert self._process.stdin is not None
        request = {
            "service": command.arguments[-1], "environment": dict(command.environment), "log": str(command.log),
            "folder": str(command.folder),
        }
        self._process.stdin.write(json.dumps(request).encode() + b"\n")
        self._process.stdin.flush()
        while not self._started:
            self._read()
        return Forked(self, self._started.pop())

    def status(self, pid: int, *, wait: bool = False) -> int | None:
        """Return how a process ended; None while it runs."""
        while pid not in self._statuses and (wait or self._readable()):
            self._read()
        return self._statuses.get(pid)

    def close(self) -> None:
        """End it, and all that it started."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()

    def _readable(self) -> bool:
        with selectors.DefaultSelector() as selector:
            assert self._process.stdout is not None
            selector.register(self._process.stdout, selectors.EVENT_READ)
            return bool(selector.select(0))

    def _read(self) -> None:
        assert self._process.stdout is not None
        chunk = os.read(self._process.stdout.fileno(), 65_536)
        assert chunk, "the nursery ended; what it said stands above"
        *lines, self._buffer = (self._buffer + chunk).split(b"\n")
        for line in lines:
            told = json.loads(line)
            if "status" in told:
                self._statuses[told["pid"]] = os.waitstatus_to_exitcode(told["status"])
            else:
                self._statuses.pop(told["pid"], None)
                self._started.append(told["pid"])


class Forked:
    """A process that the nursery forked: as much of `subprocess.Popen` as `Child` uses."""

    def __init__(self, nursery: Nursery, pid: int) -> None:
        """Keep its number."""
        self.pid = pid
        self._nursery = nursery

    def poll(self) -> int | None:
        """Return the exit code; None while it runs."""
        return self._nursery.status(self.pid)

    def wait(self) -> int:
        """Wait for the end and return the exit code."""
        code = self._nursery.status(self.pid, wait=True)
        assert code is not None
        return code

    def send_signal(self, number: int) -> None:
        """Send a signal, unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)


class ForkedChild(Child):
    """One run of a command, forked by the nursery."""

    def __init__(self, command: Command, nursery: Nursery) -> None:
        """Keep both; nothing is started yet."""
        super().__init__(command)
        self._nursery = nursery

    def start(self) -> None:
        """Start the process."""
        logfile.bound_log(self.command.log)
        log = logfile.open_log(self.command.log)
        self.log_start_byte = os.fstat(log).st_size
        os.close(log)
        self._process = self._nursery.start(self.command)  # type: ignore[assignment]


class ForkedService(Service):
    """A service that the nursery starts."""

    def __init__(self, settings: ServiceSettings, nursery: Nursery) -> None:
        """Keep both."""
        super().__init__(settings)
        self._nursery = nursery

    async def launch(self) -> None:
        """Start the process, and do not wait for it."""
        await self.prepare()
        child = ForkedChild(self.command(), self._nursery)
        child.start()
        self.child = child


def main() -> None:
    """Import, then fork until the input ends."""
    commands, replies = os.dup(0), os.dup(1)
    os.dup2(2, 1)
    for name in IMPORTED:
        importlib.import_module(name)
        if name.endswith(".__main__"):
            del sys.modules[name]
    threads = os.listdir("/proc/self/task")
    assert len(threads) == 1, f"{len(threads)} threads after the imports: none but this one would be in a fork"
    gc.collect()
    gc.freeze()
    woken, waker = os.pipe()
    for descriptor in (woken, waker):
        os.set_blocking(descriptor, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(waker, warn_on_full_buffer=False)
    running: set[int] = set()
    buffer = b""
    with selectors.DefaultSelector() as selector:
        selector.register(commands, selectors.EVENT_READ)
        selector.register(woken, selectors.EVENT_READ)
        while True:
            for key, _ in selector.select():
                chunk = os.read(key.fd, 65_536)
                if key.fd == woken:
                    _reap(running, replies)
                    continue
                if not chunk:
                    for pid in running:
                        os.kill(pid, signal.SIGKILL)
                    return
                *lines, buffer = (buffer + chunk).split(b"\n")
                for line in lines:
                    if (pid := os.fork()) == 0:
                        _become(**json.loads(line))
                    running.add(pid)
                    os.write(replies, json.dumps({"pid": pid}).encode() + b"\n")


def _reap(running: set[int], replies: int) -> None:
    for pid in list(running):
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            running.remove(pid)
            os.write(replies, json.dumps({"pid": pid, "status": status}).encode() + b"\n")


def _become(*, service: str, environment: dict[str, str], log: str, folder: str) -> NoReturn:
    """Run a service in this process, which was forked for it, and end with its code."""
    code: Any = 1
    try:
        os.setsid()
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.umask(0o077)
        os.chdir(folder)
        null, written = os.open(os.devnull, os.O_RDONLY), logfile.open_log(Path(log))
        for source, target in ((null, 0), (written, 1), (written, 2)):
            os.dup2(source, target)
        os.closerange(3, 256)
        os.environ.clear()
        os.environ.update(environment)
        from sourcier.services.chassis import failpoints

        failpoints._failpoints = failpoints.Failpoints(os.environ)
        sys.argv = ["process", service]
        from tests.chaos import process

        process.main()
        code = 0
    except SystemExit as ended:
        code = ended.code or 0
    finally:
        sys.stderr.flush()
        os._exit(code if isinstance(code, int) else 1)


if __name__ == "__main__":
    main()
