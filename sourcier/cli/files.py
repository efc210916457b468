"""Finds the files that an ingestion was asked for."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from sourcier.cli.failure import Failure


@dataclass(frozen=True)
class SourceFile:
    """A file and what identifies it in its collection."""

    path: Path
    source: str
    """The path relative to the folder given, or the path as given."""


@dataclass(frozen=True)
class Selection:
    """What is ingested and what is left out."""

    files: tuple[SourceFile, ...]
    hidden: tuple[str, ...]
    """Hidden files and folders that were passed over."""
    special: tuple[str, ...]
    """Sockets, pipes and devices that were passed over."""


def select(arguments: tuple[str, ...]) -> Selection:
    """Return the files of files, folders (with their sub-folders) and patterns; raise Failure for what is not there."""
    files, hidden, special = dict[str, SourceFile](), list[str](), list[str]()
    for argument in arguments:
        for found in _found(argument, hidden, special):
            known = files.get(found.source)
            if known is not None and not os.path.samefile(known.path, found.path):
                raise Failure(
                    f"{known.path} and {found.path} would both be {found.source!r} in the collection",
                    hint="give the folder above them, or ingest them into two collections", exit_code=2)
            files.setdefault(found.source, found)
    if not files:
        left_out = f" ({len(hidden)} hidden passed over)" if hidden else ""
        raise Failure(f"no file in {', '.join(arguments)}{left_out}", exit_code=2)
    return Selection(files=tuple(files.values()), hidden=tuple(hidden), special=tuple(special))


def _found(argument: str, hidden: list[str], special: list[str]) -> Iterator[SourceFile]:
    path = Path(argument)
    if path.is_dir():
        yield from _folder(path, hidden, special)
    elif path.exists():
        yield SourceFile(path=path, source=path.as_posix())
    elif glob.has_magic(argument):
        # `**` matches the folder itself too, so that files at the root are found.
        matches = [Path(match) for match in sorted(glob.glob(argument, recursive=True)) if Path(match).is_file()]
        if not matches:
            raise Failure(f"no file matches {argument}", hint="** stands for any folders: 'docs/**/*.pdf'", exit_code=2)
        yield from (SourceFile(path=match, source=match.as_posix()) for match in matches)
    else:
        raise Failure(f"there is no {argument}", exit_code=2)


def _folder(folder: Path, hidden: list[str], special: list[str]) -> Iterator[SourceFile]:
    def refuse(error: OSError) -> None:
        raise Failure(f"{error.filename} cannot be read: {error.strerror}", exit_code=1) from error

    for root, folders, names in os.walk(folder, onerror=refuse):
        hidden.extend(os.path.join(root, name) for name in sorted([*folders, *names]) if name.startswith("."))
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            path = Path(root, name)
            if name.startswith("."):
                continue
            if path.exists() and not path.is_file():
                special.append(str(path))
                continue
            yield SourceFile(path=path, source=path.relative_to(folder).as_posix())
