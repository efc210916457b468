"""How much memory is ours, and giving it back: glibc keeps what was freed, and a service may never need it again."""

from __future__ import annotations

import ctypes
import os
from contextlib import suppress
from pathlib import Path

CGROUP_LIMIT = Path("/sys/fs/cgroup/memory.max")


def give_back() -> None:
    """Return freed memory to the system; does nothing where the C library has no `malloc_trim`."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


def memory_bytes() -> int:
    """Return the memory of this machine, or what the container may take."""
    return within_container(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))


def within_container(size_bytes: int) -> int:
    """Return so much of the machine's memory, or what the container may take where that is less."""
    # Absent outside containers, `max` where there is no limit.
    with suppress(OSError, ValueError):
        return min(size_bytes, int(CGROUP_LIMIT.read_text()))
    return size_bytes
