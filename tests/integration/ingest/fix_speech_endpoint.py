"""An OpenAI-compatible endpoint that hears what a test says."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web

from sourcier.services.ingest.parsing.limits import MEBIBYTE


class Recogniser:
    """The endpoint: it keeps what it was sent, and answers what a test says."""

    def __init__(self) -> None:
        """Begin with an endpoint that hears one word."""
        self.status = 200
        self.answer: Any = {"text": "Bonjour.", "language": "french"}
        self.sent: list[dict[str, Any]] = []
        self.url = ""

    async def hear(self, request: web.Request) -> web.Response:
        """Take a sound and answer."""
        form = await request.post()
        file = form["file"]
        assert isinstance(file, web.FileField)
        self.sent.append({
            "model": form["model"], "language": form.get("language"), "format": form["response_format"],
            "key": request.headers.get("Authorization"), "sound": file.file.read(),
        })
        return web.json_response(self.answer, status=self.status)


@asynccontextmanager
async def serving() -> AsyncIterator[Recogniser]:
    """Run the endpoint."""
    made = Recogniser()
    application = web.Application(client_max_size=32 * MEBIBYTE)
    application.router.add_post("/v1/audio/transcriptions", made.hear)
    runner = web.AppRunner(application)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    made.url = f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
    yield made
    await runner.cleanup()
