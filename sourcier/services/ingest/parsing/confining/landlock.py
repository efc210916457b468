"""Landlock: the kernel refuses this process, its threads and its children every file but those below named paths.

Three system calls, without privileges, from Linux 5.13 on. Later kernels refuse more, by the version of their ABI:
moving between folders (2), truncating (3), TCP (4), device controls (5), abstract sockets and signals (6). What a
kernel does not know cannot be asked of it. Landlock says nothing about reading what is known of a file (`stat`), nor
about owners, modes and times: `seccomp` refuses to change those.
"""

from __future__ import annotations

import ctypes
import os
import stat
import struct
from collections.abc import Iterable
from pathlib import Path

# The numbers are the same on every architecture.
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_ASK_VERSION = 1
_PATH_BENEATH = 1

_WRITE_FILE, _READ_FILE, _READ_DIR = 1 << 1, 1 << 2, 1 << 3
_REMOVE_DIR, _REMOVE_FILE, _MAKE_DIR, _MAKE_REG = 1 << 4, 1 << 5, 1 << 7, 1 << 8
_REFER, _TRUNCATE, _IOCTL_DEV = 1 << 13, 1 << 14, 1 << 15
_OF_FILES = (1 << 13) - 1
"""All rights of the first version: programs run and devices, sockets, pipes and symbolic links made included."""
_BIND_TCP, _CONNECT_TCP = 1, 2
_ABSTRACT_UNIX_SOCKETS, _SIGNALS = 1, 2

_READS = _READ_FILE | _READ_DIR
_WRITES = _READS | _WRITE_FILE | _REMOVE_DIR | _REMOVE_FILE | _MAKE_DIR | _MAKE_REG | _REFER | _TRUNCATE
_FOR_A_FILE = _READ_FILE | _WRITE_FILE | _TRUNCATE
_libc = ctypes.CDLL(None, use_errno=True)


def version() -> int:
    """Return the version of the kernel's ABI; 0 where there is no Landlock, or a container forbids it."""
    try:
        return _call(_CREATE_RULESET, None, 0, _ASK_VERSION)
    except OSError:
        return 0


def restrict(*, reads: Iterable[str | Path], writes: Iterable[str | Path]) -> None:
    """Refuse this thread, and what it starts, every path that is not below one of these, and all TCP; for ever.

    Paths that are not there are left out. Raise OSError where the kernel does not do it; before that call
    `process.die_with_parent`, without which it may not.
    """
    abi = version()
    files = _OF_FILES | (_REFER if abi >= 2 else 0) | (_TRUNCATE if abi >= 3 else 0) | (_IOCTL_DEV if abi >= 5 else 0)
    network = _BIND_TCP | _CONNECT_TCP if abi >= 4 else 0
    scoped = _ABSTRACT_UNIX_SOCKETS | _SIGNALS if abi >= 6 else 0
    asked = struct.pack("=QQQ", files, network, scoped)[: 24 if abi >= 6 else 16 if abi >= 4 else 8]
    ruleset = _call(_CREATE_RULESET, asked, len(asked), 0)
    try:
        for paths, rights in ((reads, _READS), (writes, _WRITES)):
            for path in paths:
                _allow(ruleset, path, rights & files)
        _call(_RESTRICT_SELF, ruleset, 0)
    finally:
        os.close(ruleset)


def _allow(ruleset: int, path: str | Path, rights: int) -> None:
    try:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return  # it could not be read before either
    try:
        if not stat.S_ISDIR(os.fstat(descriptor).st_mode):
            rights &= _FOR_A_FILE
        _call(_ADD_RULE, ruleset, _PATH_BENEATH, struct.pack("=Qi", rights, descriptor), 0)
    finally:
        os.close(descriptor)


def _call(number: int, *arguments: int | bytes | None) -> int:
    # As longs: a plain int leaves the upper half of its register to chance.
    words = [ctypes.c_long(each) if isinstance(each, int) else each for each in arguments]
    result = _libc.syscall(ctypes.c_long(number), *words)
    if result < 0:
        error = ctypes.get_errno()
        raise OSError(error, f"Landlock: {os.strerror(error)}")
    return int(result)
