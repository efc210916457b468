"""Documents read beside their commit, over and over: those of an earlier release, and what a commit leaves."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

from sourcier.services.chassis.errors import ServiceError
from sourcier.services.chassis.lifecycle import first_of

LOOK_SECONDS = 1.0
"""Between two looks whether there is anything to do."""

logger = logging.getLogger(__name__)


async def keep_reading(
    read_all: Callable[[asyncio.Event], Awaitable[None]], *, what: str, stopping: asyncio.Event
) -> None:
    """Read what there is to read until told to stop; an outage is waited out. `what` names it in the log."""
    while not stopping.is_set():
        try:
            await read_all(stopping)
        except ServiceError as error:
            logger.warning("documents' %s are not read, once more: %s", what, error)
        await first_of(stopping, seconds=LOOK_SECONDS)
