"""Which files are documents that were renamed, and which documents of the folders given have no file any more.

A document says which root its source is a path from: a machine and a folder of it. So one that somebody sent from
elsewhere, by the same path, is never taken for a file that is missing here.
"""

from __future__ import annotations

import hashlib
import os
import socket
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from sourcier.cli.ingestion.files import SourceFile, composed
from sourcier.gateway.v1 import knowledge_pb2

MACHINE_ID = Path("/etc/machine-id")


@dataclass(frozen=True)
class Compared:
    """The files beside what the collection holds."""

    files: list[SourceFile]
    """Each with what it was renamed from, or which document it is a copy of."""
    missing: list[knowledge_pb2.Document]
    """Documents of the folders given whose file is gone, in the order of their sources."""


def source_root(source: str) -> str:
    """Return which root a file's source is a path from: this machine's, or that of the folder one stands in."""
    try:
        machine = MACHINE_ID.read_text().strip()
    except OSError:
        machine = ""
    named = "\0".join((socket.gethostname(), machine, os.path.abspath(_base(source))))
    return hashlib.sha256(os.fsencode(named)).hexdigest()


def compare(
    files: Sequence[SourceFile], known: Mapping[str, knowledge_pb2.Document], *, folders: Iterable[str],
) -> Compared:
    """Compare files with all documents of their collection, by source; `folders` are those that were given."""
    roots = {base: source_root(base) for base in ("", "/")}
    sent = {file.source for file in files}
    gone = {
        source: document for source, document in known.items()
        if source not in sent and document.source_root == roots[_base(source)] and is_gone(source)
    }
    alike = defaultdict[str, list[str]](list)
    sizes: set[int] = set()
    # Those that lost their file first: what has one of them is rather that document than a copy of another.
    for document in sorted(known.values(), key=lambda document: document.source not in gone):
        if document.version_id:
            alike[document.content_sha256].append(document.source)
            sizes.add(document.size_bytes)
    taken: set[str] = set()
    compared = []
    for file in files:
        is_read = file.source not in known and _size(file.path) in sizes
        same = [source for source in alike.get(digest(file.path), ()) if source not in taken] if is_read else []
        first = same[0] if same else ""
        if first in gone:
            taken.add(first)
            file = replace(file, renamed_from=first)
        compared.append(replace(file, copy_of="" if file.renamed_from else first))
    below = [_place(folder) for folder in folders]
    missing = [document for source, document in sorted(gone.items()) if source not in taken and _lies_in(source, below)]
    return Compared(compared, missing)


def is_gone(source: str) -> bool:
    """Tell whether there is no file where a source says; where nobody may look, there may be one."""
    try:
        os.lstat(source)
    except (FileNotFoundError, NotADirectoryError):
        return True
    except (OSError, ValueError):
        return False
    return False


def digest(path: Path) -> str:
    """Return the SHA-256 of a file in hexadecimal; nothing for one that cannot be read: that is told as it is sent."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return ""


def _base(source: str) -> str:
    return "/" if source.startswith("/") else ""


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return -1


def _place(folder: str) -> str:
    """Return where a folder is as sources have it; nothing for the one that one stands in."""
    below = os.path.relpath(folder)
    place = Path(os.path.abspath(folder) if below.startswith("..") else below).as_posix()
    return "" if place == "." else composed(place)


def _lies_in(source: str, folders: Iterable[str]) -> bool:
    return any(
        source.startswith(f"{folder.rstrip('/')}/") if folder else _base(source) == "" for folder in folders
    )
