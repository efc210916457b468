"""The gateway's channel: deadlines, tenant and request id on every call, one retry policy, one error mapping."""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import AsyncGenerator, Callable
from typing import TypeVar, cast

import grpc
import grpc.aio
from google.rpc import error_details_pb2, status_pb2

from sourcier import errors
from sourcier.connection.traces import trace_metadata
from sourcier.gateway.v1 import (
    access_pb2,
    answer_pb2,
    conversation_pb2,
    curation_pb2,
    knowledge_pb2,
    models_pb2,
    operations_pb2,
    spaces_pb2,
    transfer_pb2,
)

Q = TypeVar("Q")
R = TypeVar("R")
E = TypeVar("E")

TENANT_KEY = "sourcier-tenant"
REQUEST_ID_KEY = "sourcier-request-id"
CREDENTIALS_KEY = "authorization"
ERROR_DOMAIN = "sourcier"
MESSAGE_BYTES_MAX = 16 * 1024 * 1024

# An upload or an import is a stream that gRPC cannot send twice (the client repeats an upload itself). What a call made
# whose answer was lost would exist at the second try, or be there twice; a pair it deleted would not be found. What
# counts what it did would count the second try's part alone. An export is repeated only before its first part was read.
_NOT_RETRIED = frozenset({
    "UploadDocument", "CreateCollection", "ReplayFailures", "DiscardFailures", "Reprocess", "DropSpace",
    "CreateConversation",
    "CreateAgent", "CreateDeployment", "AddFaqEntry", "ApproveAnswer", "RebuildAgentIndex", "AddPair", "DeletePair",
    "ImportCollection", "ImportPoints", "CreateKey", "AddGrant", "RemoveGrant",
})
_RETRY_POLICY = {
    "maxAttempts": 5,
    "initialBackoff": "0.2s",
    "maxBackoff": "1s",
    "backoffMultiplier": 2,
    "retryableStatusCodes": ["UNAVAILABLE"],
}
_LOOPBACK = ("localhost", "127.", "[::1]", "unix:")


class Channel:
    """Makes calls to one gateway on behalf of one tenant."""

    def __init__(
        self, target: str, *, tenant: str, credentials: grpc.ChannelCredentials | None,
        token: Callable[[], str] | None = None,
    ) -> None:
        self.target = target
        self.reached = False
        """Whether the gateway has answered anything yet."""
        self._tenant = tenant
        self._token = token
        self._credentials = credentials
        self._blocking: grpc.Channel | None = None
        self.grpc: grpc.aio.Channel = (
            grpc.aio.insecure_channel(target, options=_options(target)) if credentials is None
            else grpc.aio.secure_channel(target, credentials, options=_options(target))
        )

    @property
    def blocking(self) -> grpc.Channel:
        """The same gateway through gRPC's blocking API, for uploads; opened when first used."""
        if self._blocking is None:
            options = _options(self.target)
            self._blocking = (
                grpc.insecure_channel(self.target, options=options) if self._credentials is None
                else grpc.secure_channel(self.target, self._credentials, options=options)
            )
        return self._blocking

    async def close(self) -> None:
        """Cancel what still runs and close the connections."""
        await self.grpc.close()
        if self._blocking is not None:
            await asyncio.to_thread(self._blocking.close)

    async def unary(
        self, method: grpc.aio.UnaryUnaryMultiCallable[Q, R], request: Q, *, timeout_seconds: float
    ) -> R:
        """Make one call."""
        request_id = uuid.uuid4().hex
        call = method(request, timeout=timeout_seconds, metadata=self.metadata(request_id))
        try:
            response = await call
        except grpc.aio.AioRpcError as error:
            raise self.translate(error, request_id) from error
        except asyncio.CancelledError:
            raise_if_cancelled(request_id)
            raise
        self.reached = True
        return response

    async def stream(
        self, method: grpc.aio.UnaryStreamMultiCallable[Q, R], request: Q, pick: Callable[[R], E], *,
        timeout_seconds: float,
    ) -> AsyncGenerator[E, None]:
        """Yield what `pick` takes from each response; the call is cancelled when the generator is closed."""
        request_id = uuid.uuid4().hex
        call = method(request, timeout=timeout_seconds, metadata=self.metadata(request_id))
        try:
            async for response in call:
                self.reached = True
                yield pick(response)
        except grpc.aio.AioRpcError as error:
            raise self.translate(error, request_id) from error
        except asyncio.CancelledError:
            raise_if_cancelled(request_id)
            raise
        finally:
            # An abandoned call is never collected (grpc #43462).
            call.cancel()

    def metadata(self, request_id: str) -> tuple[tuple[str, str], ...]:
        """Return what travels with every call."""
        named = ((TENANT_KEY, self._tenant), (REQUEST_ID_KEY, request_id), *trace_metadata())
        return named if self._token is None else (*named, (CREDENTIALS_KEY, f"Bearer {self._token()}"))

    def translate(self, error: grpc.aio.AioRpcError | grpc.RpcError, request_id: str) -> errors.SourcierError:
        """Return the status of a call as one of our errors."""
        reason, field = _details(error)
        code = error.code()
        message = error.details() or f"the gateway answered {code.name}"
        if not reason and code is grpc.StatusCode.UNAVAILABLE:
            return self._unreachable(request_id)
        if not reason and code is grpc.StatusCode.DEADLINE_EXCEEDED:
            message = f"the gateway at {self.target} did not answer in time"
        if not reason and code is grpc.StatusCode.UNIMPLEMENTED:
            message = f"{self.target} is not a Sourcier gateway, or one of another version"
        kind = _BY_REASON.get(reason) or _BY_CODE.get(code.name, errors.SourcierError)
        return kind(message, reason=reason, field=field, request_id=request_id)

    def _unreachable(self, request_id: str) -> errors.Unavailable:
        if self._credentials is None:
            return errors.Unavailable(f"cannot reach a gateway at {self.target}", request_id=request_id)
        # gRPC does not tell a port where nobody listens from one that answers without TLS.
        return errors.Unavailable(
            f"cannot reach a gateway at https://{self.target}", request_id=request_id,
            hint=f"if it does not speak TLS, name it as {self.target}; `sourcier status` tells what is running here",
        )


