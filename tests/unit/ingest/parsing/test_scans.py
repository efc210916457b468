"""What OCR found as words for the layout, which pages it has to read, and picture files as pages; without models."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pypdfium2
import pytest
from PIL import Image

from sourcier.services.chassis.errors import DocumentEmpty, DocumentMalformed, DocumentTooLarge
from sourcier.services.index.places.place import PagePlace, Rectangle
from sourcier.services.index.places.place_map import UNITS_PER_POINT
from sourcier.services.ingest.documents import BlockKind, ParsedDocument
from sourcier.services.ingest.parsing.limits import ParsingLimits
from sourcier.services.ingest.parsing.parts import part_file
from sourcier.services.ingest.parsing.pdf.content.characters import read_page
from sourcier.services.ingest.parsing.pdf.content.elements import Box, Rule
from sourcier.services.ingest.parsing.pdf.pictures import numbered
from sourcier.services.ingest.parsing.scans import pictures
from sourcier.services.ingest.parsing.scans.recognised import (
    RecognisedLine,
    RecognisedPage,
    RecognisedPicture,
    RecognisedWord,
    in_rows,
)
from sourcier.services.ingest.parsing.scans.words import even_sizes, words_of
from sourcier.services.ingest.parsing.source import Source
from sourcier.services.ingest.reading_warnings import ReadingWarnings, WarningCode
from tests.unit.ingest.fix_parsing import parse
from tests.unit.ingest.fix_pdf_pages import HEIGHT, WIDTH, PageMaker, write_pdf
from tests.unit.ingest.fix_scans import picture_file, scan_pdf


def line(
    text: str, left: float, baseline: float, *, size: float = 10, confidence: float = 0.99, pitch: float = 0.5
) -> RecognisedLine:
    """Return a line as OCR finds it: the box of its letters with some room around them."""
    words, at = [], left
    for word in text.split():
        words.append(RecognisedWord(word, at, at + len(word) * size * pitch, confidence))
        at += (len(word) + 1) * size * pitch
    height = size / 0.78
    top = baseline - 0.73 * height
    return RecognisedLine(Box(left, top, words[-1].right, top + height), tuple(words))


def page(*lines: RecognisedLine, number: int = 1, **fields: object) -> RecognisedPage:
    values = {"width": float(WIDTH), "height": float(HEIGHT)} | fields
    return RecognisedPage(number, lines=lines, **values)  # type: ignore[arg-type]


def read_with(path: Path, *pages: RecognisedPage) -> ParsedDocument:
    folder = path.parent / "recognised"
    folder.mkdir()
    for each in pages:
        part_file(folder, each.number).write_bytes(each.to_bytes())
    return parse(Source(path, path.name, recognised=folder))


def fingerprints(path: Path) -> list[str]:
    """Return what tells the pictures of a PDF from one another, in their order."""
    document = pypdfium2.PdfDocument(path)
    pages = [read_page(document[index], index + 1) for index in range(len(document))]
    document.close()
    return [each.fingerprint for each in numbered(pages, ParsingLimits(), warnings=ReadingWarnings())]


def picture_page() -> PageMaker:
    return PageMaker().picture(0, 0, WIDTH, HEIGHT)


def test_what_ocr_read_is_kept_as_it_is() -> None:
    read = page(line("Où est-ce ?", 50, 100), horizontal=(Rule(10, 20, 30),), turned=1, asides=("marge",))
    again = RecognisedPage.from_bytes(read.to_bytes())
    assert (again.turned, again.horizontal, again.asides) == (1, (Rule(10, 20, 30),), ("marge",))
    assert [each.text for each in again.lines] == ["Où est-ce ?"]
    assert again.to_bytes() == read.to_bytes()
    with pytest.raises(DocumentMalformed, match="parse the document again"):
        RecognisedPage.from_bytes(b"rien")


def test_lines_of_like_height_are_of_one_size_and_a_title_is_not() -> None:
    assert even_sizes([9.2, 10.1, 10.6, 18.2], weights=[60, 60, 60, 20]) == [10, 10, 10, 18]


def test_parts_of_one_line_stand_on_one_baseline() -> None:
    words = words_of(page(line("Total", 50, 100), line("1 200 €", 400, 103)))
    assert len({word.baseline for word in words}) == 1


def test_spaces_are_those_that_were_read_however_near_the_words_are(tmp_path: Path) -> None:
    apart = line("Les congés payés fixés ici", 50, 100)
    tight = replace(apart, words=tuple(replace(word, right=word.right + 5) for word in apart.words))
    path = write_pdf(tmp_path / "a.pdf", [picture_page()])
    document = read_with(path, page(tight))
    assert document.text == "Les congés payés fixés ici"


def test_pages_that_are_pictures_are_left_to_ocr_and_no_others(tmp_path: Path) -> None:
    text = PageMaker().lines(50, 80, ["Une phrase de texte ordinaire dans le corps de la page."] * 6)
    covered = picture_page().lines(50, 80, ["Une phrase de texte ordinaire dans le corps de la page."] * 6)
    layer = picture_page().text(50, 80, "Ce que la reconnaissance a lu sur toute la page, mot à mot. " * 3, mode=3)
    stamped = picture_page().text(400, 820, "Page 3 / 9")
    scan = Image.new("L", (200, 280), 200)
    searchable = PageMaker().image(0, 0, WIDTH, HEIGHT, scan)
    for line in range(6):
        searchable.text(50, 80 + 20 * line, "Ce que la reconnaissance a lu, mot à mot. ", mode=3)
    path = write_pdf(tmp_path / "a.pdf", [text, picture_page(), covered, layer, stamped, PageMaker(), searchable])
    assert parse(Source(path, "a.pdf", ocr=True)).scanned == (2, 5)
    assert parse(Source(path, "a.pdf")).scanned == ()


def test_pages_with_pictures_are_left_to_ocr_once_for_each_picture(tmp_path: Path) -> None:
    text = ["Une phrase de texte ordinaire dans le corps de la page."] * 6
    pictured = [PageMaker().lines(50, 80, text).picture(100, 400, 300, 500) for _ in range(2)]
    path = write_pdf(tmp_path / "a.pdf", [*pictured, PageMaker().lines(50, 80, text)])
    every = ParsingLimits(picture_width_min=0, picture_height_min=0, picture_pixels_min=0)
    assert parse(Source(path, "a.pdf", ocr=True, limits=every)).scanned == (1,)
    assert parse(Source(path, "a.pdf", ocr=True)).scanned == ()
    assert parse(Source(path, "a.pdf", ocr=True, limits=replace(every, pictures=False))).scanned == ()


@pytest.mark.parametrize(("width", "height", "content"), [
    (200, 200, True), (199, 400, False), (400, 199, False), (2000, 200, True), (2001, 200, False), (300, 300, True),
])
def test_small_and_narrow_pictures_are_decoration(width: int, height: int, content: bool) -> None:
    assert ParsingLimits().is_content(width, height) is content


def test_what_pictures_say_stands_after_their_text_and_once(tmp_path: Path) -> None:
    text = ["Une phrase de texte ordinaire dans le corps de la page."] * 6
    logo, chart, noise = (Image.new("L", (200, 200), shade) for shade in (10, 20, 30))
    path = write_pdf(tmp_path / "a.pdf", [
        PageMaker().lines(50, 80, text).image(50, 400, 150, 500, logo).image(200, 400, 300, 500, noise),
        PageMaker().lines(50, 80, text).image(50, 400, 150, 500, logo).image(200, 400, 300, 500, chart),
    ])
    read = {
        each: RecognisedPicture(Box(1, 1, 9, 9), said, sure, fingerprint)
        for (each, said, sure), fingerprint in zip(
            (("logo", "Société Exemple", 0.9), ("noise", "l|l", 0.3), ("chart", "Ventes 2025 : 1 200", 0.9)),
            fingerprints(path), strict=True,
        )
    }
    document = read_with(
        path, page(number=1, pictures=(read["logo"], read["noise"])),
        page(number=2, pictures=(read["logo"], read["chart"])),
    )
    assert [document.block_text(block) for block in document.blocks if block.kind is BlockKind.PICTURE] == [
        "[Image 1, page 1] Société Exemple", "[Image 3, page 2] Ventes 2025 : 1 200"
    ]
    assert document.text.count("Une phrase") == 12
    assert [(each.code, each.count, each.places) for each in document.warnings] == [(WarningCode.PICTURES, 1, ("1",))]
    at = document.text.index("Ventes")
    assert document.places.places(at, at + 6) == (
        PagePlace(2, "", WIDTH, HEIGHT, (Rectangle(200, 400, 100, 100),), picture=3),
    )


def test_a_picture_belongs_to_the_section_that_it_stands_in(tmp_path: Path) -> None:
    text = ["Une phrase de texte ordinaire dans le corps de la page."] * 3
    charts = [Image.new("L", (200, 200), shade) for shade in (10, 20)]
    path = write_pdf(tmp_path / "a.pdf", [
        PageMaker().text(50, 60, "Un", size=18).lines(50, 80, text).image(50, 130, 150, 230, charts[0])
        .text(50, 270, "Deux", size=18).lines(50, 290, text).image(50, 340, 150, 440, charts[1]),
    ])
    read = [
        RecognisedPicture(Box(1, 1, 9, 9), said, 0.9, fingerprint)
        for said, fingerprint in zip(("Ventes de bois", "Ventes de verre"), fingerprints(path), strict=True)
    ]
    document = read_with(path, page(number=1, pictures=tuple(read)))
    assert [(block.heading_path, document.block_text(block)) for block in document.blocks
            if block.kind is BlockKind.PICTURE] == [
        (("Un",), "[Image 1, page 1] Ventes de bois"), (("Deux",), "[Image 2, page 1] Ventes de verre")
    ]


def test_a_document_of_scans_alone_is_refused_only_where_ocr_is_off(tmp_path: Path) -> None:
    path = write_pdf(tmp_path / "a.pdf", [picture_page(), picture_page()])
    assert parse(Source(path, "a.pdf", ocr=True)).scanned == (1, 2)
    with pytest.raises(DocumentEmpty, match="switched off"):
        parse(Source(path, "a.pdf"))


def test_scanned_pages_stand_between_the_others_as_paragraphs_and_headings(tmp_path: Path) -> None:
    text = PageMaker().lines(50, 80, ["Le texte de la première page, qui a une couche de texte à lui."] * 4)
    path = write_pdf(tmp_path / "a.pdf", [text, picture_page()])
    said = "Les congés se demandent quinze jours avant le départ, par écrit, et le"
    body = [line(said, 50, 140 + 14 * n) for n in range(4)]
    document = read_with(path, page(line("Congés payés", 50, 100, size=18), *body, number=2))
    assert [(block.kind, block.page) for block in document.blocks][-2:] == [
        (BlockKind.HEADING, 2), (BlockKind.PARAGRAPH, 2)
    ]
    assert document.text.endswith(" ".join(each.text for each in body))
    assert document.warnings == ()


def test_what_ocr_read_has_its_place_on_the_page_as_it_is_shown(tmp_path: Path) -> None:
    """The page lies on its side: its upper edge is at the right."""
    path = write_pdf(tmp_path / "a.pdf", [picture_page()])
    found = page(line("Fermé le lundi.", 50, 100, size=10), width=float(HEIGHT), height=float(WIDTH), turned=1)
    places = read_with(path, found).places
    assert [(frame.number, frame.width, frame.height) for frame in places.frames] == [
        (1, WIDTH * UNITS_PER_POINT, HEIGHT * UNITS_PER_POINT)
    ]
    first = places.stretches[0]
    assert WIDTH - 110 < first.a / UNITS_PER_POINT < first.c / UNITS_PER_POINT < WIDTH - 90
    assert first.b / UNITS_PER_POINT == pytest.approx(50, abs=1)


def test_columns_of_a_scan_are_read_one_after_the_other(tmp_path: Path) -> None:
    left = [line("la cantine ouvre à midi et sert", 50, 100 + 14 * n) for n in range(8)]
    right = [line("le parking ferme le soir à vingt", 320, 100 + 14 * n) for n in range(8)]
    mixed = [each for pair in zip(left, right, strict=True) for each in pair]
    document = read_with(write_pdf(tmp_path / "a.pdf", [picture_page()]), page(*mixed))
    assert document.text.rindex("cantine") < document.text.index("parking")


def test_a_ruled_table_of_a_scan_is_a_table(tmp_path: Path) -> None:
    cells = [["Ville", "Plafond"], ["Lyon", "130 €"], ["Nîmes", "110 €"]]
    lines = [
        line(cell, 60 + 200 * column, 115 + 20 * row) for row, texts in enumerate(cells)
        for column, cell in enumerate(texts)
    ]
    rules: dict[str, Any] = {
        "horizontal": tuple(Rule(100.0 + 20 * n, 50, 450) for n in range(4)),
        "vertical": tuple(Rule(50.0 + 200 * n, 100, 160) for n in range(3)),
    }
    document = read_with(write_pdf(tmp_path / "a.pdf", [picture_page()]), page(*lines, **rules))
    assert [block.kind for block in document.blocks] == [BlockKind.TABLE]
    assert "| Lyon | 130 € |" in document.text


def test_a_text_that_the_page_has_is_not_read_twice(tmp_path: Path) -> None:
    path = write_pdf(tmp_path / "a.pdf", [picture_page().text(50, 800, "Page 3 / 9")])
    found = page(line("Le scan lui-même porte ce texte que personne n'a saisi.", 50, 100), line("Page 3 / 9", 50, 800))
    document = read_with(path, found)
    assert document.text.count("Page 3 / 9") == 1
    assert "porte ce texte" in document.text


def test_pages_that_were_not_read_and_unsure_ones_are_told(tmp_path: Path) -> None:
    path = write_pdf(tmp_path / "a.pdf", [picture_page() for _ in range(4)])
    document = read_with(
        path, page(line("Un texte tout à fait lisible.", 50, 100), number=1),
        page(line("Un t3xte à peine lisib1e.", 50, 100, confidence=0.6), number=2),
        RecognisedPage(3, error="its picture is damaged"), page(number=4),
    )
    assert {(warning.code, warning.places) for warning in document.warnings} == {
        (WarningCode.LOW_CONFIDENCE, ("2",)), (WarningCode.PAGES_NOT_RECOGNISED, ("3",)),
        (WarningCode.PAGES_WITHOUT_TEXT, ("4",)),
    }
    assert next(w.detail for w in document.warnings if w.code is WarningCode.PAGES_NOT_RECOGNISED) == (
        "its picture is damaged"
    )


def test_a_scan_without_any_text_is_empty_with_the_reason(tmp_path: Path) -> None:
    path = write_pdf(tmp_path / "a.pdf", [picture_page()])
    with pytest.raises(DocumentEmpty, match=r"1 page without text layer: its picture is damaged"):
        read_with(path, RecognisedPage(1, error="its picture is damaged"))


@pytest.mark.parametrize("name", ["a.png", "a.jpg", "a.tif", "a.webp", "a.bmp", "a.gif", "a.jp2"])
def test_picture_files_are_documents_of_one_page(tmp_path: Path, name: str) -> None:
    path = picture_file(tmp_path / name, Image.new("RGB", (300, 200), "white"))
    document = parse(Source(path, name, ocr=True))
    assert (document.format, document.page_count, document.scanned) == ("picture", 1, (1,))


def test_a_picture_is_titled_by_its_name_and_has_the_text_that_was_read(tmp_path: Path) -> None:
    path = picture_file(tmp_path / "avis.png", Image.new("L", (300, 200), 255))
    document = read_with(path, page(line("Fermé le lundi.", 50, 100)))
    assert (document.title, document.text) == ("avis", "Fermé le lundi.")


def test_each_page_of_a_tiff_is_one_and_of_what_moves_the_first_picture(tmp_path: Path) -> None:
    frames = [Image.new("1", (60, 60), n % 2) for n in range(3)]
    for name, count in (("a.tif", 3), ("a.gif", 1), ("a.webp", 1), ("a.png", 1)):
        frames[0].convert("RGB").save(
            tmp_path / name, save_all=True, append_images=[frame.convert("RGB") for frame in frames[1:]]
        )
        assert pictures.count_pages(tmp_path / name, filename=name, pages_max=10) == count
    with pytest.raises(DocumentTooLarge, match="more than 2 pages"):
        pictures.count_pages(tmp_path / "a.tif", filename="a.tif", pages_max=2)


def _grey(mode: str) -> Image.Image:
    """Return a picture whose left half is dark and whose right half is white."""
    levels = np.zeros((40, 80), np.uint8)
    levels[:, 40:] = 255
    if mode == "I;16":
        return Image.fromarray(levels.astype(np.uint16) * 257)
    return Image.fromarray(levels).convert(mode)


@pytest.mark.parametrize(("mode", "name"), [
    ("1", "a.tif"), ("L", "a.png"), ("P", "a.gif"), ("RGB", "a.jpg"), ("CMYK", "a.jpg"), ("CMYK", "a.tif"),
    ("I;16", "a.png"), ("I;16", "a.tif"), ("F", "a.tif"), ("LAB", "a.tif"), ("RGBA", "a.webp"),
])
def test_pixels_are_what_a_viewer_shows_whatever_their_mode(tmp_path: Path, mode: str, name: str) -> None:
    picture = _grey("RGB").convert("RGB") if mode == "LAB" else _grey(mode)
    if mode == "LAB":
        picture = Image.merge("LAB", [_grey("L"), Image.new("L", (80, 40), 128), Image.new("L", (80, 40), 128)])
    path = picture_file(tmp_path / name, picture)
    pixels = pictures.draw(path, 1).pixels
    assert pixels.shape == (40, 80, 3)
    assert pixels[:, :36].max() < 60
    assert pixels[:, 44:].min() > 195


def test_what_shines_through_stands_on_white(tmp_path: Path) -> None:
    path = picture_file(tmp_path / "a.png", Image.new("RGBA", (20, 20), (0, 0, 0, 0)))
    assert pictures.draw(path, 1).pixels.min() == 255


def test_a_photograph_that_was_taken_askew_is_shown_upright_and_measured_in_points(tmp_path: Path) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    path = picture_file(tmp_path / "a.jpg", Image.new("RGB", (400, 200)), exif=exif.tobytes())
    drawn = pictures.draw(path, 1)
    assert drawn.pixels.shape == (400, 200, 3)
    assert (round(drawn.width), round(drawn.height)) == (72, 144)


def test_a_picture_of_too_many_pixels_is_not_unpacked(tmp_path: Path) -> None:
    path = picture_file(tmp_path / "a.png", Image.new("1", (20_000, 20_000)))
    assert path.stat().st_size < 100_000
    with pytest.raises(DocumentTooLarge, match=r"20,000 × 20,000 pixels"):
        pictures.draw(path, 1)


@pytest.mark.parametrize("name", ["a.png", "a.jpg", "a.tif", "a.webp", "a.bmp", "a.gif", "a.jp2"])
def test_a_picture_that_is_cut_short_is_an_error_of_its_own(tmp_path: Path, name: str) -> None:
    noise = np.random.default_rng(1).integers(0, 255, (80, 80, 3), dtype=np.uint8)
    path = picture_file(tmp_path / name, Image.fromarray(noise))
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 3])
    with pytest.raises((DocumentMalformed, OSError, ValueError, SyntaxError)):
        assert pictures.count_pages(path, filename=name, pages_max=10) and pictures.draw(path, 1)  # noqa: PT018


def test_a_scanned_pdf_of_tests_has_no_text(tmp_path: Path) -> None:
    path = scan_pdf(tmp_path / "a.pdf", [Image.new("L", (500, 700), 255)] * 2)
    assert parse(Source(path, "a.pdf", ocr=True)).scanned == (1, 2)


def test_a_diagrams_labels_stand_before_their_figures_on_lines_of_their_own() -> None:
    # Labels and figures are never at quite one height; a row's first sign may be the right one.
    read = [
        line(text, left, baseline) for text, left, baseline in (
            ("412 MWh", 200, 29.2), ("Angers", 10, 30), ("96 MWh", 90, 61.5), ("Nantes", 10, 60.4), ("38 MWh", 50, 91),
            ("Lyon", 10, 92.6), ("Consommation", 10, 10),
        )
    ]
    assert in_rows(read) == "Consommation\nAngers 412 MWh\nNantes 96 MWh\nLyon 38 MWh"


def test_rows_of_letters_that_climb_stay_rows() -> None:
    steps = [line(text, 60 * at, 30 - 4 * at) for at, text in enumerate(("un", "deux", "trois", "quatre"))]
    assert in_rows(steps).splitlines()[-1] == "un deux"
