"""MCP over standard input and output: `sourcier mcp`, which a desktop program starts for itself."""

from __future__ import annotations

import argparse
import asyncio
import os

from mcp.server.stdio import stdio_server

from sourcier.services.chassis import telemetry
from sourcier.services.chassis.grpc.serving import TENANT_KEY
from sourcier.services.web.callers import Caller
from sourcier.services.web.gateway import Gateway
from sourcier.services.web.mcp.server import mcp_server

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
    asyncio.run(serve(options.gateway, tenant=options.tenant, token=os.environ.get(TOKEN_VARIABLE, "")))


async def serve(gateway_url: str, *, tenant: str, token: str) -> None:
    """Serve one client on behalf of one caller."""
    rights = (*(((TENANT_KEY, tenant),) if tenant else ()), *((("authorization", f"Bearer {token}"),) if token else ()))
    caller = Caller(rights)
    async with Gateway(gateway_url) as gateway, stdio_server() as (reading, writing):
        server = mcp_server(gateway, caller=lambda _: caller, answer_seconds_max=ANSWER_SECONDS_MAX)
        await server.run(reading, writing, server.create_initialization_options())


if __name__ == "__main__":
    main()
