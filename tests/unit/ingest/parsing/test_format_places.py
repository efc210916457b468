"""Where text stands in files without pages: cells, slides, paragraphs, lines; and which of it a chunk keeps."""

from __future__ import annotations

from pathlib import Path

import openpyxl  # type: ignore[import-untyped]
import pytest

from sourcier.services.index.places import encoding
from sourcier.services.index.places.place import CellsPlace, LinesPlace, PagePlace, ParagraphsPlace, SlidePlace
from sourcier.services.ingest.chunking.configuration import ChunkingConfiguration
from sourcier.services.ingest.chunking.cutting import cut
from sourcier.services.ingest.documents import ParsedDocument
from sourcier.services.ingest.parsing.placing.source_lines import SourceLines
from sourcier.services.ingest.parsing.source import Source
from tests.unit.ingest.fix_files import make_pptx
from tests.unit.ingest.fix_office_files import cell, paragraph, table, text_run, write_word
from tests.unit.ingest.fix_parsing import parse
from tests.unit.ingest.fix_pdf_pages import PageMaker, write_pdf
from tests.unit.ingest.fix_words import WordCounter


def read(path: Path) -> ParsedDocument:
    """Read a file."""
    return parse(Source(path, path.name))


def places_of(document: ParsedDocument, part: str) -> tuple[object, ...]:
    """Return where a part of the text stands."""
    start = document.text.index(part)
    return document.places.places(start, start + len(part))


@pytest.fixture
def workbook(tmp_path: Path) -> Path:
    """A sheet with a title above a table that begins at C5 and has an empty row and two lines of header."""
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.title = "Budget 2027"
    sheet["C2"] = "Budget des sites"
    rows = (("Site", "Dépenses", None), (None, "Prévu", "Réel"), ("Lyon", 1200, 1150), ("Nantes", 900, 940))
    for number, row in enumerate(rows, 5):
        for column, value in enumerate(row, 3):
            sheet.cell(number, column, value)
    sheet.merge_cells("D5:E5")
    sheet["C20"], sheet["D20"] = "Total", 2090
    path = tmp_path / "budget.xlsx"
    book.save(path)
    return path


def test_rows_of_a_sheet_stand_in_their_cells(workbook: Path) -> None:
    document = read(workbook)
    (row,) = [line for line in document.text.split("\n") if line.startswith("| Nantes")]
    assert places_of(document, row) == (CellsPlace("Budget 2027", "C8:E8"),)
    (header,) = [line for line in document.text.split("\n") if line.startswith("| Site")]
    assert places_of(document, header) == (CellsPlace("Budget 2027", "C5:E6"),)
    assert places_of(document, "Budget des sites") == (CellsPlace("Budget 2027", "C2"),)
    assert document.places.places(0, len("Budget 2027")) == (CellsPlace("Budget 2027", ""),)
    (total,) = [line for line in document.text.split("\n") if "Total" in line]
    (place,) = places_of(document, total)
    assert isinstance(place, CellsPlace)
    assert place.range.startswith("C20")


def test_what_a_slide_says_stands_on_it(tmp_path: Path) -> None:
    document = read(make_pptx(tmp_path / "slides.pptx"))
    assert document.places.places(0, len(document.text))[0] == SlidePlace(1)
    assert {type(place) for place in document.places.places(0, len(document.text))} == {SlidePlace}
    for block in document.blocks:
        assert document.places.places(block.start, block.end) == (SlidePlace(block.page),)


def test_paragraphs_and_rows_of_a_word_document_are_counted(tmp_path: Path) -> None:
    texts = (("Ville", "Prix"), ("Lyon", "9 €"))
    rows = [cell(paragraph(text_run(city))) + cell(paragraph(text_run(price))) for city, price in texts]
    body = paragraph(text_run("Un.")) + table(*rows) + paragraph(text_run("")) + paragraph(text_run("Deux."))
    document = read(write_word(tmp_path / "a.docx", body))
    assert places_of(document, "Un.") == (ParagraphsPlace(1, 1),)
    assert places_of(document, "| Lyon | 9 € |") == (ParagraphsPlace(3, 3),)
    assert places_of(document, "Deux.") == (ParagraphsPlace(4, 4),)


