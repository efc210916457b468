"""One gRPC server for every service: health, reflection, deadlines, request ids, metrics, errors, graceful stop."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager
from contextvars import ContextVar
from inspect import iscoroutinefunction
from types import TracebackType
from typing import Any, Self

import grpc
import grpc.aio
from google.rpc import code_pb2, status_pb2
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_health.v1._async import HealthServicer
from grpc_reflection.v1alpha import reflection

from sourcier.installation import own_release
from sourcier.services.chassis import telemetry
from sourcier.services.chassis.access import Access, enter_access
from sourcier.services.chassis.errors import (
    DeadlineExceeded,
    InvalidArgument,
    ServiceError,
    Unavailable,
    told_to_logs,
)
from sourcier.services.chassis.grpc.admission import EndedCall, Gate, InnerGate, metadata_value
from sourcier.services.chassis.grpc.callers import TENANT_KEY, check_rights_keys, named_tenant, tenant_of
from sourcier.services.chassis.grpc.health_port import HealthPort
from sourcier.services.chassis.grpc.hearing import Heard, drain
from sourcier.services.chassis.grpc.limits import ServingLimits, is_long
from sourcier.services.chassis.grpc.places import Places, Pot, network_of
from sourcier.services.chassis.grpc.statuses import aborted_with, error_status, note_call
from sourcier.services.chassis.grpc.tenant_calls import count_call
from sourcier.services.chassis.grpc.tokens import InternalTokens, refusal
from sourcier.services.chassis.grpc.transport import MESSAGE_BYTES_MAX, bound, server_options
from sourcier.services.chassis.tls.serving import TlsFiles
from sourcier.services.chassis.tracing import spans
from sourcier.services.chassis.tracing.traceparent import Parent, parent_in

__all__ = [
    "MESSAGE_BYTES_MAX", "STREAM_DEADLINE_SECONDS", "TENANT_KEY", "CallInterceptor", "Server", "error_status",
    "named_tenant", "received", "require", "seconds_left", "tenant_of",
]

RELEASE_PREFIX = "sourcier.release/"
"""Before the release of this code, in the list of names that the health service gives."""

logger = logging.getLogger(__name__)

DEFAULT_DEADLINE_SECONDS = 120.0
"""For callers that set none."""
STREAM_DEADLINE_SECONDS = 3600.0
"""For streams, either way, of callers that set none: watching a long job is legitimate."""

GONE_SECONDS = 1.0
"""How long a call without a request waits for the news that its caller is gone."""

_ends_at: ContextVar[float | None] = ContextVar("call_ends_at", default=None)
"""When the call being served is ended by our own limit, in seconds of the monotonic clock."""


class Server:
    """A gRPC server that knows its health; use it as an async context manager."""

    def __init__(
        self, *, listen: str, grace_seconds: float, concurrent_calls_max: int, limits: ServingLimits | None = None,
        tokens: InternalTokens | None = None, gate: Gate | None = None, tls: TlsFiles | None = None,
        peers: frozenset[str] = frozenset(), health_listen: str = "",
    ) -> None:
        """Take what may be held at once, the tokens of which callers show one, and the names of their certificates.

        No tokens let everybody in, and no names every certificate that the authority signed. A `gate` decides itself.
        At `health_listen` health alone is told, without TLS.
        """
        self.port = 0
        self._tls = tls
        self._gate = gate or InnerGate(peers)
        self.grace_seconds = grace_seconds
        self._listen, self._health_listen = listen, health_listen
        self._health = HealthServicer()
        self._service_names = [health_pb2.DESCRIPTOR.services_by_name["Health"].full_name, reflection.SERVICE_NAME]
        self._limits = limits or ServingLimits()
        self._tokens = tokens
        self._places = Places(calls_max=concurrent_calls_max, limits=self._limits)
        self._server: grpc.aio.Server | None = None
        self._health_port: HealthPort | None = None
        self._registrations: list[Callable[[grpc.aio.Server], None]] = []

    def add(self, register: Callable[[Any, Any], None], servicer: object, service_name: str) -> None:
        """Add a service; `register` is the generated `add_…Servicer_to_server`."""
        self._registrations.append(lambda server: register(servicer, server))
        self._service_names.append(service_name)

    async def __aenter__(self) -> Self:
        interceptor = CallInterceptor(self._places, self._limits, self._gate, tokens=self._tokens)
        options = server_options(places=self._places.size, limits=self._limits)
        self._server = grpc.aio.server(interceptors=[interceptor], options=options)
        health_pb2_grpc.add_HealthServicer_to_server(self._health, self._server)
        credentials = None if self._tls is None else self._tls.server_credentials()
        self.port = bound(self._server, self._listen, credentials=credentials)
        self._health_port = HealthPort(
            self._health, interceptor, listen=self._health_listen, places=self._places.size, limits=self._limits
        )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    async def start(self) -> None:
        """Register what was added, serve, and say so in the health service."""
        assert self._server is not None
        assert self._health_port is not None
        for register in self._registrations:
            register(self._server)
        # A server of health alone describes nothing to those who ask.
        if self._registrations:
            reflection.enable_server_reflection(self._service_names, self._server)
        await self._server.start()
        await self._health_port.start()
        for name in ("", RELEASE_PREFIX + own_release(), *self._service_names):
            await self._health.set(name, health_pb2.HealthCheckResponse.SERVING)
        if self._tokens is not None and not self._tokens:
            logger.warning("whoever reaches %s may call it as any tenant; set SOURCIER_INTERNAL_TOKEN for all services",
                           self._listen)
        logger.info("ready", extra={"port": self.port})

    async def stop(self) -> None:
        """Turn NOT_SERVING, refuse new calls, and let those in hand finish within the grace."""
        if self._server is None:
            return
        server, self._server = self._server, None
        await self._health.enter_graceful_shutdown()
        await server.stop(self.grace_seconds)
        if self._health_port is not None:
            await self._health_port.stop()


def seconds_left(context: grpc.aio.ServicerContext[Any, Any], *, default_seconds: float | None = None) -> float:
    """Return what is left of the caller's deadline, at most until our own limit; in seconds.

    For a caller that set none it is `default_seconds`, or the default of short calls.
    """
    remaining = context.time_remaining()
    if remaining is None:
        remaining = DEFAULT_DEADLINE_SECONDS if default_seconds is None else default_seconds
    ends_at = _ends_at.get()
    return max(remaining if ends_at is None else min(remaining, ends_at - time.monotonic()), 0.0)


class CallInterceptor(grpc.aio.ServerInterceptor):
    """Wraps every handler: request id, places, limits of time, metrics, and the one mapping from errors to statuses."""

    def __init__(
        self, places: Places, limits: ServingLimits, gate: Gate | None = None, *, tokens: InternalTokens | None = None
    ) -> None:
        self._places = places
        self._limits = limits
        self._gate = gate or InnerGate()
        self._tokens = tokens

    async def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Awaitable[Any]],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> Any:
        """Return the handler, wrapped.

        All become handlers that are sent streams. The wire is the same, and reading is then ours: before it calls a
        handler of one message, grpc.aio waits for that message as long as the caller likes.
        """
        details = handler_call_details
        if self._tokens is not None and not self._tokens.let_in(details.method, details.invocation_metadata):
            return refusal()
        handler = await continuation(details)
        if handler is None:
            return None
        method = details.method
        if method.startswith("/grpc."):
            wrapped = self._probe(_Method(method, handler))
        else:
            request_id = metadata_value(details.invocation_metadata, telemetry.REQUEST_ID_KEY)
            parent = parent_in(details.invocation_metadata) if spans.tracing() else None
            wrapped = self._call(_Method(method, handler), request_id, parent)
        make = (
            grpc.stream_stream_rpc_method_handler if handler.response_streaming
            else grpc.stream_unary_rpc_method_handler
        )
        return make(wrapped, handler.request_deserializer, handler.response_serializer)

    def _call(self, method: _Method, request_id: str, parent: Parent | None) -> Callable[..., Any]:
        pot = self._places.streams if method.is_long else self._places.calls
        cap_seconds = self._limits.stream_seconds_max if method.is_long else self._limits.call_seconds_max

        # A coroutine that writes, not a generator: when a call is cancelled while it sends, grpc.aio leaves a generator
        # to the garbage collector, which ends the work late and in another context.
        async def handle(requests: AsyncIterator[Any], context: grpc.aio.ServicerContext[Any, Any]) -> Any:
            with telemetry.request(request_id), spans.entered(method.name[1:], kind="server", parent=parent):
                heard = Heard(requests, context, limits=self._limits)
                async with (
                    _Call(method.name, context, heard, pot=pot, gate=self._gate),
                    _ending(context, default_seconds=method.default_seconds, cap_seconds=cap_seconds),
                ):
                    return await _answer(method, heard, requests, context)

        return handle

    def _probe(self, method: _Method) -> Callable[..., Any]:
        """Wrap health and reflection: they take no place of a call, so that a full server still tells its health."""
        pot = self._places.watchers if method.answers_stream else None

        async def handle(requests: AsyncIterator[Any], context: grpc.aio.ServicerContext[Any, Any]) -> Any:
            heard = Heard(requests, context, limits=self._limits)
            async with _Call(method.name, context, heard, pot=pot, gate=None, observed=False):
                return await _answer(method, heard, requests, context)

        return handle


class _Method:
    """A method of a service, of whatever shape."""

    def __init__(self, name: str, handler: Any) -> None:
        self.name = name
        self.takes_stream, self.answers_stream = handler.request_streaming, handler.response_streaming
        self.behavior = (
            (handler.stream_stream if self.takes_stream else handler.unary_stream) if self.answers_stream
            else (handler.stream_unary if self.takes_stream else handler.unary_unary)
        )
        self.is_long = self.takes_stream or self.answers_stream or is_long(self.behavior)
        self.default_seconds = STREAM_DEADLINE_SECONDS if self.takes_stream or self.answers_stream else (
            DEFAULT_DEADLINE_SECONDS)
        self.is_coroutine = not self.answers_stream or iscoroutinefunction(self.behavior)


@asynccontextmanager
async def _ending(
    context: grpc.aio.ServicerContext[Any, Any], *, default_seconds: float, cap_seconds: float
) -> AsyncIterator[None]:
    """End the call when our own limit or the default deadline is over; a shorter one of the caller is gRPC's to end."""
    remaining = context.time_remaining()
    seconds = min(default_seconds if remaining is None else remaining, cap_seconds)
    _ends_at.set(time.monotonic() + seconds)
    limit = asyncio.timeout(seconds if remaining is None or remaining > cap_seconds else None)
    try:
        async with limit:
            yield
    except TimeoutError as error:
        if not limit.expired():
            raise
        raise DeadlineExceeded(
            f"the call was ended after {seconds:g} s, the most that it may take", limit="duration"
        ) from error


