"""Answers a question from the documents and from nothing else: the chain from search to cited words."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import replace
from typing import Protocol

from sourcier.services.chassis.grpc.channels import Deadline
from sourcier.services.gateway.answering import computed
from sourcier.services.gateway.answering.analysing import Analyser
from sourcier.services.gateway.answering.assessing import Assessor
from sourcier.services.gateway.answering.by_parts.answering import PartsAnswerer
from sourcier.services.gateway.answering.by_parts.naming import Parted
from sourcier.services.gateway.answering.in_force import InForce, in_force
from sourcier.services.gateway.answering.options import AnswerOptions, refuse
from sourcier.services.gateway.answering.whole_collection import answer_of_collection
from sourcier.services.gateway.answering.writing import Writer
from sourcier.services.gateway.events import Degradation, Event, Finished, Outcome, Searching, Started, Token, Usage
from sourcier.services.gateway.evidence.second_opinion import Opinions
from sourcier.services.gateway.modes import AnswerMode
from sourcier.services.gateway.peers.services import Peers
from sourcier.services.gateway.phrases import Messages, messages_in
from sourcier.services.gateway.prompting.marking import Marking
from sourcier.services.gateway.retrieval.neighbours import located
from sourcier.services.gateway.retrieval.query import Query
from sourcier.services.gateway.retrieval.retriever import Retriever
from sourcier.services.gateway.stopwatch import Stopwatch
from sourcier.services.gateway.validated.direct_answers import DIRECT_MODEL, DirectAnswers

DOUBTFUL_MIN = 0.05
"""Likelihood of an answer from which on the judge, where it is asked about questions, has a word in a refusal."""


class OtherMode(Protocol):
    """Another way from a question to its cited words."""

    def answer(
        self, query: Query, options: AnswerOptions, *, answer_id: str, stopwatch: Stopwatch, deadline: Deadline
    ) -> AsyncGenerator[Event, None]:
        """Yield what happens from the first search on, `Finished` last."""
        ...


class Answerer:
    """Makes one answer at a time from its arguments alone: nothing of a request outlives it or meets another (A5)."""

    def __init__(
        self, retriever: Retriever, peers: Peers, marking: Marking, direct: DirectAnswers | None = None,
        opinions: Opinions | None = None, *, by_tools: OtherMode | None = None, analyser: Analyser | None = None,
        assessor: Assessor | None = None, prefers_in_force: bool = True, extracts: bool = True, in_parts: bool = True,
    ) -> None:
        self._parts = PartsAnswerer(retriever, self._by_search) if in_parts else None
        self._extracts = extracts
        self._prefers_in_force = prefers_in_force
        self._opinions = opinions
        self._retriever = retriever
        self._peers = peers
        self._marking = marking
        self._direct = direct
        self._by_tools = by_tools
        self._analyser = analyser
        self._assessor = assessor

    async def answer(
        self, query: Query, options: AnswerOptions, *, answer_id: str, deadline: Deadline
    ) -> AsyncGenerator[Event, None]:
        """Yield what happens, `Finished` last; raise when a service that cannot be done without is unavailable."""
        stopwatch = Stopwatch()
        messages = messages_in(query.language)
        yield Started(query.question, messages.language)
        by_tools = self._by_tools if options.mode is AnswerMode.TOOLS else None
        analyser = self._analyser if options.analyse else None
        if by_tools is None and analyser is None:
            yield Searching(query.question, messages.searching)
        for degraded in query.agent.degradations if query.agent is not None else ():
            yield degraded
        if self._direct is not None and query.agent is not None and self._direct.wanted(query):
            looked_up = await self._direct.look_up(query, query.agent, stopwatch=stopwatch, deadline=deadline)
            for degraded in looked_up.degradations:
                yield degraded
            if looked_up.answer is not None:
                yield looked_up.answer
                stopwatch.finish()
                yield Finished(Outcome.DIRECT, stopwatch.durations, Usage(), DIRECT_MODEL)
                return
            query = replace(query, validated=looked_up.close)
        of_collection = await answer_of_collection(query, self._retriever, deadline=deadline)
        if isinstance(of_collection, str):
            yield Token(of_collection)
            stopwatch.finish()
            yield Finished(Outcome.COLLECTION, stopwatch.durations)
            return
        if of_collection is not None:
            yield of_collection
        if (dated := computed.by_calendar(query, messages)) is not None:
            # The question has all that is computed: a day and a delay.
            yield dated
            stopwatch.finish()
            yield Finished(Outcome.ANSWERED, stopwatch.durations)
            return
        usage = Usage()
        if analyser is not None:
            analysis = await analyser.analyse(query, answer_id=answer_id, stopwatch=stopwatch, deadline=deadline)
            yield analysis.event
            query, usage = analysis.query, analysis.usage
        if by_tools is None and analyser is not None:
            yield Searching(query.question, messages.searching)
        parts = None
        if self._parts is not None and by_tools is None and analyser is None:
            parts = await self._parts.parts(query, deadline=deadline)
            if isinstance(parts, Degradation):
                yield parts
        # The answer is in the language of the question that was asked, whatever an analysis made of it.
        if by_tools is not None:
            answered = by_tools.answer(query, options, answer_id=answer_id, stopwatch=stopwatch, deadline=deadline)
        elif self._parts is not None and isinstance(parts, Parted):
            answered = self._parts.answer(
                parts, query, options, messages, answer_id=answer_id, stopwatch=stopwatch, deadline=deadline
            )
        else:
            answered = self._by_search(
                query, options, messages, answer_id=answer_id, stopwatch=stopwatch, deadline=deadline
            )
        async with aclosing(answered) as events:
            async for event in events:
                if isinstance(event, Finished):
                    stopwatch.finish()
                    event = replace(event, usage=usage.plus(event.usage))
                yield event

    async def _by_search(
        self, query: Query, options: AnswerOptions, messages: Messages, *, answer_id: str, stopwatch: Stopwatch,
        deadline: Deadline,
    ) -> AsyncGenerator[Event, None]:
        """Yield what happens in mode injection, from the search on: the question itself is searched for."""
        found = await self._retriever.find(replace(query, embedded=True), stopwatch=stopwatch, deadline=deadline)
        ranked = found.passages
        in_time = InForce(found, ranked)
        if self._prefers_in_force:
            with stopwatch.measure("in_force"):
                in_time = await in_force(found, query, self._retriever, today=options.today, deadline=deadline)
        for step in in_time.found.steps:
            yield step
        embedding, passages = found.embedding, in_time.held
        assert embedding is not None
        if in_time.degradation is not None:
            yield in_time.degradation
        calculated = await computed.calculation(
            query, passages, self._retriever, messages, today=options.today, stopwatch=stopwatch, deadline=deadline,
            disputed=in_time.disputed,
        )
        if calculated.degradation is not None:
            yield calculated.degradation
        if calculated.is_computed:
            # All words of the question are told by its figures: that is surer than the search's signs.
            for told in (*in_time.conflicts, *calculated.events):
                yield told
            yield Finished(Outcome.ANSWERED, stopwatch.durations, Usage(), "")
            return
        likely: float | None = None
        if self._assessor is not None and found.looked_at and options.answerability_threshold > 0:
            with stopwatch.measure("assess"):
                likely, degradation = await self._assessor.assess(
                    query, embedding, found.looked_at, deadline=deadline
                )
            if degradation is not None:
                yield degradation
        refusal = options.refusal_text or messages.refusal
        refused = refuse(ranked, options, text=refusal, likely=likely)
        # Where passages disagree, what one of them says is not shown as the answer.
        writing = replace(options, extract_answers=options.extract_answers and not in_time.conflicts)
        writer = None if not passages else Writer(
            self._peers, self._marking, query, writing, messages, refusal, embedding, passages, stopwatch, deadline,
            self._opinions, likely=likely, disputed=in_time.disputed, extracts=self._extracts,
            aside=[entry.passage for entry in in_time.found.passages[len(passages) :]],
        )
        if refused is not None and (writer is None or not (
            self._leaves_to_judge(options, likely) or await writer.is_decided()
        )):
            yield refused
            yield Finished(Outcome.REFUSED, stopwatch.durations, Usage(), "")
            return
        assert writer is not None
        for conflict in in_time.conflicts:
            yield conflict
        if calculated.events:
            for event in calculated.events:
                yield event
            yield Finished(Outcome.QUOTED, stopwatch.durations, Usage(), "")
            return
        async with aclosing(writer.write(answer_id)) as written:
            async for event in written:
                yield located(event, writer.joined)
        generation = writer.generation
        yield Finished(
            writer.outcome, stopwatch.durations, Usage() if generation is None else generation.usage,
            "" if generation is None else generation.model,
        )

    def _leaves_to_judge(self, options: AnswerOptions, likely: float | None) -> bool:
        """Return whether the language model is asked about a question that the search's signs alone would refuse."""
        return (
            self._opinions is not None and self._opinions.judges_questions(options.judge_question)
            and likely is not None and likely >= DOUBTFUL_MIN
        )
