"""The services behind the gateway, as its domain sees them, and the gRPC clients that reach them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from dataclasses import dataclass
from types import TracebackType
from typing import Self

import grpc.aio

from sourcier.generate.v1 import generate_pb2, generate_pb2_grpc
from sourcier.ingest.v1 import ingest_pb2_grpc, originals_pb2_grpc, spaces_pb2_grpc
from sourcier.rerank.v1 import rerank_pb2, rerank_pb2_grpc
from sourcier.services.chassis.errors import ServiceError
from sourcier.services.chassis.grpc import channels
from sourcier.services.chassis.grpc.channels import Deadline, Identity
from sourcier.services.gateway.access.daily import spend
from sourcier.services.gateway.chat import ChatMessage, Prompt, ToolCall, ToolDefinition
from sourcier.services.gateway.events import Usage
from sourcier.services.gateway.peers.embedding import EmbedServices, QueryEmbedding
from sourcier.services.gateway.peers.entailing import EntailmentOffer, Relation
from sourcier.services.gateway.peers.releases import is_of
from sourcier.services.gateway.peers.reranking import RerankCandidate, Reranking

TOKEN_CHARACTERS = 4
"""About how many characters a token has, where a generation was broken off before the model told."""


@dataclass(frozen=True)
class Generation:
    """The end of a generation."""

    truncated: bool
    usage: Usage
    model: str


@dataclass(frozen=True)
class SamplingOptions:
    """How the language model chooses tokens."""

    tokens_max: int
    temperature: float
    seed: int | None


@dataclass(frozen=True)
class Limits:
    """The longest time for each call; the caller's deadline may be shorter."""

    embed_seconds: float
    rerank_seconds: float
    generate_seconds: float


