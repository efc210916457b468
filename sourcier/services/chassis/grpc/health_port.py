"""Health on a port of its own, in the clear: Kubernetes' gRPC probes speak no TLS, and show no certificate."""

from __future__ import annotations

import grpc.aio
from grpc_health.v1 import health_pb2_grpc
from grpc_health.v1._async import HealthServicer

from sourcier.services.chassis.grpc.limits import ServingLimits
from sourcier.services.chassis.grpc.transport import bound, server_options


class HealthPort:
    """A server that tells a service's health and nothing else; one without an address does nothing."""

    def __init__(
        self, health: HealthServicer, interceptor: grpc.aio.ServerInterceptor, *, listen: str, places: int,
        limits: ServingLimits,
    ) -> None:
        """Take what tells the health, and what bounds the calls; raise ResourceExhausted where the port is taken."""
        self.port = 0
        self._server: grpc.aio.Server | None = None
        if listen:
            self._server = grpc.aio.server(
                interceptors=[interceptor], options=server_options(places=places, limits=limits)
            )
            health_pb2_grpc.add_HealthServicer_to_server(health, self._server)
            self.port = bound(self._server, listen, setting="SOURCIER_<SERVICE>_HEALTH_LISTEN")

    async def start(self) -> None:
        """Answer."""
        if self._server is not None:
            await self._server.start()

    async def stop(self) -> None:
        """Answer no more: the last thing that a service does, which was told as not serving before."""
        if self._server is not None:
            await self._server.stop(0)
