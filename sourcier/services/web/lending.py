"""Texts for the embedding model and for the ranking, as the dialects of other systems send them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sourcier.gateway.v1 import models_pb2
from sourcier.services.chassis.errors import InvalidArgument
from sourcier.services.web.callers import Caller
from sourcier.services.web.contract import named
from sourcier.services.web.gateway import Gateway

EMBED, RANK = named("ModelService", "EmbedTexts"), named("ModelService", "RankTexts")
SECONDS_MAX = 300.0
CALL_TEXTS_MAX = 256
TEXTS_MAX = 2_048
"""What OpenAI takes in one request."""
PREFIXES = {"query: ": models_pb2.TEXT_ROLE_QUERY, "passage: ": models_pb2.TEXT_ROLE_PASSAGE}
"""What clients of other E5 services put before a text themselves: taken away, for the model gets its own."""


@dataclass(frozen=True, slots=True)
class Vectors:
    """Texts' vectors, in their order."""

    values: list[Sequence[float]]
    token_count: int
    model: str
    dimension: int


class Lending:
    """Calls of the models on behalf of one caller."""

    def __init__(self, gateway: Gateway, caller: Caller) -> None:
        """Keep who calls."""
        self._gateway = gateway
        self._caller = caller

    async def embed(
        self, texts: Sequence[str], *, role: models_pb2.TextRole.ValueType, collection: str = "", model: str = ""
    ) -> Vectors:
        """Embed texts; `role` is that of those that do not begin with a prefix."""
        found: dict[int, models_pb2.TextEmbedding] = {}
        told = models_pb2.EmbedTextsResponse()
        for each_role, places in _by_role(texts, role).items():
            for start in range(0, len(places), CALL_TEXTS_MAX):
                group = places[start:start + CALL_TEXTS_MAX]
                request = models_pb2.EmbedTextsRequest(
                    collection=collection, model=model, role=each_role, texts=[_bare(texts[place]) for place in group]
                )
                told = await self._gateway.call(EMBED, request, caller=self._caller, seconds=SECONDS_MAX)
                found.update(zip(group, told.embeddings, strict=True))
        return Vectors(
            values=[found[place].values for place in range(len(texts))],
            token_count=sum(each.token_count for each in found.values()), model=told.model, dimension=told.dimension,
        )

    async def rank(self, question: str, texts: Sequence[str], *, collection: str = "") -> models_pb2.RankTextsResponse:
        """Order texts by a question."""
        request = models_pb2.RankTextsRequest(question=question, texts=texts, collection=collection)
        response: models_pb2.RankTextsResponse = await self._gateway.call(
            RANK, request, caller=self._caller, seconds=SECONDS_MAX
        )
        return response


def _by_role(
    texts: Sequence[str], role: models_pb2.TextRole.ValueType
) -> dict[models_pb2.TextRole.ValueType, list[int]]:
    roles: dict[models_pb2.TextRole.ValueType, list[int]] = {}
    for place, text in enumerate(texts):
        own = next((kind for prefix, kind in PREFIXES.items() if text.startswith(prefix)), role)
        roles.setdefault(own, []).append(place)
    return roles


def _bare(text: str) -> str:
    for prefix in PREFIXES:
        if text.startswith(prefix) and text[len(prefix):].strip():
            return text[len(prefix):]
    return text


def checked_texts(given: Any, *, field: str, texts_max: int = TEXTS_MAX) -> list[str]:
    """Return texts that a request has; raise InvalidArgument for anything else."""
    if not isinstance(given, list) or not 0 < len(given) <= texts_max:
        raise InvalidArgument(f"{field} is no list of 1 to {texts_max:,} texts", field=field)
    for place, text in enumerate(given):
        checked_text(text, field=f"{field}[{place}]")
    return given


def checked_text(given: Any, *, field: str) -> str:
    """Return a text that a request has; raise InvalidArgument for anything else."""
    if not isinstance(given, str) or not given.strip():
        raise InvalidArgument(f"{field} is no text, or an empty one", field=field)
    try:
        given.encode()
    except UnicodeEncodeError as error:
        raise InvalidArgument(f"{field} holds half of a character (a lone surrogate)", field=field) from error
    return given


async def as_lists(vectors: Vectors) -> list[list[float]]:
    """Return vectors as JSON takes them; many are made in a thread."""
    if len(vectors.values) * vectors.dimension < 10_000:
        return [list(each) for each in vectors.values]
    return await asyncio.to_thread(lambda: [list(each) for each in vectors.values])
