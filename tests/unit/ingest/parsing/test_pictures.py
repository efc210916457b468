"""Pictures inside documents: taken out with their place, each once, within limits; hostile ones among them."""

from __future__ import annotations

import base64
import io
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from sourcier.services.chassis.errors import DocumentPageAbsent
from sourcier.services.index.places.place import CellsPlace, FilePlace, ParagraphsPlace, Place, SlidePlace
from sourcier.services.ingest.documents import BlockKind, ParsedDocument
from sourcier.services.ingest.parsing.limits import ParsingLimits
from sourcier.services.ingest.parsing.office.packages import PICTURE_BYTES_MAX, Package
from sourcier.services.ingest.parsing.pdf.pictures import OF_PAGE_MAX, numbered, pictures_read
from sourcier.services.ingest.parsing.pdf.reader import open_pdf, read_pages
from sourcier.services.ingest.parsing.pictures.described import Description
from sourcier.services.ingest.parsing.source import Source
from sourcier.services.ingest.reading_warnings import ReadingWarnings, WarningCode
from tests.unit.ingest.fix_office_files import paragraph
from tests.unit.ingest.fix_parsing import parse
from tests.unit.ingest.fix_pdf_pages import PageMaker, write_pdf
from tests.unit.ingest.fix_pictures import blip, drawn, file_of, results, sheet_with, slides_with, word_with
from tests.unit.ingest.parsing.test_books import write as write_book

SALES = file_of(drawn("Ventes 2025 : 1 200"))
PLAN = file_of(drawn("Plan du site", shade=240))
HEADING = '<w:pStyle w:val="Titre1"/>'


def pictures(document: ParsedDocument) -> list[tuple[str, tuple[str, ...]]]:
    return [
        (document.block_text(block), block.heading_path) for block in document.blocks
        if block.kind is BlockKind.PICTURE
    ]


def places(document: ParsedDocument) -> list[tuple[Place, ...]]:
    return [
        document.places.places(block.start, block.end) for block in document.blocks if block.kind is BlockKind.PICTURE
    ]


def told(document: ParsedDocument) -> list[tuple[WarningCode, int, tuple[str, ...]]]:
    return [(warning.code, warning.count, warning.places) for warning in document.warnings]


def test_pictures_of_a_word_document_follow_the_text_of_their_section(tmp_path: Path) -> None:
    body = (
        paragraph("Bilan", properties=HEADING) + paragraph("Avant. ", blip("p1", "Ventes par an")) + paragraph("Après.")
        + paragraph("Accès", properties=HEADING) + paragraph(blip("p2")) + paragraph(blip("p1"))
    )
    path = word_with(tmp_path / "a.docx", body, {"p1": SALES, "p2": PLAN})
    first = parse(Source(path, "a.docx", ocr=True))
    assert first.scanned == (1, 2)
    assert [each.content for each in first.pictures] == [SALES, PLAN]
    read = results(tmp_path / "read", {1: (SALES, "Ventes 2025 : 1 200"), 2: (PLAN, "Plan du site")})
    document = parse(Source(path, "a.docx", recognised=read))
    assert document.text == (
        "Bilan\n\nAvant.\n\nAprès.\n\n[Image 1] Ventes par an\nTexte : Ventes 2025 : 1 200\n\nAccès\n\n"
        "[Image 2] Plan du site"
    )
    assert [path for _, path in pictures(document)] == [("Bilan",), ("Accès",)]
    assert places(document) == [(ParagraphsPlace(2, 2, picture=1),), (ParagraphsPlace(4, 4, picture=2),)]
    assert (document.scanned, document.warnings) == ((), ())
    again = ParsedDocument.from_bytes(document.to_bytes())
    assert places(again) == places(document)


def test_pictures_of_slides_and_sheets_stand_there(tmp_path: Path) -> None:
    path = slides_with(tmp_path / "a.pptx", [("Ventes", [SALES]), ("Accès", [PLAN, SALES])])
    assert parse(Source(path, "a.pptx", ocr=True)).scanned == (1, 2)
    read = results(tmp_path / "read", {1: (SALES, "Ventes 2025"), 2: (PLAN, "Plan du site")})
    document = parse(Source(path, "a.pptx", recognised=read))
    assert [text.splitlines()[-1] for text, _ in pictures(document)] == [
        "[Image 1, page 1] Ventes 2025", "[Image 2, page 2] Plan du site"
    ]
    assert places(document) == [(SlidePlace(1, picture=1),), (SlidePlace(2, picture=2),)]
    path = sheet_with(tmp_path / "a.xlsx", "Bilan", PLAN, cell="C4")
    read = results(tmp_path / "sheet", {1: (PLAN, "Plan du site")})
    document = parse(Source(path, "a.xlsx", recognised=read))
    assert pictures(document) == [("[Image 1, page 1] Plan du site", ("Bilan",))]
    assert places(document) == [(CellsPlace("Bilan", "C4", picture=1),)]


