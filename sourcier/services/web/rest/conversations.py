"""Questions by HTTP: within a conversation, as events or in one piece, and read on where the connection broke.

Whoever leaves does not stop the answer: it is kept in its conversation, and read on at `/api/answers/{id}`.
"""

from __future__ import annotations

import json
import re
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

from google.protobuf import json_format
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import Receive, Scope, Send

from sourcier.errors import SourcierError
from sourcier.gateway.v1 import answer_pb2, conversation_pb2
from sourcier.results import Answer, gather_answer
from sourcier.services.chassis.errors import InvalidArgument
from sourcier.services.chassis.grpc.channels import from_reason
from sourcier.services.web.answers import Asking, Events
from sourcier.services.web.bodies import Stream, read_object, while_connected
from sourcier.services.web.callers import caller_of
from sourcier.services.web.contract import named
from sourcier.services.web.events import CONTENT_TYPE, PING, event, with_pings
from sourcier.services.web.gateway import Gateway
from sourcier.services.web.guard import send_error
from sourcier.services.web.lending import checked_text
from sourcier.services.web.narrowing import narrow
from sourcier.services.web.refusals import OURS, as_json, refusal
from sourcier.services.web.settings import WebSettings

CREATE = named("ConversationService", "CreateConversation")
SECONDS_MAX = 30.0
_SEQUENCE = re.compile(r"[0-9]{1,18}")


class Conversations:
    """Makes conversations."""

    def __init__(self, gateway: Gateway, settings: WebSettings) -> None:
        """Keep the gateway and the bounds of a body."""
        self._gateway = gateway
        self._settings = settings

    async def create(self, request: Request) -> Response:
        """Answer with a new conversation."""
        body = await read_object(request, bytes_max=self._settings.body_bytes_max,
                                 seconds_max=self._settings.body_seconds_max)
        title = checked_text(body["title"], field="title") if body.get("title") else ""
        response: conversation_pb2.CreateConversationResponse = await while_connected(
            request.receive, self._gateway.call(
                CREATE, conversation_pb2.CreateConversationRequest(title=title), caller=caller_of(request.headers),
                seconds=SECONDS_MAX,
            )
        )
        made = response.conversation
        return JSONResponse({"id": made.conversation_id, "conversation_id": made.conversation_id, "title": made.title},
                            status_code=201)


@dataclass(frozen=True, slots=True)
class Questions:
    """An ASGI application that answers questions; `streams` tells how, where a request does not say."""

    gateway: Gateway
    settings: WebSettings
    streams: bool

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one question."""
        request = Request(scope, receive)
        body = await read_object(request, bytes_max=self.settings.body_bytes_max,
                                 seconds_max=self.settings.body_seconds_max)
        asked = _question(body, conversation_id=request.path_params.get("conversation_id", ""))
        streams = _streams(body, request, default=self.streams)
        asking = Asking(self.gateway, caller_of(request.headers), seconds_max=self.settings.answer_seconds_max)
        events = asking.read(asked)
        work = _streamed(events, send) if streams else _whole(events, scope, receive, send)
        await while_connected(receive, work)


@dataclass(frozen=True, slots=True)
class Answers:
    """An ASGI application at `/api/answers/{answer_id}`: the events of an answer after one, then those to come."""

    gateway: Gateway
    settings: WebSettings

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Stream an answer's events."""
        request = Request(scope, receive)
        after = request.headers.get("last-event-id") or request.query_params.get("after", "0")
        if not _SEQUENCE.fullmatch(after):
            raise InvalidArgument(f"after is {after[:50]!r}; send the number of the event that was read last",
                                  field="after")
        asking = Asking(self.gateway, caller_of(request.headers), seconds_max=self.settings.answer_seconds_max)
        events = asking.resume(request.path_params["answer_id"], int(after))
        await while_connected(receive, _streamed(events, send))


def _question(body: dict[str, Any], *, conversation_id: str) -> answer_pb2.AskRequest:
    given = next((body[name] for name in ("content", "message", "question") if name in body), None)
    request = answer_pb2.AskRequest(question=checked_text(given, field="content"))
    request.conversation_id = conversation_id or _optional(body, "conversation_id")
    request.agent, request.deployment = _optional(body, "agent"), _optional(body, "deployment")
    request.filter.collection = _optional(body, "collection")
    narrow(request.filter, body)
    rerank = body.get("reranking_enabled", body.get("rerank"))
    if rerank is not None:
        if not isinstance(rerank, bool):
            raise InvalidArgument("reranking_enabled is true or false", field="reranking_enabled")
        request.rerank = rerank
    return request


def _optional(body: dict[str, Any], name: str) -> str:
    value = body.get(name)
    return checked_text(value, field=name) if value not in (None, "") else ""


def _streams(body: dict[str, Any], request: Request, *, default: bool) -> bool:
    asked = body.get("stream")
    if isinstance(asked, bool):
        return asked
    accepted = request.headers.get("accept", "")
    if "text/event-stream" in accepted:
        return True
    return default and "application/json" not in accepted


async def _whole(events: Events, scope: Scope, receive: Receive, send: Send) -> None:
    try:
        async with aclosing(events):
            answer = await gather_answer(events)
    except SourcierError as error:
        raise refusal(from_reason(error.reason, error.message)) from error
    await JSONResponse(_answer_json(answer))(scope, receive, send)


def _answer_json(answer: Answer) -> dict[str, Any]:
    cited = {each.marker: each for each in answer.citations if each.marker}
    return {
        "content": answer.text, "answer": answer.text, "outcome": answer.outcome, "answer_id": answer.answer_id,
        "message_id": answer.message_id, "rewritten": answer.rewritten, "model": answer.model,
        "sources": [
            {"marker": marker, "title": each.title, "source": each.source, "page": each.page,
             "document_id": each.document_id, "version_id": each.version_id, "chunk_id": each.chunk_id,
             "content": answer.sources[marker - 1].text if marker <= len(answer.sources) else ""}
            for marker, each in sorted(cited.items())
        ],
        "withheld": [{"sentence": each.sentence, "code": each.code, "reason": each.reason} for each in answer.withheld],
    }


async def _streamed(events: Events, send: Send) -> None:
    """Send each event of the contract under its name, numbered; an error before the first one is the response's."""
    stream = Stream(send, content_type=CONTENT_TYPE)
    async with aclosing(with_pings(events)) as coming:
        try:
            async for each in coming:
                await stream.piece(PING if each is None else _written(each))
        except OURS as error:
            told = refusal(error)
            if not stream.begun:
                await send_error(send, told)
                return
            await stream.piece(event(as_json(told), name="error"))
    await stream.end()


def _written(each: answer_pb2.AskEvent) -> bytes:
    kind = each.WhichOneof("event") or "unknown"
    told = json_format.MessageToDict(each, preserving_proto_field_name=True)
    return event(json.dumps(told, ensure_ascii=False), name=kind, number=each.sequence)
