"""A question's embedding while it is being made, so that the index is asked for its words meanwhile."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from types import TracebackType
from typing import Protocol, Self

import numpy as np

from sourcier.services.chassis import telemetry
from sourcier.services.chassis.errors import DeadlineExceeded, ServiceError
from sourcier.services.chassis.grpc.channels import Deadline, let_leave
from sourcier.services.chassis.postgres.database import Database
from sourcier.services.gateway.peers.embedding import QueryEmbedding
from sourcier.services.index.acronyms.asking import find_expansions, has_acronym, with_long_forms
from sourcier.services.index.search.search import QuestionVector
from sourcier.services.index.slips.choosing import Respelling, as_meant

logger = logging.getLogger(__name__)

HELD_SECONDS_MAX = 0.05
"""How long a search holds its connection for a vector: several times what an embedding takes on an idle machine."""
EXPANDING_SECONDS_MAX = 1.0
"""How long an embedding waits for what its question's acronyms stand for; mostly a millisecond."""


class Embedder(Protocol):
    """What embeds a question, as this module needs it."""

    async def embed_query(self, text: str, *, space_id: str, tenant: str, deadline: Deadline) -> QueryEmbedding:
        """Embed a question into a space."""
        ...


class ComingEmbedding:
    """One question's embedding; use it as an async context manager, which ends what nobody waits for any more."""

    def __init__(
        self, embedder: Embedder, question: str, *, tenant: str, deadline: Deadline,
        expanding: Callable[[], Awaitable[str]] | None = None,
    ) -> None:
        """Take the question, or who gives the text to embed for it."""
        self._embedder = embedder
        self._text = question
        self._expanding = expanding
        self._tenant = tenant
        self._deadline = deadline
        self._space_id = ""
        self._respellings: tuple[Respelling, ...] = ()
        self._making: asyncio.Task[QueryEmbedding] | None = None
        self.seconds = 0.0
        """What the embedding took, from its beginning to its end."""
        self._waited_seconds = 0.0

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._end()

    async def begin(self, space_id: str) -> None:
        """Embed into this space; what was made or begun in another one is given up."""
        if self._making is not None and space_id == self._space_id:
            return
        await self._begin_anew(space_id)
        # The embedding is what a search waits for longest: what can be done meanwhile begins after its request.
        await let_leave()

    async def _begin_anew(self, space_id: str) -> None:
        await self._end()
        self._space_id = space_id
        self._making = asyncio.create_task(self._embedded(space_id), name="embed the question")

    async def embedding(self) -> QueryEmbedding:
        """Return the embedding that was begun; raise what embedding it raised."""
        assert self._making is not None, "nothing was begun"
        # Shielded: a caller that waits no longer must not take it from the next one.
        return await asyncio.shield(self._making)

    async def vector(self) -> QuestionVector:
        """Return the pooled vector as the index takes it."""
        return question_vector(await self.embedding())

    async def soon(self, respellings: Sequence[Respelling] = ()) -> QuestionVector | None:
        """Return the pooled vector, or None where it takes longer than a connection should be held for it.

        `respellings` are what words of the question were taken for: it is embedded once more, with them.
        """
        assert self._making is not None, "nothing was begun"
        started = time.perf_counter()
        if respellings and tuple(respellings) != self._respellings:
            self._respellings = tuple(respellings)
            await self._begin_anew(self._space_id)
        done, _ = await asyncio.wait((self._making,), timeout=HELD_SECONDS_MAX)
        self._waited_seconds += time.perf_counter() - started
        return question_vector(self._making.result()) if done else None

    def taken_wait(self) -> float:
        """Return the seconds that `soon` waited since the last time this was asked: no part of the search's own."""
        waited, self._waited_seconds = self._waited_seconds, 0.0
        return waited

    @property
    def failed(self) -> bool:
        """Whether the embedding itself ended with an error."""
        making = self._making
        return making is not None and making.done() and not making.cancelled() and making.exception() is not None

    async def _embedded(self, space_id: str) -> QueryEmbedding:
        started = time.perf_counter()
        try:
            if self._expanding is not None:
                # Once: what is embedded anew is the same text, in another space or with what its slips stand for.
                self._text, self._expanding = await self._expanding(), None
            return await self._embedder.embed_query(
                as_meant(self._text, self._respellings), space_id=space_id, tenant=self._tenant,
                deadline=self._deadline,
            )
        finally:
            self.seconds += time.perf_counter() - started

    async def _end(self) -> None:
        if self._making is not None:
            self._making.cancel()
            await asyncio.gather(self._making, return_exceptions=True)


async def embedded_text(
    database: Database, question: str, *, tenant: str, collections: Sequence[str], deadline: Deadline
) -> str:
    """Return a question with the long forms of its acronyms; as it is, with a warning, where they cannot be read."""
    if not has_acronym(question):
        return question
    try:
        async with asyncio.timeout(deadline.remaining(EXPANDING_SECONDS_MAX)):
            async with database.transaction(tenant=tenant, read_only=True) as connection:
                found = await find_expansions(
                    connection, tenant=tenant, collections=collections, question=question, long_forms=False
                )
    except (ServiceError, TimeoutError) as error:
        reason = error.reason if isinstance(error, ServiceError) else DeadlineExceeded.reason
        telemetry.degradations_total.labels("acronyms", reason).inc()
        logger.warning("the question's acronyms are not known; it is embedded as it is: %s", error)
        return question
    return with_long_forms(question, found)


def question_vector(embedding: QueryEmbedding) -> QuestionVector:
    """Return an embedding's pooled vector as the index takes it."""
    return QuestionVector(embedding.space_id, embedding.vector.astype(np.float16).tobytes())
