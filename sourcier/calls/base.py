"""What all groups of calls share: the open channel, the default deadline, pages."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Protocol, TypeVar

import grpc.aio

from sourcier.connection.channel import Channel
from sourcier.gateway.v1 import (
    answer_pb2_grpc,
    conversation_pb2_grpc,
    curation_pb2_grpc,
    knowledge_pb2_grpc,
    operations_pb2_grpc,
    spaces_pb2_grpc,
)

Q = TypeVar("Q")
R = TypeVar("R")


class Page(Protocol):
    """A page of a list."""

    @property
    def next_page_token(self) -> str:
        """Ask for the next page with it; empty on the last."""


P = TypeVar("P", bound=Page)


class Calls:
    """A group of calls over the client's channel."""

    _opened: Channel | None
    _timeout_seconds: float

    @property
    def _channel(self) -> Channel:
        if self._opened is None:
            raise RuntimeError("the client is closed: use it inside `async with Client(…) as client:`")
        return self._opened

    @property
    def _answers(self) -> answer_pb2_grpc.AnswerServiceStub:
        return answer_pb2_grpc.AnswerServiceStub(self._channel.grpc)

    @property
    def _conversations(self) -> conversation_pb2_grpc.ConversationServiceStub:
        return conversation_pb2_grpc.ConversationServiceStub(self._channel.grpc)

    @property
    def _curation(self) -> curation_pb2_grpc.CurationServiceStub:
        return curation_pb2_grpc.CurationServiceStub(self._channel.grpc)

    @property
    def _knowledge(self) -> knowledge_pb2_grpc.KnowledgeServiceStub:
        return knowledge_pb2_grpc.KnowledgeServiceStub(self._channel.grpc)

    @property
    def _operations(self) -> operations_pb2_grpc.OperationsServiceStub:
        return operations_pb2_grpc.OperationsServiceStub(self._channel.grpc)

    @property
    def _spaces(self) -> spaces_pb2_grpc.SpaceServiceStub:
        return spaces_pb2_grpc.SpaceServiceStub(self._channel.grpc)

    async def _unary(
        self, method: grpc.aio.UnaryUnaryMultiCallable[Q, R], request: Q, timeout_seconds: float | None
    ) -> R:
        seconds = self._timeout_seconds if timeout_seconds is None else timeout_seconds
        return await self._channel.unary(method, request, timeout_seconds=seconds)


async def pages(ask_for: Callable[[str], Awaitable[P]]) -> AsyncGenerator[P, None]:
    """Yield page after page; `ask_for` takes a page token."""
    token = ""
    while True:
        page = await ask_for(token)
        yield page
        token = page.next_page_token
        if not token:
            return
