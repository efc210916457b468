"""Questions that ask for a computation, and sentences with figures, over small documents: with no model, no service.

`eval/data/figures.jsonl` has tables, lists and texts. The rules were tuned on one half of the documents; the other half
was not looked at meanwhile.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from eval.sets.halves import TODAY, outcome_table, rows_of
from sourcier.services.gateway.computing.computation import compute
from sourcier.services.gateway.computing.questions import asked
from sourcier.services.gateway.computing.results import Computed, Doubtful
from sourcier.services.gateway.figures.agreement import Figures
from sourcier.services.gateway.figures.readings import Source

QUESTIONS = Path(__file__).parents[1] / "data" / "figures.jsonl"


@dataclass(frozen=True)
class Answered:
    """One question and what was computed."""

    half: str
    document: str
    question: str
    kind: str
    wanted: str | None
    found: str | None
    doubt: str

    @property
    def outcome(self) -> str:
        """Return `right`, `wrong` or `not computed`."""
        if self.found is None:
            return "not computed"
        if self.wanted is None:
            return "wrong"
        if self.kind == "extreme":
            return "right" if self.wanted.casefold() in self.found.casefold() else "wrong"
        return "right" if self.found == self.wanted else "wrong"


def answered(*, half: str = "") -> Iterator[Answered]:
    """Give what is computed for every question of the set, or of one half of it."""
    for row in rows_of(QUESTIONS, half=half):
        source = Source(1, row["text"], row["title"], row["language"])
        for entry in row["questions"]:
            question = asked(entry["question"], language=row["language"])
            found = None if question is None else compute(
                question, [source], today=TODAY, language=row["language"]
            )
            yield Answered(
                row["half"], row["document"], entry["question"], entry["kind"], entry["answer"],
                told(found, row["language"]) if isinstance(found, Computed) else None,
                found.doubt.value if isinstance(found, Doubtful) else "",
            )


@dataclass(frozen=True)
class Compared:
    """One sentence with figures, and whether its passage was found to speak against them."""

    half: str
    sentence: str
    holds: bool
    mismatch: str
    """Empty where nothing speaks against it."""


def compared(*, half: str = "") -> Iterator[Compared]:
    """Give what the figures of every sentence of the set, or of one half of it, come to."""
    for row in rows_of(QUESTIONS, half=half):
        figures = Figures(Source(1, row["text"], row["title"], row["language"]), today=TODAY)
        for entry in row["sentences"]:
            found = figures.contradiction(entry["sentence"], entry["question"])
            yield Compared(
                row["half"], entry["sentence"], entry["holds"], "" if found is None else found.mismatch.value
            )


def sentence_table(sentences: Iterable[Compared]) -> str:
    """Return how many sentences are spoken against, by half and whether they hold, as Markdown."""
    counted = Counter((each.half, each.holds, bool(each.mismatch)) for each in sentences)
    lines = ["| half | sentences | number | spoken against |", "|---|---|---|---|"]
    for half, holds in sorted({key[:2] for key in counted}):
        against, agreed = counted[half, holds, True], counted[half, holds, False]
        lines.append(f"| {half} | {'that hold' if holds else 'that do not'} | {against + agreed} | {against} |")
    return "\n".join(lines)


def told(result: Computed, language: str) -> str:
    """Return a result in the form of the set: `17000 €`, `2024-05-14`, `8 h 45`, the name of a row."""
    if result.clock:
        return result.clock
    if result.day is not None:
        return result.day.isoformat()
    if result.label:
        return result.label
    assert result.value is not None
    value = format(result.value.normalize(), "f")
    unit = "" if result.unit is None else result.unit.shown
    if language == "en":
        unit = {"ans": "years", "jours": "days"}.get(unit, unit)
    return f"{value} {unit}".strip()


def table(answers: Iterable[Answered]) -> str:
    """Return the outcomes by half and kind, as Markdown."""
    return outcome_table(
        ((each.half, each.kind, each.outcome) for each in answers), key="asks for",
        kinds=("right", "not computed", "wrong"),
    )
