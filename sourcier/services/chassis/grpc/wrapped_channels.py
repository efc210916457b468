"""Channels that add to each call what the process shows or traces, whatever stub makes it.

Interceptors of grpc.aio would do the same, and cost each call a task of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import grpc
import grpc.aio

from sourcier.services.chassis.tracing import spans
from sourcier.services.chassis.tracing.spans import Span
from sourcier.services.chassis.tracing.traceparent import TRACEPARENT_KEY


class WrappedChannel(grpc.aio.Channel):
    """A channel in front of another one."""

    def __init__(self, channel: grpc.aio.Channel) -> None:
        self._channel = channel

    def _wrapped(self, path: str, method: Callable[..., Any]) -> Callable[..., Any]:
        """Return what is called in place of a method of the channel behind."""
        raise NotImplementedError

    def unary_unary(self, method: str, *arguments: Any, **options: Any) -> Any:
        """Return the method, wrapped."""
        return self._wrapped(method, self._channel.unary_unary(method, *arguments, **options))

    def unary_stream(self, method: str, *arguments: Any, **options: Any) -> Any:
        """Return the method, wrapped."""
        return self._wrapped(method, self._channel.unary_stream(method, *arguments, **options))

    def stream_unary(self, method: str, *arguments: Any, **options: Any) -> Any:
        """Return the method, wrapped."""
        return self._wrapped(method, self._channel.stream_unary(method, *arguments, **options))

    def stream_stream(self, method: str, *arguments: Any, **options: Any) -> Any:
        """Return the method, wrapped."""
        return self._wrapped(method, self._channel.stream_stream(method, *arguments, **options))

    async def __aenter__(self) -> WrappedChannel:
        await self._channel.__aenter__()
        return self

    async def __aexit__(self, *error: Any) -> None:
        await self._channel.__aexit__(*error)

    async def close(self, grace: float | None = None) -> None:
        """Close the channel."""
        await self._channel.close(grace)

    def get_state(self, try_to_connect: bool = False) -> grpc.ChannelConnectivity:
        """Return where the connection stands."""
        return self._channel.get_state(try_to_connect)

    async def wait_for_state_change(self, last_observed_state: grpc.ChannelConnectivity) -> None:
        """Wait until it stands elsewhere."""
        await self._channel.wait_for_state_change(last_observed_state)

    async def channel_ready(self) -> None:
        """Wait until it is there."""
        await self._channel.channel_ready()


class TracedChannel(WrappedChannel):
    """A channel whose calls are steps of the trace under way, and tell their server of it."""

    def _wrapped(self, path: str, method: Callable[..., Any]) -> Callable[..., Any]:
        name = path.removeprefix("/")
        attributes = {"rpc.system.name": "grpc", "rpc.method": name}

        def call(*arguments: Any, metadata: Any = None, **options: Any) -> Any:
            span = spans.begun(name, kind="client", attributes=attributes)
            # Of a trace that is not kept, too: else the server would decide anew whether to keep its part.
            if traceparent := span.traceparent or spans.current().traceparent:
                metadata = (*(metadata or ()), (TRACEPARENT_KEY, traceparent))
            opened = method(*arguments, metadata=metadata, **options)
            if span.recorded:
                opened.add_done_callback(partial(_ended, span))
            return opened

        return call


def _ended(span: Span, call: Any) -> None:
    """End the step of a call that is done."""
    code = _code(call)
    span.note({"rpc.response.status_code": code})
    if code != grpc.StatusCode.OK.name:
        span.failed(code)
    span.end()


def _code(call: Any) -> str:
    # A coroutine in grpc.aio, which waits for nothing once the call is done.
    asked = call.code()
    try:
        asked.send(None)
    except StopIteration as answered:
        return str(answered.value.name)
    asked.close()
    return grpc.StatusCode.UNKNOWN.name
