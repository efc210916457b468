"""Questions of everyday life that administrative sheets answer, in other words than theirs.

Those of PIAF were written beside the passage that answers them, and share its words: a refusal that spares them need
not spare what people ask.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

QUESTIONS = Path(__file__).parent / "data" / "sheets.jsonl"
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
    return [SheetQuestion(**json.loads(line)) for line in QUESTIONS.read_text("utf-8").splitlines()]


def paths(folder: Path) -> list[Path]:
    """Return the sheets of a folder."""
    return sorted(folder.glob("*.txt"))