def raise_if_cancelled(request_id: str) -> None:
    """Raise when the other side ended the call: grpc.aio shows that as the cancellation of the reader."""
    current = asyncio.current_task()
    if current is None or not current.cancelling():
        raise errors.Cancelled("the gateway ended the call", request_id=request_id) from None


def _options(target: str) -> tuple[tuple[str, str | int], ...]:
    modules = (
        access_pb2, answer_pb2, conversation_pb2, curation_pb2, knowledge_pb2, models_pb2, operations_pb2, spaces_pb2,
        transfer_pb2,
    )
    services = [module.DESCRIPTOR.services_by_name for module in modules]
    retried = [
        {"service": service.full_name, "method": method.name}
        for names in services for service in names.values() for method in service.methods
        if method.name not in _NOT_RETRIED
    ]
    config = {
        "methodConfig": [{"name": retried, "retryPolicy": _RETRY_POLICY}],
        # Loose: one client that meets a restart should outlast it; the bound is there for loops gone wild.
        "retryThrottling": {"maxTokens": 100, "tokenRatio": 0.5},
        "loadBalancingConfig": [{"round_robin": {}}],
    }
    return (
        ("grpc.service_config", json.dumps(config)),
        ("grpc.enable_retries", 1),
        ("grpc.max_receive_message_length", MESSAGE_BYTES_MAX),
        ("grpc.max_send_message_length", MESSAGE_BYTES_MAX),
        ("grpc.keepalive_time_ms", 30_000),
        ("grpc.keepalive_timeout_ms", 10_000),
        ("grpc.http2.ping_timeout_ms", 10_000),
        ("grpc.initial_reconnect_backoff_ms", 100),
        # Despite its name it bounds each attempt to connect: a gateway far away, or behind TLS, needs more than 100 ms.
        ("grpc.min_reconnect_backoff_ms", 5_000),
        ("grpc.max_reconnect_backoff_ms", 1_000),
        # A proxy set for the web must not swallow calls to this machine.
        ("grpc.enable_http_proxy", 0 if target.startswith(_LOOPBACK) else 1),
    )


def _details(error: grpc.aio.AioRpcError | grpc.RpcError) -> tuple[str, str]:
    """Return the reason and the field of the rich status, each empty where it is absent."""
    reason, field = "", ""
    trailing = cast("tuple[tuple[str, str | bytes], ...]", error.trailing_metadata() or ())
    for key, value in trailing:
        if key != "grpc-status-details-bin":
            continue
        for detail in status_pb2.Status.FromString(cast(bytes, value)).details:
            info, request = error_details_pb2.ErrorInfo(), error_details_pb2.BadRequest()
            if detail.Unpack(info) and info.domain == ERROR_DOMAIN:
                reason = info.reason
            elif detail.Unpack(request) and request.field_violations:
                field = request.field_violations[0].field
    return reason, field


_BY_CODE: dict[str, type[errors.SourcierError]] = {
    kind.code: kind
    for kind in (
        errors.InvalidArgument, errors.NotFound, errors.AlreadyExists, errors.FailedPrecondition,
        errors.Unauthenticated, errors.PermissionDenied, errors.ResourceExhausted, errors.Unavailable,
        errors.DeadlineExceeded, errors.Cancelled, errors.Internal,
    )
}
_BY_REASON: dict[str, type[errors.SourcierError]] = {"DAILY_LIMIT": errors.DailyLimitReached}
"""Those that are told apart from others of their code."""
