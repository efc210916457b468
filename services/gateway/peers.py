"""The services behind the gateway, as its domain sees them, and the gRPC clients that reach them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from services.chassis import channels
from services.chassis.channels import Deadline
from services.chassis.errors import FailedPrecondition, ServiceError
from services.gateway.embedding import EmbedServices, QueryEmbedding
from services.gateway.events import Usage
from services.gateway.prompt import Prompt
from sourcier.generate.v1 import generate_pb2, generate_pb2_grpc
from sourcier.ingest.v1 import ingest_pb2_grpc, spaces_pb2_grpc
from sourcier.rerank.v1 import rerank_pb2, rerank_pb2_grpc

LATE_INTERACTION = "late-interaction"
"""The ranker whose scores compare wordings, as the rerank service names it."""


@dataclass(frozen=True)
class RerankCandidate:
    """A passage to score."""

    chunk_id: str
    text: str
    token_codes: bytes


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
        self, *, ingest_url: str, embed_url: str, rerank_url: str, generate_url: str, limits: Limits
    ) -> None:
        self._limits = limits
        self._urls = (ingest_url, rerank_url, generate_url)
        self._embed_url = embed_url
        self.ranker = ""
        """What ranked last, as the rerank service names it; empty before it was asked."""

    async def __aenter__(self) -> Self:
        ingest, rerank, generate = self._channels = (
            channels.open_channel(self._urls[0], idempotent=tuple(
                ("sourcier.ingest.v1.IngestService", method)
                for method in (
                    "GetJob", "ListJobs", "Delete", "DeleteCollection", "UpdateCollection", "ListDeadLetters",
                    "GetDeadLetter",
                )
            )),
            channels.open_channel(self._urls[1], idempotent=(("sourcier.rerank.v1.RerankService", "Rerank"),)),
            channels.open_channel(self._urls[2]),
        )
        self.ingest = ingest_pb2_grpc.IngestServiceStub(ingest)
        self.spaces = spaces_pb2_grpc.SpaceServiceStub(ingest)
        addresses = [url.strip() for url in self._embed_url.split(",") if url.strip()]
        self.embed = EmbedServices(addresses, seconds_max=self._limits.embed_seconds)
        self._rerank = rerank_pb2_grpc.RerankServiceStub(rerank)
        self._generate = generate_pb2_grpc.GenerateServiceStub(generate)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
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
        response = await self._reranked(text, query, candidates, tenant=tenant, deadline=deadline)
        return {ranked.chunk_id: ranked.score for ranked in response.ranked}

    async def late_interaction(
        self, text: str, query: QueryEmbedding, candidates: Sequence[RerankCandidate], *, tenant: str,
        deadline: Deadline,
    ) -> dict[str, float]:
        """Score as `rerank` does; raise FailedPrecondition where another ranker answers, whose scores differ."""
        response = await self._reranked(text, query, candidates, tenant=tenant, deadline=deadline)
        if response.ranker != LATE_INTERACTION:
            raise FailedPrecondition(
                f"the rerank service scores with {response.ranker}, which does not compare wordings; leave "
                "SOURCIER_RERANK_MODEL empty to have sentences compared by late interaction"
            )
        return {ranked.chunk_id: ranked.score for ranked in response.ranked}

    async def _reranked(
        self, text: str, query: QueryEmbedding, candidates: Sequence[RerankCandidate], *, tenant: str,
        deadline: Deadline,
    ) -> rerank_pb2.RerankResponse:
        response: rerank_pb2.RerankResponse = await channels.call(
            self._rerank.Rerank,
            rerank_pb2.RerankRequest(
                query=text, query_vectors=query.token_vectors, query_weights=query.token_weights,
                space_id=query.space_id,
                candidates=[
                    rerank_pb2.Candidate(chunk_id=entry.chunk_id, text=entry.text, token_codes=entry.token_codes)
                    for entry in candidates
                ],
            ),
            peer="rerank", tenant=tenant, deadline=deadline, cap_seconds=self._limits.rerank_seconds,
        )
        self.ranker = response.ranker
        return response

    def generate(
        self, prompt: Prompt, options: SamplingOptions, *, tenant: str, generation_id: str, deadline: Deadline
    ) -> AbstractAsyncContextManager[AsyncIterator[str | Generation]]:
        """Stream the language model's text, then how it ended; leaving the context aborts the generation."""
        return self._generation(prompt, options, tenant=tenant, generation_id=generation_id, deadline=deadline)

    @asynccontextmanager
    async def _generation(
        self, prompt: Prompt, options: SamplingOptions, *, tenant: str, generation_id: str, deadline: Deadline
    ) -> AsyncIterator[AsyncIterator[str | Generation]]:
        sampling = generate_pb2.Sampling(temperature=options.temperature, tokens_max=options.tokens_max)
        if options.seed is not None:
            sampling.seed = options.seed
        request = generate_pb2.GenerateRequest(
            generation_id=generation_id,
            messages=[
                generate_pb2.Message(role=generate_pb2.ROLE_SYSTEM, content=prompt.system),
                generate_pb2.Message(role=generate_pb2.ROLE_USER, content=prompt.user),
            ],
            sampling=sampling, cache_salt=tenant,
        )
        async with channels.stream(
            self._generate.Generate, request, peer="generate", tenant=tenant, deadline=deadline,
            cap_seconds=self._limits.generate_seconds,
        ) as responses:
            yield _parts(responses)


async def _parts(responses: AsyncIterator[generate_pb2.GenerateResponse]) -> AsyncIterator[str | Generation]:
    async for response in responses:
        if response.WhichOneof("part") == "text":
            yield response.text
            continue
        finish = response.finish
        yield Generation(
            truncated=finish.reason == generate_pb2.FINISH_REASON_LENGTH,
            usage=Usage(finish.usage.prompt_tokens, finish.usage.cached_tokens, finish.usage.completion_tokens),
            model=finish.model,
        )
        return
    raise ServiceError("the generate service ended its stream without saying how")