class Peers:
    """Clients of the other services; use it as an async context manager."""

    def __init__(
        self, *, ingest_url: str, embed_url: str, rerank_url: str, generate_url: str, limits: Limits,
        ranks_here: bool = True, identity: Identity = channels.NOBODY,
    ) -> None:
        """`ranks_here` lets the gateway re-rank by late interaction itself; `identity` is shown to all."""
        self._limits = limits
        self._ranks_here = ranks_here
        self._urls = (ingest_url, rerank_url, generate_url)
        self._embed_url = embed_url
        self._identity = identity

    async def __aenter__(self) -> Self:
        ingest, rerank, generate = self._channels = (
            channels.open_channel(self._urls[0], idempotent=tuple(
                ("sourcier.ingest.v1.IngestService", method)
                for method in (
                    "GetJob", "ListJobs", "Delete", "DeleteCollection", "UpdateCollection", "ListDeadLetters",
                    "GetDeadLetter",
                )
            ), identity=self._identity),
            channels.open_channel(
                self._urls[1], idempotent=(("sourcier.rerank.v1.RerankService", "Rerank"),), identity=self._identity
            ),
            channels.open_channel(self._urls[2], identity=self._identity),
        )
        self.ingest = ingest_pb2_grpc.IngestServiceStub(ingest)
        self.originals = originals_pb2_grpc.OriginalServiceStub(ingest)
        self.spaces = spaces_pb2_grpc.SpaceServiceStub(ingest)
        addresses = [url.strip() for url in self._embed_url.split(",") if url.strip()]
        self.embed = EmbedServices(addresses, seconds_max=self._limits.embed_seconds, identity=self._identity)
        self._rerank = rerank_pb2_grpc.RerankServiceStub(rerank)
        self.reranking = Reranking(self._rerank, here=self._ranks_here, seconds_max=self._limits.rerank_seconds)
        self._generate = generate_pb2_grpc.GenerateServiceStub(generate)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.reranking.close()
        await self.embed.close()
        for channel in self._channels:
            await channel.close()

    async def embed_query(self, text: str, *, space_id: str, tenant: str, deadline: Deadline) -> QueryEmbedding:
        """Embed a question, or a sentence of an answer, with its token vectors, into a space."""
        return await self.embed.embed_query(text, space_id=space_id, tenant=tenant, deadline=deadline)

    async def rerank(
        self, text: str, query: QueryEmbedding, candidates: Sequence[RerankCandidate], *, tenant: str,
        deadline: Deadline,
    ) -> dict[str, float]:
        """Score candidates; return the score of each chunk id."""
        return await self.reranking.rerank(text, query, candidates, tenant=tenant, deadline=deadline)

    async def late_interaction(
        self, text: str, query: QueryEmbedding, candidates: Sequence[RerankCandidate], *, tenant: str,
        deadline: Deadline,
    ) -> dict[str, float]:
        """Score by late interaction, whatever re-ranks; raise as `Reranking.late_interaction`."""
        return await self.reranking.late_interaction(text, query, candidates, tenant=tenant, deadline=deadline)

    async def of_release(self, release: str, *, deadline: Deadline) -> dict[str, bool]:
        """Return whether each service that answers is of a release, by its name; of several replicas one is asked."""
        known = {**dict(zip(("ingest", "rerank", "generate"), self._channels, strict=True)), **self.embed.channels}
        found: dict[str, bool] = {}

        async def look(name: str, channel: grpc.aio.Channel) -> None:
            with suppress(ServiceError):  # that a service is away is told by the check of its name
                found[name] = await is_of(channel, release, seconds_max=deadline.remaining())

        await asyncio.gather(*(look(name, channel) for name, channel in known.items()))
        return {name: found[name] for name in known if name in found}

    async def language_model_reached(self) -> None:
        """Wait for as long as the generate service cannot be reached: it listens once its model is warm."""
        await self._channels[2].channel_ready()

    @property
    def ranker(self) -> str:
        """What re-ranks, as the rerank service names it; empty before it was asked."""
        return self.reranking.ranker

    async def rerank_model(self, *, tenant: str, deadline: Deadline) -> str:
        """Return what the rerank service ranks by, as it names it."""
        described: rerank_pb2.DescribeResponse = await channels.call(
            self._rerank.Describe, rerank_pb2.DescribeRequest(), peer="rerank", tenant=tenant, deadline=deadline,
            cap_seconds=self._limits.rerank_seconds,
        )
        return described.ranker

    async def entailment_model(self, *, tenant: str, deadline: Deadline) -> EntailmentOffer:
        """Return what the rerank service's entailment model is."""
        described: rerank_pb2.DescribeResponse = await channels.call(
            self._rerank.Describe, rerank_pb2.DescribeRequest(), peer="rerank", tenant=tenant, deadline=deadline,
            cap_seconds=self._limits.rerank_seconds,
        )
        return EntailmentOffer(described.entailment_model, described.entailment_window_tokens)

    async def entailment(self, premise: str, hypothesis: str, *, tenant: str, deadline: Deadline) -> float:
        """Return the probability that a text says what a sentence says, as the entailment model sees it."""
        response: rerank_pb2.EntailResponse = await channels.call(
            self._rerank.Entail, rerank_pb2.EntailRequest(premise=premise, hypotheses=[hypothesis]), peer="rerank",
            tenant=tenant, deadline=deadline, cap_seconds=self._limits.rerank_seconds,
        )
        (found,) = response.entailments
        return found.entailment

    async def read(
        self, windows: Sequence[str], sentence: str, *, question: str, tenant: str, deadline: Deadline
    ) -> list[Relation]:
        """Return what each window is to a sentence that answers the question, as the entailment model sees it."""
        response: rerank_pb2.EntailResponse = await channels.call(
            self._rerank.Entail,
            rerank_pb2.EntailRequest(premises=windows, hypotheses=[sentence], question=question), peer="rerank",
            tenant=tenant, deadline=deadline, cap_seconds=self._limits.rerank_seconds,
        )
        return [Relation(each.entailment, each.contradiction) for each in response.entailments]

    async def score(
        self, prompt: Prompt, choices: Sequence[str], *, tenant: str, deadline: Deadline
    ) -> tuple[dict[str, float], Usage]:
        """Return the natural logarithm of the probability that the language model's answer begins with each choice."""
        response: generate_pb2.ScoreResponse = await channels.call(
            self._generate.Score,
            generate_pb2.ScoreRequest(messages=_messages(prompt), choices=choices, cache_salt=tenant),
            peer="generate", tenant=tenant, deadline=deadline, cap_seconds=self._limits.generate_seconds,
        )
        used = response.usage
        spend(used.prompt_tokens + used.completion_tokens)
        return (
            {each.choice: each.log_probability for each in response.scores},
            Usage(used.prompt_tokens, used.cached_tokens, used.completion_tokens),
        )

    async def language_model(self, *, tenant: str, deadline: Deadline) -> str:
        """Return the language model's name."""
        described: generate_pb2.DescribeResponse = await channels.call(
            self._generate.Describe, generate_pb2.DescribeRequest(), peer="generate", tenant=tenant, deadline=deadline,
            cap_seconds=self._limits.generate_seconds,
        )
        return described.model

    def generate(
        self, prompt: Prompt, options: SamplingOptions, *, tenant: str, generation_id: str, deadline: Deadline,
        by_sentence: bool = False,
    ) -> AbstractAsyncContextManager[AsyncIterator[str | Generation]]:
        """Stream the language model's text, then how it ended; leaving the context aborts the generation.

        `by_sentence` is for who has use for whole sentences alone: after the first one text comes in few pieces.
        """
        return self._generation(
            prompt, options, tenant=tenant, generation_id=generation_id, deadline=deadline, by_sentence=by_sentence
        )

    @asynccontextmanager
    async def _generation(
        self, prompt: Prompt, options: SamplingOptions, *, tenant: str, generation_id: str, deadline: Deadline,
        by_sentence: bool,
    ) -> AsyncIterator[AsyncIterator[str | Generation]]:
        sampling = generate_pb2.Sampling(temperature=options.temperature, tokens_max=options.tokens_max)
        if options.seed is not None:
            sampling.seed = options.seed
        request = generate_pb2.GenerateRequest(
            generation_id=generation_id,
            messages=_messages(prompt), sampling=sampling, cache_salt=tenant, by_sentence=by_sentence,
        )
        tally = _Tally(len(prompt.system) + len(prompt.user))
        try:
            async with self._generated(request, tenant=tenant, deadline=deadline) as responses:
                yield _texts(responses, tally)
        finally:
            tally.spend()

    @asynccontextmanager
    async def converse(
        self, messages: Sequence[ChatMessage], options: SamplingOptions, *, tenant: str, generation_id: str,
        deadline: Deadline, tools: Sequence[ToolDefinition] = (), json_schema: str = "",
    ) -> AsyncIterator[AsyncIterator[str | ToolCall | Generation]]:
        """Stream the language model's text and the tools that it asks for, then how it ended.

        Leaving the context aborts the generation. FailedPrecondition where the model takes no tools.
        """
        sampling = generate_pb2.Sampling(temperature=options.temperature, tokens_max=options.tokens_max)
        if options.seed is not None:
            sampling.seed = options.seed
        request = generate_pb2.GenerateRequest(
            generation_id=generation_id, messages=map(_message, messages), sampling=sampling, cache_salt=tenant,
            json_schema=json_schema,
            tools=[generate_pb2.Tool(name=tool.name, description=tool.description, parameters=tool.parameters)
                   for tool in tools],
        )
        tally = _Tally(sum(len(message.content) for message in messages))
        try:
            async with self._generated(request, tenant=tenant, deadline=deadline) as responses:
                yield _parts(responses, tally)
        finally:
            tally.spend()

    def _generated(
        self, request: generate_pb2.GenerateRequest, *, tenant: str, deadline: Deadline
    ) -> AbstractAsyncContextManager[AsyncIterator[generate_pb2.GenerateResponse]]:
        return channels.stream(
            self._generate.Generate, request, peer="generate", tenant=tenant, deadline=deadline,
            cap_seconds=self._limits.generate_seconds,
        )


