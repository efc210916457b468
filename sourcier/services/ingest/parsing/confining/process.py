"""A process for strangers' files: bounds on what it takes, no network, and an end no later than its parent's.

Limits of address space, processor time, file size and open files are the kernel's. The network is taken away by an
empty network namespace where the kernel allows one (as root, or with unprivileged user namespaces), and by `lock` in
each child. Python's own sockets and programs are refused first, with an error that a library can catch, and noted.
"""

from __future__ import annotations

import ctypes
import errno
import os
import resource
import signal
import sys
from collections.abc import Callable
from typing import NoReturn

from sourcier.services.ingest.parsing.limits import ParsingLimits

_CLONE_NEWUSER = 0x10000000
_CLONE_NEWNET = 0x40000000
_PR_SET_PDEATHSIG = 1
_PR_SET_NO_NEW_PRIVS = 38
SOCKETS = frozenset({
    "socket.connect", "socket.bind", "socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr",
    "socket.sendto", "socket.sendmsg",
})
PROGRAMS = frozenset({"subprocess.Popen", "os.exec", "os.posix_spawn", "os.spawn", "os.system"})
_IN_CHILDREN = {
    **dict.fromkeys(SOCKETS | {"socket.__new__"}, "socket"),
    **dict.fromkeys(PROGRAMS | {"os.fork", "os.forkpty", "pty.spawn"}, "program"),
    "os.kill": "process", "os.killpg": "process",
}
_noting: list[Callable[[str], None]] = []
"""Who notes what a child tries: whichever hook refuses it, for Python asks no other after the first that does."""
_INTERRUPTED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def leave_network() -> str:
    """Cut this process and its children off the network; return `namespace` or `sockets`, whichever was possible.

    Call while the process has one thread: the kernel refuses a new user namespace to more.
    """
    isolation = "namespace" if _unshare(_CLONE_NEWNET) or _unshare(_CLONE_NEWUSER | _CLONE_NEWNET) else "sockets"
    sys.addaudithook(_refuse_in_zygote)
    return isolation


def apply_limits(limits: ParsingLimits) -> None:
    """Bound what this process can take; over the bounds it gets MemoryError, EFBIG, EMFILE or SIGXCPU."""
    for what, bound in (
        (resource.RLIMIT_AS, limits.memory_bytes),
        (resource.RLIMIT_FSIZE, limits.output_bytes),
        (resource.RLIMIT_NOFILE, limits.open_files),
        (resource.RLIMIT_CORE, 0),
    ):
        resource.setrlimit(what, (bound, bound))
    # Over the soft limit SIGXCPU, which names the cause; a few seconds later SIGKILL, which cannot be ignored.
    resource.setrlimit(resource.RLIMIT_CPU, (limits.cpu_seconds, limits.cpu_seconds + 5))


def die_with_parent(parent_pid: int) -> None:
    """Ask the kernel to kill this process when its parent ends, and never to gain privileges."""
    if sys.platform == "linux":
        libc = ctypes.CDLL(None)
        libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    if os.getppid() != parent_pid:
        os._exit(1)


def give_way(pid: int, *, niceness: int) -> None:
    """Let a process group run where nothing else wants the processor: with 19, a fortieth beside a busy thread."""
    try:
        os.setpriority(os.PRIO_PGRP, pid, niceness)
        # A session of its own may be weighed as one whole, whatever its processes' own niceness.
        with open(f"/proc/{pid}/autogroup", "w") as group:
            group.write(str(niceness))
    except OSError:
        pass  # it has ended, or the kernel does not group sessions


def seconds_kept_waiting(pid: int) -> float:
    """Return how long a process was ready to run and had no processor; 0 where the kernel does not tell."""
    try:
        with open(f"/proc/{pid}/schedstat") as counted:
            return int(counted.read().split()[1]) / 1e9
    except (OSError, ValueError, IndexError):
        return 0.0


def refuse_from_now_on(note: Callable[[str], None]) -> None:
    """Refuse Python code sockets, programs and signals to others, with an error; `note` which of them was tried."""
    _noting.append(note)
    sys.addaudithook(_refuse_in_child)


def ignore_interrupts() -> None:
    """Leave Ctrl-C and termination to the parent, which ends this process by closing its input."""
    for number in _INTERRUPTED:
        signal.signal(number, signal.SIG_IGN)


def _unshare(flags: int) -> bool:
    if sys.platform != "linux":
        return False
    return bool(ctypes.CDLL(None, use_errno=True).unshare(flags) == 0)


def _refuse_in_zygote(event: str, _arguments: object) -> None:
    if event in SOCKETS or event in PROGRAMS:
        _refuse(event)


def _refuse_in_child(event: str, arguments: tuple[object, ...]) -> None:
    if event in _IN_CHILDREN and not (event == "os.kill" and arguments[0] == os.getpid()):
        _refuse(event)


def _refuse(event: str) -> NoReturn:
    for note in _noting:
        note(_IN_CHILDREN[event])
    raise PermissionError(errno.EPERM, f"{event} is refused while a document is read")
