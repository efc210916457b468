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


def _page_text(source: str, page: int) -> str:
    path = DEMO / "documents" / source
    if path.suffix == ".pdf":
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
    assert sum(bool(each.get("demo")) for each in (*QUESTIONS["answerable"], *QUESTIONS["unanswerable"])) == 4


@pytest.mark.parametrize("entry", QUESTIONS["answerable"], ids=lambda entry: entry["question"][:40])
def test_the_fact_is_where_it_is_said_to_be(entry: dict[str, Any]) -> None:
    assert (entry["page"] > 0) == entry["source"].endswith(".pdf")
    text = _page_text(entry["source"], entry["page"])
    for alternatives in entry["facts"]:
        numbers = [match for fact in alternatives for match in re.findall(r"\d+", fact)]
        assert any(fact in text for fact in (*alternatives, *numbers)), f"{alternatives} not in {text}"
