"""What clauses and figures of passages object to the sentences of an answer, and clauses say to a yes/no question."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from typing import TypeVar

from prometheus_client import Counter

from sourcier.services.gateway.clauses.agreement import Clauses, answered
from sourcier.services.gateway.clauses.questions import asked
from sourcier.services.gateway.clauses.ruling import Place, Ruling, Source, ruling
from sourcier.services.gateway.evidence.links import extract
from sourcier.services.gateway.evidence.reasons import difference_reason, mismatch_reason, reason
from sourcier.services.gateway.figures.agreement import Figures
from sourcier.services.gateway.figures.readings import Source as FigureSource
from sourcier.services.gateway.findings import Finding
from sourcier.services.gateway.prompting.orders import blanked
from sourcier.services.index.search.passages import Passage

Spoken = TypeVar("Spoken")

QUOTED_CHARACTERS_MAX = 600

objections_total = Counter(
    "sourcier_clause_objections_total", "Sentences of answers that a clause of their passage speaks against, by how.",
    ["difference"],
)


@dataclass(frozen=True)
class Objection:
    """Why a sentence is not shown as it is, and the clause that is shown in its place."""

    finding: Finding
    reason: str
    place: Place | None
    """None where no clause comes close."""


class ClauseCheck:
    """The clauses of one answer's passages, in the order of their markers."""

    def __init__(
        self, passages: Sequence[Passage], *, question: str, language: str, today: date,
        disputed: frozenset[int] = frozenset(),
    ) -> None:
        """Take passages without their orders to models; places in their texts are those of the originals.

        `disputed` are the numbers of those that disagree with another one, with nothing that tells which holds.
        """
        self._passages = passages
        self._question = question
        self._language = language
        self._today = today
        self._disputed = disputed

    def rule(self) -> None:
        """Find out now what the clauses say to the question. Blocks for milliseconds where that is a yes/no question.
        """
        _ = self.ruling

    def prepare(self) -> None:
        """Find out now what is found out at the first sentence otherwise. Blocks for milliseconds."""
        _ = self.ruling, self._clauses
        for each in self._figures:
            each.prepare()

    @cached_property
    def ruling(self) -> Ruling | None:
        """What the clauses say to the question; None where it is no yes/no question, or no clause comes close."""
        return ruling(self._question, (
            Source(number, passage.text, passage.above) for number, passage in enumerate(self._passages, start=1)
        ), today=self._today, disputed=self._disputed)

    @cached_property
    def _clauses(self) -> list[Clauses]:
        return [Clauses(passage.text, passage.above, today=self._today) for passage in self._passages]

    @cached_property
    def _figures(self) -> list[Figures]:
        return [
            Figures(FigureSource(
                number, passage.text, passage.above, passage.language or self._language
            ), today=self._today)
            for number, passage in enumerate(self._passages, start=1)
        ]

    @cached_property
    def asks_yes_or_no(self) -> bool:
        """Whether the question is one that is answered by yes or no."""
        return asked(self._question, today=self._today) is not None

    def objection(self, sentence: str, numbers: Sequence[int], *, confirmed: bool) -> Objection | None:
        """Return what speaks against a sentence that rests on these passages; None for nothing.

        `confirmed` tells whether a model was asked and confirms the sentence: that makes up for a clause that decides
        nothing, never for one that says otherwise.
        """
        return (
            self._to_its_word(sentence, confirmed=confirmed) or self._to_what_it_says(sentence, numbers)
            or self._to_its_figures(sentence, numbers)
        )

    def _to_its_word(self, sentence: str, *, confirmed: bool) -> Objection | None:
        yes = answered(sentence).yes
        if yes is None or not self.asks_yes_or_no:
            return None
        ruled = self.ruling
        if ruled is not None and ruled.decision.says:
            if ruled.decision.affirms is yes:
                return None
            return self._objection(Finding.CONTRADICTED, "yes or no", "", ruled.places[0])
        if confirmed:
            return None
        return self._objection(Finding.UNDECIDED, "undecided", "", None if ruled is None else ruled.places[0])

    def _to_what_it_says(self, sentence: str, numbers: Sequence[int]) -> Objection | None:
        spoken = _first(numbers, lambda number: self._clauses[number - 1].disagreement(sentence, self._question))
        if spoken is None:
            return None
        number, found = spoken
        return self._objection(
            Finding.CONTRADICTED, found.difference.value, difference_reason(found.difference, language=self._language),
            Place(number, found.start, found.end, found.lead),
        )

    def _to_its_figures(self, sentence: str, numbers: Sequence[int]) -> Objection | None:
        """Return what speaks against a sentence's figures: they are another row's, or in another unit."""
        spoken = _first(numbers, lambda number: self._figures[number - 1].contradiction(sentence, self._question))
        if spoken is None:
            return None
        number, found = spoken
        return self._objection(
            Finding.CONTRADICTED, found.mismatch.value, mismatch_reason(found.mismatch, language=self._language),
            Place(number, found.start, found.end, found.lead),
        )

    def _objection(self, finding: Finding, difference: str, told: str, place: Place | None) -> Objection:
        objections_total.labels(difference).inc()
        return Objection(finding, told or reason(finding, (), language=self._language), place)

    def quotation(self, place: Place) -> str:
        """Return a clause's sentence as it is shown: without orders to models and foreign links, in quotation marks."""
        text = blanked(self._passages[place.number - 1].text)
        said = text[place.start : place.end]
        if place.lead is not None:
            lead = text[place.lead[0] : place.lead[1]]
            between = text[place.lead[1] : place.start].strip(" \n-*•–—")
            said = f"{lead} {'… ' if between else ''}{said}"
        said = " ".join(said.split()).rstrip(" ;,")
        shown = extract(said, text, characters_max=QUOTED_CHARACTERS_MAX)
        return f"« {shown} »" if self._language == "fr" else f"“{shown}”"


def _first(numbers: Sequence[int], look: Callable[[int], Spoken | None]) -> tuple[int, Spoken] | None:
    """Return the first passage that speaks against a sentence, with what it says; None once one does not."""
    first: tuple[int, Spoken] | None = None
    for number in numbers:
        found = look(number)
        if found is None:
            return None
        first = first or (number, found)
    return first
