"""`AnswerService`: questions in, passages and answers out."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import replace
from typing import Any

import grpc.aio

from services.chassis.channels import Deadline
from services.chassis.errors import ServiceError
from services.chassis.ids import new_id
from services.chassis.serving import require, tenant_of
from services.gateway.agents import Agents
from services.gateway.answer_messages import EventStream, duration_messages, passage_messages
from services.gateway.answering import Answerer, AnswerOptions
from services.gateway.peers import SamplingOptions
from services.gateway.retrieval import Mode, Query, Retriever
from services.gateway.settings import GatewaySettings
from services.index.collections import DEFAULT_COLLECTION
from services.index.filters import Filters
from sourcier.gateway.v1 import answer_pb2, answer_pb2_grpc

Context = grpc.aio.ServicerContext[Any, Any]

LIMIT_MAX, CANDIDATES_MAX, PASSAGES_MAX, DEFAULT_LIMIT = 100, 100, 20, 5

_MODES = {
    answer_pb2.SEARCH_MODE_UNSPECIFIED: Mode.RERANKED,
    answer_pb2.SEARCH_MODE_DENSE: Mode.DENSE,
    answer_pb2.SEARCH_MODE_LEXICAL: Mode.LEXICAL,
    answer_pb2.SEARCH_MODE_FUSED: Mode.FUSED,
    answer_pb2.SEARCH_MODE_RERANKED: Mode.RERANKED,
}


class AnswerServer(answer_pb2_grpc.AnswerServiceServicer):
    """Proto on one side, retrieval and answering on the other."""

    def __init__(
        self, retriever: Retriever, answerer: Answerer, settings: GatewaySettings, agents: Agents
    ) -> None:
        self._retriever = retriever
        self._answerer = answerer
        self._settings = settings
        self._agents = agents

    async def Search(self, request: answer_pb2.SearchRequest, context: Context) -> answer_pb2.SearchResponse:
        """Find the passages that a question is closest to."""
        started_at = time.perf_counter()
        limit = request.limit or DEFAULT_LIMIT
        candidates = request.candidates or max(self._settings.candidates, limit)
        require(limit <= LIMIT_MAX, f"limit is {limit}; ask for 1 to {LIMIT_MAX}", field="limit")
        require(limit <= candidates <= CANDIDATES_MAX,
                f"candidates is {candidates}; use {limit} to {CANDIDATES_MAX}", field="candidates")
        require(request.mode in _MODES, f"mode {request.mode} is not known", field="mode")
        query = self._query(
            request, context, mode=_MODES[request.mode], limit=limit, candidates=candidates, exact=request.exact
        )
        found = await self._retriever.find(query, deadline=Deadline.of(context))
        return answer_pb2.SearchResponse(
            passages=passage_messages(found.passages),
            degradations=[answer_pb2.Degradation(stage=entry.stage, reason=entry.reason)
                          for entry in found.degradations],
            durations=duration_messages(found.durations | {"total": time.perf_counter() - started_at}),
        )

    async def Ask(
        self, request: answer_pb2.AskRequest, context: Context
    ) -> AsyncIterator[answer_pb2.AskResponse]:
        """Stream an answer as it is made."""
        settings = self._settings
        limit = request.passages or settings.passages
        candidates = request.candidates or max(settings.candidates, limit)
        require(limit <= PASSAGES_MAX, f"passages is {limit}; use 1 to {PASSAGES_MAX}", field="passages")
        require(limit <= candidates <= CANDIDATES_MAX,
                f"candidates is {candidates}; use {limit} to {CANDIDATES_MAX}", field="candidates")
        rerank = request.rerank if request.HasField("rerank") else settings.rerank
        query = self._query(
            request, context, mode=Mode.RERANKED if rerank else Mode.FUSED, limit=limit, candidates=candidates,
            exact=False,
        )
        query = await self._for_agent(request, query)
        options = self._options(request)
        remaining = context.time_remaining()
        deadline = Deadline.after(settings.ask_seconds_max if remaining is None else remaining)
        answer_id = new_id()
        stream = EventStream(answer_id)
        try:
            events = self._answerer.answer(query, options, answer_id=answer_id, deadline=deadline)
            async with aclosing(events):
                async for event in events:
                    yield stream.response(event)
        except Exception as error:  # outermost of the stream: it ends with exactly one terminal event, bug or not
            # The event is for who reads the stream; the status, set by the interceptor, for who reads that.
            told = error if isinstance(error, ServiceError) else ServiceError()
            yield stream.failed(reason=told.reason, message=told.message)
            raise

    async def _for_agent(self, request: answer_pb2.AskRequest, query: Query) -> Query:
        """Return the question as the agent named is asked it: in its collection, its validated answers first."""
        agent = await self._agents.asked(
            tenant=query.tenant, agent=request.agent, deployment=request.deployment,
            collection=request.filter.collection,
        )
        if agent is None:
            return query
        wanted = request.direct_answers if request.HasField("direct_answers") else self._settings.direct_answers
        return replace(query, collection=agent.collection, agent=agent, direct=wanted)

    def _query(
        self, request: answer_pb2.SearchRequest | answer_pb2.AskRequest, context: Context, *, mode: Mode, limit: int,
        candidates: int, exact: bool,
    ) -> Query:
        question = request.question.strip()
        characters_max = self._settings.question_characters_max
        require(bool(question), "the question is empty; ask one", field="question")
        require(len(question) <= characters_max,
                f"the question has {len(question):,} characters; ask in at most {characters_max:,}", field="question")
        require("\x00" not in question, "the question holds a NUL character; leave it out", field="question")
        filters = request.filter
        return Query(
            tenant=tenant_of(context), question=question, collection=filters.collection or DEFAULT_COLLECTION,
            filters=Filters(
                document_ids=tuple(filters.document_ids), categories=tuple(filters.categories),
                metadata=dict(filters.metadata),
            ),
            mode=mode, limit=limit, candidates=candidates, exact=exact,
        )

    def _options(self, request: answer_pb2.AskRequest) -> AnswerOptions:
        settings = self._settings
        temperature = request.temperature if request.HasField("temperature") else settings.temperature
        require(0 <= temperature <= 2, f"temperature is {temperature:g}; use 0 to 2", field="temperature")
        tokens_max = request.tokens_max or settings.answer_tokens_max
        require(tokens_max <= 32_768, f"tokens_max is {tokens_max}; use 1 to 32,768", field="tokens_max")
        return AnswerOptions(
            sampling=SamplingOptions(
                tokens_max=tokens_max, temperature=temperature,
                seed=request.seed if request.HasField("seed") else None,
            ),
            refusal_threshold=settings.refusal_threshold, refusal_similarity=settings.refusal_similarity,
            quote_threshold=settings.quote_threshold,
            attach_threshold=settings.attach_threshold, refusal_text=settings.refusal_text,
        )
