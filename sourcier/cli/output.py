"""Where a command writes to: output that is closed, full or of few characters ends it in a line, not in a traceback."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import TextIO, cast

EXIT_BROKEN_PIPE = 141


class OutputClosed(Exception):
    """Whoever read our output has gone, as `head` does; click would take a BrokenPipeError for its own affair."""


def prepare() -> None:
    """Open what the process was started without, and let what an encoding lacks be written as a question mark.

    A closed standard output fails when it is written to, as it does in every other program; without this, Python has
    None in its place, and the next file that is opened would take its number.
    """
    if sys.stdin is None:
        sys.stdin = _opened(os.O_RDONLY, "r")
    if sys.stdout is None:
        sys.stdout = _opened(os.O_RDONLY, "w")
    if sys.stderr is None:
        sys.stderr = _opened(os.O_WRONLY, "w")
    for stream, errors in ((sys.stdin, "surrogateescape"), (sys.stdout, "replace"), (sys.stderr, "replace")):
        # A test's stand-in for a stream need not have it.
        if reconfigure := getattr(stream, "reconfigure", None):
            reconfigure(errors=errors)


def closing(run: Callable[[], int], *, failed: int) -> int:
    """Run a command, and return its exit code: 141 where its reader has gone, `failed` where it cannot write."""
    status = 0
    try:
        status = _status(run)
        sys.stdout.flush()
    except (BrokenPipeError, OutputClosed):
        status = EXIT_BROKEN_PIPE
    except OSError as error:
        # A command that failed has said why.
        if not status:
            sys.stderr.write(f"error: {told(error)}\n")
            status = failed
    give_up()
    return status


def give_up() -> None:
    """See to it that the interpreter's own flush at the end finds somewhere to write what is left."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def told(error: OSError) -> str:
    """Return an error of the system as a person reads it."""
    import errno

    if error.errno == errno.EBADF and not error.filename:
        return "standard output is closed"
    name = f"{error.filename}: " if error.filename else ""
    return f"{name}{error.strerror or error}"


def _opened(flags: int, mode: str) -> TextIO:
    # Open for as long as the process is.
    return cast("TextIO", open(os.open(os.devnull, flags), mode, encoding="utf-8", closefd=False))


def _status(run: Callable[[], int]) -> int:
    try:
        return run()
    except SystemExit as end:
        # rich ends the process itself, with a code of its own, when nobody reads.
        if isinstance(end.__context__, BrokenPipeError):
            raise end.__context__ from None
        return end.code if isinstance(end.code, int) else 0 if end.code is None else 1
