"""Whether a service is of a release: the release stands among the names that its health service knows.

No contract has to tell it, and a release that does not tell its own is one of another name.
"""

from __future__ import annotations

import grpc
import grpc.aio
from grpc_health.v1 import health_pb2

from sourcier.services.chassis.errors import Unavailable
from sourcier.services.chassis.grpc.serving import RELEASE_PREFIX


async def is_of(channel: grpc.aio.Channel, release: str, *, seconds_max: float) -> bool:
    """Return whether the service behind a channel is of a release; raise Unavailable where nobody answers."""
    check = channel.unary_unary(
        "/grpc.health.v1.Health/Check", request_serializer=health_pb2.HealthCheckRequest.SerializeToString,
        response_deserializer=health_pb2.HealthCheckResponse.FromString,
    )
    try:
        await check(health_pb2.HealthCheckRequest(service=RELEASE_PREFIX + release), timeout=seconds_max)
    except grpc.aio.AioRpcError as error:
        if error.code() is grpc.StatusCode.NOT_FOUND:
            return False
        raise Unavailable("its health service does not answer") from error
    return True
