"""What a confined process left is read only where it is a plain file of its own."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from sourcier.services.chassis.errors import DocumentMalformed
from sourcier.services.ingest.stages.results import TOLD_BYTES_MAX, move_members, read_result, read_told


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    path = tmp_path / "secret"
    path.write_text("the-secret")
    return path


def test_a_file_is_read_whole_or_its_end(tmp_path: Path) -> None:
    (tmp_path / "artefact").write_bytes(b"abcdef")
    assert read_result(tmp_path / "artefact") == b"abcdef"
    assert read_result(tmp_path / "artefact", tail=2) == b"ef"
    assert read_result(tmp_path / "artefact", tail=20) == b"abcdef"


def test_nothing_but_a_file_of_its_own_is_read(tmp_path: Path, secret: Path) -> None:
    (tmp_path / "symbolic").symlink_to(secret)
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    os.link(secret, tmp_path / "hard")
    for name in ("symbolic", "pipe", "folder", "hard", "missing"):
        with pytest.raises(DocumentMalformed, match=name):
            read_result(tmp_path / name)


def test_members_are_files_of_their_own(tmp_path: Path, secret: Path) -> None:
    written, folder = tmp_path / "written", tmp_path / "folder"
    written.mkdir()
    (written / "0").write_text("a member")
    (written / "name").write_text("no number")
    (written / "1").symlink_to(secret)
    os.link(secret, written / "2")
    (written / "3").mkdir()
    os.mkfifo(written / "4")
    move_members(written, folder)
    assert [path.name for path in folder.iterdir()] == ["0"]


def test_a_folder_of_members_that_leads_elsewhere_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "0").write_text("the-secret")
    (tmp_path / "written").symlink_to(tmp_path / "elsewhere")
    move_members(tmp_path / "written", tmp_path / "folder")
    assert list((tmp_path / "folder").iterdir()) == []
    assert (tmp_path / "elsewhere" / "0").exists()


def test_what_is_told_is_believed_only_where_it_has_its_form(tmp_path: Path) -> None:
    path = tmp_path / "about.json"
    path.write_text('{"pages": [1, 2]}')
    assert read_told(path, lambda told: told["pages"]) == [1, 2]
    for written in ("{", "[]", "[" * 100_000, '{"other": 1}'):
        path.write_text(written)
        with pytest.raises(DocumentMalformed, match=r"about\.json"):
            read_told(path, lambda told: told["pages"])
    with path.open("wb") as file:
        file.truncate(TOLD_BYTES_MAX + 1)
    with pytest.raises(DocumentMalformed, match=r"about\.json"):
        read_told(path, lambda told: told)
