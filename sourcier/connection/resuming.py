"""Reads an answer to its end across broken connections: each event once, in order, within one deadline."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing

from sourcier import errors
from sourcier.connection.pauses import jittered
from sourcier.gateway.v1 import answer_pb2

Events = AsyncGenerator[answer_pb2.AskEvent, None]
Resume = Callable[[str, int, float], Events]
"""Opens the rest of an answer: its id, the sequence read last, the seconds left."""

TRIES_MAX = 8
"""Broken connections in a row without a new event between them."""
DELAY_SECONDS, DELAY_SECONDS_MAX = 0.1, 2.0


async def read_through(
    opened: Events, resume: Resume, *, timeout_seconds: float, answer_id: str = "", after_sequence: int = 0
) -> Events:
    """Yield the events of an answer; where the connection breaks in its middle, go on with those that follow.

    Raise AnswerInterrupted when it cannot be resumed, and Unavailable as it is where nothing was read before: nobody
    may be there at all.
    """
    ends_at = time.monotonic() + timeout_seconds
    tries = 0
    begun = ended = False
    events = opened
    while True:
        broken: errors.SourcierError
        try:
            async with aclosing(events):
                async for event in events:
                    begun = True
                    answer_id, after_sequence, tries = event.answer_id, event.sequence, 0
                    ended = event.WhichOneof("event") in ("finished", "failed")
                    yield event
            if ended or not answer_id:
                return
            broken = errors.Unavailable("the stream ended before the answer did")
        except (errors.Unavailable, errors.Cancelled, errors.ResourceExhausted) as error:
            # A gateway that is full takes the call in a moment, and the answer goes on meanwhile.
            if ended or not answer_id or (isinstance(error, errors.Unavailable) and not begun):
                raise
            broken = error
        tries += 1
        left = ends_at - time.monotonic()
        delay = jittered(min(DELAY_SECONDS * 2 ** (tries - 1), DELAY_SECONDS_MAX))
        if tries > TRIES_MAX or left <= delay:
            raise errors.AnswerInterrupted(
                broken.message, answer_id=answer_id, after_sequence=after_sequence, request_id=broken.request_id
            ) from broken
        await asyncio.sleep(delay)
        events = resume(answer_id, after_sequence, left - delay)
