"""A temporary folder beside the target, renamed into place when it is whole: a model is there or it is not.

One process fills a model at a time, held by a file lock; what a killed process left behind is removed by the next.
"""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from sourcier.models.progress import Progress
from sourcier.services.chassis.errors import ResourceExhausted, ServiceError


class FetchFailed(ServiceError):
    """The model could not be fetched."""

    reason = "FETCH_FAILED"


@contextmanager
def locked(root: Path, name: str, *, progress: Progress) -> Iterator[None]:
    """Hold the model's lock, waiting for another process that is filling the same model."""
    try:
        root.mkdir(parents=True, exist_ok=True)
        stream = (root / f".{name}.lock").open("w", encoding="utf-8")
    except OSError as error:
        raise FetchFailed(f"the model store {root} cannot be written ({error.strerror}); choose another folder with "
                          "--root or SOURCIER_MODELS_DIR") from error
    with stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            progress.say(f"  another process is fetching {name}; waiting for it")
            fcntl.flock(stream, fcntl.LOCK_EX)
        yield


@contextmanager
def staged(root: Path, name: str) -> Iterator[Path]:
    """Give an empty folder, and remove whatever is left of it; call under the model's lock."""
    for leftover in (*root.glob(f".{name}.partial-*"), *root.glob(f".{name}.replaced")):
        shutil.rmtree(leftover, ignore_errors=True)
    folder = Path(tempfile.mkdtemp(prefix=f".{name}.partial-", dir=root))
    try:
        yield folder
    except OSError as error:
        if error.errno == errno.ENOSPC:
            raise disk_full(root, name) from error
        raise
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def publish(made: Path, *, root: Path, name: str) -> None:
    """Put a finished folder in the model's place, the model before it removed."""
    target = root / name
    replaced = root / f".{name}.replaced"
    for path in made.rglob("*"):
        # Some writers create private files; the services may run as another user.
        path.chmod(0o755 if path.is_dir() else 0o644)
        if path.is_file():
            flush(path)
    made.chmod(0o755)
    with suppress(FileNotFoundError):
        target.rename(replaced)
    made.rename(target)
    flush(root)
    shutil.rmtree(replaced, ignore_errors=True)


def flush(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def require_space(root: Path, name: str, *, needed_bytes: int) -> None:
    """Refuse to begin what cannot end: ResourceExhausted names what is needed, what is there, and the way out."""
    free_bytes = shutil.disk_usage(root).free
    if free_bytes < needed_bytes:
        raise ResourceExhausted(
            f"{name} needs {needed_bytes / 2**30:.1f} GiB of free disk while it is made, {root} has "
            f"{free_bytes / 2**30:.1f} GiB; free some space, or choose another folder with --root or "
            "SOURCIER_MODELS_DIR", model=name,
        )


def disk_full(root: Path, name: str) -> ResourceExhausted:
    return ResourceExhausted(
        f"the disk of {root} filled up while {name} was being made; nothing half-made was kept. Free some space, or "
        "choose another folder with --root or SOURCIER_MODELS_DIR", model=name,
    )
