"""Passwords that the stack makes up, each in a file that only its owner reads."""

from __future__ import annotations

import os
import secrets
from pathlib import Path


def kept_secret(path: Path) -> str:
    """Return the secret in the file; make one the first time."""
    try:
        return path.read_text("ascii").strip()
    except FileNotFoundError:
        pass
    write_private(path, secrets.token_urlsafe(24))
    return path.read_text("ascii").strip()


def write_private(path: Path, text: str) -> None:
    """Write a file of mode 600, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
    partial.replace(path)
