"""What nats-py raises where the broker cannot be reached, refuses, or does not answer in time."""

from __future__ import annotations

import logging
from collections.abc import Awaitable

import nats.errors

logger = logging.getLogger(__name__)

BROKER_ERRORS = (OSError, nats.errors.Error)
"""JetStream's own errors are NATS's, and a `TimeoutError` is an `OSError`."""


async def quietly(ending: Awaitable[None]) -> None:
    """End a subscription; with its connection it has ended already."""
    try:
        await ending
    except BROKER_ERRORS as error:
        logger.debug("unsubscribe: %s", error)
