"""One gRPC server for every service: health, reflection, deadlines, request ids, metrics, errors, graceful stop."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import aclosing, suppress
from types import TracebackType
from typing import Any, Self

import grpc
import grpc.aio
from google.protobuf import any_pb2
from google.rpc import code_pb2, error_details_pb2, status_pb2
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_health.v1._async import HealthServicer
from grpc_reflection.v1alpha import reflection
from grpc_status import rpc_status

from sourcier.services.chassis import telemetry
from sourcier.services.chassis.errors import (
    ERROR_DOMAIN,
    DeadlineExceeded,
    InvalidArgument,
    ResourceExhausted,
    ServiceError,
    Unavailable,
)
from sourcier.services.chassis.grpc.unbroken import Unbroken
from sourcier.services.chassis.tenants import checked_tenant

logger = logging.getLogger(__name__)

TENANT_KEY = "sourcier-tenant"
RIGHTS_KEYS = (TENANT_KEY, "authorization")
"""Keys of the metadata that decide whose data a call sees. Each may be given once: behind a proxy that adds its own,
the caller would otherwise choose."""
DEFAULT_TENANT = "default"
MESSAGE_BYTES_MAX = 16 * 1024 * 1024
DEFAULT_DEADLINE_SECONDS = 120.0
"""For callers that set none."""
STREAM_DEADLINE_SECONDS = 3600.0
"""For streams, either way, of callers that set none: watching a long job is legitimate."""

LINGER_SECONDS, LINGER_IDLE_SECONDS = 30.0, 0.5
"""How long what a refused sender still sends is read and dropped, in all and while nothing comes."""

GONE_SECONDS = 1.0
"""How long a call without a request waits for the news that its caller is gone."""

_OPTIONS = (
    ("grpc.max_receive_message_length", MESSAGE_BYTES_MAX),
    ("grpc.max_send_message_length", MESSAGE_BYTES_MAX),
    # A client that vanished without a FIN is noticed within keepalive time plus time-out.
    ("grpc.keepalive_time_ms", 30_000),
    ("grpc.keepalive_timeout_ms", 10_000),
    # Without it an unanswered ping is waited for as long as gRPC's own limit, 60 s.
    ("grpc.http2.ping_timeout_ms", 10_000),
    ("grpc.keepalive_permit_without_calls", 1),
    # Clients of ours ping every 30 s; the default of 5 minutes would answer them with GOAWAY too_many_pings.
    ("grpc.http2.min_ping_interval_without_data_ms", 20_000),
    ("grpc.so_reuseport", 0),
)


class Server:
    """A gRPC server that knows its health; use it as an async context manager."""

    def __init__(self, *, listen: str, grace_seconds: float, concurrent_calls_max: int) -> None:
        self.port = 0
        self.grace_seconds = grace_seconds
        self._listen = listen
        self._health = HealthServicer()
        self._service_names = [health_pb2.DESCRIPTOR.services_by_name["Health"].full_name, reflection.SERVICE_NAME]
        self._concurrent_calls_max = concurrent_calls_max
        self._server: grpc.aio.Server | None = None
        self._registrations: list[Callable[[grpc.aio.Server], None]] = []

    def add(self, register: Callable[[Any, Any], None], servicer: object, service_name: str) -> None:
        """Add a service; `register` is the generated `add_…Servicer_to_server`."""
        self._registrations.append(lambda server: register(servicer, server))
        self._service_names.append(service_name)

    async def __aenter__(self) -> Self:
        self._server = grpc.aio.server(
            interceptors=[CallInterceptor()], options=_OPTIONS, maximum_concurrent_rpcs=self._concurrent_calls_max
        )
        health_pb2_grpc.add_HealthServicer_to_server(self._health, self._server)
        try:
            self.port = self._server.add_insecure_port(self._listen)
        except RuntimeError as error:
            raise ResourceExhausted(
                f"cannot listen on {self._listen}: the port is taken or the address is not this machine's; "
                "choose another one with SOURCIER_<SERVICE>_LISTEN"
            ) from error
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    async def start(self) -> None:
        """Register what was added, serve, and say so in the health service."""
        assert self._server is not None
        for register in self._registrations:
            register(self._server)
        reflection.enable_server_reflection(self._service_names, self._server)
        await self._server.start()
        for name in ("", *self._service_names):
            await self._health.set(name, health_pb2.HealthCheckResponse.SERVING)
        logger.info("ready", extra={"port": self.port})

    async def stop(self) -> None:
        """Turn NOT_SERVING, refuse new calls, and let those in hand finish within the grace."""
        if self._server is None:
            return
        server, self._server = self._server, None
        await self._health.enter_graceful_shutdown()
        await server.stop(self.grace_seconds)


def tenant_of(context: grpc.aio.ServicerContext[Any, Any]) -> str:
    """Return the tenant that the caller names in its metadata, `default` where it names none."""
    return checked_tenant(_metadata_value(context.invocation_metadata(), TENANT_KEY) or DEFAULT_TENANT)


def check_rights_keys(metadata: Any) -> None:
    """Raise InvalidArgument where a key that decides rights is given more than once."""
    names = [name for name, _ in metadata or ()]
    for key in RIGHTS_KEYS:
        if names.count(key) > 1:
            raise InvalidArgument(f"the metadata has {key} {names.count(key)} times; send it once", field=key)


def seconds_left(context: grpc.aio.ServicerContext[Any, Any]) -> float:
    """Return what is left of the caller's deadline, or of the default one; in seconds."""
    remaining = context.time_remaining()
    return DEFAULT_DEADLINE_SECONDS if remaining is None else max(remaining, 0.0)


