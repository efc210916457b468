"""Finds the files that an ingestion was asked for."""

from __future__ import annotations

import glob
import os
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from sourcier.cli.failure import Failure


@dataclass(frozen=True)
class SourceFile:
    """A file and what identifies it in its collection."""

    path: Path
    source: str
    """The path from the folder one stands in, or from the root for what lies elsewhere: however it was given."""
    short: str = ""
    """What identified it for commands before this one: the path relative to the folder given, or the path as given."""
    unreadable: str = ""
    """Why it cannot be read, where that is known already: a folder nobody may look into."""
    renamed_from: str = ""
    """The source of the document that it is under another name; empty where it is none."""
    copy_of: str = ""
    """The source of another document with the same content; empty where there is none."""


@dataclass(frozen=True)
class Selection:
    """What is ingested and what is left out."""

    files: tuple[SourceFile, ...]
    hidden: tuple[str, ...]
    """Hidden files and folders that were passed over."""
    special: tuple[str, ...]
    """Sockets, pipes and devices that were passed over."""
    links: tuple[str, ...]
    """Links to folders that were passed over: one that leads upwards would have no end."""
    folders: tuple[str, ...] = ()
    """The folders that were given."""


@dataclass(frozen=True)
class _LeftOut:
    """What was passed over so far."""

    hidden: list[str] = field(default_factory=list)
    special: list[str] = field(default_factory=list)
    links: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        told = ((self.hidden, "hidden"), (self.links, "links to folders"))
        counts = ", ".join(f"{len(paths)} {kind}" for paths, kind in told if paths)
        return f" ({counts} passed over)" if counts else ""


def select(arguments: tuple[str, ...]) -> Selection:
    """Return the files of files, folders (with their sub-folders) and patterns; raise Failure for what is not there."""
    files, left_out = dict[str, SourceFile](), _LeftOut()
    for argument in arguments:
        for found in _found(argument, left_out):
            known = files.get(found.source)
            if known is not None and not os.path.samefile(known.path, found.path):
                # Two files whose names differ in how their accents are written: each keeps its own.
                found = replace(found, source=_place(found.path, composing=False))
            files.setdefault(found.source, found)
    if not files:
        raise Failure(f"no file in {', '.join(arguments)}{left_out}", exit_code=2)
    return Selection(files=tuple(files.values()), hidden=tuple(left_out.hidden), special=tuple(left_out.special),
                     links=tuple(left_out.links),
                     folders=tuple(argument for argument in arguments if os.path.isdir(argument)))


def _found(argument: str, left_out: _LeftOut) -> Iterator[SourceFile]:
    if not argument:
        raise Failure("a path is empty", hint="`.` is the folder you are in", exit_code=2)
    path = Path(argument)
    if path.is_dir():
        yield from _folder(path, left_out)
    elif path.exists():
        if not path.is_file():
            raise Failure(f"{argument} is neither a file nor a folder", exit_code=2,
                          hint="write what comes out of it into a file, and ingest that")
        yield SourceFile(path, _place(path), path.as_posix())
    elif glob.has_magic(argument):
        # `**` matches the folder itself too, so that files at the root are found.
        matches = [Path(match) for match in sorted(glob.glob(argument, recursive=True)) if Path(match).is_file()]
        if not matches:
            raise Failure(f"no file matches {argument}", hint="** stands for any folders: 'docs/**/*.pdf'", exit_code=2)
        yield from (SourceFile(match, _place(match), match.as_posix()) for match in matches)
    else:
        raise Failure(f"there is no {argument}", exit_code=2)


def _folder(folder: Path, left_out: _LeftOut) -> Iterator[SourceFile]:
    unreadable: list[OSError] = []
    for root, folders, names in os.walk(folder, onerror=unreadable.append):
        left_out.hidden.extend(os.path.join(root, name) for name in sorted([*folders, *names]) if name.startswith("."))
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        left_out.links.extend(path for path in (os.path.join(root, name) for name in folders) if os.path.islink(path))
        for name in sorted(names):
            path = Path(root, name)
            if name.startswith("."):
                continue
            # Not those of Path: they raise where a folder lets nobody look at what it lists.
            if os.path.exists(path) and not os.path.isfile(path):
                left_out.special.append(str(path))
                continue
            yield SourceFile(path, _place(path), path.relative_to(folder).as_posix())
    for error in unreadable:
        path = Path(error.filename or folder)
        yield SourceFile(path, f"{_place(path)}/", unreadable=error.strerror or str(error))


def _place(path: Path, *, composing: bool = True) -> str:
    """Return what identifies a file, the same for each way to name it; links are not followed."""
    absolute, here = os.path.abspath(path), os.getcwd()
    below = os.path.relpath(absolute, here) if absolute.startswith(here.rstrip(os.sep) + os.sep) else absolute
    place = Path(below).as_posix()
    return composed(place) if composing else place


def composed(text: str) -> str:
    """Return a text with every accent in its letter (NFC), as Linux has it; macOS writes them apart."""
    return unicodedata.normalize("NFC", text)
