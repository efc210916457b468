"""Each format gives its title, pages, headings, lists and tables, and nothing that a reader would not see."""

from __future__ import annotations

import csv
import zipfile
from pathlib import Path

import pytest

from sourcier.services.chassis.errors import DocumentEmpty, DocumentMalformed, DocumentRejected, DocumentTooCostly
from sourcier.services.ingest.documents import BlockKind, ParsedDocument
from sourcier.services.ingest.parsing.limits import ParsingLimits
from sourcier.services.ingest.parsing.source import Source
from sourcier.services.ingest.reading_warnings import ReadingWarning, WarningCode
from tests.unit.ingest.fix_files import make_docx, make_pdf, make_pptx, make_xlsx
from tests.unit.ingest.fix_parsing import parse

pytestmark = pytest.mark.filterwarnings("ignore")  # the parsing process ignores those of its libraries too


def read(path: Path, content: str | bytes | None = None, **limits: int) -> ParsedDocument:
    if content is not None:
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    return parse(Source(path, path.name, limits=ParsingLimits(**limits)))


def of_kind(document: ParsedDocument, kind: BlockKind) -> list[str]:
    return [document.block_text(block) for block in document.blocks if block.kind is kind]


def test_pdf_has_pages_headings_and_its_repeated_header_removed(tmp_path: Path) -> None:
    body = [("Une phrase de texte ordinaire dans le corps de la page.", 11.0)] * 12
    pages = [
        [("Société Exemple – interne", 9.0), (f"Chapitre {n}", 18.0), *body, (f"Page {n}", 9.0)] for n in (1, 2, 3, 4)
    ]
    document = read(make_pdf(tmp_path / "guide.pdf", pages))
    assert document.page_count == 4
    assert of_kind(document, BlockKind.HEADING) == ["Chapitre 1", "Chapitre 2", "Chapitre 3", "Chapitre 4"]
    assert {block.page for block in document.blocks} == {1, 2, 3, 4}
    assert "Société" not in document.text
    assert "Page" not in document.text
    assert document.title == "Chapitre 1"


def test_a_pdf_without_text_says_how_many_pages_it_has(tmp_path: Path) -> None:
    with pytest.raises(DocumentEmpty, match=r"2 pages but no text layer.*OCR"):
        read(make_pdf(tmp_path / "scan.pdf", [[], []]))


def test_a_damaged_pdf_is_malformed(tmp_path: Path) -> None:
    with pytest.raises(DocumentMalformed, match="cannot be opened as PDF"):
        read(tmp_path / "a.pdf", b"%PDF-1.7\nrien")


def test_docx(tmp_path: Path) -> None:
    document = read(make_docx(tmp_path / "guide.docx"))
    assert document.title == "Guide du salarié"
    assert of_kind(document, BlockKind.HEADING) == ["Congés", "Report"]
    assert of_kind(document, BlockKind.LIST_ITEM) == ["- Avant le 31 mai", "- Par écrit"]
    assert of_kind(document, BlockKind.TABLE) == ["| Ville | Plafond |\n|---|---|\n| Paris | 120 € |"]
    assert document.blocks[-1].heading_path == ("Congés", "Report")


def test_slides_and_sheets_are_pages(tmp_path: Path) -> None:
    slides = read(make_pptx(tmp_path / "a.pptx"))
    assert [(b.page, b.heading_path) for b in slides.blocks if b.kind is not BlockKind.HEADING] == [
        (1, ("Sécurité",)),
        (2, ("Accès",)),
    ]
    sheets = read(make_xlsx(tmp_path / "a.xlsx"))
    assert of_kind(sheets, BlockKind.TABLE)[0].startswith("| Poste | Montant |\n|---|---|\n| Repas | 19,4 |")
    assert [(b.page, b.heading_path) for b in sheets.blocks if b.kind is BlockKind.TABLE] == [
        (1, ("Frais",)),
        (2, ("Sites",)),
    ]


