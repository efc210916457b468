"""Runs tests over a tree in which one line is changed: in a fork of a process that has imported the libraries."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import importlib
import json
import os
import resource
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import psutil

LIBRARIES = (
    "pytest", "pytest_asyncio", "hypothesis", "xdist", "grpc", "grpc.aio", "google.protobuf.json_format",
    "grpc_health.v1", "grpc_reflection.v1alpha", "grpc_status", "google.rpc.error_details_pb2", "numpy", "pydantic",
    "pydantic_settings", "psycopg", "psycopg_pool", "nats", "prometheus_client", "httpx", "lxml.html", "click",
    "rich.console", "starlette.applications", "psutil", "tokenizers", "PIL.Image", "obstore", "jwt",
    "cryptography.x509", "snowballstemmer", "opentelemetry.trace",
)
PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
MEMORY_BYTES_MAX = 12 * 2**30


@dataclass(frozen=True, slots=True)
class Followed:
    """What a test file runs where nothing is changed."""

    seconds: float
    """The time it took; -1 where it fails."""
    ran: frozenset[str] = frozenset()
    """`file:function` of everything of the package that it called, or that was called when it was imported."""


@dataclass(frozen=True, slots=True)
class Told:
    """What came of a run."""

    failed: str = ""
    """The first test that failed; empty where all passed."""
    seconds: float = 0.0
    ended: bool = True
    """False where the time bound ended it."""
    passed: int = 0
    followed: dict[str, Followed] = field(default_factory=dict)
    """Where it was asked for: each test file, and what it ran."""


def warm() -> None:
    """Import what all tests import, and no line of this repository."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in LIBRARIES:
            with contextlib.suppress(ImportError):
                importlib.import_module(name)
    threads = len(os.listdir("/proc/self/task"))
    assert threads == 1, f"{threads} threads after the imports: none but this one would be in a fork"
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


@contextlib.contextmanager
def copied(root: Path) -> Iterator[Path]:
    """Yield a copy of the working tree, with what git ignores left out, beside the shared data and the environments."""
    folder = Path(tempfile.mkdtemp(prefix="mutants-"))
    try:
        folder.chmod(0o755)
        tree = folder / "tree"
        listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=root,
                                capture_output=True, check=True)
        for name in filter(None, listed.stdout.decode().split("\0")):
            if (root / name).is_file():
                (tree / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(root / name, tree / name)
        (tree / ".venv").symlink_to(root / ".venv")
        # Not by `eval.shared_sets`: what this process imports of the project, its forks would not import from the copy.
        if (data := root.with_name("shared")).is_dir():
            (folder / data.name).symlink_to(data.resolve())
        yield tree
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def run(tree: Path, tests: list[str], *, seconds_max: float, follow: bool = False) -> Told:
    """Run test files of a tree until one fails, or the time is over; with `follow`, all of them, and tell what ran."""
    reading, writing = os.pipe()
    begun = time.monotonic()
    # Sockets lie in there, and their paths are short.
    temporary = Path(tempfile.mkdtemp(prefix="mu-"))
    temporary.chmod(0o755)
    pid = os.fork()
    if pid == 0:
        os.close(reading)
        _become(tree, tests, writing, temporary, follow)
    os.close(writing)
    told = b""
    while (left := begun + seconds_max - time.monotonic()) > 0:
        if select.select([reading], [], [], left)[0]:
            piece = os.read(reading, 65_536)
            if not piece:
                break
            told += piece
    os.close(reading)
    seconds = time.monotonic() - begun
    _end(pid)
    shutil.rmtree(temporary, ignore_errors=True)
    try:
        answer = json.loads(told)
    except ValueError:
        # No answer: the time is over, or the process died, which a test that runs it would have seen.
        ended = seconds < seconds_max
        return Told(failed="the process died" if ended else "", seconds=seconds, ended=ended)
    followed = {test: Followed(each["seconds"], frozenset(each["ran"])) for test, each in answer["followed"].items()}
    return Told(answer["failed"], seconds, True, answer["passed"], followed)


def _end(pid: int) -> None:
    """End a run and every process that it left."""
    with contextlib.suppress(psutil.NoSuchProcess):
        for each in [*psutil.Process(pid).children(recursive=True), psutil.Process(pid)]:
            with contextlib.suppress(psutil.NoSuchProcess):
                each.kill()
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, 0)
    # Orphans of it come to this process.
    for each in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess):
            each.kill()
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, 0):
            pass


