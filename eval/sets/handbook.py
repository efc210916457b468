"""The demo's own documents and questions: what must never be refused, and what should be."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from eval.sets.corpus import ingest_files
from eval.sets.json_lines import read_rows
from sourcier import Client

DEMO = Path(__file__).parents[2] / "demo"
TRANSLATED = Path(__file__).parents[1] / "data" / "handbook-translated.jsonl"
REWORDED = Path(__file__).parents[1] / "data" / "handbook-reworded.jsonl"
COLLECTION = "eval-demo"


@dataclass(frozen=True, slots=True)
class HandbookQuestion:
    """A question of the demo."""

    question: str
    answerable: bool
    source: str
    """The document that answers it; empty where none does."""
    facts: tuple[tuple[str, ...], ...]
    """What an answer has to hold: of each group, one."""


def questions() -> list[HandbookQuestion]:
    """Return the demo's questions, those with an answer first."""
    kinds = json.loads((DEMO / "questions.json").read_text("utf-8"))
    return [
        HandbookQuestion(
            entry["question"], kind == "answerable", entry.get("source", ""), tuple(map(tuple, entry.get("facts", ()))),
        )
        for kind in ("answerable", "unanswerable") for entry in kinds[kind]
    ]


def translated() -> list[tuple[str, str]]:
    """Return the questions with an answer in other languages than the documents', each with its language."""
    return [(row["question"], row["language"]) for row in read_rows(TRANSLATED)]


def reworded() -> list[str]:
    """Return the questions with an answer as people ask them who have not read the documents, three of each."""
    return [row["question"] for row in read_rows(REWORDED)]


def paths() -> list[Path]:
    """Return the demo's documents."""
    return sorted((DEMO / "documents").iterdir())


async def ingest(client: Client) -> None:
    """Ingest the demo's documents into `COLLECTION`."""
    await ingest_files(client, paths(), collection=COLLECTION)
