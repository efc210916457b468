"""What HTTP/2 itself is told: against connections that hang, ping too often, or open and reset streams without end.

Python never sees such a connection, so gRPC's core has to end it.
"""

from __future__ import annotations

import grpc
import grpc.aio

from sourcier.services.chassis.access import METADATA_BYTES_MAX
from sourcier.services.chassis.errors import ResourceExhausted
from sourcier.services.chassis.grpc.limits import ServingLimits

MESSAGE_BYTES_MAX = 16 * 1024 * 1024

HANDSHAKE_SECONDS = 10
KEEPALIVE_SECONDS = 30
KEEPALIVE_WAIT_SECONDS = 10
"""For the answer; a client that vanished without a FIN is noticed within both together."""
CONNECTION_IDLE_SECONDS = 600
"""A connection without calls is closed; clients connect again by themselves."""

Option = tuple[str, int]


def server_options(*, places: int, limits: ServingLimits) -> tuple[Option, ...]:
    """Return the options of a server with so many places in all."""
    return (
        ("grpc.max_receive_message_length", MESSAGE_BYTES_MAX),
        ("grpc.max_send_message_length", MESSAGE_BYTES_MAX),
        # gRPC's own 8 KiB are less than the token of a person in many groups.
        ("grpc.max_metadata_size", METADATA_BYTES_MAX),
        ("grpc.keepalive_time_ms", KEEPALIVE_SECONDS * 1000),
        ("grpc.keepalive_timeout_ms", KEEPALIVE_WAIT_SECONDS * 1000),
        # Without it an unanswered ping is waited for as long as gRPC's own limit, 60 s.
        ("grpc.http2.ping_timeout_ms", KEEPALIVE_WAIT_SECONDS * 1000),
        ("grpc.keepalive_permit_without_calls", 1),
        # Clients of ours ping every 30 s; the default of 5 minutes would answer them with GOAWAY too_many_pings.
        ("grpc.http2.min_ping_interval_without_data_ms", 20_000),
        # Who pings more often than that is sent away after two strikes: gRPC's default, and we rely on it.
        ("grpc.http2.max_ping_strikes", 2),
        # A connection that says no HTTP/2 is closed; the default is 120 s.
        ("grpc.server_handshake_timeout_ms", HANDSHAKE_SECONDS * 1000),
        ("grpc.max_connection_idle_ms", CONNECTION_IDLE_SECONDS * 1000),
        ("grpc.max_connection_age_ms", round(limits.connection_age_seconds * 1000)),
        ("grpc.max_connection_age_grace_ms", round(limits.stream_seconds_max * 1000)),
        # More calls than there are places would be refused one by one.
        ("grpc.max_concurrent_streams", places),
        # Rapid resets: streams that are opened and reset at once are still one call each for Python. Few are taken
        # from a connection each time it is read, so that the others have their turn, and what Python has not taken up
        # is refused by the core.
        ("grpc.http2.max_requests_per_read", 8),
        ("grpc.server.max_pending_requests", 1_000),
        ("grpc.server.max_pending_requests_hard_limit", 3_000),
        ("grpc.so_reuseport", 0),
    )


def bound(
    server: grpc.aio.Server, listen: str, *, credentials: grpc.ServerCredentials | None = None,
    setting: str = "SOURCIER_<SERVICE>_LISTEN",
) -> int:
    """Have a server listen, with TLS where there are credentials; return its port, or raise ResourceExhausted."""
    try:
        return server.add_insecure_port(listen) if credentials is None else server.add_secure_port(listen, credentials)
    except RuntimeError as error:
        raise ResourceExhausted(
            f"cannot listen on {listen}: the port is taken or the address is not this machine's; choose another one "
            f"with {setting}"
        ) from error
