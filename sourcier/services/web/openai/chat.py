"""`/v1/chat/completions` and `/v1/models`."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

from google.rpc import code_pb2, status_pb2
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import Receive, Scope, Send

from sourcier.services.web.answers import Asking
from sourcier.services.web.bodies import Stream, read_object, while_connected
from sourcier.services.web.callers import caller_of
from sourcier.services.web.events import CONTENT_TYPE, PING, event, with_pings
from sourcier.services.web.gateway import Gateway
from sourcier.services.web.openai.errors import error_body, error_response
from sourcier.services.web.openai.models import listed, one_of
from sourcier.services.web.openai.requests import Completion, read_completion
from sourcier.services.web.openai.sources import Sources
from sourcier.services.web.openai.titles import own_reply
from sourcier.services.web.openai.writing import Writing
from sourcier.services.web.refusals import OURS, Refusal, refusal
from sourcier.services.web.settings import WebSettings

DONE = b"data: [DONE]\n\n"


class Models:
    """The list of models, and one of them."""

    def __init__(self, gateway: Gateway) -> None:
        """Keep the gateway."""
        self._gateway = gateway

    async def list(self, request: Request) -> Response:
        """Answer with all models."""
        try:
            models = await while_connected(request.receive, listed(self._gateway, caller_of(request.headers)))
        except OURS as error:
            return error_response(refusal(error))
        return JSONResponse({"object": "list", "data": models})

    async def get(self, request: Request) -> Response:
        """Answer with one model."""
        asked = request.path_params["model"]
        try:
            models = await while_connected(request.receive, listed(self._gateway, caller_of(request.headers)))
            found = one_of(models, asked)
        except OURS as error:
            return error_response(refusal(error))
        if found is not None:
            return JSONResponse(found)
        return error_response(Refusal(status_pb2.Status(
            code=code_pb2.NOT_FOUND, message=f"the model {asked[:200]!r} does not exist; /v1/models lists them"
        )))


async def unknown(request: Request) -> Response:
    """Tell a caller of another part of OpenAI's API which there are, in the words that its client reads."""
    path = request.url.path[:200]
    return JSONResponse({"error": {
        "message": f"there is no {request.method} {path} here; this service has /v1/chat/completions, /v1/embeddings, "
                   "/v1/models and /v1/rerank",
        "type": "invalid_request_error", "param": None, "code": "unknown_url",
    }}, status_code=404)


class ChatCompletions:
    """An ASGI application that answers questions."""

    def __init__(self, gateway: Gateway, settings: WebSettings) -> None:
        """Keep the gateway, the bounds of a request, and how sources are told where it does not say."""
        self._gateway = gateway
        self._settings = settings

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        request = Request(scope, receive)
        try:
            body = await read_object(request, bytes_max=self._settings.body_bytes_max,
                                     seconds_max=self._settings.body_seconds_max)
            completion = read_completion(body, citations=self._settings.openai_citations)
            asking = Asking(self._gateway, caller_of(request.headers), seconds_max=self._settings.answer_seconds_max)
            writing = Writing(completion, Sources(self._settings.base_url(request.headers)))
            work = _streamed(asking, writing, send) if completion.streams else _whole(asking, writing, scope, send)
            await while_connected(receive, work)
        except OURS as error:
            await error_response(refusal(error))(scope, receive, send)


async def _whole(asking: Asking, writing: Writing, scope: Scope, send: Send) -> None:
    async with aclosing(_deltas(asking, writing)) as deltas:
        async for _ in deltas:
            pass
    await JSONResponse(writing.whole())(scope, _nothing, send)


async def _nothing() -> Any:
    raise AssertionError("a response in one piece asks for nothing")


async def _streamed(asking: Asking, writing: Writing, send: Send) -> None:
    """Stream; an error before the first event is the response's, a later one an event of its own."""
    stream = Stream(send, content_type=CONTENT_TYPE)
    async with aclosing(with_pings(_deltas(asking, writing))) as deltas:
        try:
            async for delta in deltas:
                if not stream.begun:
                    await stream.piece(event(writing.chunk({"role": "assistant", "content": ""})))
                if delta is None:
                    await stream.piece(PING)
                elif delta:
                    await stream.piece(event(writing.chunk({"content": delta})))
        except Refusal as error:
            if not stream.begun:
                raise
            await stream.piece(event(error_body(error)))
            await stream.end()
            return
    pieces = [*writing.ending(), *([writing.usage_chunk()] if writing.completion.tells_usage else [])]
    await stream.piece(b"".join(map(event, pieces)) + DONE)
    await stream.end()


async def _deltas(asking: Asking, writing: Writing) -> AsyncGenerator[str, None]:
    completion: Completion = writing.completion
    reply = own_reply(completion.messages)
    if reply is not None:
        writing.text.append(reply)
        yield reply
        return
    async with asking.ask(completion.ask()) as events, aclosing(writing.deltas(events)) as deltas:
        async for delta in deltas:
            yield delta
