"""Calls of the gateway, on behalf of whoever sent the request: one channel, the caller's metadata, its deadline."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Any, Self, TypeVar, cast

import grpc
import grpc.aio
from google.protobuf.message import Message
from grpc_health.v1 import health_pb2, health_pb2_grpc

from sourcier.services.chassis.errors import Unavailable
from sourcier.services.chassis.grpc.channels import Identity, open_channel
from sourcier.services.chassis.grpc.unbroken import Unbroken
from sourcier.services.chassis.tls.client import ClientTls
from sourcier.services.web.callers import Caller
from sourcier.services.web.contract import METHODS, Method
from sourcier.services.web.refusals import refusal

M = TypeVar("M", bound=Message)

HEALTH_SECONDS_MAX = 2.0


class Gateway:
    """The gateway; use it as an async context manager."""

    def __init__(self, url: str, *, tls: ClientTls | None = None) -> None:
        """Keep the address, and whom to trust there; None speaks without TLS."""
        self._url = url
        self._tls = tls
        self._opened: grpc.aio.Channel | None = None

    async def __aenter__(self) -> Self:
        reads = tuple((method.service, method.name) for method in METHODS.values() if method.only_reads)
        self._opened = open_channel(self._url, idempotent=reads, identity=Identity(tls=self._tls))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._opened is not None:
            opened, self._opened = self._opened, None
            await opened.close()

    @property
    def _channel(self) -> grpc.aio.Channel:
        assert self._opened is not None
        return self._opened

    async def call(
        self, method: Method, request: Message, *, caller: Caller, seconds: float | None, answer: type[M] | None = None
    ) -> M:
        """Make one unary call; raise its Refusal. `answer` names the response's class, for readers of types."""
        opened = self._channel.unary_unary(
            method.path, request_serializer=method.request.SerializeToString,
            response_deserializer=method.response.FromString,
        )
        try:
            return cast(M, await opened(request, timeout=seconds, metadata=caller.metadata))
        except grpc.aio.AioRpcError as error:
            raise refusal(error) from error
        except asyncio.CancelledError:
            _raise_if_ended()
            raise

    @asynccontextmanager
    async def stream(
        self, method: Method, request: Message, *, caller: Caller, seconds: float | None
    ) -> AsyncIterator[AsyncGenerator[Any, None]]:
        """Open a server stream, which raises its Refusal; it is cancelled on the way out, whatever happens."""
        opened = self._channel.unary_stream(
            method.path, request_serializer=method.request.SerializeToString,
            response_deserializer=method.response.FromString,
        )(request, timeout=seconds, metadata=caller.metadata)
        messages: Any = aiter(opened)

        async def responses() -> AsyncGenerator[Any, None]:
            try:
                while True:
                    # A reading that is cancelled is never freed (grpc #43360); the call is, and ends it.
                    yield await Unbroken(anext(messages), on_cancel=opened.cancel)
            except StopAsyncIteration:
                return
            except grpc.aio.AioRpcError as error:
                raise refusal(error) from error
            except asyncio.CancelledError:
                _raise_if_ended()
                raise

        try:
            yield responses()
        finally:
            opened.cancel()
            await messages.aclose()

    async def upload(
        self, method: Method, requests: AsyncGenerator[Message, None], *, caller: Caller, seconds: float
    ) -> Any:
        """Make one client-streaming call; raise its Refusal."""
        opened = self._channel.stream_unary(
            method.path, request_serializer=method.request.SerializeToString,
            response_deserializer=method.response.FromString,
        )(requests, timeout=seconds, metadata=caller.metadata)
        try:
            return await opened
        except grpc.aio.AioRpcError as error:
            told = refusal(error)
            if error.code() is grpc.StatusCode.INTERNAL and not told.status.details:
                # Ours, not the gateway's: the call ended in the middle of a write, and its status was lost.
                raise refusal(Unavailable("the gateway broke the upload off; send it again")) from error
            raise told from error
        except asyncio.CancelledError:
            _raise_if_ended()
            raise
        finally:
            opened.cancel()
            await requests.aclose()

    async def is_serving(self) -> bool:
        """Ask the gateway for its health."""
        # The stub is typed for the blocking API.
        stub: Any = health_pb2_grpc.HealthStub(cast(Any, self._channel))
        try:
            told = await stub.Check(health_pb2.HealthCheckRequest(), timeout=HEALTH_SECONDS_MAX)
        except grpc.aio.AioRpcError:
            return False
        return bool(told.status == health_pb2.HealthCheckResponse.SERVING)


def _raise_if_ended() -> None:
    """Raise where the other side ended the call: grpc.aio shows that as the cancellation of the reader."""
    current = asyncio.current_task()
    if current is None or not current.cancelling():
        raise refusal(Unavailable("the gateway ended the call; try again")) from None