def test_html_keeps_what_is_seen(tmp_path: Path) -> None:
    document = read(
        tmp_path / "a.html",
        "<html><head><title>Frais &amp; repas</title><style>p{}</style></head><body><nav>Accueil</nav>"
        "<p>Avant le titre.</p><h1>Frais</h1><p>Un <b>repas</b> vaut <a href='x'>19 €</a>.</p>"
        "<div hidden>caché</div><p style='display: none'>invisible</p><script>alert(1)</script>"
        "<h2>Barème</h2><table><tr><th>Ville</th><th>€</th></tr><tr><td rowspan=2>Paris</td><td>1</td></tr>"
        "<tr><td>2</td></tr></table><img src='http://127.0.0.1:9/x.png'></body></html>",
    )
    assert document.title == "Frais & repas"
    assert document.text == (
        "Avant le titre.\n\nFrais\n\nUn repas vaut 19 €.\n\nBarème\n\n"
        "| Ville | € |\n|---|---|\n| Paris | 1 |\n| Paris | 2 |"
    )
    assert document.blocks[-1].heading_path == ("Frais", "Barème")


@pytest.mark.parametrize("encoding", ["utf-8", "cp1252", "utf-16"])
def test_html_encodings(tmp_path: Path, encoding: str) -> None:
    page = f"<html><head><meta charset='{encoding}'></head><body><p>Été à l'œuvre</p></body></html>"
    assert read(tmp_path / "a.html", page.encode(encoding)).text == "Été à l'œuvre"


def test_markdown_with_front_matter(tmp_path: Path) -> None:
    document = read(
        tmp_path / "a.md",
        '---\ntitle: "Charte"\n---\n# Accès\n\nTexte *vu*.\n\n- un\n- deux\n\n| a | b |\n|---|---|\n| 1 | 2 |\n',
    )
    assert document.title == "Charte"
    assert document.text == "Accès\n\nTexte vu.\n\n- un\n- deux\n\n| a | b |\n|---|---|\n| 1 | 2 |"


def test_csv_with_semicolons(tmp_path: Path) -> None:
    document = read(tmp_path / "tarifs.csv", 'Ville;Prix\nParis;"1,5\n€"\nLyon;2\n'.encode("cp1252"))
    assert document.text == "| Ville | Prix |\n|---|---|\n| Paris | 1,5 € |\n| Lyon | 2 |"
    assert document.title == "tarifs"


def test_a_small_table_leaves_larger_ones_readable(tmp_path: Path) -> None:
    """Python has one limit on fields for the whole process: a table of 20 characters made it 20 for everybody."""
    before = csv.field_size_limit()
    read(tmp_path / "petit.csv", b"Ville;Prix\nParis;1\n")
    assert csv.field_size_limit() >= before
    large = " ".join(f"mot{number}" for number in range(before // 6))
    assert len(large) > before
    assert large in read(tmp_path / "grand.csv", f"Ville;Note\nParis;{large}\n".encode()).text


def test_text_has_its_first_line_as_title_and_says_what_it_could_not_read(tmp_path: Path) -> None:
    document = read(
        tmp_path / "a.txt", "Congés payés\n\nUn texte accentué, été comme hiver, à lire. ".encode() + b"\xff"
    )
    assert document.title == "Congés payés"
    assert document.block_text(document.blocks[0]) == "Congés payés"
    assert document.warnings == (ReadingWarning(WarningCode.INVALID_BYTES, detail="not valid utf-8"),)


def test_blank_text_is_empty(tmp_path: Path) -> None:
    with pytest.raises(DocumentEmpty, match="holds no text"):
        read(tmp_path / "a.txt", " \n\u200b\n ")


ENTITIES = '<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><a>&x;</a>'
HOSTILE: dict[str, tuple[dict[str, bytes], type[DocumentRejected]]] = {
    "entities": ({"word/document.xml": ENTITIES.encode()}, DocumentMalformed),
    "entities in UTF-16": ({"word/document.xml": ENTITIES.encode("utf-16")}, DocumentMalformed),
    "bomb": ({"word/document.xml": bytes(64 * 2**20)}, DocumentTooCostly),
    "many parts": ({f"word/{n}.xml": b"" for n in range(300)}, DocumentTooCostly),
    "no document": ({"word/other.txt": b"x"}, DocumentMalformed),
    "climbing names": ({"../../../tmp/word/x": b"x", "word/x": b"x"}, DocumentMalformed),
}


@pytest.mark.parametrize(("parts", "error"), HOSTILE.values(), ids=HOSTILE)
def test_hostile_archives_are_refused(tmp_path: Path, parts: dict[str, bytes], error: type[DocumentRejected]) -> None:
    path = tmp_path / "a.docx"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("[Content_Types].xml", "<Types/>")
        for part, content in parts.items():
            archive.writestr(part, content)
    with pytest.raises(error):
        read(path, archive_entries=200)
