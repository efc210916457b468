"""A question's embedding is begun once for a space, waited for as long as is said, and ended with who wanted it."""

from __future__ import annotations

import asyncio

import numpy as np
import pytest

from sourcier.services.chassis.errors import Unavailable
from sourcier.services.chassis.grpc.channels import Deadline
from sourcier.services.gateway.peers.embedding import QueryEmbedding
from sourcier.services.gateway.retrieval import question_vector
from sourcier.services.gateway.retrieval.question_vector import ComingEmbedding
from sourcier.services.index.slips.choosing import Respelling


class SlowEmbedder:
    """Embeds when it is let."""

    def __init__(self, error: Exception | None = None) -> None:
        self.let = asyncio.Event()
        self.begun: list[str] = []
        self.texts: list[str] = []
        self.cancelled: list[str] = []
        self._error = error

    async def embed_query(self, text: str, *, space_id: str, tenant: str, deadline: Deadline) -> QueryEmbedding:
        self.begun.append(space_id)
        self.texts.append(text)
        try:
            await self.let.wait()
        except asyncio.CancelledError:
            self.cancelled.append(space_id)
            raise
        if self._error is not None:
            raise self._error
        return QueryEmbedding(space_id, np.full(4, 0.5, np.float32), b"", ())


def coming(embedder: SlowEmbedder) -> ComingEmbedding:
    return ComingEmbedding(embedder, "Combien ?", tenant="acme", deadline=Deadline.after(10))


async def begun(embedding: ComingEmbedding, space_id: str) -> None:
    await embedding.begin(space_id)
    await asyncio.sleep(0)


async def test_one_embedding_serves_all_searches_of_its_space() -> None:
    embedder = SlowEmbedder()
    async with coming(embedder) as embedding:
        await begun(embedding, "wide")
        await begun(embedding, "wide")
        embedder.let.set()
        vectors = [await embedding.soon(), await embedding.vector()]
        await begun(embedding, "wide")
        assert [vector.space_id for vector in vectors if vector is not None] == ["wide", "wide"]
    assert embedder.begun == ["wide"]
    assert not embedder.cancelled
    assert embedding.seconds > 0


async def test_what_was_begun_in_another_space_is_given_up() -> None:
    embedder = SlowEmbedder()
    async with coming(embedder) as embedding:
        await begun(embedding, "narrow")
        await begun(embedding, "wide")
        assert embedder.cancelled == ["narrow"]
        embedder.let.set()
        assert (await embedding.embedding()).space_id == "wide"


async def test_a_late_vector_holds_nobody_up_and_comes_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(question_vector, "HELD_SECONDS_MAX", 0.01)
    embedder = SlowEmbedder()
    async with coming(embedder) as embedding:
        await begun(embedding, "wide")
        assert await embedding.soon() is None
        assert 0.005 < embedding.taken_wait() < 5
        assert embedding.taken_wait() == 0
        embedder.let.set()
        assert (await embedding.vector()).space_id == "wide"


async def test_who_stops_waiting_does_not_end_it_for_others() -> None:
    embedder = SlowEmbedder()
    async with coming(embedder) as embedding:
        await begun(embedding, "wide")
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01):
                await embedding.embedding()
        embedder.let.set()
        assert (await embedding.embedding()).space_id == "wide"


async def test_leaving_ends_what_nobody_waits_for() -> None:
    embedder = SlowEmbedder()
    async with coming(embedder) as embedding:
        await begun(embedding, "wide")
    assert embedder.cancelled == ["wide"]


async def test_its_error_is_told_and_known_as_its_own() -> None:
    embedder = SlowEmbedder(Unavailable("nobody embeds"))
    async with coming(embedder) as embedding:
        await begun(embedding, "wide")
        assert not embedding.failed
        embedder.let.set()
        with pytest.raises(Unavailable, match="nobody embeds"):
            await embedding.soon()
        assert embedding.failed


async def test_a_question_with_slips_is_embedded_once_more_with_what_is_meant() -> None:
    embedder = SlowEmbedder()
    meant = [Respelling("combein", ("combien",), (("combien",),), ("combein",))]
    async with coming(embedder) as embedding:
        await begun(embedding, "wide")
        embedder.let.set()
        assert await embedding.soon() is not None
        for respellings in (meant, meant, ()):
            assert await embedding.soon(respellings) is not None
        assert embedder.texts == ["Combien ?", "Combien ? (combien)"]
        # In another space, too.
        await begun(embedding, "narrow")
    assert embedder.texts[2:] == ["Combien ? (combien)"]
