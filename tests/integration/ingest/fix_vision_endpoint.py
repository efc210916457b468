"""An OpenAI-compatible endpoint that says of pictures what a test says."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web

from sourcier.services.ingest.parsing.limits import MEBIBYTE
from sourcier.services.ingest.stages.by_parts.vision_endpoint import VisionEndpoint


class Describer:
    """The endpoint: it keeps what it was sent, and answers what a test says."""

    def __init__(self) -> None:
        """Begin with an endpoint that sees one thing."""
        self.status = 200
        self.statuses: list[int] = []
        """What it answers before that, one after the other."""
        self.headers: dict[str, str] = {}
        self.answer: Any = said("Un plan d'évacuation du rez-de-chaussée.")
        self.first: list[Any] = []
        """What it answers before that, one after the other."""
        self.sent: list[dict[str, Any]] = []
        self.keys: list[str | None] = []
        self.url = ""
        self.gate = asyncio.Event()
        self.gate.set()
        self.at_once = self.most_at_once = 0

    async def describe(self, request: web.Request) -> web.Response:
        """Take a picture and answer."""
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            self.sent.append(await request.json())
            self.keys.append(request.headers.get("Authorization"))
            await self.gate.wait()
            return web.json_response(
                self.first.pop(0) if self.first else self.answer,
                status=self.statuses.pop(0) if self.statuses else self.status, headers=self.headers,
            )
        finally:
            self.at_once -= 1


def said(text: str | None, **more: Any) -> dict[str, Any]:
    """Return an answer of a model."""
    return {"choices": [{"message": {"content": text, **more}, "finish_reason": "stop"}]}


@asynccontextmanager
async def describing() -> AsyncIterator[Describer]:
    """Run the endpoint."""
    made = Describer()
    application = web.Application(client_max_size=32 * MEBIBYTE)
    application.router.add_post("/v1/chat/completions", made.describe)
    runner = web.AppRunner(application, shutdown_timeout=1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    made.url = f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
    try:
        yield made
    finally:
        made.gate.set()
        await runner.cleanup()


@asynccontextmanager
async def asking(
    url: str, *, key: str = "", seconds_max: float = 30, concurrency: int = 2
) -> AsyncIterator[VisionEndpoint]:
    """Yield a client of an endpoint."""
    endpoint = VisionEndpoint(url, key=key, model="voit", seconds_max=seconds_max, concurrency=concurrency)
    async with endpoint:
        yield endpoint
