"""Calls from one service to another: what is left of the caller's deadline, one retry policy, one error mapping."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Self, TypeVar, cast

import grpc
import grpc.aio
from google.rpc import error_details_pb2
from grpc_status import rpc_status

from sourcier.services.chassis import errors, telemetry
from sourcier.services.chassis.access import ACCESS_KEY, METADATA_BYTES_MAX, current_access
from sourcier.services.chassis.grpc.renewed_channels import RenewedChannel
from sourcier.services.chassis.grpc.serving import MESSAGE_BYTES_MAX, TENANT_KEY, seconds_left
from sourcier.services.chassis.grpc.tokens import ShowingChannel
from sourcier.services.chassis.grpc.unbroken import Unbroken
from sourcier.services.chassis.grpc.wrapped_channels import TracedChannel
from sourcier.services.chassis.tls.client import ClientTls
from sourcier.services.chassis.tracing import spans

R = TypeVar("R")

logger = logging.getLogger(__name__)

REQUEST_TURNS = 3
"""Of the event loop: the task that calls, grpc.aio's own, and one to spare."""

DNS_SECONDS_MIN = 5
"""Least time between two look-ups of a peer's name, however often connections end."""
PEERS_WITH_INDEX = frozenset({"ingest"})

_RETRY_POLICY = {
    "maxAttempts": 4,
    "initialBackoff": "0.1s",
    "maxBackoff": "1s",
    "backoffMultiplier": 2,
    # Of methods that may be repeated: what was never begun, and CANCELLED, which comes from a server that stops while
    # a call arrives, before it tells its clients to go elsewhere.
    "retryableStatusCodes": ["UNAVAILABLE", "CANCELLED"],
}


@dataclass(frozen=True)
class Deadline:
    """A point in time that every call made on behalf of one request shares."""

    at: float
    """Seconds of the monotonic clock."""

    @classmethod
    def after(cls, seconds: float) -> Self:
        """Return the deadline that many seconds from now."""
        return cls(time.monotonic() + seconds)

    @classmethod
    def of(cls, context: grpc.aio.ServicerContext[Any, Any], *, default_seconds: float | None = None) -> Self:
        """Return the deadline of the call being served; `default_seconds` from now where its caller set none."""
        return cls.after(seconds_left(context, default_seconds=default_seconds))

    def remaining(self, cap_seconds: float | None = None) -> float:
        """Return the seconds left, at most the cap; raise DeadlineExceeded when there are none."""
        left = self.at - time.monotonic()
        if left <= 0:
            raise errors.DeadlineExceeded()
        return left if cap_seconds is None else min(left, cap_seconds)


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """What a process shows those that it calls."""

    token: str = field(default="", repr=False)
    """Of the installation, in the metadata; empty for none."""
    tls: ClientTls | None = None
    """Its certificate, and whom it trusts; None speaks without TLS."""


NOBODY = Identity()


def open_channel(
    target: str, *, idempotent: tuple[tuple[str, str], ...] = (), identity: Identity = NOBODY
) -> grpc.aio.Channel:
    """Open a channel to host:port; the (service, method) pairs named are retried when the peer is unavailable.

    Raises FailedPrecondition where a certificate cannot be read.
    """
    config = {
        "methodConfig": [
            {"name": [{"service": service, "method": method} for service, method in idempotent],
             "retryPolicy": _RETRY_POLICY}
        ] if idempotent else [],
        "retryThrottling": {"maxTokens": 10, "tokenRatio": 0.1},
        "loadBalancingConfig": [{"round_robin": {}}],
    }
    options: tuple[tuple[str, Any], ...] = (
        ("grpc.service_config", json.dumps(config)),
        ("grpc.enable_retries", 1),
        ("grpc.max_receive_message_length", MESSAGE_BYTES_MAX),
        ("grpc.max_send_message_length", MESSAGE_BYTES_MAX),
        ("grpc.max_metadata_size", METADATA_BYTES_MAX),
        ("grpc.keepalive_time_ms", 30_000),
        ("grpc.keepalive_timeout_ms", 10_000),
        # Without it an unanswered ping is waited for as long as gRPC's own limit, 60 s.
        ("grpc.http2.ping_timeout_ms", 10_000),
        # A restarted peer is found again within half a second instead of two minutes.
        ("grpc.initial_reconnect_backoff_ms", 100),
        # Despite its name it bounds each attempt to connect: a busy machine, or one far away, needs more than 100 ms.
        ("grpc.min_reconnect_backoff_ms", 5_000),
        ("grpc.max_reconnect_backoff_ms", 500),
        # A name is looked up again whenever a connection ends by its age, and gRPC's own default leaves 30 s between.
        ("grpc.dns_min_time_between_resolutions_ms", DNS_SECONDS_MIN * 1000),
        # gRPC's own pool is the process's: a new channel would share an older one's refused connection and back-off.
        ("grpc.use_local_subchannel_pool", 1),
    )
    channel: grpc.aio.Channel = (
        grpc.aio.insecure_channel(target, options=options) if identity.tls is None else
        RenewedChannel(identity.tls, lambda read: grpc.aio.secure_channel(target, read, options=options))
    )
    if identity.token:
        channel = ShowingChannel(channel, identity.token)
    return TracedChannel(channel) if spans.tracing() else channel


