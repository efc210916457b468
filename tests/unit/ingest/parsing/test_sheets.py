"""Workbooks say what their sheets show."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import openpyxl  # type: ignore[import-untyped]
import pytest
import xlsxwriter  # type: ignore[import-untyped]

from sourcier.services.chassis.errors import DocumentTooLarge
from sourcier.services.ingest.documents import BlockKind, ParsedDocument
from sourcier.services.ingest.parsing.limits import ParsingLimits
from sourcier.services.ingest.parsing.sheets.number_formats import show, show_text
from sourcier.services.ingest.parsing.sheets.reader import parse_workbook
from sourcier.services.ingest.parsing.source import Source
from sourcier.services.ingest.reading_warnings import WarningCode

SHOWN = [
    (0.075, "0.0%", "7,5 %"),
    (1, "0%", "100 %"),
    (12500.5, '#,##0.00 "€"', "12 500,50 €"),
    (-640, '#,##0.00\\ "€";[Red]-#,##0.00\\ "€"', "-640,00 €"),
    (1234.5, "_-* #,##0.00\\ [$€-40C]_-;\\-* #,##0.00\\ [$€-40C]_-", "1 234,50 €"),
    (0, '#,##0;-#,##0;"-"', "-"),
    (-5, "0.0;(0.0)", "(5,0)"),
    (-0.001, "0.0", "0,0"),
    (46121, "dd/mm/yyyy", "09/04/2026"),
    (46266, "d mmmm yyyy", "1 septembre 2026"),
    (46121.5, "[$-F800]dddd\\,\\ mmmm\\ dd\\,\\ yyyy", "jeudi 9 avril 2026"),
    (59, "dd/mm/yyyy", "28/02/1900"),
    (0.3125, "h:mm", "7:30"),
    (0.3125, "hh:mm:ss", "07:30:00"),
    (1.5, "[h]:mm", "36:00"),
    (0.75, "h:mm AM/PM", "6:00 PM"),
    (612345678, '0#" "##" "##" "##" "##', "06 12 34 56 78"),
    (12, "00000", "00012"),
    (1234567, '#,##0," k€"', "1 235 k€"),
    (12, '0 "jours"', "12 jours"),
    (0.00123, "0.00E+00", "1,23E-03"),
    (1.75, "# ?/?", "1 3/4"),
    (19.4, "General", "19,4"),
    (12345678901234, "General", "12345678901234"),
    (7, '[<5]"faible";[>=5]"fort"', "fort"),
    (5, ";;;", ""),
    (1e300, "0.00", "1E+300"),
]


@pytest.mark.parametrize(("value", "code", "expected"), SHOWN)
def test_numbers_read_as_the_sheet_shows_them(value: float, code: str, expected: str) -> None:
    assert show(value, code) == expected


def test_english_numbers_and_texts_in_a_format() -> None:
    assert show(12500.5, "#,##0.00", french=False) == "12,500.50"
    assert show_text("M6", '0;0;0;"vis "@') == "vis M6"


def save(path: Path, workbook: Any) -> Path:
    workbook.save(path / "a.xlsx")
    return path / "a.xlsx"


def read(path: Path, workbook: Any) -> ParsedDocument:
    return parse_workbook(Source(save(path, workbook), "a.xlsx"))


def filled(*rows: tuple[Any, ...], title: str = "Frais") -> Any:
    workbook = openpyxl.Workbook()
    workbook.active.title = title
    for row in rows:
        workbook.active.append(row)
    return workbook


def test_percentages_are_shown_and_what_is_stored_is_found(tmp_path: Path) -> None:
    workbook = filled(("Contrat", "Taux", "Date"), ("Nettoyage", 0.075, 46121))
    workbook.active["B2"].number_format = "0.0%"
    workbook.active["C2"].number_format = "dd/mm/yyyy"
    document = read(tmp_path, workbook)
    assert "| Nettoyage | 7,5 % | 09/04/2026 |" in document.text
    assert document.text.endswith("Valeurs enregistrées, Taux : 0.075")


def test_a_formula_without_a_value_is_shown_and_told(tmp_path: Path) -> None:
    document = read(tmp_path, filled(("Lot", "Prix"), ("A", 2), ("Total", "=SUM(B2:B2)")))
    assert "| Total | =SUM(B2:B2) |" in document.text
    [warning] = document.warnings
    assert (warning.code, warning.places) == (WarningCode.FORMULAS_WITHOUT_VALUE, ("Frais!B3",))


def test_what_is_hidden_is_left_out_and_told(tmp_path: Path) -> None:
    workbook = filled(("Vis", "Prix", "Marge"), ("M6", 2, 90), ("M8", 3, 91))
    workbook.active.row_dimensions[3].hidden = True
    workbook.active.column_dimensions["C"].hidden = True
    workbook.create_sheet("Calculs").sheet_state = "hidden"
    document = read(tmp_path, workbook)
    assert document.text == "Frais\n\n| Vis | Prix |\n|---|---|\n| M6 | 2 |"
    assert {(warning.code, warning.detail, warning.places) for warning in document.warnings} == {
        (WarningCode.HIDDEN_CELLS, "sheets", ("Calculs",)),
        (WarningCode.HIDDEN_CELLS, "rows", ("Frais!3:3",)),
        (WarningCode.HIDDEN_CELLS, "columns", ("Frais!C:C",)),
    }


def header(document: ParsedDocument) -> str:
    tables = [document.block_text(block) for block in document.blocks if block.kind is BlockKind.TABLE]
    return tables[0].split("\n")[0]


def test_header_lines_are_joined_and_merged_names_repeated(tmp_path: Path) -> None:
    workbook = filled(
        ("Magasin", "Semestre 1", None, "Semestre 2", None), (None, "Neuf", "Occasion", "Neuf", "Occasion"),
        ("Brest", 1, 2, 3, 4), ("Lyon", 5, 6, 7, 8),
    )  # fmt: skip
    expected = "| Magasin | Semestre 1 – Neuf | Semestre 1 – Occasion | Semestre 2 – Neuf | Semestre 2 – Occasion |"
    assert header(read(tmp_path, workbook)) == expected  # names that only stand to the left of empty cells
    for merged in ("A1:A2", "B1:C1", "D1:E1"):
        workbook.active.merge_cells(merged)
    assert header(read(tmp_path, workbook)) == expected


def test_units_below_the_names_are_part_of_the_header(tmp_path: Path) -> None:
    workbook = filled(("Poste", "Coût", "Part"), (None, "(k€)", "(%)"), ("Train", 80, 20), ("Bus", 30, 10))
    assert header(read(tmp_path, workbook)) == "| Poste | Coût – (k€) | Part – (%) |"


def test_a_preamble_stands_above_its_table(tmp_path: Path) -> None:
    document = read(tmp_path, filled(
        ("Relevé du compte 0177",), ("Agence", "Brest"), ("Date", "Libellé", "Débit", "Crédit"),
        ("1er mai", "Loyer", 900, None), ("2 mai", "Vente", None, 100), ("3 mai", "Eau", 40, None),
    ))  # fmt: skip
    assert "Relevé du compte 0177\nAgence : Brest" in document.text
    assert header(document) == "| Date | Libellé | Débit | Crédit |"


def test_rows_after_an_empty_one_keep_their_header(tmp_path: Path) -> None:
    document = read(tmp_path, filled(("Poste", "Coût"), ("Bus", 30), ("Train", 80), (), ("Total", 110)))
    assert document.text.endswith("| Train | 80 |\n| Total | 110 |")


def test_struck_cells_and_words_are_marked(tmp_path: Path) -> None:
    from openpyxl.cell.rich_text import CellRichText, TextBlock  # type: ignore[import-untyped]
    from openpyxl.cell.text import InlineFont  # type: ignore[import-untyped]

    workbook = filled(("Poste", "Prix"), ("Actif", "74 €"), ("Inactif", "x"))
    workbook.active["B2"].font = openpyxl.styles.Font(strike=True)
    workbook.active["B3"] = CellRichText(
        TextBlock(InlineFont(strike=True), "52 €"), " 48 €", TextBlock(InlineFont(vertAlign="superscript"), "2")
    )
    document = read(tmp_path, workbook)
    assert "| Actif | ~~74 €~~ |\n| Inactif | ~~52 €~~ 48 € [2] |" in document.text


def test_a_sparse_sheet_is_bounded(tmp_path: Path) -> None:
    workbook = filled(*((number,) for number in range(200)))
    for column in range(1, 200):
        workbook.active.cell(1, column, "x")
    source = Source(save(tmp_path, workbook), "a.xlsx", limits=ParsingLimits(table_cells=20_000))
    with pytest.raises(DocumentTooLarge, match="20,000 cells"):
        parse_workbook(source)


def test_boxes_links_labels_and_notes_of_a_sheet(tmp_path: Path) -> None:
    book = xlsxwriter.Workbook(str(tmp_path / "a.xlsx"))
    sheet = book.add_worksheet("Suivi")
    for row, pair in enumerate([("Établi par :", "Mme Roux"), ("Service :", "Achats")]):
        sheet.write_row(row, 0, pair)
    sheet.write_row(3, 0, ["Tâche", "Faite", "Page"])
    for row, done in enumerate((True, False), start=4):
        sheet.write(row, 0, f"Étape {row - 3}")
        sheet.insert_checkbox(row, 1, done)
        sheet.write_url(row, 2, "https://rh.exemple.fr/conges", string="Formulaire")
    sheet.write(6, 0, "(1) Hors vacances.")
    book.close()
    document = parse_workbook(Source(tmp_path / "a.xlsx", "a.xlsx"))
    assert document.text.splitlines() == [
        "Suivi", "", "Établi par : Mme Roux", "Service : Achats", "", "| Tâche | Faite | Page |", "|---|---|---|",
        "| Étape 1 | ☒ | Formulaire (https://rh.exemple.fr/conges) |", "| Étape 2 | ☐ | Formulaire |", "",
        "(1) Hors vacances.",
    ]
