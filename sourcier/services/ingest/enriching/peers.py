"""The services that enriching calls, and the gRPC clients that reach them."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Self

import grpc.aio
import numpy as np

from sourcier.embed.v1 import embed_pb2, embed_pb2_grpc
from sourcier.generate.v1 import generate_pb2, generate_pb2_grpc
from sourcier.services.chassis.errors import ServiceError, Unavailable
from sourcier.services.chassis.grpc import channels
from sourcier.services.chassis.grpc.channels import Deadline, Identity
from sourcier.services.ingest.enriching.output import Usage
from sourcier.services.ingest.enriching.prompt import UnitPrompt

LOOK_SECONDS = 30.0
"""How long what an embed service said of itself is believed."""
EMBED_SECONDS_MAX = 90.0
DESCRIBE_SECONDS_MAX = 2.0
TEXTS_MAX = 32


@dataclass(frozen=True)
class Sampling:
    """How the language model chooses tokens."""

    tokens_max: int
    temperature: float
    seed: int


@dataclass(frozen=True)
class Generated:
    """The end of a generation."""

    output: str
    usage: Usage
    cut: bool
    """Whether it ended at its limit of tokens, in the middle of the output."""


class _EmbedService:
    def __init__(self, url: str, *, identity: Identity) -> None:
        self.channel: grpc.aio.Channel = channels.open_channel(
            url, idempotent=(("sourcier.embed.v1.EmbedService", "Embed"),), identity=identity
        )
        self.stub = embed_pb2_grpc.EmbedServiceStub(self.channel)
        self.space_id = ""


class EnrichingPeers:
    """Clients of the generate service and of the embed services; use it as an async context manager."""

    def __init__(
        self, *, generate_url: str, embed_url: str, generate_seconds_max: float, wait_seconds_max: float = 0.0,
        identity: Identity = channels.NOBODY,
    ) -> None:
        """Name the generate service, and the embed services by comma; each of these serves one space.

        A generation has its time beside that for which it leaves the model to people's questions.
        """
        self._generate_url = generate_url
        self._embed_urls = [url.strip() for url in embed_url.split(",") if url.strip()]
        self._generate_seconds_max = generate_seconds_max + wait_seconds_max
        self._identity = identity
        self._looked_at = 0.0

    async def __aenter__(self) -> Self:
        self._channel = channels.open_channel(self._generate_url, identity=self._identity)
        self._generate = generate_pb2_grpc.GenerateServiceStub(self._channel)
        self._services = [_EmbedService(url, identity=self._identity) for url in self._embed_urls]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._channel.close()
        for service in self._services:
            await service.channel.close()

    async def generate(
        self, prompt: UnitPrompt, sampling: Sampling, *, tenant: str, generation_id: str
    ) -> Generated:
        """Return the model's output and what it used; raise `DeadlineExceeded` and what the service raises."""
        request = generate_pb2.GenerateRequest(
            generation_id=generation_id,
            messages=[
                generate_pb2.Message(role=generate_pb2.ROLE_SYSTEM, content=prompt.system),
                generate_pb2.Message(role=generate_pb2.ROLE_USER, content=prompt.user),
            ],
            sampling=generate_pb2.Sampling(
                temperature=sampling.temperature, tokens_max=sampling.tokens_max, seed=sampling.seed
            ),
            json_schema=prompt.json_schema, cache_salt=tenant, priority=generate_pb2.PRIORITY_BULK,
        )
        deadline = Deadline.after(self._generate_seconds_max)
        parts: list[str] = []
        async with channels.stream(
            self._generate.Generate, request, peer="generate", tenant=tenant, deadline=deadline,
            cap_seconds=self._generate_seconds_max,
        ) as responses:
            async for response in responses:
                if response.WhichOneof("part") == "text":
                    parts.append(response.text)
                    continue
                finish = response.finish
                usage = Usage(finish.model, finish.usage.prompt_tokens, finish.usage.completion_tokens)
                cut = finish.reason == generate_pb2.FINISH_REASON_LENGTH
                # What is made of the extract is shown to people, who may not see what delimits it.
                return Generated("".join(parts).replace(prompt.code, ""), usage, cut=cut)
        raise ServiceError("the generate service ended its stream without saying how")

    async def served_spaces(self, *, tenant: str) -> tuple[str, ...]:
        """Return the ids of the spaces that embed services serve now."""
        if time.monotonic() - self._looked_at > LOOK_SECONDS:
            for service in self._services:
                service.space_id = await self._space_of(service, tenant=tenant)
            # Who is away is asked again at once.
            if all(service.space_id for service in self._services):
                self._looked_at = time.monotonic()
        return tuple(dict.fromkeys(service.space_id for service in self._services if service.space_id))

    async def embed(
        self, texts: Sequence[str], *, query: bool, space_id: str, tenant: str
    ) -> list[bytes]:
        """Embed texts, as questions or as passages; return vectors of float16, little-endian, L2 norm 1."""
        service = next((each for each in self._services if each.space_id == space_id), None)
        if service is None:
            raise Unavailable(f"no embed service serves the space {space_id} now")
        vectors: list[bytes] = []
        for start in range(0, len(texts), TEXTS_MAX):
            request = embed_pb2.EmbedRequest(
                space_id=space_id, texts=texts[start : start + TEXTS_MAX],
                role=embed_pb2.TEXT_ROLE_QUERY if query else embed_pb2.TEXT_ROLE_PASSAGE,
                priority=embed_pb2.PRIORITY_BULK,
            )
            try:
                response: embed_pb2.EmbedResponse = await channels.call(
                    service.stub.Embed, request, peer="embed", tenant=tenant,
                    deadline=Deadline.after(EMBED_SECONDS_MAX), cap_seconds=EMBED_SECONDS_MAX,
                )
            except ServiceError:
                self._looked_at = 0.0
                raise
            vectors += [
                np.frombuffer(embedding.vector, dtype="<f4").astype("<f2").tobytes()
                for embedding in response.embeddings
            ]
        return vectors

    async def _space_of(self, service: _EmbedService, *, tenant: str) -> str:
        try:
            said: embed_pb2.DescribeResponse = await channels.call(
                service.stub.Describe, embed_pb2.DescribeRequest(), peer="embed", tenant=tenant,
                deadline=Deadline.after(DESCRIBE_SECONDS_MAX), cap_seconds=DESCRIBE_SECONDS_MAX,
            )
        except ServiceError:
            return ""
        return said.space_id
