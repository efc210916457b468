"""EPUB books: chapters in the order of the spine, under their names, the table of contents not among them."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest

from sourcier.services.chassis.errors import DocumentEmpty, DocumentEncrypted, DocumentMalformed
from sourcier.services.ingest.documents import ParsedDocument
from sourcier.services.ingest.parsing.source import Source
from sourcier.services.ingest.reading_warnings import WarningCode
from tests.unit.ingest.fix_parsing import parse

CONTAINER = (
    '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
    '<rootfile full-path="OEBPS/b.opf" media-type="application/oebps-package+xml"/></rootfiles></container>'
)
PAGE = (
    '<?xml version="1.0" encoding="utf-8"?><!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.1//EN" "http://www.w3.org/x.dtd">'
    '<html xmlns="http://www.w3.org/1999/xhtml"><head><title>t</title></head><body>{}</body></html>'
)
NAV = PAGE.format(
    '<nav><ol><li><a href="deux.xhtml">Le préavis</a></li><li><a href="un%20bis.xhtml#a">Les congés</a></li></ol></nav>'
)


def write(path: Path, *, opf: str = "", more: Mapping[str, str | bytes] | None = None) -> Path:
    spine = opf or (
        '<package xmlns="http://www.idpf.org/2007/opf" xmlns:dc="http://purl.org/dc/elements/1.1/"><metadata>'
        "<dc:title>Code du travail</dc:title><dc:creator>A. Un</dc:creator><dc:creator>B. Deux</dc:creator></metadata>"
        '<manifest><item id="n" href="nav.xhtml" properties="nav" media-type="application/xhtml+xml"/>'
        '<item id="u" href="un%20bis.xhtml" media-type="application/xhtml+xml"/>'
        '<item id="d" href="deux.xhtml" media-type="application/xhtml+xml"/>'
        '<item id="i" href="c.png" media-type="image/png"/></manifest>'
        '<spine><itemref idref="n"/><itemref idref="d"/><itemref idref="u"/><itemref idref="d"/><itemref idref="i"/>'
        "</spine></package>"
    )
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("mimetype", "application/epub+zip")
        for name, content in {
            "META-INF/container.xml": CONTAINER, "OEBPS/b.opf": spine, "OEBPS/nav.xhtml": NAV,
            "OEBPS/un bis.xhtml": PAGE.format("<h2>Congés</h2><p>25 jours.</p><img src='c.png'/>"),
            "OEBPS/deux.xhtml": PAGE.format("<p>Deux mois.</p>"), "OEBPS/c.png": "x", **(more or {}),
        }.items():  # fmt: skip
            archive.writestr(name, content)
    return path


def read(path: Path) -> ParsedDocument:
    return parse(Source(path, path.name))


def test_chapters_stand_in_the_order_of_the_spine_under_their_names(tmp_path: Path) -> None:
    document = read(write(tmp_path / "a.epub"))
    assert document.text == "Le préavis\n\nDeux mois.\n\nCongés\n\n25 jours."
    assert (document.title, dict(document.metadata)) == ("Code du travail", {"author": "A. Un, B. Deux"})
    assert [block.heading_path for block in document.blocks][1::2] == [("Le préavis",), ("Congés",)]
    assert [warning.code for warning in document.warnings] == [WarningCode.PICTURES]


def test_a_locked_book_is_told_and_one_with_hidden_fonts_read(tmp_path: Path) -> None:
    def encryption(method: str) -> dict[str, str]:
        return {"META-INF/encryption.xml": '<encryption xmlns:e="http://www.w3.org/2001/04/xmlenc#"><e:EncryptedData>'
                f'<e:EncryptionMethod Algorithm="{method}"/></e:EncryptedData></encryption>'}  # fmt: skip

    with pytest.raises(DocumentEncrypted, match="locked"):
        read(write(tmp_path / "a.epub", more=encryption("http://www.w3.org/2001/04/xmlenc#aes128-cbc")))
    assert read(write(tmp_path / "b.epub", more=encryption("http://www.idpf.org/2008/embedding"))).text


@pytest.mark.parametrize(
    ("opf", "error"),
    [
        ("<package/>", DocumentEmpty), ("<package", DocumentMalformed),
        ('<package><manifest><item id="u" href="../../../etc/passwd" media-type="application/xhtml+xml"/></manifest>'
         '<spine><itemref idref="u"/></spine></package>', DocumentEmpty),
        ('<!DOCTYPE p [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><package>&b;</package>', DocumentEmpty),
    ],
)  # fmt: skip
def test_broken_and_hostile_books(tmp_path: Path, opf: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        read(write(tmp_path / "a.epub", opf=opf))


def test_entities_of_a_page_are_not_expanded(tmp_path: Path) -> None:
    page = '<!DOCTYPE html [<!ENTITY a SYSTEM "file:///etc/passwd">]><html><body><p>Texte &a; fin.</p></body></html>'
    assert "root:" not in read(write(tmp_path / "a.epub", more={"OEBPS/un bis.xhtml": page})).text
