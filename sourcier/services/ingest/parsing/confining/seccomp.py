"""A filter of system calls for this process and its threads, native code included: what reading takes, and no more.

The kernel runs a small program (classic BPF) before each call. It sees numbers and plain arguments, never what a
pointer leads to. Written out here: libseccomp, which would write it, is a library that most machines lack (ADR 34).
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache

from sourcier.services.ingest.parsing.confining.system_calls import BY_ARGUMENTS, HOSTILE, LAST_KNOWN, READING

_PR_SET_SECCOMP, _MODE_FILTER = 22, 2
KILL, ALLOW, _ERRNO = 0x80000000, 0x7FFF0000, 0x00050000
"""What the program answers the kernel; `KILL` ends the whole process with SIGSYS."""

_CLONE_THREAD = 0x10000
_F_SETOWN, _F_SETSIG, _F_SETOWN_EX = 8, 10, 15
"""With these a file's news are sent as signals, to any process."""
_IOCTLS = (0x5401, 0x802C542A, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451)
"""TCGETS, TCGETS2, TIOCGWINSZ, FIONREAD, FIONBIO, FIONCLEX, FIOCLEX: is it a terminal, what can be read, flags."""
_PRCTLS = (15, 16, 0x53564D41)
"""PR_SET_NAME and PR_GET_NAME of a thread, PR_SET_VMA: names for memory."""

# Instructions: load a word of what the kernel tells, compare and jump, return. Words: number, architecture, arguments.
_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16
_libc = ctypes.CDLL(None, use_errno=True)
Instruction = tuple[int, int, int, int]
"""Code, how many to skip if true and if false, and the value."""
_INSTRUCTION = struct.Struct("=HBBI")


@dataclass(frozen=True, slots=True)
class Architecture:
    """What tells an architecture in the kernel's words, and where its numbers are in the tables."""

    identity: int
    column: int
    numbers_end: int
    """Numbers from here on belong to another ABI (x32)."""


ARCHITECTURES = {
    "x86_64": Architecture(0xC000003E, 0, 0x40000000),
    "aarch64": Architecture(0xC00000B7, 1, 0x80000000),
}


def is_known() -> bool:
    """Tell whether there are tables for this machine, and its Python is of 64 bits; have the filter ready if so."""
    architecture = ARCHITECTURES.get(platform.machine())
    if architecture is None or struct.calcsize("P") != 8:
        return False
    _by_number(architecture)
    return True


def restrict() -> None:
    """Refuse this process every call but those that reading takes; for ever. Raise OSError where that cannot be.

    Call it while there is one thread: others that run already would not be bound.
    """
    program = filter_program(ARCHITECTURES[platform.machine()], pid=os.getpid())
    code = ctypes.create_string_buffer(program)
    head = struct.pack("@HP", len(program) // _INSTRUCTION.size, ctypes.addressof(code))
    if _libc.prctl(_PR_SET_SECCOMP, _MODE_FILTER, head, 0, 0) != 0:
        error = ctypes.get_errno()
        raise OSError(error, f"seccomp: {os.strerror(error)}")


def filter_program(architecture: Architecture, *, pid: int) -> bytes:
    """Return the filter for the process of this number, which may send signals to itself alone."""
    return _by_number(architecture) + _packed((
        *_by_arguments(architecture, pid),
        # Newer than this: libraries do without what a kernel does not have.
        *_if(_AT_LEAST, LAST_KNOWN + 1, _ERRNO | errno.ENOSYS),
        (_RETURN, 0, 0, _ERRNO | errno.EPERM),
    ))


@cache
def _by_number(architecture: Architecture) -> bytes:
    """Return what needs no arguments: made once, by the process that all others are forked from."""
    return _packed((
        (_LOAD, 0, 0, _ARCHITECTURE),
        # 32-bit calls have other numbers: a filter that does not look is passed by.
        *_unless(_EQUAL, architecture.identity, KILL),
        (_LOAD, 0, 0, _NUMBER),
        *_if(_AT_LEAST, architecture.numbers_end, KILL),
        *_each(READING, architecture, ALLOW),
        *_each(HOSTILE, architecture, KILL),
    ))


def _packed(program: Iterable[Instruction]) -> bytes:
    return b"".join(_INSTRUCTION.pack(*instruction) for instruction in program)


def _by_arguments(architecture: Architecture, pid: int) -> Iterator[Instruction]:
    refuse, own = _ERRNO | errno.EPERM, [*_if(_EQUAL, pid, ALLOW), (_RETURN, 0, 0, KILL)]
    rules: dict[str, list[Instruction]] = {
        "clone": [_argument(0), *_if(_ANY_BIT, _CLONE_THREAD, ALLOW), (_RETURN, 0, 0, KILL)],
        # Its flags are behind a pointer: without it, libraries call clone.
        "clone3": [(_RETURN, 0, 0, _ERRNO | errno.ENOSYS)],
        # ONNX Runtime opens one for its telemetry, and the C library to look up a user's name: both do without.
        "socket": [(_RETURN, 0, 0, _ERRNO | errno.EACCES)],
        "kill": [_argument(0), *own],
        "tgkill": [_argument(0), *own],
        # Asked, not set: limits of other processes could be changed by it. The third argument is a pointer.
        "prlimit64": [
            _argument(2), *_unless(_EQUAL, 0, refuse), _argument(2, upper=True), *_unless(_EQUAL, 0, refuse),
            _argument(0), *_if(_EQUAL, 0, ALLOW), *_if(_EQUAL, pid, ALLOW), (_RETURN, 0, 0, refuse),
        ],
        "ioctl": _one_of(1, _IOCTLS, refuse),
        "prctl": _one_of(0, _PRCTLS, refuse),
        "fcntl": [
            _argument(1), *_if(_EQUAL, _F_SETOWN, refuse), *_if(_EQUAL, _F_SETSIG, refuse),
            *_if(_EQUAL, _F_SETOWN_EX, refuse), (_RETURN, 0, 0, ALLOW),
        ],
    }
    for name, numbers in BY_ARGUMENTS.items():
        number = numbers[architecture.column]
        assert number is not None
        yield (_EQUAL, 0, len(rules[name]), number)
        yield from rules[name]


def _one_of(place: int, values: Iterable[int], otherwise: int) -> list[Instruction]:
    allowed = [instruction for value in values for instruction in _if(_EQUAL, value, ALLOW)]
    return [_argument(place), *allowed, (_RETURN, 0, 0, otherwise)]


def _each(calls: dict[str, tuple[int | None, int | None]], architecture: Architecture, answer: int,
          ) -> Iterator[Instruction]:
    for numbers in calls.values():
        number = numbers[architecture.column]
        if number is not None:
            yield from _if(_EQUAL, number, answer)


def _if(comparison: int, value: int, answer: int) -> tuple[Instruction, Instruction]:
    return (comparison, 0, 1, value), (_RETURN, 0, 0, answer)


def _unless(comparison: int, value: int, answer: int) -> tuple[Instruction, Instruction]:
    return (comparison, 1, 0, value), (_RETURN, 0, 0, answer)


def _argument(place: int, *, upper: bool = False) -> Instruction:
    """Load the lower half of an argument, or its upper one; both architectures are little-endian."""
    return (_LOAD, 0, 0, _ARGUMENTS + 8 * place + 4 * upper)