def test_pictures_inside_web_pages_and_books_are_taken_and_those_elsewhere_are_not(tmp_path: Path) -> None:
    inside = f"data:image/png;base64,{base64.b64encode(PLAN).decode()}"
    page = tmp_path / "a.html"
    page.write_text(f"<h1>Accès</h1><p>Avant.<img src='{inside}' alt='Le plan'></p><p>Après.</p>"
                    "<img src='https://example.org/a.png'><img src='a.png'><img src='data:image/png;base64,!!!'>")
    assert [each.content for each in parse(Source(page, "a.html", ocr=True)).pictures] == [PLAN]
    read = results(tmp_path / "read", {1: (PLAN, "Plan du site")})
    document = parse(Source(page, "a.html", recognised=read))
    assert document.text == "Accès\n\nAvant. Le plan\n\nAprès.\n\n[Image 1] Plan du site"
    assert places(document) == [(ParagraphsPlace(1, 1, picture=1),)]
    assert told(document) == [(WarningCode.PICTURES, 1, ())]
    book = write_book(tmp_path / "a.epub", more={"OEBPS/c.png": PLAN})
    assert [each.content for each in parse(Source(book, "a.epub", ocr=True)).pictures] == [PLAN]
    document = parse(Source(book, "a.epub", recognised=read))
    assert pictures(document) == [("[Image 1] Plan du site", ("Congés",))]
    assert places(document) == [(FilePlace(1),)]


def test_a_document_of_pictures_alone_is_read_by_ocr(tmp_path: Path) -> None:
    path = word_with(tmp_path / "a.docx", paragraph(blip("p1")), {"p1": PLAN})
    assert parse(Source(path, "a.docx", ocr=True)).scanned == (1,)
    document = parse(Source(path, "a.docx", recognised=results(tmp_path / "read", {1: (PLAN, "Plan du site")})))
    assert document.text == "[Image 1] Plan du site"


def test_a_description_stands_before_the_text_and_what_failed_is_told(tmp_path: Path) -> None:
    body = "".join(paragraph(f"Partie {number}.", blip(f"p{number}")) for number in range(1, 5))
    four = [file_of(drawn(shade=200 + number)) for number in range(4)]
    path = word_with(tmp_path / "a.docx", body, {f"p{number}": content for number, content in enumerate(four, 1)})
    read = results(
        tmp_path / "read", {1: (four[0], "1 200"), 2: (four[1], ""), 3: (four[2], "")},
        described={
            four[0]: Description("Un histogramme."), four[1]: Description(decorative=True),
            four[2]: Description(error="the endpoint does not answer"),
        },
        failed={4: "its picture is damaged"},
    )
    document = parse(Source(path, "a.docx", recognised=read))
    assert [text for text, _ in pictures(document)] == ["[Image 1] Description : Un histogramme.\nTexte : 1 200"]
    assert told(document) == [
        (WarningCode.PICTURES, 1, ()), (WarningCode.DESCRIPTIONS_FAILED, 1, ()), (WarningCode.PICTURES_NOT_READ, 1, ()),
    ]


def test_without_ocr_pictures_are_told_with_their_places(tmp_path: Path) -> None:
    path = slides_with(tmp_path / "a.pptx", [("Ventes", [SALES]), ("Accès", [PLAN])])
    document = parse(Source(path, "a.pptx"))
    assert (document.scanned, told(document)) == ((), [(WarningCode.PICTURES, 2, ("1", "2"))])
    off = parse(Source(path, "a.pptx", ocr=True, limits=ParsingLimits(pictures=False)))
    assert (off.scanned, told(off)) == ((), [(WarningCode.PICTURES, 2, ("1", "2"))])


