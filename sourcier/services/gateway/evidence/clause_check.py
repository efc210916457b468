"""What clauses and figures of passages object to the sentences of an answer, and clauses say to a yes/no question."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from typing import TypeVar

from prometheus_client import Counter

from sourcier.services.gateway.anchoring.anchors import Anchors
from sourcier.services.gateway.anchoring.asked_for import AskedFor
from sourcier.services.gateway.anchoring.persons import asks_who, names_a_stranger
from sourcier.services.gateway.clauses.agreement import Clauses, Disagreement, answered
from sourcier.services.gateway.clauses.gone import Gone
from sourcier.services.gateway.clauses.questions import asked
from sourcier.services.gateway.clauses.ruling import Place, Ruling, Source, ruling
from sourcier.services.gateway.evidence.links import extract
from sourcier.services.gateway.evidence.reasons import difference_reason, mismatch_reason, reason
from sourcier.services.gateway.figures.agreement import Figures, Mismatch
from sourcier.services.gateway.figures.readings import Source as FigureSource
from sourcier.services.gateway.figures.rows import Rows
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


@dataclass(frozen=True)
class _Mistaken:
    """What of a value is not its passage's, and what is shown instead."""

    mismatch: Mismatch
    place: Place | None


class ClauseCheck:
    """The clauses of one answer's passages, in the order of their markers."""

    def __init__(
        self, passages: Sequence[Passage], *, question: str, language: str, today: date,
        disputed: frozenset[int] = frozenset(), aside: Sequence[Passage] = (),
    ) -> None:
        """Take passages without their orders to models; places in their texts are those of the originals.

        `aside` are those that no longer hold, which no answer may rest on.
        `disputed` are the numbers of those that disagree with another one, with nothing that tells which holds.
        """
        self._passages = passages
        self._question = question
        self._language = language
        self._today = today
        self._disputed = disputed
        self._aside = aside

    def rule(self) -> None:
        """Find out now what the clauses say to the question. Blocks for milliseconds where that is a yes/no question.
        """
        _ = self.ruling

    def prepare(self) -> None:
        """Find out now what is found out at the first sentence otherwise. Blocks for milliseconds."""
        _ = self.ruling, self._clauses
        for figures in self._figures:
            figures.prepare()
        for anchors in self._anchors:
            anchors.prepare()

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
    def _rows(self) -> list[Rows]:
        return [Rows(passage.text, passage.above) for passage in self._passages]

    @cached_property
    def _anchors(self) -> list[Anchors]:
        return [
            Anchors(passage.text, passage.above, passage.language or self._language, today=self._today)
            for passage in self._passages
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
            or self._to_its_figures(sentence, numbers) or self._to_its_time(sentence)
            or self._to_whom_it_names(sentence, numbers) or self._to_what_is_asked(sentence, numbers)
        )

    def _to_what_is_asked(self, sentence: str, numbers: Sequence[int]) -> Objection | None:
        """Return what speaks against a sentence whose values no passage gives of anything that is asked."""
        if self.asks_yes_or_no or not all(self._asked_for[number - 1].is_of_another(sentence) for number in numbers):
            return None
        return self._objection(Finding.OFF_TOPIC, "another subject", "", None)

    @cached_property
    def _asked_for(self) -> list[AskedFor]:
        return [AskedFor(passage.text, passage.above, self._question) for passage in self._passages]

    def _to_whom_it_names(self, sentence: str, numbers: Sequence[int]) -> Objection | None:
        """Return what speaks against an answer to "who" that names nobody whom its passages name."""
        if not self._asks_who or not all(self._is_strange_to(sentence, number) for number in numbers):
            return None
        return self._objection(Finding.OFF_TOPIC, "stranger", "", None)

    @cached_property
    def _asks_who(self) -> bool:
        return asks_who(self._question)

    def _is_strange_to(self, sentence: str, number: int) -> bool:
        passage = self._passages[number - 1]
        # Words of two languages have too little in common to tell anything by what they lack.
        return (not passage.language or passage.language == self._language) and names_a_stranger(
            sentence, self._question, f"{passage.above}\n{passage.text}"
        )

    def _to_its_time(self, sentence: str) -> Objection | None:
        """Return what speaks against a sentence that only a document says that no longer holds: a model may take it
        from the conversation."""
        if not self._gone.clauses or not self._gone.tells_more(sentence):
            return None
        return self._objection(
            Finding.CONTRADICTED, Mismatch.REPLACED.value, mismatch_reason(Mismatch.REPLACED, language=self._language),
            None,
        )

    @cached_property
    def _gone(self) -> Gone:
        return Gone(self._aside, self._passages)

    def _to_its_word(self, sentence: str, *, confirmed: bool) -> Objection | None:
        # A yes to what was not read as such a question is decided by nobody either.
        yes = answered(sentence).yes
        if yes is None:
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
        def disagreement(number: int) -> Disagreement | None:
            return self._clauses[number - 1].disagreement(sentence, self._question)

        spoken = _first(numbers, disagreement)
        if spoken is None and not any(self._clauses[number - 1].compares(sentence) for number in numbers):
            # What it rests on says it in no clause, and another passage that was found may.
            others = [number for number, clauses in enumerate(self._clauses, start=1) if clauses.compares(sentence)]
            spoken = _first(others, disagreement)
        if spoken is None:
            return None
        number, found = spoken
        return self._objection(
            Finding.CONTRADICTED, found.difference.value, difference_reason(found.difference, language=self._language),
            Place(number, found.start, found.end, found.lead),
        )

    def _to_its_figures(self, sentence: str, numbers: Sequence[int]) -> Objection | None:
        """Return what speaks against a sentence's values: they are another row's or thing's, or in another unit."""
        spoken = _first(numbers, lambda number: self._of_values(sentence, number))
        return None if spoken is None else self._objection(
            Finding.CONTRADICTED, spoken[1].mismatch.value,
            mismatch_reason(spoken[1].mismatch, language=self._language), spoken[1].place,
        )

    def _of_values(self, sentence: str, number: int) -> _Mistaken | None:
        figure = self._figures[number - 1].contradiction(sentence, self._question)
        if figure is not None:
            return _Mistaken(figure.mismatch, Place(number, figure.start, figure.end, figure.lead))
        passage = self._passages[number - 1]
        if passage.language and passage.language != self._language:
            # Words of two languages have too little in common to tell anything by what they lack.
            return None
        row = self._rows[number - 1].contradiction(sentence, self._question)
        if row is not None:
            # A row that the sentence does not name is no answer either.
            return _Mistaken(Mismatch.SUBJECT, Place(number, row.start, row.end, row.head) if row.is_named else None)
        others = [anchors for at, anchors in enumerate(self._anchors, start=1) if at != number]
        other = self._anchors[number - 1].objection(sentence, others)
        if other is not None:
            place = Place(number, other.start, other.end, other.lead) if other.is_of_it else None
            return _Mistaken(Mismatch.GIVEN if other.is_of_it else Mismatch.SUBJECT, place)
        return None

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
