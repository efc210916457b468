"""`EmbedService`: questions over gRPC."""

from __future__ import annotations

from typing import Any

import grpc.aio

from sourcier.embed.v1 import embed_pb2, embed_pb2_grpc
from sourcier.services.chassis.errors import SpaceMismatch
from sourcier.services.chassis.grpc.serving import require, tenant_of
from sourcier.services.embed.batcher import Batcher, Priority
from sourcier.services.embed.cache import QueryCache
from sourcier.services.embed.encoder import Encoded

TEXTS_MAX = 64

Context = grpc.aio.ServicerContext[Any, Any]


class EmbedServer(embed_pb2_grpc.EmbedServiceServicer):
    """Answers from the cache, else through the batcher, questions before chunks."""

    def __init__(self, batcher: Batcher, *, cache_size: int, cache_bytes_max: int) -> None:
        """Take how many questions are remembered at most, and how many bytes their embeddings may have together."""
        self._batcher = batcher
        self._model = batcher.encoder.model
        self._cache = QueryCache(cache_size, bytes_max=cache_bytes_max)

    async def Embed(self, request: embed_pb2.EmbedRequest, context: Context) -> embed_pb2.EmbedResponse:
        """Embed a small batch of texts."""
        self._check(request)
        priority = Priority.BULK if request.priority == embed_pb2.PRIORITY_BULK else Priority.QUESTION
        tenant = tenant_of(context)
        if request.role == embed_pb2.TEXT_ROLE_PASSAGE:
            with self._batcher.step(request.texts):
                encoded = await self._batcher.embed(
                    request.texts, prefix=self._model.manifest.passage_prefix, priority=priority, tenant=tenant
                )
            return self._response(request, encoded, cache_hits=0)
        found = {
            text: entry for text in request.texts if (entry := self._cache.get(text, tenant=tenant)) is not None
        }
        missing = [text for text in dict.fromkeys(request.texts) if text not in found]
        if missing:
            with self._batcher.step(missing):
                fresh = await self._batcher.embed(
                    missing, prefix=self._model.manifest.query_prefix, priority=priority, tenant=tenant
                )
            if priority is Priority.QUESTION:
                # What is made in the background is made once: it would only push people's questions out.
                for text, entry in zip(missing, fresh, strict=True):
                    self._cache.put(text, entry, tenant=tenant)
        embedded = found | (dict(zip(missing, fresh, strict=True)) if missing else {})
        return self._response(
            request, [embedded[text] for text in request.texts],
            cache_hits=sum(text in found for text in request.texts),
        )

    def _check(self, request: embed_pb2.EmbedRequest) -> None:
        if request.space_id not in ("", self._model.space_id):
            raise SpaceMismatch(
                f"this service embeds into the space {self._model.space_id}, not {request.space_id}; start one with "
                "the space's model, or search a collection of this space", field="space_id",
            )
        require(request.role in (embed_pb2.TEXT_ROLE_QUERY, embed_pb2.TEXT_ROLE_PASSAGE),
                "role is not set; send TEXT_ROLE_QUERY or TEXT_ROLE_PASSAGE", field="role")
        require(request.priority in embed_pb2.Priority.values(), f"priority is {request.priority}; send "
                "PRIORITY_QUESTION, PRIORITY_BULK, or none", field="priority")
        require(0 < len(request.texts) <= TEXTS_MAX,
                f"{len(request.texts)} texts; send 1 to {TEXTS_MAX}", field="texts")
        require(all(text.strip() for text in request.texts), "a text is empty", field="texts")

    def _response(
        self, request: embed_pb2.EmbedRequest, encoded: list[Encoded], *, cache_hits: int
    ) -> embed_pb2.EmbedResponse:
        return embed_pb2.EmbedResponse(
            space_id=self._model.space_id,
            embeddings=[_embedding(entry, token_vectors=request.token_vectors) for entry in encoded],
            cache_hits=cache_hits,
        )

    async def Describe(self, request: embed_pb2.DescribeRequest, context: Context) -> embed_pb2.DescribeResponse:
        """Name the space, the model and its limits."""
        manifest = self._model.manifest
        return embed_pb2.DescribeResponse(
            space_id=self._model.space_id, model=manifest.label, revision=manifest.revision,
            dimension=manifest.dimension, token_limit=manifest.token_limit, query_prefix=manifest.query_prefix,
            passage_prefix=manifest.passage_prefix, pooling=manifest.pooling,
            engine=self._batcher.encoder.engine.name, texts_max=TEXTS_MAX,
        )


def _embedding(entry: Encoded, *, token_vectors: bool) -> embed_pb2.Embedding:
    embedding = embed_pb2.Embedding(vector=entry.vector.tobytes(), token_count=entry.token_count)
    if token_vectors:
        embedding.tokens.CopyFrom(embed_pb2.TokenVectors(
            vectors=entry.token_vectors().tobytes(), weights=entry.weights.tolist(), count=len(entry.weights)
        ))
    return embedding
