"""Plain text read in the service itself comes out as from the parsing process, and what is not plain is left to it."""

from __future__ import annotations

from pathlib import Path

import pytest

from sourcier.services.chassis.errors import DocumentEmpty
from sourcier.services.ingest.documents import ParsedDocument
from sourcier.services.ingest.parsing.limits import ParsingLimits
from sourcier.services.ingest.parsing.source import Source
from sourcier.services.ingest.parsing.text.light import LIGHT_BYTES_MAX, read_light
from tests.unit.ingest.fix_parsing import parse


def light(body: bytes, filename: str = "note.txt") -> ParsedDocument | None:
    """Read bytes here, with the usual limits."""
    return read_light(body, filename=filename, limits=ParsingLimits())


@pytest.mark.parametrize("text", [
    "Congés\n\nDeux jours.  \n\n\n\n- un\n- deux\t\n",
    "Sans titre, une phrase.\r\n\r\nL’été «\u00a0chaud\u00a0» coûte 1\u202f500 €.\r\n",
    "  \n\nEn-tête\n   retrait\tet tabulation\nfin",
    "BM commence une phrase; GIF89a aussi.",
    "x" * 5_000,
])
def test_it_reads_as_the_parsing_process_does(text: str, tmp_path: Path) -> None:
    path = tmp_path / "note.txt"
    path.write_bytes(text.encode())
    document = light(text.encode())
    assert document == parse(Source(path, path.name))
    assert document is not None
    assert document.text


@pytest.mark.parametrize(("text", "title"), [
    ("De : a@b.fr\nÀ : c@d.fr\nObjet : panne de chaudière\nDate : 3 mars\n\nBonjour", "panne de chaudière"),
    ("Subject: Leave in August\nFrom: a@b.fr\n\nHello", "Leave in August"),
    ("De : a@b.fr\n\nBonjour\nObjet : rien", "relance"),
    ("De la cave au grenier\n\nUne visite", "De la cave au grenier"),
])
def test_a_mail_saved_as_text_is_called_by_its_subject(text: str, title: str) -> None:
    document = light(text.encode(), "relance.txt")
    assert document is not None
    assert document.named(title="", filename="relance.txt").title == title


def test_items_are_blocks_of_their_own() -> None:
    document = light(b"Il est interdit :\n- de fumer\n  dans les caves ;\n  - ni ailleurs ;\n- courir.\nMerci.\n")
    assert document is not None
    assert [(block.kind.value, block.level, document.block_text(block)) for block in document.blocks] == [
        ("paragraph", 0, "Il est interdit :"), ("list_item", 1, "- de fumer\ndans les caves ;"),
        ("list_item", 2, "- ni ailleurs ;"), ("list_item", 1, "- courir."), ("paragraph", 0, "Merci."),
    ]


@pytest.mark.parametrize(("body", "filename"), [
    ("e\N{COMBINING ACUTE ACCENT}te".encode(), "note.txt"),
    ("می\N{ZERO WIDTH NON-JOINER}خواهم".encode(), "note.txt"),
    ("été".encode("cp1252"), "note.txt"),
    ("été".encode("utf-16"), "note.txt"),
    (b"a\x00b", "note.txt"),
    (b"\n <!doctype html><p>a", "note.txt"),
    (b"<?xml version='1.0'?><a/>", "note.txt"),
    (b"notes\n%PDF-1.7", "note.txt"),
    (b"{\\rtf1 a}", "note.txt"),
    (b"# a\n\nb", "note.md"),
    (b"a,b\n" + b"," * 30_000, "note.csv"),
    (b"a,b\n" * 200 + b"," * 101, "note.csv"),
    (b"From: a\nTo: b\nSubject: c\n\nd", "note"),
    (b"a" * (LIGHT_BYTES_MAX + 1), "note.txt"),
])
def test_all_else_is_left_to_the_parsing_process(body: bytes, filename: str) -> None:
    assert light(body, filename) is None


@pytest.mark.parametrize("text", [
    "nom;jours\nété;12\n\nhiver;\n",
    'a,b\r\n"deux\r\nlignes, et ""plus""",x|y\r\n',
    "a\tb\n 1 \t\tc\n",
    "un seul\nen colonne\n",
    'a,b\n"jamais fermé, 1\n2,3\n',
    'a,b\n"' + "x" * 140_000 + '",2\n',
])
def test_a_table_reads_as_in_the_parsing_process(text: str, tmp_path: Path) -> None:
    path = tmp_path / "note.csv"
    path.write_bytes(text.encode())
    document = light(text.encode(), path.name)
    assert document == parse(Source(path, path.name))
    assert document is not None
    assert document.format == "csv"


def test_a_file_without_text_is_refused() -> None:
    with pytest.raises(DocumentEmpty, match=r"note\.txt"):
        light(b" \n\t\n ")


@pytest.mark.timeout(10)
@pytest.mark.parametrize("text", ["\n" * 250_000, " " * 250_000 + "x", "\n ab" * 60_000, "- " * 120_000, "'" * 250_000])
def test_no_text_takes_long(text: str) -> None:
    try:
        light(text.encode())
    except DocumentEmpty:
        assert not text.strip()


@pytest.mark.timeout(10)
@pytest.mark.parametrize("text", [
    "," * 250_000, ",\n" * 125_000, ",".join("a" * 500) + "\n" * 249_000, '"' * 250_000, '"a,' * 80_000, "a;" * 125_000,
])
def test_no_table_takes_long(text: str) -> None:
    try:
        light(text.encode(), "note.csv")
    except DocumentEmpty:
        assert not text.replace(",", "").replace('"', "").strip()
