"""The unprivileged user that PostgreSQL, which refuses root, runs as when the stack is started by root."""

from __future__ import annotations

import hashlib
import os
import pwd
import stat
from dataclasses import dataclass
from pathlib import Path

from sourcier.services.chassis.errors import FailedPrecondition

FALLBACK_ROOT = Path("/var/tmp")  # noqa: S108 (survives a reboot; what lies there is checked for its owner)


@dataclass(frozen=True, slots=True)
class User:
    """A user and group of the system."""

    uid: int
    gid: int

    def owns(self, path: Path) -> None:
        """Give one folder or file to this user."""
        os.chown(path, self.uid, self.gid)


def unprivileged_user() -> User | None:
    """Return the user to drop to, or None where the stack itself does not run as root."""
    if os.geteuid() != 0:
        return None
    try:
        entry = pwd.getpwnam("nobody")
    except KeyError as error:
        message = "PostgreSQL refuses to run as root, and this system has no user `nobody`: start as an ordinary user."
        raise FailedPrecondition(message) from error
    return User(entry.pw_uid, entry.pw_gid)


def reachable(path: Path) -> bool:
    """Tell whether every user may pass through the folders down to `path`."""
    resolved = path.resolve()
    existing = [parent for parent in (resolved, *resolved.parents) if parent.exists()]
    return all(parent.stat().st_mode & stat.S_IXOTH for parent in existing)


def fallback_folder(path: Path) -> Path:
    """Return a folder that every user can reach, the same for each call with `path`; create it.

    Raises `FailedPrecondition` when somebody else put something in its place.
    """
    name = hashlib.sha256(str(path.resolve()).encode()).hexdigest()[:12]
    folder = FALLBACK_ROOT / f"sourcier-{name}"
    folder.mkdir(mode=0o711, exist_ok=True)
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
        raise FailedPrecondition(f"{folder} is not a folder of this user; remove it, or set SOURCIER_DATA_DIR.")
    folder.chmod(0o711)
    return folder
