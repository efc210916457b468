"""Answers in mode tools (A3): the language model searches before it answers, as often as it needs within bounds.

Nothing that was said before is passed on, so that each answer rests on searches of its own. The order of messages is
system, user, assistant with its calls, tools, which is all that some providers take. An answer without a search is
asked for once more with a reminder; after that the gateway searches for the question itself, and says so.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, aclosing
from dataclasses import dataclass, field, replace

from prometheus_client import Counter

from sourcier.services.chassis import telemetry
from sourcier.services.chassis.grpc.channels import Deadline
from sourcier.services.gateway.answering.assessing import Assessor
from sourcier.services.gateway.answering.by_tools import search_tool
from sourcier.services.gateway.answering.by_tools.search_tool import SearchArguments
from sourcier.services.gateway.answering.by_tools.tool_sources import taken_in
from sourcier.services.gateway.answering.options import AnswerOptions, refuse
from sourcier.services.gateway.answering.writing import Writer
from sourcier.services.gateway.chat import ChatMessage, ToolCall
from sourcier.services.gateway.events import (
    Degradation,
    Event,
    Finished,
    Outcome,
    RankedPassage,
    Refused,
    Reranked,
    Searching,
    Token,
    Usage,
    Withheld,
)
from sourcier.services.gateway.evidence.second_opinion import Opinions
from sourcier.services.gateway.peers.embedding import QueryEmbedding
from sourcier.services.gateway.peers.services import Generation, Peers
from sourcier.services.gateway.phrases import folded, messages_in
from sourcier.services.gateway.prompting.marking import Marking, without_codes
from sourcier.services.gateway.retrieval.neighbours import join, located
from sourcier.services.gateway.retrieval.query import Found, Query
from sourcier.services.gateway.retrieval.retriever import Retriever
from sourcier.services.gateway.stopwatch import Stopwatch

logger = logging.getLogger(__name__)

STAGE = "tools"
CALL_TOKENS_MIN, CALL_TOKENS_MAX = 64, 256
"""Of a generation that may only ask for searches; a call takes about 40."""
CALLS_MAX = 8
"""Of one generation."""
NO_SEARCH = "the language model did not search, even when reminded; the question itself was searched for"
IDLE_CHARACTERS_MAX = 400
"""A text this long before any search is an answer, and need not be waited for."""

tool_searches_total = Counter(
    "sourcier_tool_searches_total", "Searches of answers in mode tools, by who asked and what came of it.", ["outcome"]
)


@dataclass
class _Turn:
    """What the model asked for in one turn."""

    calls: list[ToolCall] = field(default_factory=list)

    def take(self, call: ToolCall) -> None:
        """Take a call in; those of no tool of ours, and more than are ever answered, are left out.

        Their names are the model's own words, which no log repeats.
        """
        if call.name == search_tool.NAME and len(self.calls) < CALLS_MAX:
            self.calls.append(call)
        else:
            logger.info("a tool call is left out", extra={"calls": len(self.calls)})


class ToolAnswerer:
    """Makes one answer at a time from its arguments alone, as `Answerer` does."""

    def __init__(
        self, retriever: Retriever, peers: Peers, marking: Marking, opinions: Opinions | None = None,
        assessor: Assessor | None = None,
    ) -> None:
        self._retriever = retriever
        self._peers = peers
        self._marking = marking
        self._opinions = opinions
        self._assessor = assessor

    async def answer(
        self, query: Query, options: AnswerOptions, *, answer_id: str, stopwatch: Stopwatch, deadline: Deadline
    ) -> AsyncGenerator[Event, None]:
        """Yield the searches, the words and their citations, `Finished` last."""
        research = _Research(
            self._retriever, self._peers, self._marking, query, options, answer_id, stopwatch, deadline,
            self._opinions, self._assessor,
        )
        async with aclosing(research.run()) as events:
            async for event in events:
                yield event


class _Research:
    """The searches and generations of one answer."""

    def __init__(
        self, retriever: Retriever, peers: Peers, marking: Marking, query: Query, options: AnswerOptions,
        answer_id: str, stopwatch: Stopwatch, deadline: Deadline, opinions: Opinions | None,
        assessor: Assessor | None,
    ) -> None:
        self._opinions = opinions
        self._assessor = assessor
        self._own: Found | None = None
        """What a search for the question itself came to, where one was made."""
        self._retriever = retriever
        self._peers = peers
        self._marking = marking
        self._query = query
        self._options = options
        self._answer_id = answer_id
        self._stopwatch = stopwatch
        self._deadline = deadline
        self._messages = messages_in(query.language)
        self._texts = search_tool.texts_for(self._messages)
        self._refusal = options.refusal_text or self._messages.refusal
        self._tool = search_tool.definition(self._texts, limit=query.limit)
        self._chat = [
            ChatMessage("system", search_tool.instructions(self._texts, self._tool, refusal=self._refusal)),
            ChatMessage("user", search_tool.asked(query.question, self._texts, reminded=False)),
        ]
        self._asked: list[str] = []
        """What was searched for."""
        self._passages: list[RankedPassage] = []
        """The sources, in the order of their markers."""
        self._embedding: QueryEmbedding | None = None
        self._question: QueryEmbedding | None = None
        self._result = ""
        """What the tool answers to the call at hand."""
        self._refused: Refused | None = Refused(self._refusal, "NOTHING_FOUND", None)
        """Why nothing can be answered from what was found so far."""
        self._usage = Usage()
        self._model = ""
        self._generations = 0

    async def run(self) -> AsyncGenerator[Event, None]:
        """Yield what happens: a search that found something close, then the answer, or further searches before it."""
        outcome = Outcome.REFUSED
        async with aclosing(self._first_search()) as searched:
            async for event in searched:
                yield event
        # Each turn searches, of which there are so many, or is the last.
        while self._refused is None or self._may_search:
            turn = _Turn()
            if self._refused is not None:
                await self._choose(turn)
                if not turn.calls:
                    break
            else:
                writer = self._writer()
                async with aclosing(self._write(writer, turn)) as written:
                    async for event in written:
                        yield located(event, writer.joined)
                if turn.calls and not self._may_search:
                    yield self._degraded("NO_ANSWER", "the language model went on searching and wrote no answer; the "
                                                      "closest passage is quoted")
                    turn.calls.clear()
                if not turn.calls:
                    for event in writer.conclude():
                        yield located(event, writer.joined)
                    outcome = writer.outcome
                    break
            async with aclosing(self._search_all(turn.calls)) as searched:
                async for event in searched:
                    yield event
        if self._refused is not None:
            yield self._refused
        yield Finished(outcome, self._stopwatch.durations, self._usage, self._model)

    @property
    def _may_search(self) -> bool:
        return len(self._asked) < self._options.tool_limits.searches_max

    async def _first_search(self) -> AsyncGenerator[Event, None]:
        """Have the model search, remind it once, and search for the question itself where it does not."""
        turn = _Turn()
        await self._choose(turn)
        if not turn.calls:
            logger.info("the language model answered without a search, it is reminded")
            tool_searches_total.labels("reminded").inc()
            self._chat[1] = ChatMessage("user", search_tool.asked(self._query.question, self._texts, reminded=True))
            await self._choose(turn)
        if not turn.calls:
            yield self._degraded("NO_SEARCH", NO_SEARCH)
            turn.calls.append(search_tool.own_call(self._query.question))
        async with aclosing(self._search_all(turn.calls)) as searched:
            async for event in searched:
                yield event

    async def _choose(self, turn: _Turn) -> None:
        """Have the model ask for searches; what it writes instead is not shown."""
        tokens_max = min(CALL_TOKENS_MAX, max(self._options.sampling.tokens_max, CALL_TOKENS_MIN))
        characters = 0
        with self._stopwatch.measure(STAGE):
            async with self._converse(tokens_max=tokens_max) as parts:
                async for part in parts:
                    if isinstance(part, Generation):
                        self._count(part)
                    elif isinstance(part, ToolCall):
                        turn.take(part)
                    elif not turn.calls and (characters := characters + len(part)) > IDLE_CHARACTERS_MAX:
                        return

    async def _write(self, writer: Writer, turn: _Turn) -> AsyncGenerator[Event, None]:
        """Yield the answer's sentences; a call is taken for one as long as nothing was shown."""
        shown = False
        unshown: list[Withheld] = []
        with self._stopwatch.measure("generate"):
            async with (
                self._converse(tokens_max=self._options.sampling.tokens_max) as parts,
                aclosing(_text_of(parts, turn)) as text,
                aclosing(writer.stream(text)) as streamed,
            ):
                async for event in streamed:
                    if isinstance(event, Withheld) and not shown:
                        # « Je vais chercher… » before a call is nothing that a reader should be told of.
                        unshown.append(event)
                        continue
                    shown = shown or isinstance(event, Token)
                    for withheld in unshown:
                        yield withheld
                    unshown.clear()
                    yield event
        if writer.generation is not None:
            self._count(writer.generation)
        if shown and turn.calls:
            turn.calls.clear()
            yield self._degraded("LATE_SEARCH", "the language model asked for a search in the middle of its answer; it "
                                                "was not made")
        if not turn.calls:
            for withheld in unshown:
                yield withheld

    async def _search_all(self, calls: Sequence[ToolCall]) -> AsyncGenerator[Event, None]:
        """Make the searches that are still allowed, and answer every call, as providers demand."""
        self._chat.append(ChatMessage("assistant", "", tool_calls=tuple(calls)))
        for call in calls:
            if not self._may_search:
                self._result = self._texts.enough
            else:
                async with aclosing(self._search_for(call)) as searched:
                    async for event in searched:
                        yield event
                if not self._may_search and self._refused is None:
                    self._result += f"\n\n{self._texts.enough}"
            self._chat.append(ChatMessage("tool", self._result, answers=call))

    async def _search_for(self, call: ToolCall) -> AsyncGenerator[Event, None]:
        """Answer one call; what was found is then in `_result`, and among the sources."""
        codes = self._marking.markers([join(each).passage for each in self._passages], tenant=self._query.tenant)
        asked = replace(call, arguments=without_codes(call.arguments, codes))
        wanted = search_tool.read_arguments(asked, limit=self._query.limit)
        if wanted is None:
            yield self._degraded("NO_QUERY", "the language model asked for a search without saying for what; the "
                                             "question itself was searched for")
            wanted = SearchArguments(self._query.question, self._query.limit)
        repeated = folded(wanted.query) in self._asked
        self._asked.append(folded(wanted.query))
        if repeated:
            tool_searches_total.labels("repeated").inc()
            self._result = self._texts.again
            return
        tool_searches_total.labels("made").inc()
        yield Searching(wanted.query, self._texts.searching.replace("{query}", wanted.query))
        given = {each.passage.chunk_id for each in self._passages}
        query = replace(
            self._query, question=wanted.query, limit=wanted.limit, embedded=True,
            validated=tuple(each for each in self._query.validated if each.response_id not in given),
        )
        found = await self._retriever.find(query, stopwatch=self._stopwatch, deadline=self._deadline)
        self._embedding, passages = found.embedding, found.passages
        for step in found.search_steps:
            yield step
        judged, degradation = await self._judged(passages, query)
        if degradation is not None:
            yield degradation
        likely, degradations = await self._assess(query, found, judged)
        for degradation in degradations:
            yield degradation
        refused = refuse(judged, self._options, text=self._refusal, likely=likely)
        self._join(() if refused is not None else passages)
        if self._refused is not None:
            self._refused = refused
        yield Reranked(tuple(self._passages), found.not_reranked)

    async def _judged(
        self, passages: tuple[RankedPassage, ...], query: Query
    ) -> tuple[tuple[RankedPassage, ...], Degradation | None]:
        """Return the passages scored for the question instead of what the model made of it, or why they are not.

        The threshold of refusals was set on questions, and a model that searches for something else finds that.
        """
        scored = any(each.rerank_score is not None for each in passages)
        if not scored or folded(query.question) == folded(self._query.question) or self._embedding is None:
            return passages, None
        if self._question is None or self._question.space_id != self._embedding.space_id:
            with self._stopwatch.measure("embed"):
                self._question = await self._peers.embed_query(
                    self._query.question, space_id=self._embedding.space_id, tenant=query.tenant,
                    deadline=self._deadline,
                )
        return await self._retriever.rank(
            self._query, self._question, [each.found for each in passages], stopwatch=self._stopwatch,
            deadline=self._deadline,
        )

    async def _assess(
        self, query: Query, found: Found, judged: Sequence[RankedPassage]
    ) -> tuple[float | None, tuple[Degradation, ...]]:
        """Return how likely the question is answered, by the signs of mode injection: those of its own search.

        And what went wrong with them that is not told of the model's search already. What the model found beside
        counts by its score for the question; how close it is to what the model asked for says nothing of that.
        """
        if self._assessor is None or not judged or self._options.answerability_threshold == 0:
            return None, ()
        degradations: tuple[Degradation, ...] = ()
        if folded(query.question) == folded(self._query.question):
            self._own = found
        elif self._own is None:
            own = replace(self._query, embedded=True, neighbours=0, validated=())
            self._own = await self._retriever.find(own, stopwatch=self._stopwatch, deadline=self._deadline)
            degradations = tuple(each for each in self._own.degradations if each not in found.degradations)
        if self._own.embedding is None:  # a search by words alone has no scores to be held against a background's
            return None, degradations
        known = {each.passage.chunk_id for each in self._own.looked_at}
        further = [
            replace(
                each, found=replace(each.found, similarity=None, lexical_score=None), lexical_share=0.0,
                title_share=0.0, time_share=0.0,
            )
            for each in judged if each.passage.chunk_id not in known
        ]
        ranked = sorted((*self._own.looked_at, *further), key=lambda each: each.order, reverse=True)
        with self._stopwatch.measure("assess"):
            likely, degradation = await self._assessor.assess(
                self._query, self._own.embedding, ranked, deadline=self._deadline
            )
        return likely, degradations if degradation is None else (*degradations, degradation)

    def _join(self, passages: Sequence[RankedPassage]) -> None:
        """Number the passages that are new, as far as there is room, and write what the tool answers."""
        new, repeated = taken_in(self._passages, passages, tokens_max=self._options.tool_limits.sources_tokens_max)
        first = len(self._passages) + 1
        self._passages += new
        self._result = search_tool.result(
            [(number, join(each).passage) for number, each in enumerate(new, start=first)], repeated,
            texts=self._texts, messages=self._messages, marking=self._marking, tenant=self._query.tenant,
            refusal=self._refusal,
        )

    def _writer(self) -> Writer:
        assert self._embedding is not None
        return Writer(
            self._peers, self._marking, self._query, self._options, self._messages, self._refusal, self._embedding,
            tuple(self._passages), self._stopwatch, self._deadline, self._opinions,
        )

    def _converse(self, *, tokens_max: int) -> AbstractAsyncContextManager[AsyncIterator[str | ToolCall | Generation]]:
        self._generations += 1
        return self._peers.converse(
            self._chat, replace(self._options.sampling, tokens_max=tokens_max), tools=(self._tool,),
            tenant=self._query.tenant, generation_id=f"{self._answer_id}-{self._generations}", deadline=self._deadline,
        )

    def _count(self, generation: Generation) -> None:
        self._model = generation.model
        self._usage = self._usage.plus(generation.usage)

    def _degraded(self, reason: str, text: str) -> Degradation:
        telemetry.degradations_total.labels(STAGE, reason).inc()
        logger.warning(text)
        return Degradation(STAGE, text)


async def _text_of(
    parts: AsyncIterator[str | ToolCall | Generation], turn: _Turn
) -> AsyncGenerator[str | Generation, None]:
    """Yield what a generation says, and put aside what it asks for."""
    async for part in parts:
        if isinstance(part, ToolCall):
            turn.take(part)
        else:
            yield part
