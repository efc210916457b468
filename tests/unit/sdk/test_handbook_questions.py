"""The demo's questions agree with its documents: each fact stands in the document, on the page, that it is said to."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path
from typing import Any

import pypdfium2
import pytest
from docx import Document

DEMO = Path(__file__).parents[3] / "demo"
QUESTIONS: dict[str, Any] = json.loads((DEMO / "questions.json").read_text("utf-8"))


def _page_text(source: str, page: int, *, read: str) -> str:
    path = DEMO / "documents" / source
    if read:
        # No text of the file has it: what it was built from does. That it is read is proved with the real models.
        built_from = next((DEMO / "sources").glob(f"{path.stem}.*")).read_text("utf-8").split("<!-- page -->")
        text = built_from[max(page, 1) - 1]
    elif path.suffix == ".pdf":
        pdf = pypdfium2.PdfDocument(path)
        try:
            text = pdf[page - 1].get_textpage().get_text_range()
        finally:
            pdf.close()
    elif path.suffix == ".docx":
        document = Document(str(path))
        cells = [cell.text for table in document.tables for row in table.rows for cell in row.cells]
        text = " ".join([*(paragraph.text for paragraph in document.paragraphs), *cells])
    else:
        text = html.unescape(re.sub(r"<[^>]+>", " ", path.read_text("utf-8")))
    return " ".join(text.split())


def test_there_are_enough_of_both_kinds() -> None:
    assert len(QUESTIONS["answerable"]) >= 10
    assert len(QUESTIONS["unanswerable"]) >= 4
    assert sum(bool(each.get("demo")) for each in (*QUESTIONS["answerable"], *QUESTIONS["unanswerable"])) == 5


def test_the_demo_asks_of_a_scan_a_picture_a_table_without_rules_and_a_recording() -> None:
    asked = [each for each in QUESTIONS["answerable"] if each.get("demo")]
    assert {each.get("read", "") for each in asked} >= {"scan", "picture", "sound"}
    assert any(each["source"] == "astreintes.pdf" and each["table"] for each in asked)
    # A figure that stood in a file's text, too, would be found without any reading of pictures.
    for each in asked:
        if each.get("read") in {"scan", "picture"}:
            text = _page_text(each["source"], each["page"], read="")
            assert not any(fact in text for alternatives in each["facts"] for fact in alternatives)


@pytest.mark.parametrize("entry", QUESTIONS["answerable"], ids=lambda entry: entry["question"][:40])
def test_the_fact_is_where_it_is_said_to_be(entry: dict[str, Any]) -> None:
    assert (entry["page"] > 0) == entry["source"].endswith(".pdf")
    text = _page_text(entry["source"], entry["page"], read=entry.get("read", ""))
    for alternatives in entry["facts"]:
        numbers = [match for fact in alternatives for match in re.findall(r"\d+", fact)]
        assert any(fact in text for fact in (*alternatives, *numbers)), f"{alternatives} not in {text}"