def _metadata_value(metadata: Any, key: str) -> str:
    for name, value in metadata or ():
        if name == key:
            return value if isinstance(value, str) else value.decode("ascii", "replace")
    return ""


def error_status(error: BaseException) -> status_pb2.Status:
    """Map an error to the status that a caller sees; the one mapping, tested over every subclass."""
    if not isinstance(error, ServiceError):
        error = ServiceError()
    details = [error_details_pb2.ErrorInfo(reason=error.reason, domain=ERROR_DOMAIN, metadata=dict(error.metadata))]
    status = status_pb2.Status(code=error.code, message=error.message)
    for detail in details:
        packed = any_pb2.Any()
        packed.Pack(detail)
        status.details.append(packed)
    if error.field is not None:
        packed = any_pb2.Any()
        violation = error_details_pb2.BadRequest.FieldViolation(field=error.field, description=error.message)
        packed.Pack(error_details_pb2.BadRequest(field_violations=[violation]))
        status.details.append(packed)
    return status


class CallInterceptor(grpc.aio.ServerInterceptor):
    """Wraps every handler: request id, deadline, metrics, and the one mapping from errors to statuses."""

    async def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Awaitable[Any]],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> Any:
        """Return the handler, wrapped; health and reflection stay as they are."""
        handler = await continuation(handler_call_details)
        method = handler_call_details.method
        if handler is None or method.startswith("/grpc."):
            return handler
        request_id = _metadata_value(handler_call_details.invocation_metadata, telemetry.REQUEST_ID_KEY)
        if handler.response_streaming:
            # Whether a client sends one message or more is the same on the line; one alone we read ourselves.
            make = grpc.stream_stream_rpc_method_handler
            wrapped = _stream_handler(
                handler.stream_stream or handler.unary_stream, method, request_id,
                one_request=not handler.request_streaming,
            )
        else:
            make = grpc.stream_unary_rpc_method_handler if handler.request_streaming else (
                grpc.unary_unary_rpc_method_handler)
            # An upload is as long as its sender's line is slow.
            seconds_max = STREAM_DEADLINE_SECONDS if handler.request_streaming else DEFAULT_DEADLINE_SECONDS
            behavior = _lingering(handler.stream_unary) if handler.request_streaming else handler.unary_unary
            wrapped = _unary_handler(behavior, method, request_id, seconds_max)
        return make(wrapped, handler.request_deserializer, handler.response_serializer)


def _unary_handler(
    behavior: Callable[..., Any], method: str, request_id: str, seconds_max: float
) -> Callable[..., Any]:
    async def handle(request: Any, context: grpc.aio.ServicerContext[Any, Any]) -> Any:
        with telemetry.request(request_id):
            async with _Call(method, context):
                async with asyncio.timeout(_default_seconds(context, seconds_max)):
                    return await behavior(request, context)

    return handle


def _lingering(behavior: Callable[..., Any]) -> Callable[..., Any]:
    """Let a sender that is refused on the way finish: in the middle of a write it may see a broken call, not why."""

    async def handle(requests: AsyncIterator[Any], context: grpc.aio.ServicerContext[Any, Any]) -> Any:
        try:
            return await behavior(requests, context)
        except Exception:  # whatever it is, the sender gets to know it
            await _drain(requests)
            raise

    return handle