def test_decoration_is_neither_read_nor_told(tmp_path: Path) -> None:
    small, narrow = file_of(drawn(width=199, height=300)), file_of(drawn(width=3000, height=210))
    path = slides_with(tmp_path / "a.pptx", [("Ventes", [small, narrow])])
    document = parse(Source(path, "a.pptx", ocr=True))
    assert (document.scanned, document.warnings) == ((), ())


@pytest.mark.parametrize("limits", [
    replace(ParsingLimits(), pictures_max=1), replace(ParsingLimits(), pictures_bytes_max=len(SALES) + 1),
])
def test_more_pictures_than_are_read_are_told(tmp_path: Path, limits: ParsingLimits) -> None:
    path = slides_with(tmp_path / "a.pptx", [("Ventes", [SALES]), ("Accès", [PLAN])])
    document = parse(Source(path, "a.pptx", ocr=True, limits=limits))
    assert (document.scanned, told(document)) == ((1,), [(WarningCode.PICTURES_LEFT_OUT, 1, ("2",))])


def test_a_picture_is_drawn_as_people_see_it(tmp_path: Path) -> None:
    printed = file_of(drawn("a").convert("CMYK"), "JPEG")
    path = word_with(tmp_path / "a.docx", paragraph("Texte.", blip("p1")), {"p1": printed})
    assert picture_of(path, 1).size == (640, 240)
    with pytest.raises(DocumentPageAbsent, match="no picture 2"):
        picture_of(path, 2)
    red = Image.new("RGB", (300, 300), (200, 200, 200))
    file = tmp_path / "photo.jpg"
    red.save(file)
    assert picture_of(file, 1).size == (300, 300)
    shade = drawn(width=200, height=400, shade=60)
    aside = PageMaker(rotate=90).text(50, 60, "Texte").image(100, 300, 200, 500, shade)
    turned = picture_of(write_pdf(tmp_path / "a.pdf", [PageMaker(), aside]), 1)
    assert turned.width > turned.height  # the page is shown on its side
    assert int(np.asarray(turned.convert("L")).min()) < 80


def test_a_damaged_page_hides_no_picture_behind_it(tmp_path: Path) -> None:
    path = write_pdf(tmp_path / "a.pdf", [
        PageMaker().text(50, 60, "Texte"), PageMaker().text(50, 60, "Texte").image(100, 300, 200, 500, drawn(shade=60)),
    ])
    path.write_bytes(path.read_bytes().replace(b"/Type/Page/", b"/Type/Pagz/", 1))
    document = parse(Source(path, "a.pdf", ocr=True))
    assert (document.scanned, told(document)[0]) == ((2,), (WarningCode.PAGES_UNREADABLE, 1, ("1",)))
    assert picture_of(path, 1).width > 0


def test_of_a_picture_file_there_are_as_many_pictures_as_pages(tmp_path: Path) -> None:
    path = tmp_path / "a.png"
    drawn("a").save(path)
    for number in (2, 4_000_000_000):
        with pytest.raises(DocumentPageAbsent, match="has 1 picture that is read, and no picture"):
            picture_of(path, number)
    path = tmp_path / "a.tiff"
    drawn("a").save(path, save_all=True, append_images=[drawn("b", width=300)])
    assert picture_of(path, 2).width == 300
    with pytest.raises(DocumentPageAbsent, match="has 2 pictures that are read, and no picture 3"):
        picture_of(path, 3)


def test_what_is_numbered_of_a_page_is_what_is_read_of_it(tmp_path: Path) -> None:
    limits = ParsingLimits(picture_width_min=0, picture_height_min=0, picture_pixels_min=0)

    def full(page: PageMaker, *, first: int, count: int) -> PageMaker:
        for number in range(first, first + count):
            page.image(10, 10 + number * 20, 30, 28 + number * 20, Image.new("L", (40, 40), number))
        return page.text(300, 60, "Une page de texte.")

    many = full(PageMaker(), first=0, count=OF_PAGE_MAX)
    path = write_pdf(tmp_path / "a.pdf", [
        many, full(PageMaker(), first=0, count=OF_PAGE_MAX + 1), full(PageMaker(), first=OF_PAGE_MAX, count=1)
    ])
    source = Source(path, "a.pdf", ocr=True, limits=limits)
    document = parse(source)
    assert (WarningCode.PICTURES_LEFT_OUT, 1, ("2",)) in told(document)
    assert document.scanned == (1, 3)
    with open_pdf(source) as opened:
        pages = list(read_pages(opened, damaged=[]))
        found = list(numbered(pages, limits, warnings=ReadingWarnings()))
    read = {page.number: [each.fingerprint for each in pictures_read(page, limits)] for page in pages}
    assert len(found) == OF_PAGE_MAX + 1
    assert all(picture.fingerprint in read[picture.page] for picture in found)


