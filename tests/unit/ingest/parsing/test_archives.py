"""ZIP archives: each file is a member under a safe name, within bounds; junk is left out, bombs are refused."""

from __future__ import annotations

import stat
import zipfile
from pathlib import Path

import pytest

from sourcier.services.chassis.errors import (
    DocumentEmpty,
    DocumentEncrypted,
    DocumentMalformed,
    DocumentRejected,
    DocumentTooCostly,
    DocumentTooLarge,
)
from sourcier.services.ingest.documents import ParsedDocument
from sourcier.services.ingest.parsing.containers.members import safe_name
from sourcier.services.ingest.parsing.limits import ParsingLimits
from sourcier.services.ingest.parsing.source import Source
from tests.unit.ingest.fix_parsing import parse


def read(path: Path, **limits: int) -> tuple[ParsedDocument, dict[str, bytes]]:
    """Return an archive's document, and its members with their bytes."""
    folder = path.parent / "unpacked"
    document = parse(Source(path, path.name, limits=ParsingLimits(**limits), unpacked=folder))
    assert {entry.name for entry in path.parent.iterdir()} == {path.name, "unpacked"}
    return document, {member.name: (folder / str(n)).read_bytes() for n, member in enumerate(document.members)}


def write(path: Path, *entries: tuple[str | zipfile.ZipInfo, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in entries:
            archive.writestr(name, content)
    return path


def patched(path: Path, before: bytes, after: bytes) -> Path:
    content = path.read_bytes()
    assert before in content
    path.write_bytes(content.replace(before, after))
    return path


def test_folders_and_the_list_of_members(tmp_path: Path) -> None:
    path = write(tmp_path / "a.zip", ("rh/", b""), ("rh/congés.txt", b"un"), ("b.txt", b"deux"), ("vide.txt", b""))
    document, members = read(path)
    assert members == {"rh/congés.txt": b"un", "b.txt": b"deux"}
    assert document.text == "- rh/congés.txt\n- b.txt"
    assert [(warning.detail, warning.places) for warning in document.warnings] == [("empty files", ("vide.txt",))]


def test_junk_and_links_are_left_out(tmp_path: Path) -> None:
    link = zipfile.ZipInfo("lien")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    path = write(
        tmp_path / "a.zip", ("__MACOSX/._a.txt", b"x"), (".DS_Store", b"x"), ("d/Thumbs.db", b"x"), ("~$a.docx", b"x"),
        (link, b"/etc/passwd"), ("a.txt", b"bon"),
    )
    assert read(path)[1] == {"a.txt": b"bon"}


@pytest.mark.parametrize(
    ("name", "safe"),
    [
        ("../../etc/passwd", "etc/passwd"), ("/etc/passwd", "etc/passwd"), ("C:\\Temp\\a.txt", "Temp/a.txt"),
        ("a/./b//c.txt", "a/b/c.txt"), ("..", ""), ("a\x00.txt", "a.txt"), ("x" * 900 + ".pdf", "x" * 396 + ".pdf"),
        ("re\u0301sume\u0301.pdf", "résumé.pdf"),
    ],
)  # fmt: skip
def test_a_name_is_only_a_name(name: str, safe: str) -> None:
    assert safe_name(name) == safe


def test_names_that_lead_out_or_are_alike(tmp_path: Path) -> None:
    entries = (("../a.txt", b"un"), ("a.txt", b"deux"), ("A.txt", b"trois"), ("a.txt", b"quatre"))
    with pytest.warns(UserWarning, match="Duplicate"):
        path = write(tmp_path / "a.zip", *entries)
    assert read(path)[1] == {"a.txt": b"un", "a (2).txt": b"deux", "A (3).txt": b"trois", "a (4).txt": b"quatre"}


@pytest.mark.parametrize("encoding", ["cp850", "cp437", "utf-8"])
def test_names_without_a_declared_encoding(tmp_path: Path, encoding: str) -> None:
    name = "été à Noël.txt" if encoding == "cp437" else "À côté, où.txt"
    written = name.encode(encoding)
    path = patched(write(tmp_path / "a.zip", ("x" * len(written), b"un")), b"x" * len(written), written)
    assert read(path)[1] == {name: b"un"}


def test_what_is_locked_is_told(tmp_path: Path) -> None:
    def locked(*names: str) -> Path:
        path = write(tmp_path / "a.zip", ("a.txt", b"un"), ("b.txt", b"deux"))
        content = bytearray(path.read_bytes())
        for mark, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
            at = -1
            while (at := content.find(mark, at + 1)) >= 0:
                name = bytes(content[at : at + 90])
                if any(wanted.encode() in name[:60] for wanted in names):
                    content[at + offset] |= 1
        path.write_bytes(content)
        return path

    with pytest.raises(DocumentEncrypted, match="password"):
        read(locked("a.txt", "b.txt"))
    path = write(tmp_path / "a.zip", ("a.txt", b"un"), ("b.txt", b"deux"))
    content = bytearray(path.read_bytes())
    content[6] |= 1
    content[content.index(b"PK\x01\x02") + 8] |= 1
    path.write_bytes(content)
    document, members = read(path)
    assert members == {"b.txt": b"deux"}
    assert document.warnings[0].detail == "protected by a password"


def test_a_damaged_member_costs_only_itself(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("a.txt", b"bonjour tout le monde")
        archive.writestr("b.txt", b"deux")
    document, members = read(patched(tmp_path / "a.zip", b"tout le monde", b"TOUT LE MONDE"))
    assert members == {"b.txt": b"deux"}
    assert document.warnings[0].detail == "damaged"


def test_what_is_over_a_bound_is_refused_or_left_out(tmp_path: Path) -> None:
    path = write(tmp_path / "a.zip", *((f"{n}.txt", b"x") for n in range(20)))
    with pytest.raises(DocumentTooLarge, match="more than 10 documents"):
        read(path, members=10)
    with pytest.raises(DocumentTooCostly, match="at most 5 are read"):
        read(path, archive_entries=5)
    path = write(tmp_path / "a.zip", ("grand.txt", b"x" * 5000), ("petit.txt", b"x"))
    document, members = read(path, member_bytes=1000)
    assert members == {"petit.txt": b"x"}
    assert "larger than" in document.warnings[0].detail
    path = write(tmp_path / "a.zip", ("bombe.txt", bytes(40 * 2**20)))
    with pytest.raises(DocumentTooCostly, match="decompression bomb"):
        read(path)


@pytest.mark.parametrize(
    ("content", "error"),
    [
        (b"PK\x05\x06" + bytes(18), DocumentEmpty),
        (b"PK\x03\x04" + bytes(200), DocumentMalformed),
        (b"PK\x05\x06" + b"\xff" * 18, DocumentMalformed),
    ],
)
def test_empty_and_broken_archives(tmp_path: Path, content: bytes, error: type[DocumentRejected]) -> None:
    path = tmp_path / "a.zip"
    path.write_bytes(content)
    with pytest.raises(error):
        parse(Source(path, "a.zip"))


def test_members_that_share_their_bytes_are_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "a.zip", ("a.txt", b"a" * 100), ("b.txt", b"b" * 90))
    content = bytearray(path.read_bytes())
    for mark in (content.index(b"PK\x01\x02"), content.rindex(b"PK\x01\x02")):
        content[mark + 20 : mark + 24] = (10_000).to_bytes(4, "little")
    path.write_bytes(content)
    with pytest.raises(DocumentMalformed, match="overlap"):
        parse(Source(path, "a.zip"))
