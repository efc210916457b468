"""Collects the documents inside one: names made safe and unlike one another, bytes written within bounds.

A name is only a name: what a member is written to is its number, so no name can lead out of the folder.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import PurePosixPath

from sourcier.services.chassis.cleaning import clean_line
from sourcier.services.chassis.errors import DocumentTooLarge
from sourcier.services.ingest.documents import Member
from sourcier.services.ingest.parsing.builder import DocumentBuilder
from sourcier.services.ingest.parsing.limits import MEBIBYTE
from sourcier.services.ingest.parsing.source import Source
from sourcier.services.ingest.reading_warnings import WarningCode

_DRIVE = re.compile(r"[A-Za-z]:")
_NAME_BYTES_MAX = 400
_JUNK_FOLDERS = frozenset({"__macosx", ".git", ".svn", ".ds_store", "$recycle.bin"})
_JUNK_NAMES = frozenset({"thumbs.db", "desktop.ini", ".ds_store", "ehthumbs.db"})


class MembersWriter:
    """Takes members one after the other; their order is their number."""

    def __init__(self, source: Source, builder: DocumentBuilder) -> None:
        self._source = source
        self._builder = builder
        self._names: set[str] = set()
        self._bytes = 0

    def add(self, name: str, pieces: Iterable[bytes], *, content_type: str = "") -> None:
        """Write a member's bytes; one that is empty or too large is told and left out. Raise DocumentTooLarge."""
        limits, path = self._source.limits, safe_name(name) or f"{len(self._builder.members) + 1}"
        if len(self._builder.members) >= limits.members:
            raise DocumentTooLarge(
                f"“{self._source.filename}” holds more than {limits.members:,} documents: send it in parts."
            )
        size = self._write(pieces)
        if size > limits.member_bytes:
            self.leave_out(path, f"larger than {limits.member_bytes // MEBIBYTE:,} MiB")
        elif size == 0:
            self.leave_out(path, "empty files")
        else:
            self._builder.members.append(Member(self._unlike(path), content_type))

    def leave_out(self, name: str, why: str) -> None:
        """Tell that a member is not read."""
        self._builder.warnings.add(WarningCode.NOT_READ, places=[safe_name(name)], detail=why)

    def _write(self, pieces: Iterable[bytes]) -> int:
        """Write the next file; return its bytes, one more than allowed of a larger one."""
        size, most = 0, self._source.limits.member_bytes
        folder = self._source.unpacked
        if folder is None:
            return min(sum(map(len, pieces)), most + 1)
        folder.mkdir(exist_ok=True)
        with (folder / str(len(self._builder.members))).open("wb") as file:
            for piece in pieces:
                size += len(piece)
                self._bytes += len(piece)
                if size > most:
                    return most + 1
                if self._bytes > self._source.limits.archive_bytes:
                    raise DocumentTooLarge(
                        f"“{self._source.filename}” unpacks to more than the "
                        f"{self._source.limits.archive_bytes // MEBIBYTE:,} MiB allowed."
                    )
                file.write(piece)
        return size

    def _unlike(self, name: str) -> str:
        """Return a name that no member before has: `image (2).png`."""
        path, number, found = PurePosixPath(name), 1, name
        while found.lower() in self._names:
            number += 1
            found = str(path.with_name(f"{path.stem} ({number}){path.suffix}"))
        self._names.add(found.lower())
        return found


def safe_name(name: str) -> str:
    """Return a name as a relative path: no root, no drive, no way up, nothing that is not seen."""
    parts = [clean_line(part) for part in name.replace("\\", "/").replace("\x00", "").split("/")]
    kept = [part for part in parts if part not in ("", ".", "..")]
    if kept and _DRIVE.fullmatch(kept[0]):
        kept = kept[1:]
    path = "/".join(kept)
    if len(path.encode()) <= _NAME_BYTES_MAX:
        return path
    # The end tells what it is; folders go first.
    return path.encode()[-_NAME_BYTES_MAX:].decode(errors="ignore").lstrip("/ .")


def is_junk(name: str) -> bool:
    """Tell what programs leave in folders, and nobody reads."""
    parts = [part.lower() for part in name.replace("\\", "/").split("/") if part]
    return not parts or not _JUNK_FOLDERS.isdisjoint(parts) or parts[-1] in _JUNK_NAMES or parts[-1].startswith(
        ("._", "~$", ".~lock")
    )
