"""`GET /health`: whether questions can be answered here, which takes the gateway."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from sourcier.services.web.gateway import Gateway


class Health:
    """The route."""

    def __init__(self, gateway: Gateway) -> None:
        """Keep the gateway."""
        self._gateway = gateway

    async def get(self, request: Request) -> Response:
        """Answer 200, or 503 where the gateway does not serve."""
        serving = await self._gateway.is_serving()
        told = {"status": "ok" if serving else "unavailable", "gateway": "serving" if serving else "not serving"}
        return JSONResponse(told, status_code=200 if serving else 503)