def _messages(prompt: Prompt) -> list[generate_pb2.Message]:
    return [
        generate_pb2.Message(role=generate_pb2.ROLE_SYSTEM, content=prompt.system),
        generate_pb2.Message(role=generate_pb2.ROLE_USER, content=prompt.user),
    ]


_ROLES = {
    "system": generate_pb2.ROLE_SYSTEM, "user": generate_pb2.ROLE_USER, "assistant": generate_pb2.ROLE_ASSISTANT,
    "tool": generate_pb2.ROLE_TOOL,
}


def _message(message: ChatMessage) -> generate_pb2.Message:
    return generate_pb2.Message(
        role=_ROLES[message.role], content=message.content,
        tool_calls=[generate_pb2.ToolCall(id=call.id, name=call.name, arguments=call.arguments)
                    for call in message.tool_calls],
        tool_call_id=message.answers.id if message.answers else "",
        tool_name=message.answers.name if message.answers else "",
    )


class _Tally:
    """What a generation used: as the model counts, or by its characters where it was broken off before that."""

    def __init__(self, characters: int) -> None:
        self.characters = characters
        self.ended: Generation | None = None

    def spend(self) -> None:
        """Note it for the call that is served."""
        if self.ended is None:
            spend(self.characters // TOKEN_CHARACTERS)
        else:
            spend(self.ended.usage.prompt_tokens + self.ended.usage.completion_tokens)


async def _texts(
    responses: AsyncIterator[generate_pb2.GenerateResponse], tally: _Tally
) -> AsyncIterator[str | Generation]:
    """Yield the text of a model that was offered no tools, then how it ended."""
    # Beside `_parts`, not on top of it: each token would pass through one generator more.
    async for response in responses:
        if response.WhichOneof("part") == "text":
            tally.characters += len(response.text)
            yield response.text
        elif response.HasField("finish"):
            await _to_the_end(responses)
            tally.ended = _ended(response.finish)
            yield tally.ended
            return
    raise _broken_off()


async def _parts(
    responses: AsyncIterator[generate_pb2.GenerateResponse], tally: _Tally
) -> AsyncIterator[str | ToolCall | Generation]:
    async for response in responses:
        part = response.WhichOneof("part")
        if part == "text":
            tally.characters += len(response.text)
            yield response.text
        elif part == "tool_call":
            yield ToolCall(response.tool_call.id, response.tool_call.name, response.tool_call.arguments)
        else:
            await _to_the_end(responses)
            tally.ended = _ended(response.finish)
            yield tally.ended
            return
    raise _broken_off()


async def _to_the_end(responses: AsyncIterator[generate_pb2.GenerateResponse]) -> None:
    # A call that is cancelled while its status is on the way counts as cancelled, and is an error in the other's log.
    async for _ in responses:
        pass


def _ended(finish: generate_pb2.Finish) -> Generation:
    return Generation(
        truncated=finish.reason == generate_pb2.FINISH_REASON_LENGTH,
        usage=Usage(finish.usage.prompt_tokens, finish.usage.cached_tokens, finish.usage.completion_tokens),
        model=finish.model,
    )


def _broken_off() -> ServiceError:
    return ServiceError("the generate service ended its stream without saying how")
