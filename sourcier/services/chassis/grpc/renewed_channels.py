"""A channel over TLS whose certificate may be replaced while it is open.

gRPC for Python reads a client's certificate once. So the channel is opened anew when a file changed: calls that begin
from then on go over the new one, those under way end on the old one.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from typing import Any

import grpc
import grpc.aio

from sourcier.services.chassis.errors import FailedPrecondition
from sourcier.services.chassis.grpc.wrapped_channels import WrappedChannel
from sourcier.services.chassis.tls.client import ClientTls

logger = logging.getLogger(__name__)

LOOK_SECONDS = 1.0
"""Least time between two looks at the files, however many calls there are."""
OLD_CALLS_SECONDS = 24 * 3600.0
"""How long a call may go on over a channel that was replaced: the longest that a server lets one take by default."""


class RenewedChannel(WrappedChannel):
    """A channel in front of the one that was opened last."""

    def __init__(self, tls: ClientTls, opened: Callable[[grpc.ChannelCredentials], grpc.aio.Channel]) -> None:
        """Open the first channel; raise FailedPrecondition where the files cannot be read."""
        self._tls = tls
        self._opened = opened
        self._seen = tls.stamps()
        super().__init__(opened(tls.channel_credentials()))
        self._looked_at = time.monotonic()
        self._generation = 0
        self._closing: set[asyncio.Task[None]] = set()

    def unary_unary(self, method: str, *arguments: Any, **options: Any) -> Any:
        """Return the method of whichever channel is the last one when it is called."""
        return self._renewed("unary_unary", method, *arguments, **options)

    def unary_stream(self, method: str, *arguments: Any, **options: Any) -> Any:
        """Return the method of whichever channel is the last one when it is called."""
        return self._renewed("unary_stream", method, *arguments, **options)

    def stream_unary(self, method: str, *arguments: Any, **options: Any) -> Any:
        """Return the method of whichever channel is the last one when it is called."""
        return self._renewed("stream_unary", method, *arguments, **options)

    def stream_stream(self, method: str, *arguments: Any, **options: Any) -> Any:
        """Return the method of whichever channel is the last one when it is called."""
        return self._renewed("stream_stream", method, *arguments, **options)

    def _renewed(self, shape: str, method: str, *arguments: Any, **options: Any) -> Callable[..., Any]:
        made_for, made = -1, None

        def call(*given: Any, **named: Any) -> Any:
            nonlocal made_for, made
            self._look()
            if made is None or made_for != self._generation:
                made = getattr(self._channel, shape)(method, *arguments, **options)
                made_for = self._generation
            return made(*given, **named)

        return call

    def _look(self) -> None:
        """Open another channel where the files are others than before."""
        now = time.monotonic()
        if now - self._looked_at < LOOK_SECONDS:
            return
        self._looked_at = now
        try:
            found = self._tls.stamps()
            if found == self._seen:
                return
            renewed = self._opened(self._tls.channel_credentials())
        except FailedPrecondition as error:
            logger.warning("%s; the one before is shown", error.message)
            return
        self._seen = found
        old, self._channel = self._channel, renewed
        self._generation += 1
        closing = asyncio.create_task(old.close(OLD_CALLS_SECONDS), name="close a replaced channel")
        self._closing.add(closing)
        closing.add_done_callback(self._closing.discard)
        logger.info("the certificate was read again")

    async def __aexit__(self, *error: Any) -> None:
        await self.close()

    async def close(self, grace: float | None = None) -> None:
        """Close the channel, and those that were replaced."""
        for closing in self._closing:
            closing.cancel()
        await asyncio.gather(*self._closing, return_exceptions=True)
        await super().close(grace)
