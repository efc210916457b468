"""A folder for working files. What a killed process left of its own is removed when the next one makes one.

A lock on the folder tells whether its owner lives, not a process's number: the system frees a lock however its owner
ends, while numbers come again, and mean nothing to another container that shares the disk.
"""

from __future__ import annotations

import contextlib
import fcntl
import logging
import os
import shutil
import tempfile
from pathlib import Path

PREFIX = "sourcier-parser-"
_UNLOCKED_PREFIX = "sourcier-unlocked-"
_log = logging.getLogger(__name__)


class WorkingFolder:
    """A folder that is there from `make` to `remove`. Both block: call them in a thread."""

    def __init__(self, path: Path, lock: int) -> None:
        self.path = path
        self._lock = lock

    @classmethod
    def make(cls, parent: Path | None = None) -> WorkingFolder:
        """Make a folder below `parent` (None: the system's), after removing those of processes that are gone."""
        parent = parent or Path(tempfile.gettempdir())
        _sweep(parent)
        # It gets its name once it is locked: a sweep in between would take it for one that was left.
        unlocked = Path(tempfile.mkdtemp(prefix=_UNLOCKED_PREFIX, dir=parent))
        lock = _try_lock(unlocked)
        assert lock is not None
        path = unlocked.with_name(PREFIX + unlocked.name.removeprefix(_UNLOCKED_PREFIX))
        unlocked.rename(path)
        return cls(path, lock)

    def remove(self) -> None:
        """Remove the folder and all in it."""
        shutil.rmtree(self.path, ignore_errors=True)
        os.close(self._lock)


def _sweep(parent: Path) -> None:
    for path in parent.glob(PREFIX + "*"):
        # Another user's cannot be removed; one that goes meanwhile need not be.
        with contextlib.suppress(OSError):
            if path.lstat().st_uid != os.geteuid() or (lock := _try_lock(path)) is None:
                continue
            try:
                shutil.rmtree(path)
                _log.info("removed %s, left by a process that was killed", path)
            finally:
                os.close(lock)


def _try_lock(folder: Path) -> int | None:
    """Return the descriptor that holds the lock, None where another holds it. Programs started later do not get it."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor
