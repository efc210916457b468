"""What a confined process left in its folder, read as what a stranger may have written: files of its own, nothing else.

A link there would have the service read one of its own files for the stranger; a pipe would keep it waiting.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from sourcier.services.chassis.errors import DocumentMalformed


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