def test_a_picture_that_is_named_often_is_unpacked_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    unpacked: list[str] = []
    read = Package.read

    def counted(self: Package, part: str) -> bytes | None:
        unpacked.append(part)
        return read(self, part)

    monkeypatch.setattr(Package, "read", counted)
    body = "".join(paragraph(f"Partie {number}.", blip("p1") + blip("p2") + blip("p3")) for number in range(9))
    small = file_of(drawn(width=20, height=20))
    path = word_with(tmp_path / "a.docx", body, {"p1": PLAN, "p2": b"none", "p3": small})
    document = parse(Source(path, "a.docx", ocr=True))
    assert [each.content for each in document.pictures] == [PLAN]
    assert told(document) == [(WarningCode.PICTURES_NOT_READ, 9, ())]
    assert sorted(part for part in unpacked if "media" in part) == [f"word/media/p{each}.bin" for each in (1, 2, 3)]


def picture_of(path: Path, number: int) -> Image.Image:
    from sourcier.services.ingest.parsing import dispatch

    png, _ = dispatch.draw(Source(path, path.name), {"picture": number})
    return Image.open(io.BytesIO(png))


HOSTILE = {
    "empty": b"", "no picture": b"MZ\x90\x00" * 100, "cut header": SALES[:20], "svg": b"<svg onload='x'/>",
    "metafile": b"\xd7\xcd\xc6\x9a" + bytes(60), "postscript": b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 900 900\n",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_what_is_no_picture_costs_only_itself(tmp_path: Path, name: str) -> None:
    path = word_with(
        tmp_path / "a.docx", paragraph("Texte.", blip("p1")) + paragraph(blip("p2")) + paragraph(blip("absent")),
        {"p1": HOSTILE[name], "p2": PLAN},
    )
    document = parse(Source(path, "a.docx", ocr=True))
    assert [each.content for each in document.pictures] == [PLAN]
    codes = {warning.code: warning.count for warning in document.warnings}
    assert codes == ({WarningCode.PICTURES: 2} if name == "empty" else {
        WarningCode.PICTURES_NOT_READ: 1, WarningCode.PICTURES: 1
    })


def test_a_picture_that_unpacks_to_much_costs_only_itself(tmp_path: Path) -> None:
    white, large = file_of(Image.new("L", (7_000, 7_000), 255), "BMP"), bytes(PICTURE_BYTES_MAX + 1)
    body = paragraph("Texte.", blip("p1")) + paragraph(blip("p2")) + paragraph(blip("p3"))
    path = word_with(tmp_path / "a.docx", body, {"p1": white, "p2": large, "p3": PLAN}, suffix="bmp")
    document = parse(Source(path, "a.docx", ocr=True))
    assert [len(each.content) for each in document.pictures] == [len(white), len(PLAN)]
    assert told(document) == [(WarningCode.PICTURES, 1, ())]


def test_a_linked_picture_is_not_fetched(tmp_path: Path) -> None:
    path = word_with(tmp_path / "a.docx", paragraph("Texte.", blip("p1").replace("r:embed", "r:link")), {"p1": PLAN})
    document = parse(Source(path, "a.docx", ocr=True))
    assert (document.scanned, told(document)) == ((), [(WarningCode.PICTURES, 1, ())])


def test_pictures_of_any_kind_are_taken(tmp_path: Path) -> None:
    kinds = [
        file_of(drawn("a").convert("CMYK"), "JPEG"), file_of(drawn("b").convert("1"), "TIFF"),
        file_of(drawn("c"), "JPEG2000"), file_of(drawn("d").convert("P"), "GIF"), file_of(drawn("e"), "WEBP"),
        file_of(Image.new("1", (20_000, 2_100)), "PNG"),
        file_of(drawn("f"), "GIF", save_all=True, append_images=[drawn("g")]),
    ]
    path = word_with(
        tmp_path / "a.docx", "".join(paragraph("Texte.", blip(f"p{number}")) for number in range(len(kinds))),
        {f"p{number}": content for number, content in enumerate(kinds)},
    )
    document = parse(Source(path, "a.docx", ocr=True))
    assert (len(document.pictures), document.warnings) == (len(kinds), ())
