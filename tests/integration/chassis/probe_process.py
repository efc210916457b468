"""A process of the chassis, told by its first argument how to misbehave: `python -m … probe_process MODE`."""

from __future__ import annotations

import asyncio
import logging
import sys
import threading
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from sourcier.embed.v1 import embed_pb2, embed_pb2_grpc
from sourcier.services.chassis import lifecycle
from sourcier.services.chassis.errors import Unavailable
from sourcier.services.chassis.grpc.serving import Server
from sourcier.services.chassis.lifecycle import Stopping, Worker
from sourcier.services.chassis.settings import ServiceSettings, settings_config

MODE = sys.argv[1] if len(sys.argv) > 1 else ""
logger = logging.getLogger("probe")


class ProbeSettings(ServiceSettings):
    """`SOURCIER_PROBE_…`."""

    model_config = settings_config("probe")


class Echo(embed_pb2_grpc.EmbedServiceServicer):
    """Answers when the first text says so: after as many seconds."""

    async def Embed(self, request: embed_pb2.EmbedRequest, context: Any) -> embed_pb2.EmbedResponse:
        """Answer, slowly where asked to."""
        logger.info("called")
        await asyncio.sleep(float(request.texts[0]) if request.texts else 0)
        return embed_pb2.EmbedResponse(space_id="answered")


class Task:
    """A worker in the mode of the process."""

    name = "probe task"

    async def run(self, stopping: asyncio.Event) -> None:
        """Work until told to stop, or die as the mode says."""
        if MODE == "worker-dies":
            raise RuntimeError("a bug in the worker")
        if MODE == "worker-ends":
            return
        if MODE == "worker-in-thread":
            await asyncio.to_thread(time.sleep, 30)  # a thread cannot be cancelled
        await stopping.wait()
        if MODE == "worker-hangs":
            await asyncio.Event().wait()
        logger.info("worker finished")


@asynccontextmanager
async def neighbour() -> AsyncIterator[None]:
    """Open something that takes long, fails, or logs that it was closed."""
    if MODE == "starting":
        logger.info("starting")
        await asyncio.Event().wait()
    if MODE == "unavailable":
        raise Unavailable("the neighbour cannot be reached; start it")
    try:
        yield
    finally:
        logger.info("neighbour closed")


async def main(settings: ProbeSettings, stopping: Stopping) -> None:
    """Serve."""
    if MODE == "thread":
        threading.Thread(target=threading.Event().wait, name="left behind").start()
    async with (
        neighbour(),
        Server(listen=settings.listen, grace_seconds=settings.grace_seconds, concurrent_calls_max=8) as server,
    ):
        server.add(embed_pb2_grpc.add_EmbedServiceServicer_to_server, Echo(), "sourcier.embed.v1.EmbedService")
        workers: list[Worker] = [Task()]
        await lifecycle.serve(server, workers, stopping)


if __name__ == "__main__":
    lifecycle.run("probe", ProbeSettings, main)
