"""What services of one installation show each other: a secret in the metadata of each call.

It is not a caller's identity: who shows it may name any tenant. So only services know it, and the gateway never asks
for it.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable
from typing import Any

import grpc
import grpc.aio
from prometheus_client import Counter

from sourcier.services.chassis.errors import Unauthenticated
from sourcier.services.chassis.grpc.statuses import aborted_with
from sourcier.services.chassis.grpc.wrapped_channels import WrappedChannel

TOKEN_KEY = "sourcier-internal-token"  # noqa: S105 (a name, not a secret)
HEALTH_METHODS = "/grpc.health.v1.Health/"
"""Probes of a supervisor, or of Kubernetes, show nothing."""

strangers_total = Counter(
    "sourcier_strangers_total", "Calls refused because they showed no token, or no certificate, of this installation."
)


class InternalTokens:
    """The tokens of an installation, separated by commas: the first is shown, each is accepted.

    So a token is changed without an interruption: the new one is accepted everywhere before it is shown anywhere.
    """

    def __init__(self, setting: str) -> None:
        """Read the setting; without a token every caller is let in."""
        self._tokens = tuple(token.encode() for token in (part.strip() for part in setting.split(",")) if token)

    def __bool__(self) -> bool:
        return bool(self._tokens)

    @property
    def shown(self) -> str:
        """What this process shows others; empty where there is none."""
        return self._tokens[0].decode() if self._tokens else ""

    def let_in(self, method: str, metadata: Any) -> bool:
        """Return whether a call may go on: it shows one of the tokens, once, or asks for health."""
        if not self._tokens or method.startswith(HEALTH_METHODS):
            return True
        shown = [value for name, value in metadata or () if name == TOKEN_KEY]
        if len(shown) != 1:
            return False
        value = shown[0] if isinstance(shown[0], bytes) else shown[0].encode()
        return any(hmac.compare_digest(value, token) for token in self._tokens)


def refusal() -> grpc.RpcMethodHandler[Any, Any]:
    """Return what answers a call that shows no token, whatever its method, and whether there is such a method."""
    return grpc.stream_stream_rpc_method_handler(_refuse)


async def _refuse(_: Any, context: grpc.aio.ServicerContext[Any, Any]) -> None:
    strangers_total.inc()
    raise await aborted_with(context, Unauthenticated(
        f"this port is for the services of an installation alone, which send {TOKEN_KEY}; call the gateway, or start "
        "the calling service with the same SOURCIER_INTERNAL_TOKEN"
    ))


class ShowingChannel(WrappedChannel):
    """A channel whose calls show a token."""

    def __init__(self, channel: grpc.aio.Channel, token: str) -> None:
        super().__init__(channel)
        self._shown = (TOKEN_KEY, token)

    def _wrapped(self, path: str, method: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, metadata: Any = None, **options: Any) -> Any:
            return method(*arguments, metadata=(*(metadata or ()), self._shown), **options)

        return call
