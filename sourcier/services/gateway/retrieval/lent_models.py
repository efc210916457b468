"""The models of searches, for texts of a caller's own: vectors of one space, and texts in the order of an answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sourcier.services.chassis.errors import NotFound, SpaceMismatch, Unavailable
from sourcier.services.chassis.grpc.channels import Deadline
from sourcier.services.chassis.postgres.database import Database
from sourcier.services.gateway.peers.embedding import PASSAGES_MAX, ServedSpace
from sourcier.services.gateway.peers.reranking import RerankCandidate
from sourcier.services.gateway.peers.services import Peers
from sourcier.services.index.collections import collections


@dataclass(frozen=True)
class Embedded:
    """Texts' vectors, and what made them."""

    space: ServedSpace
    vectors: tuple[tuple[npt.NDArray[np.float32], int], ...]
    """Each with the tokens that the model read."""


@dataclass(frozen=True)
class Ranked:
    """Texts by place in the request, best first, with their scores."""

    scores: tuple[tuple[int, float], ...]
    ranker: str


class LentModels:
    """Embeds and ranks what callers send."""

    def __init__(self, database: Database, peers: Peers) -> None:
        """Keep the database, which knows collections' spaces, and the services that have the models."""
        self._database = database
        self._peers = peers

    async def embed(
        self, texts: Sequence[str], *, is_query: bool, collection: str, model: str, tenant: str, deadline: Deadline
    ) -> Embedded:
        """Embed texts into a collection's space, or a model's; raise NotFound or SpaceMismatch where none serves it."""
        space = await self._space(collection=collection, model=model, tenant=tenant, deadline=deadline)
        vectors = await self._peers.embed.embed_texts(
            texts, is_query=is_query, space_id=space.space_id, tenant=tenant, deadline=deadline
        )
        return Embedded(space, tuple(vectors))

    async def rank(
        self, question: str, texts: Sequence[str], *, collection: str, tenant: str, deadline: Deadline
    ) -> Ranked:
        """Order texts as a search orders its passages."""
        space = await self._space(collection=collection, model="", tenant=tenant, deadline=deadline)
        query = await self._peers.embed_query(question, space_id=space.space_id, tenant=tenant, deadline=deadline)
        candidates = []
        for start in range(0, len(texts), PASSAGES_MAX):
            group = texts[start:start + PASSAGES_MAX]
            passages = await self._peers.embed.embed_passages(
                group, space_id=space.space_id, tenant=tenant, deadline=deadline, bulk=True
            )
            candidates += [
                RerankCandidate(str(place), text, passage.token_codes)
                for place, (text, passage) in enumerate(zip(group, passages, strict=True), start=start)
            ]
        scores = await self._peers.rerank(question, query, candidates, tenant=tenant, deadline=deadline)
        order = sorted(range(len(texts)), key=lambda place: (-scores[str(place)], place))
        return Ranked(tuple((place, scores[str(place)]) for place in order), self._peers.ranker)

    async def _space(self, *, collection: str, model: str, tenant: str, deadline: Deadline) -> ServedSpace:
        wanted = ""
        if collection:
            async with self._database.transaction(tenant=tenant, read_only=True) as connection:
                wanted = (await collections.get_collection(connection, tenant=tenant, name=collection)).space_id
        served = await self._peers.embed.served(tenant=tenant, deadline=deadline)
        if not served:
            raise Unavailable("no embed service says which model it serves; try again in a moment")
        found = [space for space in served if (not wanted or space.space_id == wanted) and _is_called(space, model)]
        if found:
            return found[0]
        if wanted:
            raise SpaceMismatch(
                f"the collection {collection!r} is of the space {wanted}, which is not that of the model {model!r}, or "
                "is served by nobody now", field="model" if model else "collection", space_id=wanted,
            )
        names = ", ".join(sorted(space.model for space in served))
        raise NotFound(f"no embed service has the model {model!r}; there is {names}", field="model")


def _is_called(space: ServedSpace, name: str) -> bool:
    """Return whether a space is meant: by its id, its model's name, or the name without who published it."""
    return name in {"", space.space_id, space.model, space.model.rpartition("/")[2]}
