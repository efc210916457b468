"""How much of a server one caller may hold, and for how long: the limits of every gRPC server."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

M = TypeVar("M", bound=Callable[..., Any])

_LONG = "__sourcier_long__"


@dataclass(frozen=True, slots=True, kw_only=True)
class ServingLimits:
    """Places, shares and times. A share of 100 lets one caller take all of a pot."""

    streams_max: int = 512
    """Long calls at once: streams either way, and what is marked with `long_call`."""
    tenant_share_percent: float = 100.0
    """How much of a pot one tenant may take while nobody else is there; several share what is left between them."""
    peer_share_percent: float = 100.0
    """The same for one network address."""
    person_share_percent: float = 100.0
    """The same for one user or key, where callers are asked who they are."""
    call_seconds_max: float = 300.0
    """Longest short call, whatever its caller's deadline."""
    stream_seconds_max: float = 24 * 3600.0
    """Longest long call, whatever its caller's deadline."""
    first_message_seconds: float = 30.0
    """How long a call may be open before its first message is there. It is what a message of the greatest size has on
    a slow line, for gRPC does not tell how much of one has come."""
    idle_seconds: float = 120.0
    """How long the next message of an open upload may take."""
    bytes_per_second_min: float = 256.0
    """Slowest upload, on average over the time for which the server waited for it; counted from `idle_seconds` on."""
    connection_age_seconds: float = 3600.0
    """After that new calls go to a new connection, for which the client looks the server's name up again: replicas that
    came since are found. Calls that are open have the time of a stream left; then the connection is closed, and so are
    calls whose clients no longer read: nothing else ends them."""


def long_call(method: M) -> M:
    """Mark a unary method that may take as long as a stream, and takes a place among the streams."""
    setattr(method, _LONG, True)
    return method


def is_long(method: object) -> bool:
    """Return whether a method is marked with `long_call`."""
    return bool(getattr(method, _LONG, False))
