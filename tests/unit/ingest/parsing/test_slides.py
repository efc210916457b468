"""Presentations: the slide, its notes and its charts, each told apart."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pptx
import pytest
from pptx.chart.data import CategoryChartData
from pptx.enum.chart import XL_CHART_TYPE
from pptx.util import Inches

from sourcier.services.ingest.documents import ParsedDocument
from sourcier.services.ingest.parsing.slides.reader import parse_slides
from sourcier.services.ingest.parsing.source import Source
from sourcier.services.ingest.reading_warnings import WarningCode


def slide(presentation: Any, title: str, *lines: str) -> Any:
    added = presentation.slides.add_slide(presentation.slide_layouts[1])
    added.shapes.title.text = title
    added.placeholders[1].text = "\n".join(lines)
    return added


def read(path: Path, presentation: Any) -> ParsedDocument:
    presentation.save(str(path / "a.pptx"))
    return parse_slides(Source(path / "a.pptx", "a.pptx"))


def test_notes_are_told_apart_from_the_slide(tmp_path: Path) -> None:
    presentation = pptx.Presentation()
    slide(presentation, "Accueil", "Badge")
    slide(presentation, "Budget", "Postes").notes_slide.notes_text_frame.text = "Le budget est de 12 k€.\nProvisoire."
    document = read(tmp_path, presentation)
    assert document.text.endswith("Postes\n\nNotes : Le budget est de 12 k€.\nProvisoire.")
    assert document.blocks[-1].page == 2
    assert document.blocks[-1].heading_path == ("Budget",)


def test_a_chart_is_a_table_of_its_figures(tmp_path: Path) -> None:
    presentation = pptx.Presentation()
    chart = CategoryChartData(number_format="0.0%")
    chart.categories = ["Bretagne", "Normandie"]
    chart.add_series("2024", (0.415, 0.287))
    chart.add_series("2025", (0.5, None))
    added = slide(presentation, "Ventes", "Par région").shapes.add_chart(
        XL_CHART_TYPE.COLUMN_CLUSTERED, Inches(1), Inches(1), Inches(5), Inches(4), chart
    )
    added.chart.has_title = True
    added.chart.chart_title.text_frame.text = "Parts"
    assert read(tmp_path, presentation).text.endswith(
        "Graphique : Parts\n\n|  | 2024 | 2025 |\n|---|---|---|\n"
        "| Bretagne | 41,5 % | 50,0 % |\n| Normandie | 28,7 % |  |"
    )


def test_a_hidden_slide_is_left_out_and_told(tmp_path: Path) -> None:
    presentation = pptx.Presentation()
    slide(presentation, "Public", "Oui")
    slide(presentation, "Secret", "Non")._element.set("show", "0")
    document = read(tmp_path, presentation)
    assert "Secret" not in document.text
    assert [(w.code, w.places, w.detail) for w in document.warnings] == [(WarningCode.HIDDEN_TEXT, ("2",), "slides")]


@pytest.mark.parametrize(
    ("attribute", "value", "expected"),
    [("baseline", "30000", "19 [2] €"), ("baseline", "-25000", "19₂ €"), ("strike", "sngStrike", "19~~2~~ €")],
)
def test_marks_on_letters(tmp_path: Path, attribute: str, value: str, expected: str) -> None:
    presentation = pptx.Presentation()
    paragraph = slide(presentation, "Prix", "").placeholders[1].text_frame.paragraphs[0]
    for text in ("19", "2", " €"):
        paragraph.add_run().text = text
    paragraph.runs[1].font._element.set(attribute, value)
    assert read(tmp_path, presentation).text == f"Prix\n\n{expected}"


def test_merged_cells_of_a_table_are_repeated(tmp_path: Path) -> None:
    presentation = pptx.Presentation()
    table = slide(presentation, "Grille", "x").shapes.add_table(3, 3, 0, 0, Inches(5), Inches(2)).table
    for row, texts in enumerate((("Site", "Tarif", ""), ("", "Jour", "Nuit"), ("Brest", "10", "12"))):
        for column, text in enumerate(texts):
            table.cell(row, column).text = text
    table.cell(0, 1).merge(table.cell(0, 2))
    table.cell(0, 0).merge(table.cell(1, 0))
    text = read(tmp_path, presentation).text
    assert "| Site | Tarif – Jour | Tarif – Nuit |\n|---|---|---|\n| Brest | 10 | 12 |" in text


def test_groups_and_numbered_lines(tmp_path: Path) -> None:
    presentation = pptx.Presentation()
    added = slide(presentation, "Étapes", "Un", "Deux")
    for paragraph in added.placeholders[1].text_frame.paragraphs:
        numbers = paragraph._p.get_or_add_pPr().makeelement(
            "{http://schemas.openxmlformats.org/drawingml/2006/main}buAutoNum", {"type": "alphaLcParenR"}
        )
        paragraph._p.get_or_add_pPr().append(numbers)
    group = added.shapes.add_group_shape()
    group.shapes.add_textbox(Inches(1), Inches(6), Inches(1), Inches(1)).text_frame.text = "Encadré"
    assert read(tmp_path, presentation).text == "Étapes\n\na) Un\nb) Deux\n\nEncadré"


def placed(path: Path, *boxes: tuple[float, float, str]) -> list[str]:
    presentation = pptx.Presentation()
    shapes = presentation.slides.add_slide(presentation.slide_layouts[6]).shapes
    for left, top, text in boxes:
        shapes.add_textbox(Inches(left), Inches(top), Inches(2), Inches(0.6)).text_frame.text = text
    return read(path, presentation).text.split("\n\n")


@pytest.mark.parametrize(("boxes", "order"), [
    ([(1, 4, "d"), (6, 1, "c"), (3.5, 1.05, "b"), (1, 1, "a")], "abcd"),
    ([(5, 1, "c"), (5, 2, "d"), (1, 1, "a"), (1, 2, "b")], "abcd"),
    ([(1, 1, "a"), (5, 1, "b"), (1, 2, "c"), (5, 2, "d")], "abcd"),
    ([(1, 1, "a"), (1, 2, "b"), (5, 1, "c"), (5, 2, "d")], "abcd"),
    ([(2, 2, "a"), (1, 2, "b"), (2, 2.1, "c"), (3, 2, "d")], "abcd"),
])
def test_shapes_are_read_as_they_lie_and_as_written_where_both_may_be(
    tmp_path: Path, boxes: list[tuple[float, float, str]], order: str
) -> None:
    assert placed(tmp_path, *boxes) == list(order)


def test_what_lies_outside_of_the_slide_is_left_out_and_told(tmp_path: Path) -> None:
    presentation = pptx.Presentation()
    added = slide(presentation, "Accueil", "Badge")
    added.shapes.add_textbox(Inches(-9), 0, Inches(3), Inches(1)).text_frame.text = "Ancien texte"
    document = read(tmp_path, presentation)
    assert document.text == "Accueil\n\nBadge"
    assert [warning.code for warning in document.warnings] == [WarningCode.HIDDEN_TEXT]


def test_a_link_of_a_slide_says_where_it_leads(tmp_path: Path) -> None:
    presentation = pptx.Presentation()
    added = slide(presentation, "Accueil", "")
    for text in ("Por", "tail"):
        run = added.placeholders[1].text_frame.paragraphs[0].add_run()
        run.text, run.hyperlink.address = text, "https://rh.exemple.fr"
    assert read(tmp_path, presentation).text == "Accueil\n\nPortail (https://rh.exemple.fr)"