class _Reporter:
    """The pytest plugin that keeps what failed first."""

    def __init__(self) -> None:
        self.failed = ""
        self.passed = 0

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed and not self.failed:
            self.failed = report.nodeid
        elif report.passed and report.when == "call":
            self.passed += 1

    def pytest_collectreport(self, report: Any) -> None:
        if report.failed and not self.failed:
            self.failed = report.nodeid


class _Follower:
    """The pytest plugin that keeps which functions of the package each file calls, one process for all files.

    By the calls alone: lines would cost ten times as much. What is called when modules are imported counts for every
    file, since the first one imports for all; caches are emptied between files for the same reason.
    """

    def __init__(self, tree: Path) -> None:
        self._prefix = f"{tree}/sourcier/"
        self._seen: set[CodeType] = set()
        self._imported: list[str] = []
        self._files: dict[str, dict[str, Any]] = {}
        self._begun = 0.0

    def begin(self) -> None:
        threading.settrace(self._follow)
        sys.settrace(self._follow)

    def _follow(self, frame: FrameType, event: str, argument: object) -> None:
        self._seen.add(frame.f_code)

    def _taken(self) -> list[str]:
        begin = len(self._prefix) - len("sourcier/")
        seen, self._seen = self._seen, set()
        return sorted({
            f"{code.co_filename[begin:]}:{code.co_qualname.replace('<locals>.', '')}"
            for code in seen if code.co_filename.startswith(self._prefix)
        })

    def pytest_collection_finish(self) -> None:
        self._imported = self._taken()

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        if (file := nodeid.partition("::")[0]) not in self._files:
            self._files[file] = {"seconds": 0.0, "ran": []}
            _empty_caches()
        self._begun = time.monotonic()

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed:
            self._files[report.nodeid.partition("::")[0]]["seconds"] = -1.0

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        told = self._files[nodeid.partition("::")[0]]
        told["ran"] += self._taken()
        if told["seconds"] >= 0:
            told["seconds"] += time.monotonic() - self._begun

    def told(self) -> dict[str, dict[str, Any]]:
        sys.settrace(None)
        return {file: {**told, "ran": sorted({*told["ran"], *self._imported})} for file, told in self._files.items()}


def _empty_caches() -> None:
    """Empty the caches of the package's functions and methods: what lies in them is not called again."""
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] == "sourcier":
            owners = [module, *(each for each in vars(module).values() if isinstance(each, type))]
            for each in [each for owner in owners for each in list(vars(owner).values())]:
                if isinstance(each, functools._lru_cache_wrapper):
                    each.cache_clear()


def _become(tree: Path, tests: list[str], writing: int, temporary: Path, follow: bool) -> None:
    """Run pytest in this fork, tell what came of it and end."""
    try:
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        # A change may make an endless list.
        resource.setrlimit(resource.RLIMIT_DATA, (MEMORY_BYTES_MAX, MEMORY_BYTES_MAX))
        with open(os.devnull, "r+b") as nothing:
            for number in (0, 1, 2):
                os.dup2(nothing.fileno(), number)
        os.chdir(tree)
        os.environ.update(TMPDIR=str(temporary), PYTHONPATH=str(tree),
                          HYPOTHESIS_STORAGE_DIRECTORY=str(temporary / "hypothesis"))
        tempfile.tempdir = None
        for name in [name for name in sys.modules if name.split(".")[0] in ("tests", "sourcier")]:
            del sys.modules[name]
        here = str(Path(__file__).parents[2])
        sys.path[:] = [str(tree), *(each for each in sys.path if each not in ("", here))]
        import pytest

        reporter, follower = _Reporter(), _Follower(tree)
        if follow:
            follower.begin()
        arguments = ["-q", "--continue-on-collection-errors" if follow else "-x", "-n", "0", "-p", "no:cacheprovider",
                     "--rootdir", str(tree), "--timeout", "60", "-W", "ignore::pytest.PytestAssertRewriteWarning"]
        code = pytest.main([*arguments, *tests], plugins=[reporter, *([follower] if follow else [])])
        failed = reporter.failed or ("" if code in (0, 5) else f"pytest ended with {int(code)}")
        told = {"failed": failed, "passed": reporter.passed, "followed": follower.told() if follow else {}}
        with os.fdopen(writing, "wb") as pipe:
            pipe.write(json.dumps(told).encode())
    except BaseException:
        with os.fdopen(writing, "wb") as pipe:
            failed = f"the run itself: {traceback.format_exc()}"
            pipe.write(json.dumps({"failed": failed, "passed": 0, "followed": {}}).encode())
    finally:
        os._exit(0)
