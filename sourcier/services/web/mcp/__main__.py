"""MCP over standard input and output: `sourcier mcp`, which a desktop program starts for itself."""

from __future__ import annotations

import argparse
import asyncio
import os
from collections.abc import Callable

from mcp.server.stdio import stdio_server

from sourcier.connection.signing_in import kept_token
from sourcier.services.chassis import telemetry
from sourcier.services.chassis.grpc.serving import TENANT_KEY
from sourcier.services.chassis.tls.client import ClientTls
from sourcier.services.web.callers import Caller
from sourcier.services.web.gateway import Gateway
from sourcier.services.web.mcp.server import mcp_server
from sourcier.services.web.settings import TLS_SCHEME

TOKEN_VARIABLE = "SOURCIER_TOKEN"  # noqa: S105 - a name
"""Holds a token or a key that is shown to the gateway: an argument could be read by whoever lists processes."""
ANSWER_SECONDS_MAX = 300.0


def main() -> None:
    """Serve until the input ends."""
    parser = argparse.ArgumentParser(prog="sourcier mcp", description=__doc__)
    parser.add_argument("--gateway", required=True)
    parser.add_argument("--tenant", default="")
    options = parser.parse_args()
    telemetry.configure_logging(service="mcp", level="WARNING", log_format="line")
    token = os.environ.get(TOKEN_VARIABLE, "")
    asyncio.run(serve(options.gateway, lambda: caller_of(options.gateway, tenant=options.tenant, token=token)))


def caller_of(gateway_url: str, *, tenant: str, token: str) -> Caller:
    """Return who calls now; without a token, as whom somebody signed in at the gateway (`sourcier login`)."""
    token = token or kept_token(gateway_url)
    return Caller((
        *(((TENANT_KEY, tenant),) if tenant else ()), *((("authorization", f"Bearer {token}"),) if token else ()),
    ))


async def serve(gateway_url: str, caller: Callable[[], Caller]) -> None:
    """Serve one client; `caller` is asked at each request, for a sign-in is renewed."""
    address = gateway_url.removeprefix(TLS_SCHEME)
    tls = ClientTls() if gateway_url.startswith(TLS_SCHEME) else None
    async with Gateway(address, tls=tls) as gateway, stdio_server() as (reading, writing):
        server = mcp_server(gateway, caller=lambda _: caller(), answer_seconds_max=ANSWER_SECONDS_MAX)
        await server.run(reading, writing, server.create_initialization_options())


if __name__ == "__main__":
    main()
