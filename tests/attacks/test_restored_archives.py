"""A back-up that somebody else made: what is no object is refused by name, before anything is stored."""

from __future__ import annotations

import io
import os
import tarfile
from pathlib import Path

import pytest

from sourcier.services.chassis.errors import FailedPrecondition
from sourcier.services.stack.backups.archives import keys_in


def archive(path: Path, *members: tarfile.TarInfo) -> Path:
    with tarfile.open(path, mode="w") as writing:
        for member in members:
            writing.addfile(member, io.BytesIO(b"x" * member.size))
    return path


def member(name: str, kind: bytes = tarfile.REGTYPE, *, link: str = "", size: int = 0) -> tarfile.TarInfo:
    about = tarfile.TarInfo(name)
    about.type, about.linkname, about.size = kind, link, size
    return about


@pytest.mark.parametrize("kind", [
    tarfile.DIRTYPE, tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE,
])
def test_what_is_no_file_is_refused_by_its_name(tmp_path: Path, kind: bytes) -> None:
    path = archive(tmp_path / "a.tar", member("documents/acme/1"), member("odd", kind, link="/etc/passwd"))
    with pytest.raises(FailedPrecondition, match="'odd' as something that is no file"):
        keys_in(path)


def test_one_key_twice_is_refused(tmp_path: Path) -> None:
    """The second would overwrite the first: which of them was meant nobody could tell."""
    path = archive(tmp_path / "a.tar", member("documents/acme/1", size=1), member("documents/acme/1", size=2))
    with pytest.raises(FailedPrecondition, match="'documents/acme/1' a second time"):
        keys_in(path)


@pytest.mark.parametrize("content", [b"", b"no archive", os.urandom(4_096), b"\x1f\x8b" + bytes(600)])
def test_what_is_no_archive_is_told_as_one(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a.tar"
    path.write_bytes(content)
    with pytest.raises(FailedPrecondition, match="cannot be read as an archive"):
        keys_in(path)


def test_a_long_name_is_cut_in_the_error(tmp_path: Path) -> None:
    path = archive(tmp_path / "a.tar", member("é" * 5_000, tarfile.DIRTYPE))
    with pytest.raises(FailedPrecondition) as refused:
        keys_in(path)
    assert len(str(refused.value)) < 1_000


def test_the_objects_of_a_back_up_pass_whatever_they_are_called(tmp_path: Path) -> None:
    keys = ["documents/acme/1", "../../etc/passwd", "/absolute", "é" * 200]
    assert keys_in(archive(tmp_path / "a.tar", *map(member, keys))) == set(keys)
