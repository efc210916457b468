"""Files that others replace while the process runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

Stamps = tuple[tuple[int, int, int], ...]


def stamps(paths: Sequence[Path]) -> Stamps:
    """Return what changes when one of the files does; raise OSError where one is not there.

    `stat` follows links: Kubernetes replaces a mounted secret by turning one.
    """
    return tuple((found.st_mtime_ns, found.st_size, found.st_ino) for found in (path.stat() for path in paths))
