"""What a confined process left in its folder, read as what a stranger may have written: files of its own, nothing else.

A link there would have the service read one of its own files for the stranger; a pipe would keep it waiting.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from sourcier.services.chassis.errors import DocumentMalformed

Told = TypeVar("Told")
TOLD_BYTES_MAX = 64 * 1024 * 1024
"""Of what is told beside the document: its pages, properties and the names in it."""


def read_result(path: Path, *, tail: int | None = None) -> bytes:
    """Return what a file holds, or only its last bytes; raise DocumentMalformed for anything but a file of its own."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise DocumentMalformed(f"The parser left no result “{path.name}” that can be read.") from error
    found = os.fstat(descriptor)
    if not is_own_file(found):
        os.close(descriptor)
        raise DocumentMalformed(f"The parser left “{path.name}”, which is no file of its own: the document is hostile.")
    with os.fdopen(descriptor, "rb") as file:
        if tail is not None:
            file.seek(max(found.st_size - tail, 0))
        return file.read()


def read_told(path: Path, make: Callable[[Any], Told]) -> Told:
    """Return what `make` makes of a small JSON file; raise DocumentMalformed where it says anything else."""
    try:
        if path.lstat().st_size > TOLD_BYTES_MAX:
            raise ValueError(f"more than {TOLD_BYTES_MAX} bytes")
        return make(json.loads(read_result(path)))
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise DocumentMalformed(f"The parser left “{path.name}”, which says nothing that is known.") from error


def move_members(written: Path, folder: Path) -> None:
    """Move the files of members out of a folder that goes; nothing else that may lie there."""
    folder.mkdir()
    if not written.is_dir() or written.is_symlink():
        return
    for path in written.iterdir():
        if path.name.isdigit() and is_own_file(path.lstat()):
            path.rename(folder / path.name)


def is_own_file(found: os.stat_result) -> bool:
    """Tell a plain file with this one name from links, and from a second name for another file."""
    return stat.S_ISREG(found.st_mode) and found.st_nlink == 1