async def _answer(
    method: _Method, heard: Heard, requests: AsyncIterator[Any], context: grpc.aio.ServicerContext[Any, Any]
) -> Any:
    """Read what the method takes; return what it answers, or write it where that is a stream."""
    try:
        request = heard if method.takes_stream else await _only_request(heard)
        if method.is_coroutine:  # of one response; or it writes itself, as that of health does
            return await method.behavior(request, context)
        if not method.takes_stream:
            # A caller keeps the memory of waiting for metadata when it leaves before they came (grpc #43360).
            await context.send_initial_metadata(())
        async with aclosing(method.behavior(request, context)) as responses:
            async for response in responses:
                await context.write(response)
    except Exception:  # whatever it is, the sender gets to know it
        # In the middle of a write it may see a broken call, not why; one that said nothing is in the middle of none.
        if method.takes_stream and not method.answers_stream and heard.silence is None:
            await drain(requests)
        raise
    finally:
        heard.close()


async def _only_request(heard: Heard) -> Any:
    """Return the one request of a call."""
    request = await heard.only()
    if request is grpc.aio.EOF:
        # A caller that is gone: this is about to be cancelled.
        await asyncio.sleep(GONE_SECONDS)
        raise InvalidArgument("the call ended without a request; send one")
    return request


class _Call:
    """What surrounds a handler: it knows the caller, holds a place, measures, logs and maps the error that comes out.

    The place is kept until all is sent: a caller that reads nothing holds memory for as long.
    """

    def __init__(
        self, method: str, context: grpc.aio.ServicerContext[Any, Any], heard: Heard, *, pot: Pot | None,
        gate: Gate | None, observed: bool = True,
    ) -> None:
        self._method = method
        self._context = context
        self._heard = heard
        self._pot = pot
        self._gate = gate
        self._access: Access | None = None
        self._observed = observed
        self._started = time.monotonic()

    async def __aenter__(self) -> None:
        try:
            check_rights_keys(self._context.invocation_metadata())
            if self._gate is not None:
                self._access = await self._gate.admit(self._method, self._context)
                enter_access(self._access)
            if self._pot is not None:
                give_back = self._pot.take(
                    tenant=self._tenant(), peer=network_of(self._context.peer()),
                    person=self._access.name if self._access is not None else "",
                )
                # The stubs declare a class for it; any callable is called, with the context.
                self._context.add_done_callback(lambda _: give_back())  # type: ignore[arg-type]
        except Exception as error:
            await self.__aexit__(type(error), error, None)

    def _tenant(self) -> str:
        """Return whose share of the places the call takes from."""
        if self._access is not None:
            return self._access.tenant
        return named_tenant(self._context) if self._gate is None or self._gate.names_tenant else ""

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
        error = DeadlineExceeded() if isinstance(error, TimeoutError) else self._heard.silence or error
        status = error_status(error)
        self._observe(code_pb2.Code.Name(status.code))
        self._log(error, status)
        if self._heard.silence is not None:
            raise await self._heard.ended()
        raise await aborted_with(self._context, error)

    def _log(self, error: BaseException, status: status_pb2.Status) -> None:
        if status.code in {code_pb2.INTERNAL, code_pb2.UNKNOWN, code_pb2.DATA_LOSS}:
            logger.error("%s failed", self._method, exc_info=error)
            return
        told: dict[str, object] = {"code": code_pb2.Code.Name(status.code)}
        if isinstance(error, ServiceError) and "limit" in error.metadata:
            told |= {"limit": error.metadata["limit"], "peer": network_of(self._context.peer())}
        logger.info("%s refused: %s", self._method, told_to_logs(error), extra=told)

    def _observe(self, code: str) -> None:
        if self._observed:
            telemetry.rpc_seconds.labels(self._method, code).observe(
                time.monotonic() - self._started, telemetry.exemplar()
            )
            tenant = self._tenant()
            count_call(tenant, code)
            note_call(spans.current(), method=self._method, code=code, tenant=tenant)
        if self._gate is not None:
            self._gate.ended(EndedCall(
                method=self._method, context=self._context, access=self._access, request=self._heard.first, code=code
            ))


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
