"""`AnswerService`: questions in, passages and answers out."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Any

import grpc.aio

from sourcier.gateway.v1 import answer_pb2, answer_pb2_grpc
from sourcier.services.chassis.errors import (
    FailedPrecondition,
    InvalidArgument,
    NotFound,
    ServiceError,
    SettingsChanged,
    Unavailable,
)
from sourcier.services.chassis.grpc.channels import Deadline, from_reason
from sourcier.services.chassis.grpc.serving import require, tenant_of
from sourcier.services.chassis.ids import is_id
from sourcier.services.chassis.storable import check_storable
from sourcier.services.gateway.access.daily import DailyUse, Measure, Spending, begin_spending
from sourcier.services.gateway.agents import Agents, AskedAgent
from sourcier.services.gateway.answering.options import AnswerOptions
from sourcier.services.gateway.api.retrieval_options import DEFAULT_LIMIT, RetrievalOptions, RetrievalPlanner
from sourcier.services.gateway.contract.answers import (
    duration_messages,
    narrowed_message,
    passage_messages,
    why_not_message,
)
from sourcier.services.gateway.contract.conversations import kept_history
from sourcier.services.gateway.contract.filters import facets_message, filters_of, first_collection
from sourcier.services.gateway.contract.units import passage_kinds
from sourcier.services.gateway.dialogue.dialogue import Dialogue, Turn
from sourcier.services.gateway.events import Event, Finished
from sourcier.services.gateway.evidence.checking import Thresholds
from sourcier.services.gateway.evidence.citing import Strictness
from sourcier.services.gateway.history import DEFAULT_LANGUAGE, Language, language_of
from sourcier.services.gateway.live.answers import Answers
from sourcier.services.gateway.modes import AnswerMode
from sourcier.services.gateway.peers.services import SamplingOptions
from sourcier.services.gateway.retrieval.explained.explaining import explain
from sourcier.services.gateway.retrieval.explained.why_not import why_not
from sourcier.services.gateway.retrieval.query import Found, Mode, Query
from sourcier.services.gateway.retrieval.question_vector import ComingEmbedding
from sourcier.services.gateway.retrieval.retriever import Retriever
from sourcier.services.gateway.settings import GatewaySettings

Context = grpc.aio.ServicerContext[Any, Any]

NAME_CHARACTERS_MAX = 1_024
"""Of a document that is asked about."""
_STRICTNESSES = {
    answer_pb2.STRICTNESS_UNSPECIFIED: None,
    answer_pb2.STRICTNESS_WITHHOLD: Strictness.WITHHOLD,
    answer_pb2.STRICTNESS_MARK: Strictness.MARK,
}
_ANSWER_MODES = {
    answer_pb2.ANSWER_MODE_UNSPECIFIED: None,
    answer_pb2.ANSWER_MODE_INJECTION: AnswerMode.INJECTION,
    answer_pb2.ANSWER_MODE_TOOLS: AnswerMode.TOOLS,
}


class AnswerServer(answer_pb2_grpc.AnswerServiceServicer):
    """Proto on one side, retrieval and answering on the other."""

    def __init__(
        self, retriever: Retriever, dialogue: Dialogue, settings: GatewaySettings, answers: Answers, agents: Agents,
        planner: RetrievalPlanner, daily: DailyUse,
    ) -> None:
        self._retriever = retriever
        self._dialogue = dialogue
        self._settings = settings
        self._answers = answers
        self._agents = agents
        self._planner = planner
        self._daily = daily

    async def Search(self, request: answer_pb2.SearchRequest, context: Context) -> answer_pb2.SearchResponse:
        """Find the passages that a question is closest to."""
        started_at = time.perf_counter()
        deadline = Deadline.of(context)
        query = await self._within(request.filter, self._query(request, context), deadline)
        require(len(request.why_not) <= NAME_CHARACTERS_MAX, f"why_not has {len(request.why_not):,} characters; name a "
                f"document by at most {NAME_CHARACTERS_MAX:,}", field="why_not")
        check_storable(request.why_not, field="why_not")
        async with self._retriever.embedding_of(query, deadline=deadline) as coming:
            found, query = await self._found(request, query, coming, deadline=deadline)
            fallen = await why_not(
                self._retriever, self._planner.scoping, query, found, name=name, coming=coming, deadline=deadline
            ) if (name := request.why_not.strip()) else None
        explanations = await asyncio.to_thread(
            explain, found.passages, looked_at=found.looked_at, question=query.question, language=query.language
        ) if request.explain else ()
        return answer_pb2.SearchResponse(
            passages=passage_messages(found.passages, explanations),
            degradations=[answer_pb2.Degradation(stage=entry.stage, reason=entry.reason)
                          for entry in found.degradations],
            durations=duration_messages(found.durations | {"total": time.perf_counter() - started_at}),
            narrowed=None if found.narrowed is None else narrowed_message(found.narrowed),
            why_not=None if fallen is None else why_not_message(fallen),
        )

    async def GetFacets(
        self, request: answer_pb2.GetFacetsRequest, context: Context
    ) -> answer_pb2.GetFacetsResponse:
        """Count the values of the documents' fields under a filter."""
        deadline = Deadline.of(context)
        asked = request.filter
        require(not (asked.kinds or asked.chunk_types), "filter.kinds and filter.chunk_types are about passages, and "
                "documents are counted; leave them out", field="filter")
        check_storable(*request.fields, field="fields")
        everywhere = self._asked(asked, "", language=DEFAULT_LANGUAGE, tenant=tenant_of(context))
        query = await self._within(asked, everywhere, deadline)
        counts = await self._planner.scoping.count_values(
            query, fields=request.fields, limit=request.limit, deadline=deadline
        )
        return facets_message(counts)

    async def _found(
        self, request: answer_pb2.SearchRequest, query: Query, coming: ComingEmbedding, *, deadline: Deadline
    ) -> tuple[Found, Query]:
        """Search as the collection was searched before, and anew where it is to be searched otherwise by now; return
        the question as it was searched for, too."""
        planner, tenant, collection = self._planner, query.tenant, query.settings_collection
        expected: RetrievalOptions | None = None
        failed: ServiceError | None = None
        try:
            expected = planner.expected(request, tenant=tenant, collection=collection) if collection else None
            if expected is not None:
                if Mode(expected.mode) is not Mode.LEXICAL and self._retriever.has_room:
                    # Waited for longest, so begun before the rest is planned; but not ahead of its tenant's turn.
                    await coming.begin(expected.space_id)
                believing = replace(_planned(query, request, expected), believed=expected.held)
                found = await self._retriever.find(believing, deadline=deadline, coming=coming)
                if found.embedding is not None and found.embedding.space_id != expected.space_id:
                    planner.forget(tenant=tenant, collection=collection)
                return found, believing
        except (FailedPrecondition, InvalidArgument, NotFound, Unavailable) as error:
            # Of the collection as it was, perhaps: other settings, another space, which nobody serves any more.
            failed = error
        options = await planner.for_search(request, tenant=tenant, collection=collection, deadline=deadline)
        # Settings that were others for a moment are no reason to refuse a search.
        if failed is not None and options == expected and not isinstance(failed, SettingsChanged):
            raise failed
        query = _planned(query, request, options)
        return await self._retriever.find(query, deadline=deadline, coming=coming), query

    async def Ask(
        self, request: answer_pb2.AskRequest, context: Context
    ) -> AsyncIterator[answer_pb2.AskResponse]:
        """Stream an answer as it is made."""
        settings = self._settings
        query = self._query(request, context)
        await self._daily.check(Measure.TOKENS, tenant=query.tenant)
        turn = await self._turn(request, context)
        query = await self._for_agent(request, query)
        query = await self._within(request.filter, query, Deadline.of(context))
        query = planned(query, await self._planner.for_question(
            request, preferred=turn.rerank, tenant=query.tenant, collection=query.settings_collection,
            deadline=Deadline.of(context),
        ), kinds=request.filter.kinds)
        options = self._options(request, query.agent)
        deadline = Deadline.of(context, default_seconds=settings.ask_seconds_max)
        answer = self._answers.start(
            lambda answer_id: self._counted(
                self._dialogue.answer(turn, query, options, answer_id=answer_id, deadline=deadline), query.tenant
            ),
            tenant=query.tenant,
        )
        async with aclosing(answer.read(after_sequence=0)) as events:
            async for event in events:
                yield answer_pb2.AskResponse(event=event)
        # The event is for who reads the stream; the status, set by the interceptor, for who reads that.
        if answer.error is not None:
            raise answer.error

    async def _counted(self, events: AsyncGenerator[Event, None], tenant: str) -> AsyncGenerator[Event, None]:
        """Pass an answer on, and count at its end what it used, however it ended."""
        spending = Spending()
        begin_spending(spending)
        try:
            async with aclosing(events):
                async for event in events:
                    if isinstance(event, Finished):
                        # Before it is told: whoever asks the next question then meets the count.
                        await self._daily.add(Measure.TOKENS, spending.taken(), tenant=tenant)
                    yield event
        finally:
            await self._daily.add(Measure.TOKENS, spending.taken(), tenant=tenant)

    async def Resume(
        self, request: answer_pb2.ResumeRequest, context: Context
    ) -> AsyncIterator[answer_pb2.ResumeResponse]:
        """Stream the rest of an answer that any gateway makes or made."""
        failed: answer_pb2.Failed | None = None
        events = self._answers.resume(
            tenant=tenant_of(context), answer_id=_checked_id(request.answer_id), after_sequence=request.after_sequence
        )
        async with aclosing(events):
            async for event in events:
                yield answer_pb2.ResumeResponse(event=event)
                failed = event.failed if event.HasField("failed") else None
        if failed is not None:
            raise from_reason(failed.reason, failed.message)

    async def Cancel(self, request: answer_pb2.CancelRequest, context: Context) -> answer_pb2.CancelResponse:
        """Stop an answer that any gateway makes."""
        stopped = await self._answers.cancel(tenant=tenant_of(context), answer_id=_checked_id(request.answer_id))
        return answer_pb2.CancelResponse(stopped=stopped)

    async def _turn(self, request: answer_pb2.AskRequest, context: Context) -> Turn:
        kept = request.keep if request.HasField("keep") else True
        require(bool(request.conversation_id) or not request.HasField("keep") or not request.keep,
                "keep is true, and conversation_id is empty; name the conversation to keep it in", field="keep")
        require(not (request.conversation_id and request.history),
                "history is given beside conversation_id, which has its own; send one of the two", field="history")
        return await self._dialogue.open(
            tenant=tenant_of(context), conversation_id=request.conversation_id, keep=kept,
            history=kept_history(request.history), deadline=Deadline.of(context),
        )

    async def _for_agent(self, request: answer_pb2.AskRequest, query: Query) -> Query:
        """Return the question as the agent named is asked it: in its collection, its validated answers first."""
        agent = await self._agents.asked(
            tenant=query.tenant, agent=request.agent, deployment=request.deployment,
            collection=request.filter.collection,
        )
        if agent is None:
            return query
        require(not (request.filter.collections or request.filter.all_collections),
                f"the agent {agent.name!r} answers from its own collection; leave out filter.collections and "
                "filter.all_collections", field="filter.collections")
        wanted = request.direct_answers if request.HasField("direct_answers") else self._settings.direct_answers
        return replace(query, collection=agent.collection, agent=agent, direct=wanted)

    def _query(self, request: answer_pb2.SearchRequest | answer_pb2.AskRequest, context: Context) -> Query:
        """Return the question and where to look; how is still to be planned."""
        question = request.question.strip()
        characters_max = self._settings.question_characters_max
        require(bool(question), "the question is empty; ask one", field="question")
        require(len(question) <= characters_max,
                f"the question has {len(question):,} characters; ask in at most {characters_max:,}", field="question")
        check_storable(question, field="question")
        return self._asked(
            request.filter, question, language=language_of(question, default=self._settings.default_language),
            tenant=tenant_of(context),
        )

    def _asked(
        self, filters: answer_pb2.SearchFilter, question: str, *, language: Language, tenant: str
    ) -> Query:
        check_storable(filters.collection, *filters.collections, field="filter.collection")
        return Query(
            tenant=tenant, question=question, collection=first_collection(filters), filters=filters_of(filters),
            mode=Mode.RERANKED, limit=DEFAULT_LIMIT, candidates=self._settings.candidates, language=language,
        )

    async def _within(self, filters: answer_pb2.SearchFilter, query: Query, deadline: Deadline) -> Query:
        """Return the question in the collections that are asked for, its filter checked against their documents."""
        return await self._planner.scoping.scoped(
            query, others=filters.collections, everything=filters.all_collections, deadline=deadline
        )

    def _options(self, request: answer_pb2.AskRequest, agent: AskedAgent | None) -> AnswerOptions:
        settings = self._settings
        require(request.mode in _ANSWER_MODES, f"mode {request.mode} is not known; use ANSWER_MODE_INJECTION or "
                "ANSWER_MODE_TOOLS, or leave it out", field="mode")
        # The request's word goes before the deployment's, and that before the service's.
        deployed = agent.settings if agent is not None else None
        mode = _ANSWER_MODES[request.mode] or (deployed and deployed.mode) or AnswerMode(settings.mode)
        analyse = deployed.analyse if deployed is not None and deployed.analyse is not None else settings.analyse
        by_default = settings.tools_temperature if mode is AnswerMode.TOOLS else settings.temperature
        temperature = request.temperature if request.HasField("temperature") else by_default
        require(0 <= temperature <= 2, f"temperature is {temperature:g}; use 0 to 2", field="temperature")
        tokens_max = request.tokens_max or settings.answer_tokens_max
        require(tokens_max <= 32_768, f"tokens_max is {tokens_max}; use 1 to 32,768", field="tokens_max")
        require(request.strictness in _STRICTNESSES, f"strictness {request.strictness} is not known; use "
                "STRICTNESS_WITHHOLD or STRICTNESS_MARK, or leave it out", field="strictness")
        threshold = settings.answerability_threshold
        if request.HasField("answerability_threshold"):
            threshold = request.answerability_threshold
            require(0 <= threshold <= 1, f"answerability_threshold is {threshold:g}; use 0 to 1",
                    field="answerability_threshold")
        return AnswerOptions(
            sampling=SamplingOptions(
                tokens_max=tokens_max, temperature=temperature,
                seed=request.seed if request.HasField("seed") else None,
            ),
            closeness=settings.closeness, answerability_threshold=threshold,
            cross_encoder_threshold=settings.cross_encoder_threshold, quote_threshold=settings.quote_threshold,
            support=Thresholds(
                score=settings.support_threshold, vectors=settings.support_vectors_threshold,
                share=settings.support_share_threshold,
            ),
            strictness=_STRICTNESSES.get(request.strictness) or Strictness(settings.strictness),
            refusal_text=settings.refusal_text,
            extract_answers=(
                request.extract_answers if request.HasField("extract_answers") else settings.extract_answers
            ),
            judge=request.judge if request.HasField("judge") else None,
            judge_question=request.judge_question if request.HasField("judge_question") else None,
            mode=mode, tool_limits=settings.tool_limits, sources_characters_max=settings.sources_characters_max,
            analyse=request.analyse if request.HasField("analyse") else analyse,
        )


def planned(query: Query, options: RetrievalOptions, *, kinds: Sequence[int]) -> Query:
    """Return the question as it is to be searched for; raise InvalidArgument for kinds that this mode cannot find."""
    mode = Mode(options.mode)
    return replace(
        query, mode=mode, kinds=passage_kinds(kinds, mode=mode), limit=options.limit,
        candidates=options.candidates, exact=options.exact,
        result_threshold=options.result_threshold, suppress_duplicates=options.suppress_duplicates,
        neighbours=options.neighbours, neighbour_tokens=options.neighbour_tokens,
        detect_categories=options.detect_categories,
    )


def _planned(query: Query, request: answer_pb2.SearchRequest, options: RetrievalOptions) -> Query:
    # A question of an answer may be rewritten for seconds before it is searched for, and looks its space up then.
    return replace(planned(query, options, kinds=request.filter.kinds), space_id=options.space_id)


def _checked_id(answer_id: str) -> str:
    require(is_id(answer_id) and len(answer_id) == 36,
            f"{answer_id[:80]!r} is not an answer's id; each of its events carries it", field="answer_id")
    return answer_id.lower()
