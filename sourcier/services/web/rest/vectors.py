"""`/embed`, `/embed_batch` and `/rerank`: the dialects of RAGFab, text-embeddings-inference, Cohere and Jina.

Which one a request speaks is told by its shape: `texts` (TEI), `documents` that are texts (Cohere, Jina), objects with
`chunk_id` (RAGFab).
"""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from sourcier.gateway.v1 import models_pb2
from sourcier.services.chassis.errors import InvalidArgument
from sourcier.services.web.bodies import read_object, while_connected
from sourcier.services.web.callers import caller_of
from sourcier.services.web.gateway import Gateway
from sourcier.services.web.lending import Lending, as_lists, checked_text, checked_texts
from sourcier.services.web.settings import WebSettings

RANKED_MAX = 100
ROLES = {
    "query": models_pb2.TEXT_ROLE_QUERY, "search_query": models_pb2.TEXT_ROLE_QUERY,
    "passage": models_pb2.TEXT_ROLE_PASSAGE, "document": models_pb2.TEXT_ROLE_PASSAGE,
    "search_document": models_pb2.TEXT_ROLE_PASSAGE,
}


class VectorRoutes:
    """The routes."""

    def __init__(self, gateway: Gateway, settings: WebSettings) -> None:
        """Keep the gateway and the bounds of a body."""
        self._gateway = gateway
        self._settings = settings

    async def embed(self, request: Request) -> Response:
        """Embed `text` (RAGFab), or `inputs` (TEI), which is a text or a list of them."""
        body, lending = await self._read(request)
        role = role_of(body)
        if "inputs" in body:
            inputs = body["inputs"]
            texts = [checked_text(inputs, field="inputs")] if isinstance(inputs, str) else (
                checked_texts(inputs, field="inputs"))
            vectors = await while_connected(request.receive, lending.embed(texts, role=role, **_where(body)))
            return JSONResponse(await as_lists(vectors))
        text = checked_text(body.get("text"), field="text")
        vectors = await while_connected(request.receive, lending.embed([text], role=role, **_where(body)))
        return JSONResponse({
            "embedding": (await as_lists(vectors))[0], "dimension": vectors.dimension, "model": vectors.model,
        })

    async def embed_batch(self, request: Request) -> Response:
        """Embed `texts`."""
        body, lending = await self._read(request)
        texts = checked_texts(body.get("texts"), field="texts")
        vectors = await while_connected(request.receive, lending.embed(texts, role=role_of(body), **_where(body)))
        return JSONResponse({
            "embeddings": await as_lists(vectors), "count": len(texts), "dimension": vectors.dimension,
            "model": vectors.model,
        })

    async def rerank(self, request: Request) -> Response:
        """Order texts by a question."""
        body, lending = await self._read(request)
        question = checked_text(body.get("query"), field="query")
        if "texts" in body:
            texts = checked_texts(body["texts"], field="texts", texts_max=RANKED_MAX)
            ranked = await while_connected(request.receive, lending.rank(question, texts, **_collection(body)))
            return JSONResponse(_as_tei(ranked, texts, with_text=body.get("return_text") is True))
        documents = body.get("documents")
        if not isinstance(documents, list) or not 0 < len(documents) <= RANKED_MAX:
            raise InvalidArgument(f"send 1 to {RANKED_MAX} documents, or texts", field="documents")
        texts = [_text_of(each, field=f"documents[{place}]") for place, each in enumerate(documents)]
        count = _count(body, len(texts))
        ranked = await while_connected(request.receive, lending.rank(question, texts, **_collection(body)))
        if any(isinstance(each, dict) and "chunk_id" in each for each in documents):
            return JSONResponse(_as_ragfab(ranked, documents, count))
        wanted = body.get("return_documents") is True
        return JSONResponse(_as_cohere(ranked, texts, count, with_document=wanted))

    async def _read(self, request: Request) -> tuple[dict[str, Any], Lending]:
        body = await read_object(request, bytes_max=self._settings.body_bytes_max,
                                 seconds_max=self._settings.body_seconds_max)
        return body, Lending(self._gateway, caller_of(request.headers))


def role_of(body: dict[str, Any]) -> models_pb2.TextRole.ValueType:
    """Return what the texts of a request are: passages, where it does not say."""
    given = body.get("input_type", body.get("prompt_name", "passage"))
    if not isinstance(given, str) or given not in ROLES:
        raise InvalidArgument(f"input_type is {str(given)[:50]!r}; send query or passage", field="input_type")
    return ROLES[given]


def _where(body: dict[str, Any]) -> dict[str, str]:
    model = body.get("model", "")
    if not isinstance(model, str):
        raise InvalidArgument("model is no text", field="model")
    return {**_collection(body), "model": model}


def _collection(body: dict[str, Any]) -> dict[str, str]:
    collection = body.get("collection", "")
    if not isinstance(collection, str):
        raise InvalidArgument("collection is no text", field="collection")
    return {"collection": collection}


def _text_of(document: Any, *, field: str) -> str:
    if isinstance(document, dict):
        document = document.get("content", document.get("text"))
    return checked_text(document, field=field)


def _count(body: dict[str, Any], count: int) -> int:
    """Return how many are wanted: `top_k` (RAGFab), `top_n` (Cohere, Jina), or all."""
    for name in ("top_k", "top_n"):
        wanted = body.get(name)
        if wanted is None:
            continue
        if isinstance(wanted, bool) or not isinstance(wanted, int) or wanted < 1:
            raise InvalidArgument(f"{name} is {str(wanted)[:50]!r}; send a whole number above 0", field=name)
        return min(wanted, count)
    return count


def _as_tei(ranked: models_pb2.RankTextsResponse, texts: list[str], *, with_text: bool) -> list[dict[str, Any]]:
    return [
        {"index": each.index, "score": each.score, **({"text": texts[each.index]} if with_text else {})}
        for each in ranked.ranked
    ]


def _as_cohere(
    ranked: models_pb2.RankTextsResponse, texts: list[str], count: int, *, with_document: bool
) -> dict[str, Any]:
    return {"model": ranked.ranker, "results": [
        {"index": each.index, "relevance_score": each.score,
         **({"document": {"text": texts[each.index]}} if with_document else {})}
        for each in ranked.ranked[:count]
    ]}


def _as_ragfab(ranked: models_pb2.RankTextsResponse, documents: list[Any], count: int) -> dict[str, Any]:
    """Return the documents as they were sent, best first, each with its score."""
    results = [
        {**(document if isinstance(document := documents[each.index], dict) else {"content": document}),
         "score": each.score, "rank": rank}
        for rank, each in enumerate(ranked.ranked[:count], start=1)
    ]
    return {"results": results, "documents": results, "count": len(results), "model": ranked.ranker}
