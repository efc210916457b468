"""Answers a question from the documents and from nothing else: the chain from search to cited words."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from typing import Protocol

from sourcier.services.chassis import telemetry
from sourcier.services.chassis.grpc.channels import Deadline
from sourcier.services.gateway.answering import computed, yes_no
from sourcier.services.gateway.answering.analysing import Analyser
from sourcier.services.gateway.answering.assessing import Assessor
from sourcier.services.gateway.answering.extracting import extract_of, with_answer
from sourcier.services.gateway.answering.in_force import InForce, in_force
from sourcier.services.gateway.answering.invented_turns import TurnCutter
from sourcier.services.gateway.answering.quoting import quote
from sourcier.services.gateway.answering.whole_collection import answer_of_collection
from sourcier.services.gateway.events import (
    Degradation,
    Event,
    Finished,
    Outcome,
    Quoted,
    RankedPassage,
    Refused,
    Searching,
    Started,
    Token,
    Usage,
    best_late_interaction,
)
from sourcier.services.gateway.evidence.checking import Thresholds
from sourcier.services.gateway.evidence.citing import Citer, Strictness
from sourcier.services.gateway.evidence.clause_check import ClauseCheck
from sourcier.services.gateway.evidence.judge import log_odds
from sourcier.services.gateway.evidence.second_opinion import Opinions
from sourcier.services.gateway.evidence.source_terms import informing
from sourcier.services.gateway.evidence.support import SupportScorer
from sourcier.services.gateway.findings import Finding
from sourcier.services.gateway.history import History
from sourcier.services.gateway.modes import AnswerMode, ToolLimits
from sourcier.services.gateway.peers.embedding import QueryEmbedding
from sourcier.services.gateway.peers.services import Generation, Peers, SamplingOptions
from sourcier.services.gateway.phrases import Messages, is_refusal, may_become_refusal, messages_in
from sourcier.services.gateway.prompting.marking import CodeEraser, Marking, visible
from sourcier.services.gateway.prompting.prompt import build_prompt
from sourcier.services.gateway.retrieval.narrowing import Closeness
from sourcier.services.gateway.retrieval.neighbours import join, located
from sourcier.services.gateway.retrieval.retriever import Query, Retriever
from sourcier.services.gateway.stopwatch import Stopwatch
from sourcier.services.gateway.validated.direct_answers import DIRECT_MODEL, DirectAnswers

logger = logging.getLogger(__name__)

DOUBTFUL_MIN = 0.05
"""Likelihood of an answer from which on the judge, where it is asked about questions, has a word in a refusal."""


@dataclass(frozen=True)
class AnswerOptions:
    """How an answer is made."""

    sampling: SamplingOptions
    closeness: Closeness
    answerability_threshold: float
    """0 leaves it to the two above."""
    cross_encoder_threshold: float | None
    """Asked for beside all that, where a cross-encoder re-ranked; None asks nothing of its scores."""
    quote_threshold: float
    support: Thresholds
    strictness: Strictness
    refusal_text: str
    history: History = ()
    """What was said before; never a source."""
    judge: bool | None = None
    """Whether sentences are judged by the language model; None leaves it to the service's settings."""
    judge_question: bool | None = None
    """The same for whether the passages hold the answer."""
    mode: AnswerMode = AnswerMode.INJECTION
    tool_limits: ToolLimits = field(default_factory=ToolLimits)
    analyse: bool = False
    """Whether the model analyses the question before the search."""
    extract_answers: bool = False
    """Whether a sure extract that holds the value asked for is the answer, and the model is spared."""
    today: date = field(default_factory=lambda: datetime.now(UTC).date())
    """Tells what is planned from what is so by now."""


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
        assessor: Assessor | None = None, prefers_in_force: bool = True, extracts: bool = True,
    ) -> None:
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
        # The answer is in the language of the question that was asked, whatever an analysis made of it.
        answered = (
            self._by_search(query, options, messages, answer_id=answer_id, stopwatch=stopwatch, deadline=deadline)
            if by_tools is None
            else by_tools.answer(query, options, answer_id=answer_id, stopwatch=stopwatch, deadline=deadline)
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
        if refused is not None and not (passages and self._leaves_to_judge(options, likely)):
            yield refused
            yield Finished(Outcome.REFUSED, stopwatch.durations, Usage(), "")
            return
        for conflict in in_time.conflicts:
            yield conflict
        if calculated.events:
            for event in calculated.events:
                yield event
            yield Finished(Outcome.QUOTED, stopwatch.durations, Usage(), "")
            return
        # Where passages disagree, what one of them says is not shown as the answer.
        options = replace(options, extract_answers=options.extract_answers and not in_time.conflicts)
        writer = Writer(
            self._peers, self._marking, query, options, messages, refusal, embedding, passages, stopwatch, deadline,
            self._opinions, likely=likely, disputed=in_time.disputed, extracts=self._extracts,
        )
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


def margin_of(likely: float | None, options: AnswerOptions) -> float | None:
    """Return how far the log-odds of what is known of a search are above their threshold."""
    return None if likely is None else log_odds(likely) - log_odds(options.answerability_threshold)


def refuse(
    passages: tuple[RankedPassage, ...], options: AnswerOptions, *, text: str, likely: float | None = None
) -> Refused | None:
    """Return the refusal when nothing is close enough to the question, without calling the model (A6).

    `likely` is how likely the passages hold the answer; where it is not known, the best score decides.
    """
    if not passages:
        return Refused(text, "NOTHING_FOUND", None)
    # The re-ranker's own score, for the threshold was set on it; the order rests on a share of BM25 too.
    reranked = [entry.rerank_score for entry in passages if entry.rerank_score is not None]
    close = options.closeness.reached(passages) if likely is None else likely >= options.answerability_threshold
    if reranked and not passages[0].by_late_interaction and options.cross_encoder_threshold is not None:
        close = close and max(reranked) >= options.cross_encoder_threshold
    return None if close else Refused(text, "BELOW_THRESHOLD", max(reranked, default=passages[0].score))


class Writer:
    """Streams the model's text for one answer, with its citations."""

    def __init__(
        self, peers: Peers, marking: Marking, query: Query, options: AnswerOptions, messages: Messages, refusal: str,
        embedding: QueryEmbedding, passages: tuple[RankedPassage, ...], stopwatch: Stopwatch, deadline: Deadline,
        opinions: Opinions | None, *, likely: float | None = None, disputed: frozenset[int] = frozenset(),
        extracts: bool = False,
    ) -> None:
        self._extracts = extracts
        self._peers = peers
        self._marking = marking
        self._query = query
        self._options = options
        # The model is told to write this text where it finds no answer, so this one is recognised as a refusal.
        self._messages = replace(messages, refusal=refusal)
        self._refusal = refusal
        self.joined = [join(entry) for entry in passages]
        self._passages = [each.passage for each in self.joined]
        informed = [informing(passage) for passage in self._passages]
        self._clauses = ClauseCheck(
            informed, question=query.question, language=messages.language, today=options.today, disputed=disputed
        )
        self._scorer = SupportScorer(
            peers, informed, tenant=query.tenant,
            space_id=embedding.space_id, thresholds=options.support,
        )
        self._prompt = build_prompt(
            query.question, self._passages, messages, refusal=refusal, marking=marking, tenant=query.tenant,
            history=options.history,
        )
        self._opinion = None if opinions is None else opinions.open(
            self._prompt, self._passages, language=messages.language, tenant=query.tenant, judge=options.judge,
            judge_question=options.judge_question,
        )
        self._citer = Citer(
            self._passages, self._scorer, strictness=options.strictness, language=messages.language, deadline=deadline,
            opinion=self._opinion, clauses=self._clauses,
        )
        self._eraser = CodeEraser(marking.markers(self._passages, tenant=query.tenant))
        self._turns = TurnCutter(self._passages)
        self._margin = margin_of(likely, options)
        self._best_score = passages[0].score
        best = best_late_interaction(passages)
        self._closeness = -1.0 if best is None else best
        self._stopwatch = stopwatch
        self._deadline = deadline
        self.outcome = Outcome.ANSWERED
        self.generation: Generation | None = None

    async def write(self, answer_id: str) -> AsyncGenerator[Event, None]:
        """Yield the answer's words and citations, a refusal, or the best extract."""
        with self._stopwatch.measure("clauses"):
            await asyncio.to_thread(self._clauses.prepare)
        decided = yes_no.decided(self._clauses, self._passages, self._messages)
        if decided:
            # A clause answers the question by itself, and the language model is spared.
            for said in decided:
                yield said
            return
        if self._extracts:
            with self._stopwatch.measure("extract"):
                extract = await asyncio.to_thread(
                    extract_of, self._query.question, self._passages, self._clauses, self._messages,
                    today=self._options.today, may_answer=self._options.extract_answers,
                )
            for shown in () if extract is None else with_answer(extract):
                yield shown
            if extract is not None and extract.is_answer:
                return
        if not await self._is_answerable():
            self.outcome = Outcome.REFUSED
            assert self._opinion is not None
            # Where the judge could not say, the search's signs have refused.
            reason = "BELOW_THRESHOLD" if self._opinion.degradations else "JUDGED_UNANSWERABLE"
            yield Refused(self._refusal, reason, self._best_score)
            for degraded in self._opinion.degradations:
                yield degraded
            return
        with self._stopwatch.measure("generate"):
            async with (
                self._peers.generate(
                    self._prompt, self._options.sampling, tenant=self._query.tenant, generation_id=answer_id,
                    deadline=self._deadline, by_sentence=True,
                ) as parts,
                aclosing(self.stream(parts)) as streamed,
            ):
                async for event in streamed:
                    yield event
        for event in self.conclude():
            yield event

    def conclude(self) -> Iterator[Event]:
        """Yield what takes the place of a text that is not shown: a refusal or the best extract."""
        by_clause = () if self._citer.supported else yes_no.quoted(
            self._clauses, self._passages, self._messages, refused=self.outcome is Outcome.REFUSED
        )
        if by_clause:
            self.outcome = Outcome.QUOTED
            yield from by_clause
        elif self.outcome is Outcome.REFUSED and self._closeness >= self._options.quote_threshold:
            # Small models refuse too much: a passage this close is worth showing, and who reads it can judge.
            reason = "the language model found no answer, although a passage is close to the question; it is quoted"
            telemetry.degradations_total.labels("generate", "MODEL_REFUSED").inc()
            logger.info(reason)
            yield Degradation("generate", reason)
            self.outcome = Outcome.QUOTED
            yield self._quote()
        elif self.outcome is Outcome.REFUSED:
            yield Refused(self._refusal, "MODEL_REFUSED", self._best_score)
        elif self._citer.supported == 0:
            self.outcome = Outcome.QUOTED
            yield self._quote()
        if self._turns.left_out:
            reason = (f"the language model went on with another turn of the conversation, which is left out: "
                      f"“{self._turns.left_out}…”")
            telemetry.degradations_total.labels("generate", "ANOTHER_TURN").inc()
            logger.info("the language model went on with another turn of the conversation, which is left out")
            yield Degradation("generate", reason)
        if self._scorer.failed:
            yield Degradation("citation", f"{self._scorer.failed}; some sentences were checked by their words alone")
        if self._opinion is not None:
            yield from self._opinion.degradations

    async def _is_answerable(self) -> bool:
        """Return whether the passages hold the answer, as far as the language model is asked beforehand."""
        if self._opinion is None or not self._opinion.asks_about_question:
            return True
        with self._stopwatch.measure("judge"):
            return await self._opinion.is_answerable(
                self._query.question, margin=self._margin, deadline=self._deadline
            )

    async def stream(self, parts: AsyncIterator[str | Generation]) -> AsyncGenerator[Event, None]:
        """Yield the sentences that may be shown, with their citations."""
        async with self._citer, aclosing(self._cited(parts)) as cited:
            async for event in cited:
                yield event

    async def _cited(self, parts: AsyncIterator[str | Generation]) -> AsyncGenerator[Event, None]:
        called_at = time.perf_counter()
        held = ""
        settled = False
        async for part in parts:
            if isinstance(part, Generation):
                self.generation = part
                if part.truncated:
                    self.outcome = Outcome.TRUNCATED
                break
            self._stopwatch.durations.setdefault("first_token", time.perf_counter() - called_at)
            held += self._turns.feed(self._eraser.feed(visible(part)))
            if self._turns.left_out:
                # Leaving aborts the generation: what comes is no part of the answer.
                break
            if not settled:
                if is_refusal(held, self._messages):
                    # The standard sentence is said instead, and the model need not go on.
                    self.outcome = Outcome.REFUSED
                    return
                if may_become_refusal(held, self._messages):
                    continue
                # A refusal is one from its first words: what has become none stays none, however it goes on.
                settled = True
            async for event in self._citer.feed(held):
                yield event
            held = ""
        held += self._turns.feed(self._eraser.finish()) + self._turns.finish()
        if not settled and is_refusal(held, self._messages):
            self.outcome = Outcome.REFUSED
            return
        async for event in self._citer.feed(held):
            yield event
        async for event in self._citer.finish():
            yield event

    def _quote(self) -> Quoted:
        """Return the passage that comes closest to what the model said, or to the question."""
        near = [each.closest for each in self._citer.withheld if each.finding is Finding.FIGURE_ABSENT]
        marker = near[0].marker if near else 1
        return quote(self._passages[marker - 1], self._query.question, self._messages, marker=marker)
