"""The embed services behind the gateway, each found by the embedding space that it serves.

While a collection moves to another model there are two of them. What each one serves is asked, never configured, and
asked again: after a failure, for a space that nobody serves yet, and now and then.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass

import grpc.aio
import numpy as np
import numpy.typing as npt

from sourcier.embed.v1 import embed_pb2, embed_pb2_grpc
from sourcier.services.chassis.errors import DeadlineExceeded, ServiceError, SpaceMismatch, Unavailable
from sourcier.services.chassis.grpc import channels
from sourcier.services.chassis.grpc.channels import Deadline, Identity

logger = logging.getLogger(__name__)

PEER = "embed"
LOOK_SECONDS = 60.0
"""How long what a service said of itself is believed."""
LOOK_AGAIN_SECONDS = 0.5
"""How soon services are asked again for a space that none of them served."""
DESCRIBE_SECONDS_MAX = 2.0
TEXTS_MAX = 64
"""In one call, without token vectors."""
PASSAGES_MAX = 16
"""In one call: with their token vectors, so many of the longest stay within the limit of a message."""


_PRIORITIES = {False: embed_pb2.PRIORITY_QUESTION, True: embed_pb2.PRIORITY_BULK}


@dataclass(frozen=True)
class QueryEmbedding:
    """A question's vectors."""

    space_id: str
    vector: npt.NDArray[np.float32]
    """Pooled, shape (dimension,), L2 norm 1."""
    token_vectors: bytes
    """float32 rows, as the rerank service takes them."""
    token_weights: tuple[float, ...]


@dataclass(frozen=True)
class PassageEmbedding:
    """A passage's vectors, as they are stored."""

    vector: npt.NDArray[np.float32]
    """Pooled, shape (dimension,), L2 norm 1."""
    token_codes: bytes
    """Sign bits of its informative tokens, rows of dimension/8 bytes."""
    token_count: int
    """Tokens the model read, prefix and special tokens included."""


@dataclass(frozen=True)
class ServedSpace:
    """A space that an embed service serves."""

    space_id: str
    model: str
    revision: str
    dimension: int
    engine: str


class _Service:
    """One address and what is known of it."""

    def __init__(self, url: str, *, identity: Identity) -> None:
        self.url = url
        self.channel: grpc.aio.Channel = channels.open_channel(
            url, idempotent=(("sourcier.embed.v1.EmbedService", "Embed"),), identity=identity
        )
        self.stub = embed_pb2_grpc.EmbedServiceStub(self.channel)
        self.served: ServedSpace | None = None
        self.error: ServiceError | None = None

    async def look(self, *, tenant: str, seconds_max: float) -> None:
        """Ask what the service serves; what was known before is forgotten if it does not say.

        It has a time of its own: what comes of it is told to all callers, whatever the one who asks has left.
        """
        try:
            said: embed_pb2.DescribeResponse = await channels.call(
                self.stub.Describe, embed_pb2.DescribeRequest(), peer=PEER, tenant=tenant,
                deadline=Deadline.after(seconds_max), cap_seconds=seconds_max,
            )
        except ServiceError as error:
            self.served, self.error = None, error
            return
        self.error = None
        self.served = ServedSpace(said.space_id, said.model, said.revision, said.dimension, said.engine)


