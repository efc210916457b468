"""The peer: an engine and a relay of bare grpc.aio, one message a token: `python -m bench.peers.relay engine|relay …`.

What a programmer writes first, and what streams cost without a service around them; on uvloop where it can be
imported, as the services are. Each prints its port and serves until it is stopped.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Awaitable, Callable
from typing import Any

import grpc
import grpc.aio

METHOD = "/bench.Stream/Read"


async def emit(request: bytes, context: Any) -> None:
    """Write so many tokens at so many a second, the first of them the time it was due: `256 50`.

    Raise ValueError for another request.
    """
    count, rate = request.decode().split()
    start = time.monotonic()
    await context.write(f"{start:.6f}".encode())
    for place in range(1, int(count)):
        await asyncio.sleep(max(start + place / float(rate) - time.monotonic(), 0))
        await context.write(b" mot")


def relay_of(channel: grpc.aio.Channel) -> Callable[[bytes, Any], Awaitable[None]]:
    """Return a handler that passes on what another server says."""
    read: Any = channel.unary_stream(METHOD)

    async def relay(request: bytes, context: Any) -> None:
        call = read(request)
        try:
            async for message in call:
                await context.write(message)
        finally:
            call.cancel()

    return relay


async def serve(role: str, target: str) -> None:
    """Serve as engine, or as relay of the engine at a target."""
    channel = grpc.aio.insecure_channel(target)
    handler: Any = grpc.unary_stream_rpc_method_handler(emit if role == "engine" else relay_of(channel))
    server = grpc.aio.server()
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("bench.Stream", {"Read": handler}),))
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    print(port, flush=True)
    await server.wait_for_termination()


def loop() -> asyncio.AbstractEventLoop:
    """Return the faster event loop, where it is installed."""
    try:
        import uvloop
    except ImportError:
        return asyncio.new_event_loop()
    made: asyncio.AbstractEventLoop = uvloop.new_event_loop()
    return made


if __name__ == "__main__":
    with asyncio.Runner(loop_factory=loop) as runner:
        runner.run(serve(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "127.0.0.1:1"))
