"""The log file of a child process: appended to by the child itself, bounded from outside."""

from __future__ import annotations

import contextlib
import os
import shutil
from pathlib import Path

LOG_BYTES_MAX = 8 * 1024 * 1024
TAIL_BYTES_MAX = 64 * 1024


def open_log(path: Path) -> int:
    """Open a log for appending and return its descriptor; children write to it without passing through the stack.

    With a pipe instead, a stack that is busy or stopped would block every child at its next log line.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)


def bound_log(path: Path, *, bytes_max: int = LOG_BYTES_MAX) -> None:
    """Move a log over the limit to `<name>.1`. The child holds the file open for appending, so it is truncated."""
    moved = path.with_name(path.name + ".1")
    try:
        if path.stat().st_size <= bytes_max:
            return
        _make_private(moved)
        shutil.copyfile(path, moved)
        os.truncate(path, 0)
    except FileNotFoundError:
        return
    except OSError:
        # A full disk is no reason to end what is logged; half a copy would keep it full.
        with contextlib.suppress(OSError):
            moved.unlink(missing_ok=True)


def _make_private(path: Path) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        os.fchmod(descriptor, 0o600)  # one of an older release was readable by all
    finally:
        os.close(descriptor)


def tail(path: Path, *, lines: int = 12, since_byte: int = 0) -> list[str]:
    """Return the last lines of a log, none of them written before `since_byte`."""
    try:
        with path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(min(since_byte, size), size - TAIL_BYTES_MAX))
            text = file.read().decode("utf-8", "replace")
    except FileNotFoundError:
        return []
    return [line for line in text.splitlines() if line.strip()][-lines:]