class EmbedServices:
    """Embeds questions, each with the service of its space."""

    def __init__(self, urls: Sequence[str], *, seconds_max: float, identity: Identity = channels.NOBODY) -> None:
        """Open a channel to each address, whose calls show who calls; nothing is asked yet."""
        self._services = [_Service(url, identity=identity) for url in urls]
        self._seconds_max = seconds_max
        self._looked_at = 0.0
        self._looking = asyncio.Lock()

    @property
    def channels(self) -> dict[str, grpc.aio.Channel]:
        """The channels, by what people call the services: embed, embed-2 …"""
        return {f"embed-{number}" if number > 1 else "embed": service.channel
                for number, service in enumerate(self._services, start=1)}

    async def close(self) -> None:
        """Close the channels."""
        for service in self._services:
            await service.channel.close()

    async def embed_query(
        self, text: str, *, space_id: str, tenant: str, deadline: Deadline, bulk: bool = False
    ) -> QueryEmbedding:
        """Embed a question, or a sentence of an answer, with its token vectors; raise SpaceMismatch, Unavailable.

        `bulk` says that nobody waits for it. A service that is gone or serves another space by now is passed over for
        another one of the same space.
        """
        response = await self._embedded(
            embed_pb2.EmbedRequest(
                space_id=space_id, role=embed_pb2.TEXT_ROLE_QUERY, texts=[text], token_vectors=True,
                priority=_PRIORITIES[bulk],
            ), tenant=tenant, deadline=deadline,
        )
        embedding = response.embeddings[0]
        return QueryEmbedding(
            space_id=response.space_id, vector=np.frombuffer(embedding.vector, dtype="<f4"),
            token_vectors=embedding.tokens.vectors, token_weights=tuple(embedding.tokens.weights),
        )

    async def embed_passages(
        self, texts: Sequence[str], *, space_id: str, tenant: str, deadline: Deadline, bulk: bool = False
    ) -> list[PassageEmbedding]:
        """Embed up to `PASSAGES_MAX` passages as the index keeps them; raise as `embed_query`, or InvalidArgument where
        one is longer than the model reads."""
        response = await self._embedded(
            embed_pb2.EmbedRequest(
                space_id=space_id, role=embed_pb2.TEXT_ROLE_PASSAGE, texts=texts, token_vectors=True,
                priority=_PRIORITIES[bulk],
            ), tenant=tenant, deadline=deadline,
        )
        return [_passage_embedding(embedding) for embedding in response.embeddings]

    async def embed_texts(
        self, texts: Sequence[str], *, is_query: bool, space_id: str, tenant: str, deadline: Deadline
    ) -> list[tuple[npt.NDArray[np.float32], int]]:
        """Return the pooled vector of each text and the tokens that the model read, in their order; as many calls as
        it takes, one after the other, so that questions come in between. Raise as `embed_passages`."""
        found: list[tuple[npt.NDArray[np.float32], int]] = []
        for start in range(0, len(texts), TEXTS_MAX):
            response = await self._embedded(
                embed_pb2.EmbedRequest(
                    space_id=space_id, texts=texts[start:start + TEXTS_MAX], priority=_PRIORITIES[len(texts) > 1],
                    role=embed_pb2.TEXT_ROLE_QUERY if is_query else embed_pb2.TEXT_ROLE_PASSAGE,
                ), tenant=tenant, deadline=deadline,
            )
            found += [(np.frombuffer(each.vector, dtype="<f4"), each.token_count) for each in response.embeddings]
        return found

    async def _embedded(
        self, request: embed_pb2.EmbedRequest, *, tenant: str, deadline: Deadline
    ) -> embed_pb2.EmbedResponse:
        service = await self._service(request.space_id, tenant=tenant, deadline=deadline)
        try:
            return await self._embed(service, request, tenant=tenant, deadline=deadline)
        except (Unavailable, SpaceMismatch) as error:
            service.served, self._looked_at = None, 0.0
            other = await self._service(request.space_id, tenant=tenant, deadline=deadline)
            if other is service and isinstance(error, Unavailable):
                raise
            return await self._embed(other, request, tenant=tenant, deadline=deadline)

    async def served(self, *, tenant: str, deadline: Deadline) -> tuple[ServedSpace, ...]:
        """Return the spaces that are served now."""
        await self._look(tenant=tenant, deadline=deadline, older_than=time.monotonic())
        return tuple(service.served for service in self._services if service.served is not None)

    async def _service(self, space_id: str, *, tenant: str, deadline: Deadline) -> _Service:
        now = time.monotonic()
        found = self._known(space_id)
        # One question in a minute waits for what the services say; the others go by what they said before.
        if now - self._looked_at > LOOK_SECONDS and not (found is not None and self._looking.locked()):
            await self._look(tenant=tenant, deadline=deadline, older_than=now)
            found = self._known(space_id)
        if found is None and time.monotonic() - self._looked_at > LOOK_AGAIN_SECONDS:
            await self._look(tenant=tenant, deadline=deadline, older_than=time.monotonic())
            found = self._known(space_id)
        if found is None:
            raise self._nobody(space_id)
        return found

    def _known(self, space_id: str) -> _Service | None:
        return next(
            (service for service in self._services if service.served and service.served.space_id == space_id), None
        )

    async def _look(self, *, tenant: str, deadline: Deadline, older_than: float) -> None:
        """Ask every service, all at once; callers that waited for somebody else's look take its result."""
        try:
            async with asyncio.timeout(deadline.remaining()), self._looking:
                if self._looked_at >= older_than:
                    return
                seconds_max = min(self._seconds_max, DESCRIBE_SECONDS_MAX)
                async with asyncio.TaskGroup() as group:
                    for service in self._services:
                        group.create_task(
                            service.look(tenant=tenant, seconds_max=seconds_max), name=f"describe {service.url}"
                        )
                self._looked_at = time.monotonic()
        except TimeoutError as error:
            raise DeadlineExceeded("the embed services did not say in time which embedding space they serve") from error

    def _nobody(self, space_id: str) -> ServiceError:
        """Return why no service embeds into a space: the right one may be away, or there is none."""
        away = next((service.error for service in self._services if service.error is not None), None)
        if away is not None:
            return away
        served = ", ".join(sorted({service.served.space_id for service in self._services if service.served}))
        return SpaceMismatch(
            f"the collection is of the embedding space {space_id}, and the embed services serve {served or 'none'}; "
            "start an embed service with the space's model and name it in SOURCIER_EMBED_URL, or switch the collection "
            "to a space that is served (`sourcier spaces`)", field="collection", space_id=space_id,
        )

    async def _embed(
        self, service: _Service, request: embed_pb2.EmbedRequest, *, tenant: str, deadline: Deadline
    ) -> embed_pb2.EmbedResponse:
        response: embed_pb2.EmbedResponse = await channels.call(
            service.stub.Embed, request, peer=PEER, tenant=tenant, deadline=deadline, cap_seconds=self._seconds_max
        )
        return response


def _passage_embedding(embedding: embed_pb2.Embedding) -> PassageEmbedding:
    vector = np.frombuffer(embedding.vector, dtype="<f4")
    rows = np.frombuffer(embedding.tokens.vectors, dtype="<f4").reshape(-1, len(vector))
    return PassageEmbedding(vector, np.packbits(rows > 0, axis=-1).tobytes(), embedding.token_count)
