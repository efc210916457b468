"""Questions that ask for a computation, answered by code: operands with their sources, what was computed, its result.

Where the passages do not make all of it sure, nothing is computed: the closest passage is quoted with a line why.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from prometheus_client import Counter

from sourcier.services.chassis import telemetry
from sourcier.services.chassis.errors import ServiceError
from sourcier.services.chassis.grpc.channels import Deadline
from sourcier.services.gateway.answering.quoting import quote
from sourcier.services.gateway.computing.asking import Asked, Operation
from sourcier.services.gateway.computing.computation import compute
from sourcier.services.gateway.computing.questions import asked
from sourcier.services.gateway.computing.results import Computed, Doubt, Doubtful, Place
from sourcier.services.gateway.events import Citation, Degradation, Event, Quoted, RankedPassage, Token
from sourcier.services.gateway.evidence.links import extract
from sourcier.services.gateway.evidence.source_terms import informing
from sourcier.services.gateway.figures.readings import Source
from sourcier.services.gateway.figures.showing import amount, day_text, number
from sourcier.services.gateway.figures.tables import goes_on
from sourcier.services.gateway.findings import Finding
from sourcier.services.gateway.phrases import Messages
from sourcier.services.gateway.retrieval.neighbours import join, located
from sourcier.services.gateway.retrieval.query import Query
from sourcier.services.gateway.retrieval.retriever import Retriever
from sourcier.services.gateway.stopwatch import Stopwatch
from sourcier.services.index.search.passages import Passage

logger = logging.getLogger(__name__)

LABEL_CHARACTERS_MAX = 120
QUOTED_CHARACTERS_MAX = 300
OPERANDS_MAX = 20

computations_total = Counter(
    "sourcier_computations_total", "Questions that ask for a computation, by operation and what came of it.",
    ["operation", "outcome"],
)
_QUOTES = frozenset(Operation) - {Operation.COUNT, Operation.DURATION}
"""Operations whose questions surely ask for one: « combien de jours » is more often told than computed."""


@dataclass(frozen=True)
class Calculation:
    """What became of a question that asks for a computation."""

    events: tuple[Event, ...]
    """The answer; empty where the language model is to answer."""
    is_computed: bool = False
    degradation: Degradation | None = None


NOTHING = Calculation(())


def by_calendar(query: Query, messages: Messages) -> Token | None:
    """Return the answer to a question that names all of its operands: « deux mois après le 14 mars 2024 »."""
    question = asked(query.question, language=messages.language)
    if question is None or not question.dates:
        return None
    found = compute(question, (), today=question.dates[0], language=messages.language)
    if not isinstance(found, Computed):
        return None
    _count(found.operation, "computed")
    return Token(_Words(messages.language).result(found))


async def calculation(
    query: Query, passages: Sequence[RankedPassage], retriever: Retriever, messages: Messages, *, today: date,
    stopwatch: Stopwatch, deadline: Deadline, disputed: frozenset[int] = frozenset(),
) -> Calculation:
    """Return the computed answer to a question, or the quotation in its place; nothing for any other question.

    Nothing is computed from a passage that another one disputes, by their numbers in `disputed`.
    """
    question = asked(query.question, language=messages.language)
    if question is None or not passages:
        return NOTHING
    began_at = time.perf_counter()
    found = await _calculated(
        question, query, passages, retriever, messages, today=today, deadline=deadline, disputed=disputed
    )
    if found.events:
        # Questions of this form are often plain ones, over in a millisecond: no stage of theirs.
        stopwatch.add("compute", time.perf_counter() - began_at)
    return found


async def _calculated(
    question: Asked, query: Query, passages: Sequence[RankedPassage], retriever: Retriever, messages: Messages, *,
    today: date, deadline: Deadline, disputed: frozenset[int],
) -> Calculation:
    degradation: Degradation | None = None
    around: Mapping[str, tuple[Passage, ...]] | None = {}
    if not question.parts or question.operation is Operation.COUNT:
        try:
            around = await retriever.beside(passages, query, deadline=deadline)
        except ServiceError as error:
            telemetry.degradations_total.labels("compute", error.reason).inc()
            logger.warning("the chunks beside a table could not be read: %s", error)
            degradation = Degradation("compute", f"{error.message}; figures of whole tables are not computed")
            around = None
    events, is_computed = await asyncio.to_thread(
        _answered, question, query, passages, around, messages, today=today, disputed=disputed
    )
    return Calculation(events, is_computed, degradation)


def _answered(
    question: Asked, query: Query, passages: Sequence[RankedPassage],
    around: Mapping[str, tuple[Passage, ...]] | None, messages: Messages, *, today: date, disputed: frozenset[int],
) -> tuple[tuple[Event, ...], bool]:
    joined = [join(each) for each in passages]
    originals = [each.passage for each in joined]
    texts = [informing(passage) for passage in originals]
    sources = [
        Source(
            number, passage.text, passage.above,
            # Where it is not known, « 1,500 » and 03/01/2024 may mean two things.
            passage.language,
            cut=_is_cut(passage.text, [part.passage for part in each.parts], around),
        )
        for number, (passage, each) in enumerate(zip(texts, joined, strict=True), start=1)
    ]
    found = compute(question, sources, today=today, language=messages.language)
    if found is None or (isinstance(found, Doubtful) and found.operation not in _QUOTES):
        _count(question.operation, "left")
        return (), False
    if isinstance(found, Computed) and not disputed.isdisjoint(place.source for place in found.places):
        _count(found.operation, "disputed")
        return (), False
    words = _Words(messages.language)
    if isinstance(found, Doubtful):
        _count(found.operation, found.doubt.value)
        marker = found.places[0].source if found.places else 1
        quoted = quote(originals[marker - 1], query.question, messages, marker=marker)
        quoted = Quoted(f"{words.doubt(found.doubt)} {quoted.text}", quoted.citation)
        return (located(quoted, joined),), False
    _count(found.operation, "computed")
    return tuple(located(event, joined) for event in _Text(texts, originals, words).of(found)), True


def _is_cut(text: str, parts: Sequence[Passage], around: Mapping[str, tuple[Passage, ...]] | None) -> bool:
    """Return whether a table or list of a passage may go on in a chunk beside it."""
    if around is None:
        return True
    first, last = parts[0].chunk_index, parts[-1].chunk_index
    beside = {chunk.chunk_index: chunk for part in parts for chunk in around.get(part.chunk_id, ())}
    before, after = beside.get(first - 1), beside.get(last + 1)
    return (before is not None and goes_on(before.text, text)) or (after is not None and goes_on(text, after.text))


def _count(operation: Operation, outcome: str) -> None:
    computations_total.labels(operation.value, outcome).inc()
    logger.info("a question asks for a computation", extra={"operation": operation.value, "outcome": outcome})


class _Text:
    """The words and citations of one computed answer."""

    def __init__(self, texts: Sequence[Passage], originals: Sequence[Passage], words: _Words) -> None:
        self._texts = texts
        self._originals = originals
        self._words = words
        self._length = 0
        self._events: list[Token | Citation] = []

    def of(self, found: Computed) -> list[Token | Citation]:
        """Return the result with the markers of all its sources, then each operand with its own."""
        markers = sorted({place.source for place in found.places})
        shown = found.operands[:OPERANDS_MAX]
        self._say(self._words.result(found))
        for marker in markers:
            place = next(each for each in found.places if each.source == marker)
            self._cite(place, start=0)
        for operand in shown:
            self._say("\n- ")
            start = self._length
            label = self._shown(operand.label, operand.place, LABEL_CHARACTERS_MAX)
            if label and operand.text:
                self._say(f"{label}{self._words.colon}{operand.text}")
            else:
                self._say(label or self._quoted(operand.place))
            self._cite(operand.place, start=start)
        if len(found.operands) > len(shown):
            self._say("\n- …")
        return [*self._events]

    def _say(self, text: str, *, attached: bool = False) -> None:
        self._events.append(Token(text, attached=attached))
        self._length += len(text)

    def _cite(self, place: Place, *, start: int) -> None:
        self._say(f" [{place.source}]", attached=True)
        self._events.append(Citation(
            marker=place.source, passage=self._originals[place.source - 1], attached=True, finding=Finding.SUPPORTED,
            score=None, sentence_span=(start, self._length), passage_span=(place.start, place.end),
        ))

    def _shown(self, said: str, place: Place, characters_max: int) -> str:
        return extract(said, self._texts[place.source - 1].text, characters_max=characters_max) if said else ""

    def _quoted(self, place: Place) -> str:
        text = self._texts[place.source - 1].text[place.start : place.end]
        return self._words.quoted.format(self._shown(text.strip(" -*•"), place, QUOTED_CHARACTERS_MAX))


class _Words:
    """What is said in one language."""

    def __init__(self, language: str) -> None:
        self._language = language
        self._texts = _ENGLISH if language == "en" else _FRENCH
        self.colon = ": " if language == "en" else " : "
        self.quoted = "“{}”" if language == "en" else "« {} »"

    def doubt(self, doubt: Doubt) -> str:
        """Return why nothing was computed."""
        return self._texts[f"doubt_{doubt.value}"]

    def result(self, found: Computed) -> str:
        """Return the result in a line: « 58 000 € − 41 000 € = 17 000 € »."""
        result = self._value(found)
        if found.operation is Operation.EXTREME:
            label = self.quoted.format(extract(found.label, found.label, characters_max=LABEL_CHARACTERS_MAX))
            return self._texts["extreme"].format(label=label, value=result)
        sign = "=" if found.exact else "≈"
        said = f"{found.expression} {sign} {result}" if found.expression else result
        if found.operation is Operation.AGE:
            said = self._texts["age"].format(expression=found.expression, value=result)
        note = self._texts.get(f"note_{found.note}", "")
        return f"{said} {note}".rstrip()

    def _value(self, found: Computed) -> str:
        if found.clock:
            return found.clock
        if found.day is not None:
            return day_text(found.day, language=self._language)
        assert found.value is not None
        if found.unit is None:
            return number(found.value, language=self._language)
        return amount(found.value, found.unit, language=self._language)


_FRENCH: Mapping[str, str] = {
    "extreme": "{label} : {value}",
    "age": "{value} ({expression})",
    "note_inclusive": "(premier et dernier jour compris)",
    "note_in_year": "(dans l'année)",
    "note_calendar_days": "(jours calendaires, sans report au jour ouvrable suivant)",
    "note_jours ouvrés": "(du lundi au vendredi, hors jours fériés nationaux)",
    "note_jours ouvrables": "(du lundi au samedi, hors jours fériés nationaux)",
    "note_none": "(aucune ligne ne remplit la condition)",
    "doubt_ambiguous": "Le calcul demandé n'est pas donné : plusieurs chiffres des documents pourraient convenir.",
    "doubt_inexact": "Le calcul demandé n'est pas donné : un des chiffres n'est qu'approximatif, prévu ou une limite.",
    "doubt_units": "Le calcul demandé n'est pas donné : les chiffres ne sont pas dans des unités qui se comparent.",
    "doubt_incomplete": "Le calcul demandé n'est pas donné : le tableau trouvé n'est pas complet.",
    "doubt_conflict": "Le calcul demandé n'est pas donné : les chiffres des documents ne concordent pas.",
}
_ENGLISH: Mapping[str, str] = {
    "extreme": "{label}: {value}",
    "age": "{value} ({expression})",
    "note_inclusive": "(first and last day included)",
    "note_in_year": "(in the course of the year)",
    "note_calendar_days": "(calendar days, not moved to the next working day)",
    "note_jours ouvrés": "(Monday to Friday, without French public holidays)",
    "note_jours ouvrables": "(Monday to Saturday, without French public holidays)",
    "note_none": "(no row meets the condition)",
    "doubt_ambiguous": "The computation asked for is not given: several figures of the documents could be meant.",
    "doubt_inexact": "The computation asked for is not given: a figure is only approximate, planned or a limit.",
    "doubt_units": "The computation asked for is not given: the figures are not in units that compare.",
    "doubt_incomplete": "The computation asked for is not given: the table that was found is not complete.",
    "doubt_conflict": "The computation asked for is not given: the documents' figures do not agree.",
}
