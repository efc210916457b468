"""Memory that was freed goes back to the system: glibc keeps it for later, and a service may never need it again."""

from __future__ import annotations

import ctypes


def give_back() -> None:
    """Return freed memory to the system; does nothing where the C library has no `malloc_trim`."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
