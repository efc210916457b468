"""What keeps a message from being delivered again while somebody works on it."""

from __future__ import annotations

import asyncio

from nats.aio.msg import Msg


class heartbeat:  # noqa: N801 - reads as a statement: `async with heartbeat(message, …)`
    """Tell the server that the work goes on; if the telling dies, the work is cancelled before the ack wait ends."""

    def __init__(self, message: Msg, *, every_seconds: float) -> None:
        self._message = message
        self._every_seconds = every_seconds
        self._group = asyncio.TaskGroup()
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> None:
        await self._group.__aenter__()
        self._task = self._group.create_task(self._beat(), name="heartbeat")

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        assert self._task is not None
        self._task.cancel()
        await self._group.__aexit__(kind, error, trace)  # type: ignore[arg-type]

    async def _beat(self) -> None:
        while True:
            await asyncio.sleep(self._every_seconds)
            await self._message.in_progress()