async def _drain(requests: AsyncIterator[Any]) -> None:
    iterator = aiter(requests)
    with suppress(TimeoutError, StopAsyncIteration):
        async with asyncio.timeout(LINGER_SECONDS):
            while True:
                async with asyncio.timeout(LINGER_IDLE_SECONDS):
                    await _next(iterator)


async def _next(iterator: AsyncIterator[Any]) -> None:
    while True:
        try:
            await anext(iterator)
            return
        except RuntimeError:
            # A relay whose own call was refused still waits for the sender's next message: two cannot read at once.
            await asyncio.sleep(0.01)


def _stream_handler(
    behavior: Callable[..., Any], method: str, request_id: str, *, one_request: bool
) -> Callable[..., Any]:
    # A coroutine that writes, not a generator: when a call is cancelled while it sends, grpc.aio leaves a generator to
    # the garbage collector, which ends the work late and in another context.
    async def handle(requests: AsyncIterator[Any], context: grpc.aio.ServicerContext[Any, Any]) -> None:
        with telemetry.request(request_id):
            async with _Call(method, context):
                async with asyncio.timeout(_default_seconds(context, STREAM_DEADLINE_SECONDS)):
                    request = await _accepted(context) if one_request else requests
                    async with aclosing(behavior(request, context)) as responses:
                        async for response in responses:
                            await context.write(response)

    return handle


async def _accepted(context: grpc.aio.ServicerContext[Any, Any]) -> Any:
    """Return the one request of a stream of responses, and tell the caller that it is there.

    gRPC's own reading keeps its memory when the caller is gone by then, and a caller keeps that of waiting for metadata
    when it leaves before they came (grpc #43360).
    """
    request = await Unbroken(context.read())
    if request is grpc.aio.EOF:
        # A caller that is gone: this is about to be cancelled.
        await asyncio.sleep(GONE_SECONDS)
        raise InvalidArgument("the call ended without a request; send one")
    await context.send_initial_metadata(())
    return request


def _default_seconds(context: grpc.aio.ServicerContext[Any, Any], default: float) -> float | None:
    return default if context.time_remaining() is None else None


class _Call:
    """What surrounds a handler: it measures, logs and maps the error that comes out."""

    def __init__(self, method: str, context: grpc.aio.ServicerContext[Any, Any]) -> None:
        self._method = method
        self._context = context
        self._started = time.monotonic()

    async def __aenter__(self) -> None:
        try:
            check_rights_keys(self._context.invocation_metadata())
        except InvalidArgument as error:
            await self.__aexit__(type(error), error, None)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, (asyncio.CancelledError, GeneratorExit)):
            self._observe("CANCELLED")
            return
        if error is None:
            self._observe("OK")
            return
        if isinstance(error, grpc.aio.AbortError):
            self._observe("ABORTED")
            return
        if isinstance(error, TimeoutError):
            error = DeadlineExceeded()
        status = error_status(error)
        self._observe(code_pb2.Code.Name(status.code))
        if status.code in {code_pb2.INTERNAL, code_pb2.UNKNOWN, code_pb2.DATA_LOSS}:
            logger.error("%s failed", self._method, exc_info=error)
        else:
            logger.info("%s refused: %s", self._method, status.message, extra={"code": code_pb2.Code.Name(status.code)})
        await self._context.abort_with_status(rpc_status.to_status(status))

    def _observe(self, code: str) -> None:
        telemetry.rpc_seconds.labels(self._method, code).observe(time.monotonic() - self._started)


async def received(
    requests: AsyncIterator[Any], context: grpc.aio.ServicerContext[Any, Any]
) -> AsyncGenerator[Any, None]:
    """Yield what a client sends; raise, or be cancelled, unless the client ended the stream itself.

    grpc.aio ends the iteration alike for a client that is done and for one that vanished: half a document would pass
    for a whole one. Only on a call that lives can metadata still be sent.
    """
    async for request in requests:
        yield request
    try:
        await context.send_initial_metadata(())
    except Exception as error:  # the library's own classes are not public
        raise Unavailable("the sender went away before it was done") from error


def require(condition: bool, message: str, *, field: str) -> None:
    """Refuse a request whose field breaks a rule; the message names the value and the way out."""
    if not condition:
        raise InvalidArgument(message, field=field)