@pytest.mark.parametrize(("name", "text", "part", "lines"), [
    ("a.txt", "Titre\n\n\n\nUne phrase\nsur deux lignes.\n\nFin.", "Une phrase\nsur deux lignes.", (5, 6)),
    ("a.txt", "- un\n- deux\n- un\n", "deux", (2, 2)),
    ("a.md", "---\ntitle: T\n---\n\n# Titre\n\nVoir [la *charte*](https://x.fr/a?b=1) du\nsite.\n", "Voir", (7, 8)),
    ("a.md", "# A\n\n| Ville | Prix |\n|---|---|\n| Lyon | 9 |\n| Nice | 8 |\n", "| Nice | 8 |", (6, 6)),
    ("a.csv", "Ville;Prix\nLyon;9\n\"Saint-\nDenis\";8\n", "| Saint- Denis | 8 |", (3, 4)),
    ("a.csv", "sep=;\nVille;Prix\nLyon;9\nNice;8\n", "| Lyon | 9 |", (3, 3)),
    ("é.txt", "﻿Été\r\n\r\nL'été, de juin\r\nà août.\r\n", "à août.", (4, 4)),
])
def test_text_files_know_their_lines(
    tmp_path: Path, name: str, text: str, part: str, lines: tuple[int, int]
) -> None:
    path = tmp_path / name
    path.write_bytes(text.encode())
    document = read(path)
    start = document.text.index(part)
    end = document.text.find("\n\n", start)
    if name.endswith(".md") and part == "Voir":
        part = document.text[start : end if end > 0 else None]
    assert places_of(document, part) == (LinesPlace(*lines),)


def test_notes_that_are_read_beside_their_call_lose_no_line(tmp_path: Path) -> None:
    paragraphs = [f"Le paragraphe numéro {n} parle du site {n * 7}." for n in range(40)]
    text = "\n\n".join(["Un appel de note[^1] ici.", *paragraphs, "[^1]: La note du bas de page."])
    path = tmp_path / "a.md"
    path.write_text(text)
    document = read(path)
    assert [places_of(document, each) for each in paragraphs] == [
        (LinesPlace(number, number),) for number in range(3, 3 + 2 * len(paragraphs), 2)
    ]
    assert places_of(document, "La note du bas de page.") == (LinesPlace(83, 83),)


def test_a_line_that_is_not_in_the_file_is_found_nowhere_and_loses_no_other() -> None:
    lines = SourceLines("Un.\nDeux.\nTrois.")
    assert [lines.find(each) for each in ("Un.", "Quatre.", "Trois.", "…")] == [(1, 1), None, (3, 3), None]


@pytest.mark.parametrize("configuration", [
    ChunkingConfiguration.of(target=20, overlap=5, maximum=30), ChunkingConfiguration.of(method="page"),
    ChunkingConfiguration.of(method="lines", target=80, overlap=20),
])
def test_each_word_of_a_chunk_stands_where_it_does_in_the_document(
    tmp_path: Path, configuration: ChunkingConfiguration
) -> None:
    from tests.unit.ingest.fix_places import said_there

    lines = [f"Article {n} : la règle numéro {n} vaut pour le site {n * 7} de l'entreprise." for n in range(40)]
    path = write_pdf(tmp_path / "a.pdf", [PageMaker().lines(60, 80, lines[:20]), PageMaker().lines(60, 80, lines[20:])])
    document = read(path)
    chunks = cut(document, configuration, WordCounter())
    assert len(chunks) > 3
    for chunk in chunks:
        places = encoding.decode(chunk.place_map)
        at = 0
        for word in chunk.text.split():
            at = chunk.text.index(word, at)
            (place,) = places.places(at, at + len(word))
            assert isinstance(place, PagePlace)
            # Some methods cut within words: the whole word is marked then.
            said = said_there(path, (place,))
            assert said == word or (word in said and at in (0, len(chunk.text) - len(word)))
            at += len(word)


def test_a_header_that_a_part_of_a_table_repeats_stands_where_it_was(workbook: Path, tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.append(["Ville", "Hôtel", "Remarque"])
    for number in range(60):
        sheet.append([f"Ville{number}", f"{number} euros", "petit déjeuner compris dans le prix"])
    book.save(path := tmp_path / "villes.xlsx")
    document = read(path)
    last = cut(document, ChunkingConfiguration.of(target=60, overlap=0, maximum=80), WordCounter())[-1]
    assert last.text.startswith("| Ville | Hôtel | Remarque |")
    places = encoding.decode(last.place_map)
    assert places.places(0, 20) == (CellsPlace("Sheet", "A1:C1"),)
    at = last.text.index("| Ville59 ")
    assert places.places(at, len(last.text)) == (CellsPlace("Sheet", "A61:C61"),)
