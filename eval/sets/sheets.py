"""Questions of everyday life that administrative sheets answer, in other words than theirs.

Those of PIAF were written beside the passage that answers them, and share its words: a refusal that spares them need
not spare what people ask.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from eval.sets.json_lines import read_rows

QUESTIONS = Path(__file__).parents[1] / "data" / "sheets.jsonl"
NAME = "sheets"


@dataclass(frozen=True, slots=True)
class SheetQuestion:
    """A question."""

    question: str
    language: str
    source: str
    """The file that answers it."""


def questions() -> list[SheetQuestion]:
    """Return the questions: in French as the sheets are, then in other languages."""
    return [SheetQuestion(**row) for row in read_rows(QUESTIONS)]


def paths(folder: Path) -> list[Path]:
    """Return the sheets of a folder."""
    return sorted(folder.glob("*.txt"))
