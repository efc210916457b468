"""Runs modules without the imports of their libraries: a process that has imported them forks one for each run.

Of the half second of a processor that the `sourcier` command takes, gRPC, protobuf, click and asyncio are four fifths;
of the two seconds that a service takes to its first step nearly all. Tests start hundreds of the first and dozens of
the second. What forks has one thread, and has run nothing but imports; what is forked runs as `python -m MODULE` does.
"""

from __future__ import annotations

import asyncio
import ctypes
import gc
import importlib
import json
import os
import runpy
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

REPOSITORY = Path(__file__).parents[1]
PR_SET_PDEATHSIG = 1


class Forker:
    """The process that forks, as its tests see it."""

    def __init__(self, *imported: str, **variables: str) -> None:
        """Have it import modules, with these variables more; it takes its second or two while the tests go on."""
        self._folder = tempfile.TemporaryDirectory(prefix="sourcier-forker-")
        self._address = f"{self._folder.name}/socket"
        # No threads of numeric libraries: they would be missing after the fork.
        environment = {**os.environ, "PYTHONPATH": str(REPOSITORY), "OPENBLAS_NUM_THREADS": "1", **variables}
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(self._address)
            listener.listen(64)
            self._process = subprocess.Popen(
                (sys.executable, "-P", "-m", "tests.forking", str(listener.fileno()), *imported), env=environment,
                pass_fds=(listener.fileno(),),
            )

    async def begin(
        self, module: str, *arguments: str, environment: Mapping[str, str], cwd: Path | None = None,
        stdin: str | None = None,
    ) -> Run:
        """Begin to run a module; without a `stdin` it writes where this process does."""
        asked = {
            "module": module, "arguments": arguments, "environment": dict(environment),
            "cwd": str(cwd or Path.cwd()), "stdin": stdin,
        }
        reader, writer = await asyncio.open_unix_connection(self._address, limit=2**26)
        writer.write(json.dumps(asked).encode())
        writer.write_eof()
        return Run(json.loads(await reader.readline())["pid"], reader, writer)

    def close(self) -> None:
        """End it, and all that it started."""
        self._process.kill()
        self._process.wait()
        self._folder.cleanup()


class Run:
    """One run of a module: as much of `asyncio.subprocess.Process` as its tests use."""

    def __init__(self, pid: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Keep what tells of it."""
        self.pid = pid
        self.returncode: int | None = None
        self._reader, self._writer = reader, writer
        self._told = {"out": "", "err": ""}

    async def wait(self) -> int:
        """Wait for its end and return the exit code."""
        if self.returncode is None:
            told = json.loads(await self._reader.readline())
            self._writer.close()
            self._told = told
            self.returncode = os.waitstatus_to_exitcode(told["status"])
        return self.returncode

    async def communicate(self) -> tuple[str, str]:
        """Wait for its end and return what it wrote."""
        await self.wait()
        return self._told["out"], self._told["err"]

    def kill(self) -> None:
        """Kill it, if it still lives."""
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)


def main() -> None:
    """Import, then fork for each connection."""
    warnings.filterwarnings("ignore", message="Protobuf gencode version")
    for name in sys.argv[2:]:
        importlib.import_module(name)
    threads = os.listdir("/proc/self/task")
    assert len(threads) == 1, f"{len(threads)} threads after the imports: none but this one would be in a fork"
    del warnings.filters[0]
    gc.collect()
    gc.freeze()
    _die_with_parent()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    with socket.socket(fileno=int(sys.argv[1])) as listener:
        while True:
            connection, _ = listener.accept()
            if os.fork() == 0:
                listener.close()
                _answer(connection)
            connection.close()


def _answer(connection: socket.socket) -> NoReturn:
    """Run what a connection asks for, tell its number and then what came of it, and end."""
    try:
        _die_with_parent()
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        with connection.makefile("rb") as reading:
            asked = json.loads(reading.read())
        stdin = asked.pop("stdin")
        pipes = [os.pipe() for _ in range(3)] if stdin is not None else []
        streams = [pipes[0][0], pipes[1][1], pipes[2][1]] if pipes else []
        if pipes:
            # A pipe holds so much before anybody reads.
            assert len(stdin.encode()) < 65_536
            os.write(pipes[0][1], stdin.encode())
            os.close(pipes[0][1])
        pid = os.fork()
        if pid == 0:
            connection.close()
            _become(streams=streams, **asked)
        connection.sendall(json.dumps({"pid": pid}).encode() + b"\n")
        for descriptor in streams:
            os.close(descriptor)
        out, err = _read(pipes[1][0], pipes[2][0]) if pipes else ("", "")
        _, status = os.waitpid(pid, 0)
        connection.sendall(json.dumps({"status": status, "out": out, "err": err}).encode() + b"\n")
    finally:
        os._exit(0)


def _read(*descriptors: int) -> list[str]:
    """Read pipes to their ends."""
    read = dict.fromkeys(descriptors, b"")
    with selectors.DefaultSelector() as selector:
        for descriptor in descriptors:
            selector.register(descriptor, selectors.EVENT_READ)
        while selector.get_map():
            for key, _ in selector.select():
                if chunk := os.read(key.fd, 65_536):
                    read[key.fd] += chunk
                else:
                    selector.unregister(key.fd)
    return [content.decode() for content in read.values()]


def _become(
    *, module: str, streams: list[int], arguments: list[str], environment: dict[str, str], cwd: str
) -> NoReturn:
    """Run a module in this process, which was forked for it, and end with its code."""
    code: Any = 1
    try:
        _die_with_parent()
        for target, source in enumerate(streams):
            os.dup2(source, target)
        os.closerange(3, 256)
        if streams:
            _open_streams()
        os.chdir(cwd)
        os.environ.clear()
        os.environ.update(environment)
        if failpoints := sys.modules.get("sourcier.services.chassis.failpoints"):
            failpoints._failpoints = failpoints.Failpoints(os.environ)  # type: ignore[attr-defined]
        sys.argv = [module, *arguments]
        sys.path.insert(0, cwd)
        runpy.run_module(module, run_name="__main__", alter_sys=True)
        code = 0
    except SystemExit as ended:
        code = 0 if ended.code is None else ended.code
    except BaseException:
        sys.excepthook(*sys.exc_info())  # type: ignore[arg-type]
    finally:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        os._exit(code if isinstance(code, int) else 1)


def _open_streams() -> None:
    """Open the streams anew: those of the process that forked know whether its own could be rewound."""
    for number, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        before = getattr(sys, name)
        stream = open(number, mode, encoding=before.encoding, errors=before.errors, closefd=False)  # noqa: SIM115
        stream.reconfigure(line_buffering=name == "stderr")
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)


def _die_with_parent() -> None:
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


if __name__ == "__main__":
    main()
