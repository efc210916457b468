"""Answers a question part by part: each part is searched and answered as one question, and has a line of its own."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
from contextlib import aclosing
from dataclasses import replace

from prometheus_client import Counter

from sourcier.services.chassis import telemetry
from sourcier.services.chassis.errors import ServiceError
from sourcier.services.chassis.grpc.channels import Deadline
from sourcier.services.gateway.answering.by_parts.asking import Form, Several, capitalised
from sourcier.services.gateway.answering.by_parts.cutting import cut
from sourcier.services.gateway.answering.by_parts.differing import difference
from sourcier.services.gateway.answering.by_parts.lines import (
    Gathered,
    Lines,
    Sources,
    conflict_of,
    marker_of,
    withheld_of,
)
from sourcier.services.gateway.answering.by_parts.naming import Part, Parted, parted
from sourcier.services.gateway.answering.by_parts.quoting import told, told_as_a_whole
from sourcier.services.gateway.answering.by_parts.things_named import is_named, one_sentence_names_all
from sourcier.services.gateway.answering.by_parts.topics import searched
from sourcier.services.gateway.answering.options import AnswerOptions
from sourcier.services.gateway.events import (
    Citation,
    Decomposed,
    Degradation,
    Event,
    Extract,
    Finished,
    Outcome,
    PartAnswered,
    QuestionPart,
    Refused,
    Reranked,
    Retrieved,
    Searching,
    Token,
    Usage,
)
from sourcier.services.gateway.findings import Finding
from sourcier.services.gateway.phrases import Messages
from sourcier.services.gateway.retrieval.narrowing import Closeness
from sourcier.services.gateway.retrieval.neighbours import join
from sourcier.services.gateway.retrieval.query import Query
from sourcier.services.gateway.retrieval.retriever import Retriever
from sourcier.services.gateway.stopwatch import Stopwatch
from sourcier.services.index.documents.titles import TITLES_MAX, DocumentTitle
from sourcier.services.index.search.passages import Passage

logger = logging.getLogger(__name__)

STAGE = "parts"
PART_SECONDS_MIN = 20.0
"""What a part's generation may take on two cores: with less left for each part that is still to come, it is quoted."""
PASSAGES_MAX, RULED_PASSAGES_MAX, WHOLE_PASSAGES_MAX = 4, 8, 20
"""Of one part: what the model reads of it, what rules do, and what they do of a document as a whole."""

decomposed_total = Counter(
    "sourcier_decomposed_questions_total", "Questions that were answered part by part, by form.", ["form"]
)
parts_total = Counter(
    "sourcier_question_parts_total", "Parts of questions, by what answered them: rule, model, nothing.", ["by"]
)

Search = Callable[..., AsyncGenerator[Event, None]]
"""Answers one question from the search on, as `Answerer` does."""


