"""Imports without what is not needed: some libraries load large optional ones whenever these are installed."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def without(*packages: str) -> Iterator[None]:
    """Let imports inside find these packages not installed; those that are loaded already stay as they are.

    Only for packages that the importing library declares optional, so that it has a way of its own without them.
    """
    hidden = [package for package in packages if package not in sys.modules]
    sys.modules.update(dict.fromkeys(hidden))  # type: ignore[arg-type]  # None there makes an import fail
    try:
        yield
    finally:
        for package in hidden:
            del sys.modules[package]
