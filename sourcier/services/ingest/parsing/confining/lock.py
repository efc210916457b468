"""Locks a process in for good: Landlock, a filter of system calls, no capabilities. What of it works is found by trial.

A trial child of the zygote locks itself in and tries what it must not and what it must be able to. What holds there is
in force in every later child, or that child reads nothing; what does not is left out, and told.
"""

from __future__ import annotations

import ctypes
import os
import socket
import struct
import sys
import tempfile
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from sourcier.services.ingest.parsing.confining import landlock, readable, seccomp
from sourcier.services.ingest.parsing.confining.process import die_with_parent

_CAPABILITIES_VERSION = 0x20080522


@dataclass(frozen=True, slots=True)
class Lock:
    """What of it is in force, and what may be read beside a document."""

    landlock: bool
    seccomp: bool
    libraries: tuple[str, ...]

    @classmethod
    def tried(cls) -> Lock:
        """Find out what works here. Call it with one thread, when everything is imported."""
        libraries = readable.libraries()
        return cls(
            landlock=landlock.version() > 0 and _holds(lambda: _try_landlock(libraries)),
            seccomp=seccomp.is_known() and _holds(_try_seccomp),
            libraries=libraries,
        )

    def close(self, *, reads: Iterable[str | Path], folder: Path, writes: Iterable[str | Path] = ()) -> None:
        """Lock this process in: it reads the libraries and `reads`, and writes in its `folder` and below `writes`.

        Call it with one thread; raise OSError where that is not possible though it was before.
        """
        # Where libraries put temporary files: there is no other place for them.
        tempfile.tempdir = os.environ["TMPDIR"] = str(folder)
        drop_capabilities()
        if self.landlock:
            landlock.restrict(reads=(*self.libraries, *reads), writes=(*readable.WRITABLE, folder, *writes))
        if self.seccomp:
            seccomp.restrict()


def drop_capabilities() -> None:
    """Give up what root may beyond others; nothing where this is not root. No program can get it back."""
    if sys.platform == "linux":
        head, none = struct.pack("=Ii", _CAPABILITIES_VERSION, 0), bytes(24)
        ctypes.CDLL(None, use_errno=True).capset(head, none)


def _holds(attempt: Callable[[], bool]) -> bool:
    """Tell whether an attempt succeeds in a child, which ends with it."""
    parent = os.getpid()
    pid = os.fork()
    if pid == 0:
        failed = 1
        try:
            die_with_parent(parent)
            failed = 0 if attempt() else 1
        finally:
            os._exit(failed)
    return os.waitpid(pid, 0)[1] == 0


def _try_landlock(libraries: tuple[str, ...]) -> bool:
    # It may read what it is made of, not what it was started with.
    landlock.restrict(reads=libraries, writes=())
    Path(os.__file__).read_bytes()
    return _refused(lambda: Path("/proc/self/environ").read_bytes())


def _try_seccomp() -> bool:
    seccomp.restrict()
    thread = threading.Thread(target=os.getpid)
    thread.start()
    thread.join()
    return _refused(_native_socket)


def _native_socket() -> None:
    """Open a local socket as native code does, past Python's own refusal."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.socket(socket.AF_UNIX, socket.SOCK_STREAM, 0) < 0:
        raise OSError(ctypes.get_errno(), "refused")


def _refused(attempt: Callable[[], object]) -> bool:
    try:
        attempt()
    except PermissionError:
        return True
    return False
