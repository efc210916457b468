"""Comments are told, or read behind what they are about with who wrote them; struck-out text is marked or left out."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import xlsxwriter  # type: ignore[import-untyped]

from sourcier.services.ingest.documents import ParsedDocument
from sourcier.services.ingest.parsing.limits import ParsingLimits
from sourcier.services.ingest.parsing.source import Source
from sourcier.services.ingest.reading_warnings import WarningCode
from sourcier.services.ingest.storage import parsed_key
from tests.unit.ingest import fix_opendocument
from tests.unit.ingest.fix_office_files import paragraph, relationships, text_run, write_archive, write_word
from tests.unit.ingest.fix_parsing import parse
from tests.unit.ingest.fix_pdf_pages import PageMaker, write_pdf

_SLIDES = (
    'xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main" '
    'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main" '
    'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"'
)


def read(path: Path, *, comments: str = "pdf", struck: bool = True) -> ParsedDocument:
    return parse(Source(path, path.name, limits=ParsingLimits(comments=comments, struck=struck)))


def told(document: ParsedDocument) -> list[tuple[WarningCode, int, str]]:
    return [(warning.code, warning.count, warning.detail) for warning in document.warnings]


def word(folder: Path) -> Path:
    call = '<w:r><w:commentReference w:id="3"/></w:r>'
    body = paragraph("Le délai est de dix", call, " jours. Il court.")
    comment = f'<w:comment w:id="3" w:author="Mme Roux">{paragraph("À vérifier")}</w:comment>'
    return write_word(folder / "a.docx", body, comments=comment)


def opendocument(folder: Path) -> Path:
    note = "<office:annotation><dc:creator>Mme Roux</dc:creator><text:p>À vérifier</text:p></office:annotation>"
    body = fix_opendocument.p(f"Le délai est de dix{note} jours. Il court.")
    return fix_opendocument.write_opendocument(folder / "a.odt", "text", body)


def rich_text(folder: Path) -> Path:
    note = r"{\*\atnid MR}{\*\atnauthor Mme Roux}\chatn{\*\annotation\pard \u192?\~v\'e9rifier}"
    path = folder / "a.rtf"
    path.write_bytes(rf"{{\rtf1\ansi\ansicpg1252 Le d\'e9lai est de dix{note} jours. Il court.\par}}".encode())
    return path


@pytest.mark.parametrize("write", [word, opendocument, rich_text])
def test_a_comment_stands_behind_its_sentence_where_comments_are_read(
    tmp_path: Path, write: Callable[[Path], Path]
) -> None:
    path = write(tmp_path)
    document = read(path, comments="all")
    assert document.text.replace("\u00a0", " ") == (
        "Le délai est de dix jours. (Commentaire de Mme Roux : À vérifier) Il court."
    )
    assert not document.warnings
    document = read(path)
    assert document.text == "Le délai est de dix jours. Il court."
    assert told(document) == [(WarningCode.NOT_READ, 1, "comments")]


def test_a_comment_of_a_cell_stands_in_it(tmp_path: Path) -> None:
    path = tmp_path / "a.xlsx"
    book = xlsxwriter.Workbook(str(path))
    sheet = book.add_worksheet("Prix")
    sheet.write_row(0, 0, ["Ville", "Prix"])
    sheet.write_row(1, 0, ["Lyon", 10])
    sheet.write_comment(1, 1, "À vérifier", {"author": "Mme Roux"})
    book.close()
    assert "| Lyon | 10 (Commentaire de Mme Roux : À vérifier) |" in read(path, comments="all").text
    document = read(path)
    assert "vérifier" not in document.text
    assert told(document) == [(WarningCode.NOT_READ, 1, "comments")]


def test_comments_of_a_slide_follow_it(tmp_path: Path) -> None:
    shape = "<p:sp><p:nvSpPr/><p:txBody><a:p><a:r><a:t>Badge</a:t></a:r></a:p></p:txBody></p:sp>"
    path = write_archive(tmp_path / "a.pptx", {
        "[Content_Types].xml": '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"/>',
        "_rels/.rels": relationships(r1="officeDocument ppt/presentation.xml"),
        "ppt/presentation.xml": (
            f'<p:presentation {_SLIDES}><p:sldIdLst><p:sldId r:id="s1"/></p:sldIdLst></p:presentation>'
        ),
        "ppt/_rels/presentation.xml.rels": relationships(s1="slide slide1.xml", c1="commentAuthors authors.xml"),
        "ppt/authors.xml": f'<p:cmAuthorLst {_SLIDES}><p:cmAuthor id="4" name="Mme Roux"/></p:cmAuthorLst>',
        "ppt/slide1.xml": f"<p:sld {_SLIDES}><p:cSld><p:spTree>{shape}</p:spTree></p:cSld></p:sld>",
        "ppt/_rels/slide1.xml.rels": relationships(c1="comments comment1.xml"),
        "ppt/comment1.xml": f'<p:cmLst {_SLIDES}><p:cm authorId="4"><p:text>À vérifier</p:text></p:cm></p:cmLst>',
    })
    assert read(path, comments="all").text == "Badge\n\nCommentaire de Mme Roux : À vérifier"
    assert told(read(path)) == [(WarningCode.NOT_READ, 1, "comments")]


def test_notes_of_a_pdf_are_read_unless_no_comments_are(tmp_path: Path) -> None:
    page = PageMaker().text(60, 80, "Le texte.").annotation("Text", 60, 100, 80, 120, "A revoir)/T(Mme Roux")
    path = write_pdf(tmp_path / "a.pdf", [PageMaker().text(60, 80, "Avant."), page])
    page.annotations[0] = page.annotations[0].replace("\\)/T\\(", ")/T(")
    write_pdf(path, [PageMaker().text(60, 80, "Avant."), page])
    assert read(path).text == "Avant.\n\nLe texte.\n\nCommentaire de Mme Roux : A revoir"
    document = read(path, comments="none")
    assert document.text == "Avant.\n\nLe texte."
    assert [(each.code, each.count, each.places) for each in document.warnings] == [(WarningCode.NOT_READ, 1, ("2",))]


def test_what_was_read_otherwise_is_kept_apart() -> None:
    def key(limits: ParsingLimits) -> str:
        return parsed_key(
            tenant="t", content_sha256=b"1", filename="a.docx", content_type="", choices=limits.choices
        )

    usual, *others = map(key, (ParsingLimits(), ParsingLimits(comments="all"), ParsingLimits(struck=False)))
    assert usual == parsed_key(tenant="t", content_sha256=b"1", filename="a.docx", content_type="")
    assert len({usual, *others}) == 3


def test_struck_out_text_is_left_out_and_told_where_it_is_not_wanted(tmp_path: Path) -> None:
    body = paragraph("Le prix : ", text_run("74 euros", "<w:strike/>"), " 81 euros.") + paragraph(
        text_run("Rien.", "<w:strike/>")
    )
    path = write_word(tmp_path / "a.docx", body)
    assert read(path).text == "Le prix : ~~74 euros~~ 81 euros.\n\n~~Rien.~~"
    document = read(path, struck=False)
    assert document.text == "Le prix : 81 euros."
    assert told(document) == [(WarningCode.NOT_READ, 2, "struck-out text")]
