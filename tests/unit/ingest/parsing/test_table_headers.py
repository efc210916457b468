"""The rows that name a table's columns are found below what stands above them."""

from __future__ import annotations

import pytest

from sourcier.services.ingest.documents import ParsedDocument
from sourcier.services.ingest.parsing.limits import ParsingLimits
from sourcier.services.ingest.parsing.text.light import read_light


def read(text: str) -> ParsedDocument:
    document = read_light(text.encode(), filename="a.csv", limits=ParsingLimits())
    assert document is not None
    return document


@pytest.mark.parametrize("first", ["sep=;", '"sep=;"', "SEP=;"])
def test_the_line_that_names_the_separator_is_no_row(first: str) -> None:
    document = read(f"{first}\r\nZone;Jour\r\nA;lundi, mardi\r\n")
    assert document.text == "| Zone | Jour |\n|---|---|\n| A | lundi, mardi |"


def test_lines_above_the_header_stand_above_the_table_and_name_it() -> None:
    document = read(
        "Relevé 0177;;;\nTitulaire;Les Goélands;;\n\nDate;Libellé;Débit;Crédit\n02/02;Eau;10;\n03/02;Gaz;;4\n"
    )
    assert document.text == (
        "Relevé 0177\nTitulaire : Les Goélands\n\n"
        "| Date | Libellé | Débit | Crédit |\n|---|---|---|---|\n| 02/02 | Eau | 10 |  |\n| 03/02 | Gaz |  | 4 |"
    )
    assert document.title == "Relevé 0177"


@pytest.mark.parametrize("rows", [
    "Magasin;Semestre 1;;Semestre 2;\n;Neuf;Occasion;Neuf;Occasion\nNiort;1;2;3;4\n",
    ";Semestre 1;;Semestre 2;\nMagasin;Neuf;Occasion;Neuf;Occasion\nNiort;1;2;3;4\n",
])
def test_two_lines_may_name_the_columns(rows: str) -> None:
    first, second, rule, row = read(rows).text.split("\n")
    assert "Semestre 1 | Semestre 1 | Semestre 2 | Semestre 2 |" in first
    assert "Neuf | Occasion | Neuf | Occasion |" in second
    assert (rule, row) == ("|---|---|---|---|---|", "| Niort | 1 | 2 | 3 | 4 |")


def test_a_plain_table_has_its_first_row_as_header() -> None:
    document = read("Ville;Prix;Note\nParis;1;\nLyon;2;\n")
    assert document.text.startswith("| Ville | Prix | Note |\n|---|---|---|\n| Paris")
