"""What stands where on a page: columns that begin and end elsewhere, tables in a column, text that is struck out."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from sourcier.services.ingest.parsing.pdf.reader import parse_pdf
from sourcier.services.ingest.parsing.source import Source
from sourcier.services.ingest.parsing.tables import GridCell, header_height
from tests.unit.ingest.fix_pdf_pages import PageMaker, write_pdf

pytestmark = pytest.mark.unit
PROSE = {
    "badge": ("Le badge est remis à la personne le jour", "de son arrivée et rendu le jour de son", "départ."),
    "cle": ("La clé du local est gardée par celui qui", "ouvre le matin, et elle passe à celui qui", "ferme."),
    "salle": ("La salle se réserve auprès de celle qui", "tient le cahier, au plus tard la veille et", "par écrit."),
    "velo": ("Le vélo de service est prêté à qui en fait", "la demande avant midi, pour un jour ou", "deux."),
}


def read(tmp_path: Path, *pages: PageMaker) -> str:
    return " ".join(parse_pdf(Source(write_pdf(tmp_path / "a.pdf", pages), "a.pdf")).text.split())


def places(text: str, *pieces: str) -> list[int]:
    found = [text.find(piece) for piece in pieces]
    assert -1 not in found, text
    return found


def assert_in_order(text: str, *pieces: str) -> None:
    found = places(text, *pieces)
    assert found == sorted(found), text


def whole(name: str) -> str:
    return " ".join(PROSE[name])


def test_a_drawn_table_stands_in_its_column(tmp_path: Path) -> None:
    page = PageMaker().lines(60, 100, PROSE["badge"]).lines(320, 100, PROSE["salle"])
    page.grid((60, 160, 250), (150, 170, 190)).text(64, 164, "Âge").text(164, 164, "Tarif")
    page.text(64, 184, "4 à 11 ans").text(164, 184, "5 euros")
    page.lines(60, 215, PROSE["cle"]).lines(320, 150, PROSE["velo"])
    assert_in_order(read(tmp_path, page), whole("badge"), "| 4 à 11 ans | 5 euros |", whole("cle"), whole("salle"))


def test_a_third_column_may_begin_below_the_first_line_of_the_others(tmp_path: Path) -> None:
    page = PageMaker()
    for x, top, name in ((50, 100, "badge"), (230, 100, "cle"), (410, 109, "salle")):
        page.lines(x, top, PROSE[name], size=8).lines(x, top + 45, PROSE["velo"], size=8)
    assert_in_order(read(tmp_path, page), whole("badge"), whole("velo"), whole("cle"), whole("salle"))


def test_headings_of_columns_that_have_little_else_are_not_read_across(tmp_path: Path) -> None:
    page = PageMaker()
    for x, heading, name in ((60, ("Fermeture", "d'été"), "badge"), (320, ("Ce qui a", "changé"), "cle")):
        page.lines(x, 200, heading, step=19, size=16).lines(x, 240, PROSE[name][:2])
    # Most of the document is text, so what is larger is a heading.
    page.lines(60, 60, (f"{' '.join(PROSE['salle'])}",) * 3)
    assert_in_order(read(tmp_path, page), "Fermeture d'été", "Le badge est", "Ce qui a changé", "La clé")


def test_a_short_heading_over_two_columns_ends_them(tmp_path: Path) -> None:
    page = PageMaker()
    for x, above, below in ((60, "badge", "salle"), (320, "cle", "velo")):
        page.lines(x, 100, (*PROSE[above][:2], *PROSE[above][:2])).lines(x, 210, (*PROSE[below][:2],) * 2)
    page.text(60, 185, "Annexe", size=15)
    assert_in_order(read(tmp_path, page), "Le badge", "La clé", "Annexe", "La salle", "Le vélo")


def test_headings_of_each_column_end_none(tmp_path: Path) -> None:
    page = PageMaker()
    for x, above, below in ((60, "badge", "salle"), (320, "cle", "velo")):
        page.lines(x, 100, (*PROSE[above][:2], *PROSE[above][:2])).lines(x, 210, (*PROSE[below][:2],) * 2)
        page.text(x, 185 if x == 60 else 186, "Annexe" if x == 60 else "Suite", size=15)
    assert_in_order(read(tmp_path, page), "Le badge", "Annexe", "La salle", "La clé", "Suite", "Le vélo")


def test_words_set_wide_at_both_margins_are_prose(tmp_path: Path) -> None:
    page = PageMaker()
    for number, words in enumerate((("Les", "titres", "sont", "dus"), ("aux", "jours", "de", "pose"))):
        # "dus" is 5.56 narrower than "pose": both lines end at one margin.
        for word, x in zip(words, (60, 110, 160, 205.56 - 5.56 * number), strict=True):
            page.text(x, 100 + 13 * number, word)
    assert "|" not in read(tmp_path, page.text(60, 126, "et de congé."))


@pytest.mark.parametrize(("base", "mark", "shift", "size", "told"), [
    ("12 m", "2", -4.5, 9, "12 m²"), ("le 1", "er", -4.5, 9, "le 1er"), ("du CO", "2", 3, 9, "du CO₂"),
    ("tous les 19", "2", -4.5, 9, "19 [note 2]"), ("12 m", "2", -4, 6.5, "12 m²"),
])
def test_raised_and_lowered_characters_may_be_nearly_as_large_as_text(
    tmp_path: Path, base: str, mark: str, shift: float, size: float, told: str
) -> None:
    widths = {"1": 5.56, "2": 5.56, "9": 5.56, " ": 2.78, "m": 8.33, "l": 2.22, "e": 5.56, "d": 5.56, "u": 5.56,
              "C": 7.22, "O": 7.78, "t": 2.78, "o": 5.56, "s": 5.0}
    end = 60 + sum(widths[letter] for letter in base)
    page = PageMaker().text(60, 100, base).text(end, 100 + shift, mark, size=size).text(end + 16, 100, "environ")
    assert told in read(tmp_path, page.lines(60, 130, PROSE["badge"]))


def test_a_line_through_words_strikes_them_out_and_one_below_does_not(tmp_path: Path) -> None:
    page = PageMaker().text(60, 100, "Prix : 74 euros 81 euros").rule(85.6, 96.8, 124.5, 96.8)
    page.text(60, 120, "Souligné aussi").rule(60, 121.5, 125, 121.5)
    page.grid((60, 160, 300), (140, 160, 180)).text(64, 154, "Article").text(164, 154, "Prix")
    page.text(64, 174, "Vélo").text(164, 174, "450 390").rule(164, 170.5, 180.7, 170.5)
    text = read(tmp_path, page)
    assert "Prix : ~~74 euros~~ 81 euros" in text
    assert "Souligné aussi" in text
    assert "| Vélo | ~~450~~ 390 |" in text


def test_what_a_person_struck_out_afterwards_is_marked(tmp_path: Path) -> None:
    page = PageMaker().text(60, 100, "Prix : 74 euros 81 euros")
    page.annotation("StrikeOut", 85.6, 92, 124.5, 102, "")
    corners = " ".join(f"{x} {842 - y}" for x, y in ((85.6, 92), (124.5, 92), (85.6, 102), (124.5, 102)))
    page.annotations[0] = page.annotations[0].replace("/F 4", f"/F 4/QuadPoints[{corners}]")
    assert "~~74 euros~~ 81 euros" in read(tmp_path, page)


@pytest.mark.parametrize("at", [0, 0.5, 1, 2])
def test_a_cell_of_several_lines_has_its_neighbours_at_any_height(tmp_path: Path, at: float) -> None:
    page = PageMaker().text(60, 88, "Article").text(140, 88, "Détail").text(330, 88, "Prix")
    for number, (label, lines, price) in enumerate((
        ("Vis", ("Vis à tête fraisée, en acier", "inoxydable, par boîte de", "cent pièces"), "12 euros"),
        ("Clou", ("Clou à tête large, par", "sachet, au choix du", "client"), "8 euros"),
        ("Rivet", ("Rivet de cuivre, posé à", "froid, livré avec son", "outil"), "9 euros"),
    )):
        top = 110 + 50 * number
        page.lines(140, top, lines, step=12).text(60, top + 12 * at, label).text(330, top + 12 * at, price)
    text = read(tmp_path, page)
    assert "| Vis | Vis à tête fraisée, en acier inoxydable, par boîte de cent pièces | 12 euros |" in text
    assert "| Rivet | Rivet de cuivre, posé à froid, livré avec son outil | 9 euros |" in text


def test_rows_of_a_section_stay_apart(tmp_path: Path) -> None:
    page = PageMaker().text(60, 88, "Ville").text(140, 88, "Type").text(330, 88, "Jours")
    for number, town in enumerate(("Lyon", "Nice", "Pau")):
        top = 110 + 40 * number
        page.text(60, top, town).lines(140, top, ("neuf", "occasion"), step=12).lines(330, top, ("3", "4"), step=12)
    text = read(tmp_path, page)
    assert "| Lyon | neuf | 3 |" in text
    assert "| | occasion | 4 |" in text


def test_two_addresses_side_by_side_are_read_one_after_the_other(tmp_path: Path) -> None:
    sender, receiver = ("Durand SARL", "12 rue des Lilas", "69003 Lyon"), ("Mairie de Pau", "Place Royale", "64000 Pau")
    page = PageMaker().lines(60, 60, sender).lines(350, 60, receiver).lines(60, 140, PROSE["badge"])
    assert_in_order(read(tmp_path, page), *sender, *receiver)


def test_labels_and_values_written_line_by_line_stay_together(tmp_path: Path) -> None:
    page = PageMaker()
    for number, (label, value) in enumerate((("Nom", "Durand"), ("Ville", "Pau"), ("Emploi", "Menuisier"))):
        page.text(60, 60 + 14 * number, label).text(350, 60 + 14 * number, value)
    assert_in_order(read(tmp_path, page), "Nom", "Durand", "Ville", "Pau", "Emploi", "Menuisier")


def test_a_page_number_is_left_out_however_large(tmp_path: Path) -> None:
    pages = [
        PageMaker().lines(60, 100, (PROSE[name] * 4)).text(250, 810, f"Page {number} sur 4", size=14)
        for number, name in enumerate(PROSE, 1)
    ]
    assert not re.search("Page [0-9] sur", read(tmp_path, *pages))


@pytest.mark.parametrize(("below", "rows"), [(("3", "4,5 %"), 1), (("Neuf", "Occasion"), 2), (("2025", "2026"), 2)])
def test_figures_below_a_merged_name_are_values(below: tuple[str, str], rows: int) -> None:
    cells = [GridCell(0, 0, "Ville"), GridCell(0, 1, "Prix", columns=2), GridCell(1, 0, "Lyon"),
             *(GridCell(1, column, text) for column, text in enumerate(below, 1))]
    assert header_height(cells, 3) == rows