class PartsAnswerer:
    """Makes one answer at a time from its arguments alone, as `Answerer` does."""

    def __init__(self, retriever: Retriever, search: Search) -> None:
        self._retriever = retriever
        self._search = search

    async def parts(self, query: Query, *, deadline: Deadline) -> Parted | Degradation | None:
        """Return a question's parts; None for one question, and why they are not told where the list cannot be read.
        """
        several = cut(query.question, language=query.language)
        if several is None:
            return None
        try:
            titles = await self._titles(several, query, deadline=deadline)
        except ServiceError as error:
            telemetry.degradations_total.labels(STAGE, error.reason).inc()
            logger.warning("the list of documents could not be read: %s", error)
            return Degradation(STAGE, f"{error.message}; the question was searched for as a whole")
        found = await asyncio.to_thread(parted, several, titles, language=query.language)
        if found is None or (found.form is Form.THINGS and await self._is_one(query, several, deadline=deadline)):
            return None
        return found

    async def _titles(self, several: Several, query: Query, *, deadline: Deadline) -> list[DocumentTitle] | None:
        if not several.form.names_documents:
            return None
        found: list[DocumentTitle] = []
        for collection in query.collections:
            found += await self._retriever.titles(replace(query, collection=collection, others=()), deadline=deadline)
            if len(found) > TITLES_MAX:
                telemetry.degradations_total.labels(STAGE, "TOO_MANY").inc()
                logger.info("too many documents to look one up by its name")
                return None
        wanted = frozenset(query.filters.document_ids)
        return [each for each in found if not wanted or str(each.document_id) in wanted]

    async def _is_one(self, query: Query, several: Several, *, deadline: Deadline) -> bool:
        """Return whether one sentence of what is found names all of the things: « la cour et le jardin »."""
        found = await self._retriever.find(replace(query, limit=PASSAGES_MAX), deadline=deadline)
        passages = [entry.passage for entry in found.passages]
        return await asyncio.to_thread(one_sentence_names_all, several.labels, passages)

    async def answer(
        self, asked: Parted, query: Query, options: AnswerOptions, messages: Messages, *, answer_id: str,
        stopwatch: Stopwatch, deadline: Deadline,
    ) -> AsyncGenerator[Event, None]:
        """Yield the parts, then for each its search and its line; `Finished` last."""
        decomposed_total.labels(asked.form.value).inc()
        logger.info("a question is answered in parts", extra={"form": asked.form.value, "parts": len(asked.parts)})
        answer = _Answer(self._search, asked, query, options, messages, answer_id, stopwatch, deadline)
        async with aclosing(answer.run()) as events:
            async for event in events:
                yield event


