"""The bridge: a request of the Connect protocol becomes a call of the gateway, whichever method it names."""

from __future__ import annotations

import asyncio
import json
import logging
import re

from google.protobuf.message import Message
from google.rpc import code_pb2, status_pb2
from starlette.requests import Request
from starlette.types import Receive, Scope, Send

from sourcier.services.chassis.errors import InvalidArgument
from sourcier.services.web.bodies import JSON_HERE_BYTES_MAX, Stream, read_body, send_whole, while_connected
from sourcier.services.web.callers import Caller, caller_of
from sourcier.services.web.connect.envelopes import CODECS, Codec, codec_of, end, envelope, error_json, only_message
from sourcier.services.web.contract import METHODS, Method
from sourcier.services.web.gateway import Gateway
from sourcier.services.web.refusals import OURS, Refusal, refusal

logger = logging.getLogger(__name__)

TIMEOUT_HEADER = "connect-timeout-ms"
_MILLISECONDS = re.compile(r"[0-9]{1,10}")


class Bridge:
    """An ASGI application at the paths of methods: `/sourcier.gateway.v1.KnowledgeService/GetJob`."""

    def __init__(self, gateway: Gateway, *, body_bytes_max: int, body_seconds_max: float) -> None:
        """Keep the gateway and the bounds of a request's body."""
        self._gateway = gateway
        self._body_bytes_max = body_bytes_max
        self._body_seconds_max = body_seconds_max

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        request = Request(scope, receive)
        method = METHODS.get(request.url.path)
        scope["route_name"] = "connect" if method is None else method.path
        if request.method != "POST":
            await send_whole(send, status=405, headers={"allow": "POST"}, body=b"")
            return
        codec = codec_of(request.headers.get("content-type", ""))
        if codec is None or (method is not None and codec.streams != (method.answers_stream or method.takes_stream)):
            await send_whole(send, status=415, headers={"accept-post": _accepted(method)}, body=b"")
            return
        await _Exchange(self, request, codec, send).run(method)

    async def read(self, request: Request, codec: Codec, method: Method) -> Message:
        """Return the message of a request."""
        encoding = request.headers.get("connect-content-encoding" if codec.streams else "content-encoding", "identity")
        if encoding != "identity":
            raise Refusal(status_pb2.Status(
                code=code_pb2.UNIMPLEMENTED, message=f"the encoding {encoding[:50]!r} is not known; send identity"
            ))
        body = await read_body(request, bytes_max=self._body_bytes_max, seconds_max=self._body_seconds_max)
        if codec.streams:
            body = only_message(body)
        if len(body) <= JSON_HERE_BYTES_MAX:
            return codec.read(body, method.request)
        return await asyncio.to_thread(codec.read, body, method.request)

    @property
    def gateway(self) -> Gateway:
        """The gateway that is called."""
        return self._gateway


class _Exchange:
    """One request and its response."""

    def __init__(self, bridge: Bridge, request: Request, codec: Codec, send: Send) -> None:
        self._bridge = bridge
        self._request = request
        self._codec = codec
        self._send = send

    async def run(self, method: Method | None) -> None:
        """Answer, with the error where there is one."""
        try:
            if method is None:
                raise Refusal(status_pb2.Status(
                    code=code_pb2.UNIMPLEMENTED, message=f"there is no method {self._request.url.path[:200]!r}"
                ))
            if method.takes_stream:
                raise Refusal(status_pb2.Status(code=code_pb2.UNIMPLEMENTED, message=(
                    f"{method.name} takes a stream, which browsers cannot send; upload to /api/documents/upload, or "
                    "call the gateway by gRPC"
                )))
            caller, seconds = caller_of(self._request.headers), timeout_seconds(self._request)
            message = await self._bridge.read(self._request, self._codec, method)
            work = self._stream if method.answers_stream else self._call
            await while_connected(self._request.receive, work(method, message, caller, seconds))
        except OURS as error:
            await self._tell(refusal(error))

    async def _call(self, method: Method, message: Message, caller: Caller, seconds: float | None) -> None:
        answer: Message = await self._bridge.gateway.call(method, message, caller=caller, seconds=seconds)
        headers = {"content-type": self._codec.content_type}
        await send_whole(self._send, status=200, headers=headers, body=self._codec.write(answer))

    async def _stream(self, method: Method, message: Message, caller: Caller, seconds: float | None) -> None:
        stream, ending = Stream(self._send, content_type=self._codec.content_type), end()
        await stream.begin()
        try:
            async with self._bridge.gateway.stream(method, message, caller=caller, seconds=seconds) as answers:
                async for answer in answers:
                    await stream.piece(envelope(self._codec.write(answer)))
        except Refusal as error:
            ending = end(error)
        await stream.piece(ending)
        await stream.end()

    async def _tell(self, error: Refusal) -> None:
        """Answer with an error: of a stream in its last envelope, else with its own status."""
        if self._codec.streams:
            headers = {"content-type": self._codec.content_type}
            await send_whole(self._send, status=200, headers=headers, body=end(error))
            return
        body = json.dumps(error_json(error), ensure_ascii=False).encode()
        headers = {"content-type": "application/json", **error.headers}
        await send_whole(self._send, status=error.http_code, headers=headers, body=body)


def timeout_seconds(request: Request) -> float | None:
    """Return the deadline that a request names; None where it names none."""
    text = request.headers.get(TIMEOUT_HEADER)
    if text is None:
        return None
    if not _MILLISECONDS.fullmatch(text):
        raise InvalidArgument(f"{TIMEOUT_HEADER} is {text[:50]!r}; send milliseconds, at most ten digits",
                              field=TIMEOUT_HEADER)
    return int(text) / 1000


def _accepted(method: Method | None) -> str:
    return ", ".join(kind for kind, codec in CODECS.items()
                     if method is None or codec.streams == (method.answers_stream or method.takes_stream))