def metadata(tenant: str, *, peer: str) -> tuple[tuple[str, str], ...]:
    """Return what travels with every call: to who reads the index, also what the caller may reach there."""
    told = ((TENANT_KEY, tenant), (telemetry.REQUEST_ID_KEY, telemetry.current_request_id()))
    access = current_access() if peer in PEERS_WITH_INDEX else None
    return told if access is None else (*told, (ACCESS_KEY, access.packed()))


async def call(
    method: Callable[..., Any], request: Any, *, peer: str, tenant: str, deadline: Deadline, cap_seconds: float
) -> Any:
    """Make one unary call within the deadline; `peer` names the service in errors."""
    try:
        return await method(request, timeout=deadline.remaining(cap_seconds), metadata=metadata(tenant, peer=peer))
    except grpc.aio.AioRpcError as error:
        raise translate(error, peer=peer) from error


async def let_leave() -> None:
    """Let the request of a call that another task just began leave before this one goes on.

    It leaves in the event loop's next turns, which work of a millisecond, or a thread that holds the interpreter's
    lock, would hold up.
    """
    for _ in range(REQUEST_TURNS):
        await asyncio.sleep(0)


async def upload(
    method: Callable[..., Any], requests: AsyncGenerator[Any, None], *, peer: str, tenant: str, deadline: Deadline,
    cap_seconds: float,
) -> Any:
    """Make one client-streaming call within the deadline; an error of `requests` passes through and cancels it."""
    broken: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def guarded() -> AsyncGenerator[Any, None]:
        try:
            async with aclosing(requests):
                async for request in requests:
                    yield request
        except errors.ServiceError as error:
            # A call whose iterator raises hangs until its deadline, so this one waits to be cancelled.
            broken.set_exception(error)
            await asyncio.Event().wait()

    opened = method(guarded(), timeout=deadline.remaining(cap_seconds), metadata=metadata(tenant, peer=peer))
    answered = asyncio.ensure_future(_response(opened))
    try:
        await asyncio.wait((answered, broken), return_when=asyncio.FIRST_COMPLETED)
        if broken.done():
            broken.result()
        return await answered
    except grpc.aio.AioRpcError as error:
        if error.code() is grpc.StatusCode.INTERNAL and not _details(error)[0]:
            # Ours, not the peer's: the call ended in the middle of a write, and its status was lost.
            raise errors.Unavailable(f"the {peer} service broke the upload off") from error
        raise translate(error, peer=peer) from error
    finally:
        opened.cancel()
        answered.cancel()
        broken.cancel()


async def _response(opened: Any) -> Any:
    return await opened


@asynccontextmanager
async def stream(
    method: Callable[..., Any], request: Any, *, peer: str, tenant: str, deadline: Deadline, cap_seconds: float
) -> AsyncIterator[AsyncIterator[Any]]:
    """Open a server stream within the deadline; it is cancelled on the way out, whatever happens."""
    opened = method(request, timeout=deadline.remaining(cap_seconds), metadata=metadata(tenant, peer=peer))
    messages = aiter(opened)

    async def responses() -> AsyncIterator[Any]:
        try:
            while True:
                # A reading that is cancelled is never freed (grpc #43360); the call is, and ends it.
                yield await Unbroken(anext(messages), on_cancel=opened.cancel)
        except StopAsyncIteration:
            return
        except grpc.aio.AioRpcError as error:
            raise translate(error, peer=peer) from error
        except asyncio.CancelledError:
            # grpc.aio raises this in the reader when the call was cancelled from the other side, too.
            current = asyncio.current_task()
            if current is None or not current.cancelling():
                raise errors.Unavailable(f"the {peer} service cancelled the stream") from None
            raise

    try:
        yield responses()
    finally:
        # An abandoned call is never collected (grpc #43462), and a generator in the middle holds its call.
        opened.cancel()
        await messages.aclose()


