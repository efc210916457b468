"""Yes/no questions over small documents: what the clauses rule, with no model and no service.

`eval/data/yes_no.jsonl` has each question with its opposite, so that always yes and always no both fail. The rules were
tuned on one half of the documents; the other half was not looked at meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from eval.sets.halves import TODAY, outcome_table, rows_of
from sourcier.services.gateway.clauses.ruling import Decision, Source, ruling

QUESTIONS = Path(__file__).parents[1] / "data" / "yes_no.jsonl"
WORDS: Mapping[str, frozenset[Decision]] = {
    "yes": frozenset({Decision.YES, Decision.YES_WITH_EXCEPTION}),
    "no": frozenset({Decision.NO, Decision.NO_WITH_EXCEPTION, Decision.REJECTED}),
    "planned": frozenset({Decision.PLANNED}), "conditional": frozenset({Decision.CONDITIONAL}),
    "undecided": frozenset({Decision.UNDECIDED}), "limited": frozenset({Decision.RESTRICTED}),
    "untold": frozenset(), "any": frozenset(Decision),
}
"""Which decisions are right, by a question's answer; where none is, only a quotation is."""


@dataclass(frozen=True)
class Ruled:
    """One question and what the clauses say to it."""

    half: str
    document: str
    question: str
    answer: str
    decision: Decision | None

    @property
    def outcome(self) -> str:
        """Return `right`, `quoted` or `wrong`."""
        if self.decision is None or not self.decision.says:
            return "quoted"
        return "right" if self.decision in WORDS[self.answer] else "wrong"


def ruled(*, half: str = "") -> Iterator[Ruled]:
    """Give what the clauses say to every question of the set, or of one half of it."""
    for row in rows_of(QUESTIONS, half=half):
        for entry in row["questions"]:
            found = ruling(entry["question"], [Source(1, row["text"], row["title"])], today=TODAY)
            yield Ruled(row["half"], row["document"], entry["question"], entry["answer"],
                        None if found is None else found.decision)


def table(answers: Iterable[Ruled]) -> str:
    """Return the outcomes by half and answer, as Markdown."""
    return outcome_table(
        ((each.half, each.answer, each.outcome) for each in answers), key="answer", kinds=("right", "quoted", "wrong")
    )
