"""Columns that stand close together, or side by side without sharing the heights of their lines."""

from __future__ import annotations

from pathlib import Path

import pytest

from sourcier.services.ingest.parsing.pdf.reader import parse_pdf
from sourcier.services.ingest.parsing.source import Source
from tests.unit.ingest.fix_pdf_pages import PageMaker, write_pdf

pytestmark = pytest.mark.unit
ROWS = (("Lyon", "140", "22/12/2026"), ("Nîmes", "41", "21/07/2026"), ("Brest", "", "12/03/2026"),
        ("Pau", "388", "02/09/2026"))
WIDTH_OF_FIGURE = 5.56
LEFT = (
    "Le badge est remis à la personne le jour", "de son arrivée et rendu le jour de son",
    "départ au service qui le lui a donné.",
)
RIGHT = (
    "La clé du local est gardée par celui qui", "ouvre le matin, et elle passe à celui qui",
    "ferme le soir sans autre formalité.",
)
BELOW = "Ce qui suit vaut pour tous les sites de l'entreprise, sans autre condition que celles du texte."


def read(tmp_path: Path, *pages: PageMaker) -> str:
    return parse_pdf(Source(write_pdf(tmp_path / "a.pdf", pages), "a.pdf")).text


def rows(page: PageMaker, top: float, *, figures: str = "", names: bool = True) -> PageMaker:
    """Write a table: figures set to the right, and eight points beside them dates set to the left."""
    told = [("Ville", "Jours", "Date"), *ROWS] if names else list(ROWS)
    for number, (label, value, date) in enumerate(told):
        value = figures if figures and value.isdigit() else value
        y = top + 14 * number
        right = 200 - (27 if value == "Jours" else WIDTH_OF_FIGURE * len(value))
        page.text(60, y, label).text(208, y, date)
        if value:
            page.text(right, y, value)
    return page


def test_figures_set_to_the_right_and_text_beside_them_are_two_columns(tmp_path: Path) -> None:
    text = read(tmp_path, rows(PageMaker(), 100))
    assert "| Ville | Jours | Date |" in text
    assert "| Lyon | 140 | 22/12/2026 |" in text
    assert "| Brest |  | 12/03/2026 |" in text


def test_a_table_goes_on_over_the_page_where_its_figures_are_longer(tmp_path: Path) -> None:
    text = read(tmp_path, rows(PageMaker(), 100), rows(PageMaker(), 60, figures="123456789", names=False))
    assert text.count("| Ville | Jours | Date |") == 2


def test_boxes_behind_their_labels_are_no_column(tmp_path: Path) -> None:
    page = PageMaker()
    for number, label in enumerate(("Parking", "Cantine", "Mutuelle")):
        y = 100 + 20 * number
        page.text(60, y, label).box(103, y, ticked=True).text(300, y, label).box(343, y, ticked=True)
    assert "|" not in read(tmp_path, page)


@pytest.mark.parametrize("shift", [0.0, 5.0])
def test_the_longer_column_is_read_to_its_end_first(tmp_path: Path, shift: float) -> None:
    page = PageMaker()
    for part in range(4):
        page.lines(60, 100 + 60 * part, LEFT)
    for part in range(2):
        page.lines(310, 100 + shift + 60 * part, RIGHT)
    text = read(tmp_path, page)
    assert text.rindex("Le badge") < text.index("La clé")


def test_a_heading_of_what_stands_below_both_columns_is_read_after_them(tmp_path: Path) -> None:
    page = PageMaker().lines(60, 100, LEFT).lines(60, 160, LEFT).lines(310, 100, RIGHT)
    page.text(60, 235, "Annexe", size=14, bold=True)
    page.lines(60, 252, [BELOW] * 3)
    text = read(tmp_path, page)
    assert text.index("La clé") < text.index("Annexe")


def test_a_large_heading_beside_text_of_the_next_column_is_not_joined_to_it(tmp_path: Path) -> None:
    page = PageMaker().text(60, 100, "Les badges et clés", size=20, bold=True).lines(60, 126, LEFT * 2)
    page.lines(262, 100, RIGHT * 3)
    text = read(tmp_path, page)
    assert text.startswith("Les badges et clés\n")
