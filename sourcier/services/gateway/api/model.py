"""`ModelService`: embeds and orders what callers send."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import grpc.aio

from sourcier.gateway.v1 import models_pb2, models_pb2_grpc
from sourcier.services.chassis.grpc.channels import Deadline
from sourcier.services.chassis.grpc.limits import long_call
from sourcier.services.chassis.grpc.serving import require, tenant_of
from sourcier.services.gateway.retrieval.lent_models import LentModels

Context = grpc.aio.ServicerContext[Any, Any]

EMBEDDED_MAX, RANKED_MAX = 256, 100
TEXT_CHARACTERS_MAX, QUESTION_CHARACTERS_MAX = 20_000, 8_000
SECONDS_MAX = 300.0
"""For callers that set no deadline: 256 passages take two cores half a minute."""


class ModelServer(models_pb2_grpc.ModelServiceServicer):
    """The public face of the models."""

    def __init__(self, models: LentModels) -> None:
        """Keep the models."""
        self._models = models

    @long_call
    async def EmbedTexts(
        self, request: models_pb2.EmbedTextsRequest, context: Context
    ) -> models_pb2.EmbedTextsResponse:
        """Embed texts."""
        _check_texts(request.texts, texts_max=EMBEDDED_MAX)
        embedded = await self._models.embed(
            request.texts, is_query=request.role == models_pb2.TEXT_ROLE_QUERY, collection=request.collection,
            model=request.model, tenant=tenant_of(context), deadline=Deadline.of(context, default_seconds=SECONDS_MAX),
        )
        return models_pb2.EmbedTextsResponse(
            embeddings=[models_pb2.TextEmbedding(values=vector, token_count=count)
                        for vector, count in embedded.vectors],
            space_id=embedded.space.space_id, model=embedded.space.model, dimension=embedded.space.dimension,
        )

    @long_call
    async def RankTexts(self, request: models_pb2.RankTextsRequest, context: Context) -> models_pb2.RankTextsResponse:
        """Order texts."""
        count = len(request.question)
        require(bool(request.question.strip()) and count <= QUESTION_CHARACTERS_MAX,
                f"question has {count:,} characters; send 1 to {QUESTION_CHARACTERS_MAX:,}, not white space alone",
                field="question")
        _check_texts(request.texts, texts_max=RANKED_MAX)
        ranked = await self._models.rank(
            request.question, request.texts, collection=request.collection, tenant=tenant_of(context),
            deadline=Deadline.of(context, default_seconds=SECONDS_MAX),
        )
        return models_pb2.RankTextsResponse(
            ranked=[models_pb2.RankedText(index=place, score=score) for place, score in ranked.scores],
            ranker=ranked.ranker,
        )


def _check_texts(texts: Sequence[str], *, texts_max: int) -> None:
    require(0 < len(texts) <= texts_max, f"{len(texts)} texts; send 1 to {texts_max}", field="texts")
    for place, text in enumerate(texts):
        require(bool(text.strip()) and len(text) <= TEXT_CHARACTERS_MAX,
                f"texts[{place}] has {len(text):,} characters; send 1 to {TEXT_CHARACTERS_MAX:,}, not white space "
                "alone", field=f"texts[{place}]")
