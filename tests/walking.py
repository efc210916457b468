"""The files of a folder that servers write meanwhile: what goes while it is looked at is no error."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path


def paths_below(folder: Path) -> Iterator[Path]:
    """Yield the folders and files below a folder; `Path.rglob` raises for a folder that was removed on its way."""
    for parent, folders, files in os.walk(folder):
        for name in (*folders, *files):
            yield Path(parent, name)


def contents_below(folder: Path) -> Iterator[tuple[Path, bytes]]:
    """Yield the files below a folder with what they hold."""
    for path in paths_below(folder):
        with suppress(FileNotFoundError, NotADirectoryError):
            if path.is_file():
                yield path, path.read_bytes()