class _Answer:
    """The parts of one answer."""

    def __init__(
        self, search: Search, asked: Parted, query: Query, options: AnswerOptions, messages: Messages,
        answer_id: str, stopwatch: Stopwatch, deadline: Deadline,
    ) -> None:
        self._search = search
        self._asked = asked
        self._query = query
        self._options = options
        self._texts = _FRENCH if messages.language == "fr" else _ENGLISH
        self._messages = messages
        self._answer_id = answer_id
        self._stopwatch = stopwatch
        self._deadline = deadline
        self._sources = Sources()
        self._lines = Lines()
        self._found: list[tuple[Part, Gathered, dict[int, int]]] = []
        self._held: list[Event] = []
        self._searched: dict[int, Gathered] = {}
        self._usage = Usage()
        self._model = ""

    async def run(self) -> AsyncGenerator[Event, None]:
        """Yield all that happens."""
        parts = self._asked.parts
        labels = " ; ".join(each.label for each in parts)
        yield Decomposed(
            self._asked.form.value, tuple(QuestionPart(each.label, each.question, each.document_ids) for each in parts),
            self._asked.left_out, self._texts["cut"].format(count=len(parts), labels=labels),
        )
        for number, part in enumerate(parts, start=1):
            yield Searching(part.question, self._texts["searching"].format(
                number=number, count=len(parts), label=part.label
            ))
            gathered = Gathered() if part.missing else await self._answered(number, part)
            markers = self._sources.take_in(gathered.passages)
            if not part.missing:
                yield Retrieved(gathered.candidates)
            if gathered.passages:
                yield Reranked(tuple(self._sources.passages), gathered.not_reranked)
            for degradation in gathered.degradations:
                yield degradation
            for conflict in gathered.conflicts:
                yield conflict_of(conflict, markers)
            for withheld in gathered.withheld:
                yield withheld_of(withheld, markers)
            self._found.append((part, gathered, markers))
            # Where no part is found the lines are a refusal, which takes the place of an answer's words.
            self._held += self._line(number, part, gathered, markers)
            if any(each.text for _, each, _ in self._found):
                for event in self._held:
                    yield event
                self._held = []
        if self._held:
            for event in self._refusal():
                yield event
            yield Finished(Outcome.REFUSED, self._stopwatch.durations, self._usage, self._model)
            return
        for event in self._behind():
            yield event
        yield Finished(Outcome.ANSWERED, self._stopwatch.durations, self._usage, self._model)

    def _refusal(self) -> Iterator[Event]:
        text = "".join(event.text for event in self._held if isinstance(event, Token))
        for event in self._held:
            if isinstance(event, PartAnswered):
                yield replace(event, span=(0, 0))
        yield Refused(text, "NOTHING_FOUND", None)

    def _line(
        self, number: int, part: Part, gathered: Gathered, markers: dict[int, int]
    ) -> list[Event]:
        """Return a part's line, its citations, and that it is done."""
        events: list[Event] = []
        start = self._lines.length
        opening = "- " if number == 1 else "\n- "
        if gathered.text:
            events.append(self._lines.said(f"{opening}{self._texts['label'].format(label=capitalised(part.label))}"))
            events += self._lines.of_part(gathered, markers)
        else:
            label = self._messages.quotation.format(part.label) if self._asked.form is Form.QUESTIONS else part.label
            text = self._texts["missing" if part.missing else "nothing"].format(label=label)
            events.append(self._lines.said(f"{opening}{text}"))
        by = "nothing" if not gathered.text else "model" if gathered.model else "rule"
        parts_total.labels(by).inc()
        cited = tuple(dict.fromkeys(marker_of(each.marker, markers) for each in gathered.citations if each.marker))
        events.append(PartAnswered(number, bool(gathered.text), cited, (start, self._lines.length)))
        return events

    async def _answered(self, number: int, part: Part) -> Gathered:
        """Return what a part's search and its answer come to: by rule where that is sure, else by the model."""
        gathered = await self._found_of(number, part)
        if part.is_whole:
            # No sentence of its own answers what a document says as a whole.
            gathered.forget_words()
        if not gathered.text and gathered.passages:
            await self._quote(part, gathered)
        if not gathered.text and gathered.outcome is not Outcome.REFUSED and gathered.passages:
            await self._by_model(part, gathered, left=len(self._asked.parts) - number + 1)
        self._usage = self._usage.plus(gathered.usage)
        self._model = gathered.model or self._model
        return gathered

    async def _found_of(self, number: int, part: Part) -> Gathered:
        """Return what a part's search comes to without the model; each part is searched once for that."""
        if number not in self._searched:
            query, options = self._narrowed(part)
            gathered = Gathered()
            await self._gather(gathered, query, replace(options, writes=False))
            self._searched[number] = gathered
        return self._searched[number]

    async def _by_model(self, part: Part, gathered: Gathered, *, left: int) -> None:
        """Let the model answer a part that no rule does, where there is time for it."""
        if not self._has_time(left):
            telemetry.degradations_total.labels(STAGE, "NO_TIME").inc()
            logger.info("too little time is left for the language model to answer a part")
            gathered.degradations.append(Degradation(
                STAGE, "too little time is left for the language model; a part is answered by rules alone"
            ))
            return
        query, options = self._narrowed(part)
        # With the document's name, as a person asks.
        asked = replace(query, question=part.question, limit=min(self._query.limit, PASSAGES_MAX))
        await self._write(gathered, asked, options)
        if self._asked.form is Form.THINGS and not await asyncio.to_thread(
            is_named, part.label, [each.passage for each in gathered.citations]
        ):
            # The hours of another house, said of this one.
            logger.info("the model answered a part from passages that do not name its thing")
            gathered.forget_words()

    def _narrowed(self, part: Part) -> tuple[Query, AnswerOptions]:
        query = replace(
            self._query, question=searched(part, self._query.language), validated=(),
            limit=min(self._query.limit, PASSAGES_MAX),
        )
        options = replace(self._options, extract_answers=True)
        if part.document_ids:
            query = replace(
                query, filters=replace(query.filters, document_ids=part.document_ids), detect_categories=False,
                limit=RULED_PASSAGES_MAX if part.topic else WHOLE_PASSAGES_MAX,
            )
            # What is in a document that was named is close enough, whatever else the collection holds.
            options = replace(options, answerability_threshold=0.0, cross_encoder_threshold=None, closeness=Closeness())
        return query, options

    async def _gather(self, gathered: Gathered, query: Query, options: AnswerOptions) -> None:
        """Answer a part as one question; a sentence that is shown before the model writes is its answer."""
        search = self._search(
            query, options, self._messages, answer_id=f"{self._answer_id}-{len(self._found) + 1}",
            stopwatch=self._stopwatch, deadline=self._deadline,
        )
        async with aclosing(search) as events:
            async for event in events:
                gathered.take(event)
                if isinstance(event, Extract):
                    gathered.value = event.text[slice(*event.answer_span)]
                    if not event.is_answer:
                        gathered.say((event.text, event.citation))
                        break

    async def _write(self, gathered: Gathered, query: Query, options: AnswerOptions) -> None:
        """Let the model write what no rule told; without it, visibly, nothing is said of the part."""
        try:
            await self._gather(gathered, query, options)
        except ServiceError as error:
            # Where the whole answer is out of time, it has failed.
            self._deadline.remaining()
            telemetry.degradations_total.labels(STAGE, error.reason).inc()
            logger.warning("the language model could not answer a part: %s", error)
            gathered.forget_words()
            gathered.degradations.append(Degradation(STAGE, f"{error.message}; a part is answered by rules alone"))

    async def _quote(self, part: Part, gathered: Gathered) -> None:
        """Quote the sentences that say most of what is asked, where a rule can tell."""
        passages = [join(each).passage for each in gathered.passages]
        if part.is_whole:
            others = await self._others(part) if self._asked.form is Form.DIFFERENCE else []
            found = await asyncio.to_thread(told_as_a_whole, passages, others)
        else:
            found = await asyncio.to_thread(
                told, searched(part, self._query.language), passages,
                about=part.label if self._asked.form is Form.THINGS else "", alone=bool(part.document_ids),
            )
        if not found:
            return
        gathered.value = found[0].value if len(found) == 1 else ""
        gathered.say(*(
            (self._messages.quotation.format(each.text), Citation(
                each.marker, passages[each.marker - 1], True, Finding.SUPPORTED, None, passage_span=each.span,
            )) for each in found
        ))

    async def _others(self, part: Part) -> list[Passage]:
        """Return what was found of the documents that a part's own is compared with."""
        return [
            join(each).passage for number, other in enumerate(self._asked.parts, start=1)
            if other is not part and not other.missing
            for each in (await self._found_of(number, other)).passages
        ]

    def _has_time(self, left: int) -> bool:
        """Return whether the model has time for this part and those that are still to come."""
        return self._deadline.remaining() >= PART_SECONDS_MIN * left

    def _behind(self) -> list[Event]:
        """Return what is said of all parts together: what two figures differ by, and what was left out."""
        events: list[Event] = []
        if self._asked.form is Form.DIFFERENCE and len(self._found) == 2:
            values = [gathered.value or gathered.quoted for _, gathered, _ in self._found]
            line = difference(*values, language=self._messages.language)
            if line:
                events.append(self._lines.said(f"\n- {self._texts['difference'].format(line=line)}"))
                for _, gathered, markers in self._found:
                    marker = marker_of(gathered.citations[0].marker, markers)
                    events.append(self._lines.said(f" [{marker}]", attached=True))
        if self._asked.left_out:
            events.append(self._lines.said("\n" + self._texts["more"].format(count=self._asked.left_out)))
        return events


_FRENCH: Mapping[str, str] = {
    "cut": "Question en {count} parties : {labels}",
    "searching": "Recherche {number}/{count} : {label}",
    "label": "{label} : ",
    "nothing": "Pour {label} : je n'ai rien trouvé.",
    "missing": "Pour {label} : je n'ai trouvé aucun document de ce nom.",
    "difference": "Différence : {line}",
    "more": "… et {count} autres documents, plus anciens, qui ne sont pas lus ici.",
}
_ENGLISH: Mapping[str, str] = {
    "cut": "Question in {count} parts: {labels}",
    "searching": "Search {number}/{count}: {label}",
    "label": "{label}: ",
    "nothing": "For {label}: I found nothing.",
    "missing": "For {label}: I found no document of this name.",
    "difference": "Difference: {line}",
    "more": "… and {count} more documents, older ones, which are not read here.",
}
