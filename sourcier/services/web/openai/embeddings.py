"""`/v1/embeddings`."""

from __future__ import annotations

import array
import base64
import sys
from collections.abc import Sequence
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from sourcier.services.chassis.errors import InvalidArgument
from sourcier.services.web.bodies import read_object, while_connected
from sourcier.services.web.callers import caller_of
from sourcier.services.web.gateway import Gateway
from sourcier.services.web.lending import PREFIXES, Lending, Vectors, as_lists, checked_text, checked_texts
from sourcier.services.web.openai.errors import error_response
from sourcier.services.web.openai.models import DEFAULT
from sourcier.services.web.refusals import OURS, refusal
from sourcier.services.web.settings import WebSettings

_ROLES = {prefix.removesuffix(": "): role for prefix, role in PREFIXES.items()}


class Embeddings:
    """The route."""

    def __init__(self, gateway: Gateway, settings: WebSettings) -> None:
        """Keep the gateway and the bounds of a body."""
        self._gateway = gateway
        self._settings = settings

    async def create(self, request: Request) -> Response:
        """Embed `input`."""
        try:
            body = await read_object(request, bytes_max=self._settings.body_bytes_max,
                                     seconds_max=self._settings.body_seconds_max)
            texts, encoding = _texts(body.get("input")), body.get("encoding_format", "float")
            if encoding not in {"float", "base64"}:
                raise InvalidArgument("encoding_format is float or base64", field="encoding_format")
            role = _ROLES.get(str(body.get("input_type", "passage")))
            if role is None:
                raise InvalidArgument("input_type is query or passage", field="input_type")
            lending = Lending(self._gateway, caller_of(request.headers))
            vectors = await while_connected(request.receive, lending.embed(texts, role=role, **_where(body)))
            _check_dimensions(body, vectors)
            return JSONResponse({
                "object": "list", "model": body["model"], "data": [
                    {"object": "embedding", "index": index, "embedding": each}
                    for index, each in enumerate(await _written(vectors, encoding))
                ], "usage": {"prompt_tokens": vectors.token_count, "total_tokens": vectors.token_count},
            })
        except OURS as error:
            return error_response(refusal(error))


def _texts(given: Any) -> list[str]:
    if isinstance(given, str):
        return [checked_text(given, field="input")]
    if isinstance(given, list) and given and not isinstance(given[0], str):
        raise InvalidArgument(
            "input holds numbers of tokens, which are another model's; send texts (in LangChain: "
            "check_embedding_ctx_length=False)", field="input",
        )
    return checked_texts(given, field="input")


def _where(body: dict[str, Any]) -> dict[str, str]:
    """Return whose space is meant: a collection's, or a model's."""
    model = body.get("model")
    if not isinstance(model, str) or not model:
        raise InvalidArgument("model names neither an embedding model nor collection/NAME", field="model")
    kind, slash, name = model.partition("/")
    if slash and kind == "collection":
        return {"collection": name}
    return {} if model == DEFAULT else {"model": model}


def _check_dimensions(body: dict[str, Any], vectors: Vectors) -> None:
    if body.get("dimensions") not in (None, vectors.dimension):
        raise InvalidArgument(f"the model's vectors have {vectors.dimension} components; leave out dimensions",
                              field="dimensions")


async def _written(vectors: Vectors, encoding: str) -> Sequence[Any]:
    if encoding == "float":
        return await as_lists(vectors)
    return [base64.b64encode(_little_endian(each)).decode("ascii") for each in vectors.values]


def _little_endian(values: Sequence[float]) -> bytes:
    packed = array.array("f", values)
    if sys.byteorder == "big":
        packed.byteswap()
    return packed.tobytes()
