"""Questions that name a time, over dated papers of one form, and plain ones that name years as what they are about."""

from __future__ import annotations

from datetime import date
from pathlib import Path

from eval.sets.datasets import Dataset, Passage, Question
from eval.sets.json_lines import read_rows

ROWS = Path(__file__).parents[1] / "data" / "asked_times.jsonl"
ASKED_ON = date(2026, 11, 29)
"""The day of all questions: « l'an dernier » is 2025."""


def asked_times_set(half: str = "") -> Dataset:
    """Return the documents and questions of one half, `tuned` or `held`, or of both."""
    rows = [row for row in read_rows(ROWS) if half in ("", row["part"])]
    passages = [Passage(row["document"], row["title"], row["text"]) for row in rows if row["kind"] == "document"]
    questions = [
        Question(f"asked-times-{number}", row["text"], dict.fromkeys(row["relevant"], 1), form=row["form"])
        for number, row in enumerate(rows) if row["kind"] == "question"
    ]
    return Dataset("asked-times" + (f"-{half}" if half else ""), tuple(passages), tuple(questions))