def translate(error: grpc.aio.AioRpcError, *, peer: str) -> errors.ServiceError:
    """Return the error of the peer as one of ours; a peer that is gone is named."""
    code = error.code()
    reason, parameters, field, retry_after_seconds = _details(error)
    kind = _BY_REASON.get(reason) or _BY_CODE.get(code, errors.ServiceError)
    if not reason and code is grpc.StatusCode.UNAVAILABLE:
        # The cause is gRPC's, with addresses in it: for who runs the services, not for who asked.
        logger.warning("a call did not reach the %s service: %s", peer, error.details())
        return errors.Unavailable(f"the {peer} service cannot be reached; it may be restarting: try again in a moment")
    if not reason and code is grpc.StatusCode.CANCELLED:
        # Not by us: that raises CancelledError.
        return errors.Unavailable(f"the {peer} service cancelled the call; it may be restarting: try again in a moment")
    if code is grpc.StatusCode.UNAUTHENTICATED:
        # Its own caller has shown what it has to: what lacks is between the services.
        logger.error("the %s service takes no call of this one; both need the same SOURCIER_INTERNAL_TOKEN, "
                     "and this one's certificate a name of SOURCIER_INTERNAL_TLS_PEERS", peer)
        return errors.Unavailable(f"the {peer} service takes no call of this one; its operator finds why in the log")
    if not reason and code is grpc.StatusCode.DEADLINE_EXCEEDED:
        return errors.DeadlineExceeded(f"the {peer} service did not answer in time")
    if kind is errors.ServiceError:
        return errors.ServiceError()
    return kind(error.details() or None, field=field, retry_after_seconds=retry_after_seconds, **parameters)


def from_reason(reason: str, message: str) -> errors.ServiceError:
    """Return the error that a reason names, as an event tells it; an internal one where none has it."""
    kind = _BY_REASON.get(reason, errors.ServiceError)
    return errors.ServiceError() if kind is errors.ServiceError else kind(message)


def _details(error: grpc.aio.AioRpcError) -> tuple[str, dict[str, str], str | None, float | None]:
    reason, parameters, field, retry_after_seconds = "", dict[str, str](), None, None
    status = rpc_status.from_call(cast(grpc.Call, error))
    for detail in status.details if status is not None else ():
        info, request = error_details_pb2.ErrorInfo(), error_details_pb2.BadRequest()
        again = error_details_pb2.RetryInfo()
        if detail.Unpack(info) and info.domain == errors.ERROR_DOMAIN:
            reason, parameters = info.reason, dict(info.metadata)
        elif detail.Unpack(request) and request.field_violations:
            field = request.field_violations[0].field
        elif detail.Unpack(again):
            retry_after_seconds = again.retry_delay.ToMilliseconds() / 1000
    return reason, parameters, field, retry_after_seconds


def _subclasses(kind: type[errors.ServiceError]) -> list[type[errors.ServiceError]]:
    return [kind, *(below for child in kind.__subclasses__() for below in _subclasses(child))]


_BY_REASON = {kind.reason: kind for kind in _subclasses(errors.ServiceError)}
_BY_CODE: dict[grpc.StatusCode, type[errors.ServiceError]] = {
    grpc.StatusCode.INVALID_ARGUMENT: errors.InvalidArgument,
    grpc.StatusCode.NOT_FOUND: errors.NotFound,
    grpc.StatusCode.ALREADY_EXISTS: errors.AlreadyExists,
    grpc.StatusCode.FAILED_PRECONDITION: errors.FailedPrecondition,
    grpc.StatusCode.UNAUTHENTICATED: errors.Unauthenticated,
    grpc.StatusCode.PERMISSION_DENIED: errors.PermissionDenied,
    grpc.StatusCode.RESOURCE_EXHAUSTED: errors.ResourceExhausted,
    grpc.StatusCode.UNAVAILABLE: errors.Unavailable,
    grpc.StatusCode.DEADLINE_EXCEEDED: errors.DeadlineExceeded,
}
