"""The web service in this process, before a real gateway whose peers answer what the test says."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx

from sourcier.services.chassis.postgres.database import Database
from sourcier.services.web.application import open_application
from sourcier.services.web.gateway import Gateway
from sourcier.services.web.listening import HttpServer
from sourcier.services.web.settings import WebSettings
from tests.integration.gateway import fix_gateway
from tests.integration.gateway.fix_gateway import Scenario

TENANT = {"sourcier-tenant": "acme"}


@dataclass(frozen=True)
class Web:
    """A running web service, as a client sees it."""

    http: httpx.AsyncClient
    port: int
    gateway: fix_gateway.Gateway

    @property
    def scenario(self) -> Scenario:
        """What the gateway's peers do."""
        return self.gateway.scenario

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def gateway_url(self) -> str:
        """Where the gateway listens."""
        return f"127.0.0.1:{self.gateway.server.port}"

    async def connect(self, method: str, message: dict[str, Any] | None = None, **headers: str) -> httpx.Response:
        """Make a unary call as a browser's client does."""
        return await self.http.post(f"/sourcier.gateway.v1.{method}", json=message or {}, headers=TENANT | headers)


@asynccontextmanager
async def served(gateway_url: str, **settings: Any) -> AsyncIterator[tuple[httpx.AsyncClient, int]]:
    """Serve over a gateway; yield a client and the port."""
    configured = WebSettings(gateway_url=gateway_url, **settings)
    stopping = asyncio.Event()
    async with (
        Gateway(gateway_url) as opened,
        open_application(configured, opened) as application,
        HttpServer(application, listen=configured.http_listen, grace_seconds=1,
                   connections_max=configured.connections_max) as server,
    ):
        running = asyncio.create_task(server.run(stopping))
        try:
            async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{server.port}", timeout=30,
                                         trust_env=False) as client:
                yield client, server.port
        finally:
            stopping.set()
            await running


@asynccontextmanager
async def web(database: Database, scenario: Scenario | None = None, **settings: Any) -> AsyncIterator[Web]:
    """Serve over a gateway of its own."""
    async with (
        fix_gateway.gateway(database, scenario or Scenario()) as gateway,
        served(f"127.0.0.1:{gateway.server.port}", **settings) as (client, port),
    ):
        yield Web(client, port, gateway)
