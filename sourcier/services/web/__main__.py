"""Compose the web service and run it: `python -m sourcier.services.web`."""

from __future__ import annotations

from sourcier.services.chassis import lifecycle
from sourcier.services.chassis.grpc.serving import Server
from sourcier.services.chassis.lifecycle import Stopping
from sourcier.services.web.application import open_application
from sourcier.services.web.gateway import Gateway
from sourcier.services.web.listening import HttpServer
from sourcier.services.web.settings import WebSettings


async def main(settings: WebSettings, stopping: Stopping) -> None:
    """Open what the service needs, in order, and serve until told to stop."""
    async with (
        Gateway(settings.gateway_address, tls=settings.gateway_tls) as gateway,
        open_application(settings, gateway) as application,
        HttpServer(
            application, listen=settings.http_listen, grace_seconds=settings.grace_seconds,
            connections_max=settings.connections_max,
        ) as http,
        # Health alone, as of every service.
        Server(listen=settings.listen, health_listen=settings.health_listen,
               grace_seconds=settings.grace_seconds, concurrent_calls_max=settings.concurrent_calls_max,
               limits=settings.serving_limits) as server,
    ):
        await lifecycle.serve(server, [http], stopping)


if __name__ == "__main__":
    lifecycle.run("web", WebSettings, main)
