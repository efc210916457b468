"""The data folder's lock and state file: one stack per folder, found by `status`, `down` and a second `up`."""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from collections.abc import Iterator
from pathlib import Path

from sourcier.services.chassis.errors import AlreadyExists, FailedPrecondition
from sourcier.services.stack.secret import write_private
from sourcier.services.stack.status import StackStatus, from_json, to_json

LOCK_TRIES = 5
LOCK_TRY_SECONDS = 0.02


def open_folder(folder: Path) -> None:
    """Create the data folder. PostgreSQL's user may pass through it, nobody else's files are readable in it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FailedPrecondition(
            f"The data folder {folder} cannot be made ({error.strerror}); set SOURCIER_DATA_DIR to one that can."
        ) from error
    if not os.access(folder, os.W_OK):
        raise FailedPrecondition(f"The data folder {folder} cannot be written to; set SOURCIER_DATA_DIR to another.")
    if folder.stat().st_uid == os.geteuid():
        folder.chmod(0o711)


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold the data folder; raise `AlreadyExists` while another stack does. The system frees it if we are killed."""
    with _ours(folder):
        descriptor = os.open(_lock_path(folder), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        if not _lock(descriptor):
            raise AlreadyExists(f"A stack runs on {folder} already.")
        yield
    finally:
        os.close(descriptor)


def _lock(descriptor: int) -> bool:
    # `is_locked` holds the lock for an instant, which must not look like a running stack.
    for _ in range(LOCK_TRIES):
        with contextlib.suppress(BlockingIOError):
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        time.sleep(LOCK_TRY_SECONDS)
    return False


def is_locked(folder: Path) -> bool:
    """Tell whether a stack runs on the data folder."""
    with _ours(folder):
        if not _lock_path(folder).exists():
            return False
    try:
        with locked(folder):
            return False
    except AlreadyExists:
        return True


def write(folder: Path, status: StackStatus) -> None:
    """Keep the status; the file holds passwords and is private."""
    write_private(_state_path(folder), to_json(status))


def read(folder: Path) -> StackStatus | None:
    """Return the last status kept, whether its stack still runs or not; None if there is none."""
    try:
        with _ours(folder):
            return from_json(_state_path(folder).read_text("utf-8"))
    except (FileNotFoundError, ValueError):
        return None


def remove(folder: Path) -> None:
    """Forget the status, once nothing runs any more."""
    _state_path(folder).unlink(missing_ok=True)


@contextlib.contextmanager
def _ours(folder: Path) -> Iterator[None]:
    """Say whose the folder is, where its private files are closed to us."""
    try:
        yield
    except PermissionError as error:
        raise FailedPrecondition(
            f"The data folder {folder} belongs to another user; run this as that one, or name one of your own with "
            "--data-dir or SOURCIER_DATA_DIR."
        ) from error


def _lock_path(folder: Path) -> Path:
    return folder / "stack.lock"


def _state_path(folder: Path) -> Path:
    return folder / "stack.json"
