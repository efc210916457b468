"""A file is what its content says; its name and media type only settle what content cannot."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import pytest

from sourcier.services.chassis.errors import (
    DocumentEmpty,
    DocumentEncrypted,
    DocumentMalformed,
    DocumentRejected,
    DocumentUnsupported,
)
from sourcier.services.ingest.parsing.formats import Format, recognise
from sourcier.services.ingest.reading_warnings import WarningCode


def archive(*names: str, mimetype: str = "") -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as written:
        if mimetype:
            written.writestr("mimetype", mimetype)
        for name in names:
            written.writestr(name, "x")
    return buffer.getvalue()


DOCX = archive("[Content_Types].xml", "word/document.xml")


@pytest.mark.parametrize(
    ("filename", "content", "expected"),
    [
        ("a.pdf", b"%PDF-1.7 ...", Format.PDF),
        ("a.pdf", b"junk\n%PDF-1.4", Format.PDF),
        ("a.txt", b"%PDF-1.7 ...", Format.PDF),
        ("a.docx", DOCX, Format.DOCX),
        ("a.pdf", DOCX, Format.DOCX),
        ("a", archive("[Content_Types].xml", "xl/workbook.xml"), Format.XLSX),
        ("a", archive("[Content_Types].xml", "ppt/presentation.xml"), Format.PPTX),
        ("a.epub", archive(mimetype="application/epub+zip"), Format.EPUB),
        ("a", archive("META-INF/container.xml", "b.opf"), Format.EPUB),
        ("a.zip", archive("b.txt"), Format.ZIP),
        ("a.zip", b"PK\x05\x06" + bytes(18), Format.ZIP),
        ("a.eml", b"From: a@b.fr\nTo: c@d.fr\nSubject: x\n\nBonjour", Format.EML),
        ("a", b"From: a@b.fr\nTo: c@d.fr\nSubject: x\n\nBonjour", Format.EML),
        ("a.md", b"From: a@b.fr\nTo: c@d.fr\nSubject: x\n\nBonjour", Format.MARKDOWN),
        ("a.doc", b"{\\rtf1 Bonjour}", Format.RTF),
        ("a.txt", b"\n{\\rtf1 Bonjour}", Format.RTF),
        ("a.msg", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + "__properties_version1.0".encode("utf-16-le"), Format.MSG),
        ("a.odt", archive(mimetype="application/vnd.oasis.opendocument.text"), Format.ODT),
        ("a.ott", archive(mimetype="application/vnd.oasis.opendocument.text-template"), Format.ODT),
        ("a.zip", archive(mimetype="application/vnd.oasis.opendocument.spreadsheet"), Format.ODS),
        ("a", archive(mimetype="application/vnd.oasis.opendocument.presentation"), Format.ODP),
        ("a.txt", b"<!DOCTYPE html><html><body>x</body></html>", Format.HTML),
        ("a.html", b"<p>fragment</p>", Format.HTML),
       # Looked for in every way of ending each comment, an <html> that is not there took minutes.
       ("a.md", b"<!-- note -->\n" * 40 + b"# Title", Format.MARKDOWN),
       ("a.md", b"<!-- note -->\n" * 40 + b"<?xml version='1.0'?> <!-- --> <!doctype html><p>x</p>", Format.HTML),
        ("a.md", b"# Titre", Format.MARKDOWN),
        ("a.csv", b"a,b\n1,2", Format.CSV),
        ("a.docx", "du texte accentué".encode(), Format.TEXT),
        ("notes", "été".encode("utf-16"), Format.TEXT),
        ("notes.txt", "été comme hiver".encode("utf-16-le"), Format.TEXT),
        ("lettre.txt", b"From: a\n\nBM is a company, and ID3 a tag.", Format.TEXT),
    ],
)
def test_recognised(tmp_path: Path, filename: str, content: bytes, expected: Format) -> None:
    path = tmp_path / "file"
    path.write_bytes(content)
    assert recognise(path, filename=filename).format is expected


def test_the_media_type_settles_what_content_and_name_leave_open(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"a,b\n1,2")
    assert recognise(path, filename="export", content_type="text/csv; charset=utf-8").format is Format.CSV


def test_a_wrong_extension_is_said(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"%PDF-1.7")
    (warning,) = recognise(path, filename="rapport.docx").warnings
    assert warning.code is WarningCode.TYPE_DIFFERS
    assert "Word (DOCX)" in warning.detail
    assert "PDF" in warning.detail


@pytest.mark.parametrize(
    ("filename", "content", "error", "said"),
    [
        ("a.pdf", b"", DocumentEmpty, "zero bytes"),
        ("a.pdf", b"7z\xbc\xaf\x27\x1c" + bytes(60), DocumentUnsupported, "a 7-Zip archive, though its name says PDF"),
        ("a.heic", bytes(4) + b"ftypheic" + bytes(60), DocumentUnsupported, "a HEIC or AVIF image"),
        ("a.odg", archive(mimetype="application/vnd.oasis.opendocument.graphics"), DocumentUnsupported, "OpenDocument"),
        ("a.pages", archive("Index/Document.iwa"), DocumentUnsupported, "Apple.*Export it as PDF"),
        ("a.vsdx", archive("[Content_Types].xml", "visio/document.xml"), DocumentUnsupported, "Visio"),
        ("a.jar", archive("META-INF/MANIFEST.MF"), DocumentUnsupported, "Java"),
        ("a.docx", DOCX[:60], DocumentMalformed, "damaged"),
        ("a.xml", b"<?xml version='1.0'?><a/>", DocumentUnsupported, "XML"),
        ("a.pdf", bytes(range(1, 32)) * 20, DocumentMalformed, "named like PDF"),
        ("a.bin", bytes(range(1, 32)) * 20, DocumentUnsupported, "unknown format"),
        (
            "a.docx",
            b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + "EncryptedPackage".encode("utf-16-le"),
            DocumentEncrypted,
            "password",
        ),
        (
            "a.doc",
            b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + "WordDocument".encode("utf-16-le"),
            DocumentUnsupported,
            "Word 97.*save it as DOCX.*enregistrez-le au format DOCX",
        ),
    ],
    # Not by content: an archive holds the time it was made at, and two workers must collect the same names.
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_refused_with_a_reason(
    tmp_path: Path, filename: str, content: bytes, error: type[DocumentRejected], said: str
) -> None:
    path = tmp_path / "file"
    path.write_bytes(content)
    with pytest.raises(error, match=said):
        recognise(path, filename=filename)
