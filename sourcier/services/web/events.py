"""Server-sent events: pieces of an answer as they come, and a sign of life while none does."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from typing import Any, TypeVar

T = TypeVar("T")

CONTENT_TYPE = "text/event-stream; charset=utf-8"
PING = b": ping\n\n"
PING_SECONDS = 10.0
"""Proxies end connections that say nothing for 30 to 60 s; the first word of a language model may take longer."""


def event(data: Any, *, name: str = "", number: int | None = None) -> bytes:
    """Return one event; its data are one line, for JSON escapes line ends."""
    head = (f"id: {number}\n" if number is not None else "") + (f"event: {name}\n" if name else "")
    text = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False)
    return f"{head}data: {text}\n\n".encode()


async def with_pings(
    values: AsyncGenerator[T, None], *, seconds: float = PING_SECONDS
) -> AsyncGenerator[T | None, None]:
    """Yield the values, and None each time that none came for so long; closing it closes them."""
    coming: asyncio.Future[T] | None = None
    try:
        while True:
            coming = coming or asyncio.ensure_future(anext(values))
            done, _ = await asyncio.wait((coming,), timeout=seconds)
            if not done:
                yield None
                continue
            next_one, coming = coming, None
            try:
                value = next_one.result()
            except StopAsyncIteration:
                return
            yield value
    finally:
        if coming is not None:
            coming.cancel()
            await asyncio.wait((coming,))
        await values.aclose()
